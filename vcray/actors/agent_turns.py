"""When the agent's fast path takes a turn: as soon as something changed, or when a back-off is over.

Its turns and batch rounds exclude each other (one lock), its writes go through a binder of its own, which never waits for the
writes of a round.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Coroutine

from vcray.actors.agent import AgentPath
from vcray.actors.messages import Execute, Executed
from vcray.actors.reminder import Reminder
from vcray.actors.runtime import Handle, Time
from vcray.actors.unready import Unready
from vcray.cache.merge import Merge
from vcray.core.decisions import Commit
from vcray.core.snapshot import Snapshot
from vcray.log import get_logger
from vcray.metrics import Metrics

log = get_logger("agent")


class AgentTurns:
    """`deciding` is held while a turn decides; `held`: not yet; `freed` hears of room that came back;
    `complete` puts into a snapshot what the cache does not know."""

    def __init__(
        self,
        path: AgentPath,
        binder: Handle,
        merge: Merge,
        deciding: asyncio.Lock,
        time: Time,
        metrics: Metrics,
        held: Callable[[], bool],
        freed: Callable[[], None],
        complete: Callable[[Snapshot], Snapshot],
    ) -> None:
        self.path = path
        self._binder = binder
        self._merge = merge
        self._deciding = deciding
        self._time = time
        self._metrics = metrics
        self._held = held
        self._freed = freed
        self._complete = complete
        self._dirty = asyncio.Event()
        self._reminder = Reminder(time, self.wake, self._in_background)
        self._unready = Unready()
        self._tasks: set[asyncio.Task[None]] = set()

    def start(self) -> None:
        """Take turns from now on."""
        self._in_background(self._run(), "agent")

    async def stop(self) -> None:
        """Take no more turns."""
        for task in list(self._tasks):
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task

    def wake(self) -> None:
        """Something changed."""
        self._dirty.set()

    def cure(self) -> None:
        """Room came back: all that was tried in vain may be tried again."""
        self.path.backlog.cure()
        self.wake()

    async def one(self) -> tuple[Commit, ...]:
        """One turn with its writes; its bindings. For rounds on demand."""
        for waiting in self._unready.orders(self._merge.generation, self._time.now(), all_of_them=True):
            await self._execute(waiting)
        order = await self._turn()
        if order is None:
            return ()
        await self._execute(order)
        return order.decisions.commits

    async def _run(self) -> None:
        while True:
            await self._dirty.wait()
            self._dirty.clear()
            if self._held():
                continue
            try:
                for waiting in self._unready.orders(self._merge.generation, self._time.now()):
                    self._in_background(self._execute(waiting), "agent's pods that wait for volumes")
                order = await self._turn()
            except Exception:  # the fence: a fault in one turn must not end the fast path
                log.exception("turn of the agent failed")
                self._metrics.failed_rounds.inc()
                await self._time.sleep(1.0)
                self._dirty.set()
            else:
                if order is not None:
                    self._in_background(
                        self._execute(order), f"agent's writes of {order.decisions.generation}"
                    )

    async def _turn(self) -> Execute | None:
        async with self._deciding:
            now = self._time.now()
            for uid in self._merge.expire(now):
                log.warning("placement was never confirmed", uid=uid)
            order = self.path.turn(self._merge, now, self._complete)
        self._reminder.by(self.path.backlog.due())
        return order

    async def _execute(self, order: Execute) -> None:
        with self._merge.unanswered(order.decisions) as uids:
            answer = await self._binder.ask(order)
            if not isinstance(answer, Executed):
                return
            async with self._deciding:
                self._merge.answered(uids, self._time.now())
                self._unready.note(order, answer.outcomes, self._time.now())
                self._reminder.by(self._unready.due)
                failed = self.path.learn(answer.outcomes, self._time.now())
                if failed:
                    self._merge.forget(failed)
                    self._freed()
                    self._dirty.set()

    def _in_background(self, work: Coroutine[object, object, None], name: str) -> None:
        task = asyncio.create_task(work, name=name)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

"""Merges deltas, runs rounds, sends decisions. It owns the assumed placements and nothing else that a crash could lose.

A round is level-triggered: changes that arrive within a few milliseconds share one. It does not wait for the binder: what was
decided is assumed until the watch confirms it or the binder says it was refused. In manual mode (scenarios) a round runs only
when asked for, changes or not, and answers when its writes are done.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Coroutine, Iterable, Sequence
from dataclasses import replace
from time import perf_counter

import msgspec

from vcray.actors.agent import AgentPath, waits_for_agent_alone
from vcray.actors.agent_turns import AgentTurns
from vcray.actors.gauges import RoundGauges
from vcray.actors.messages import (
    Accepted,
    Changed,
    Execute,
    Executed,
    Mark,
    Measured,
    Message,
    Outcome,
    Reconfigure,
    RoomAsked,
    RoomFound,
    Round,
    RoundDone,
    Synced,
)
from vcray.actors.moments import Moments
from vcray.actors.novelty import Novelty
from vcray.actors.orders import in_flight, is_something, limits_of, without
from vcray.actors.policies import Policies
from vcray.actors.refusals import Refusals
from vcray.actors.reminder import Reminder
from vcray.actors.room import RoomDesk
from vcray.actors.runtime import Handle, Time
from vcray.actors.scoring import Decider
from vcray.actors.shardstatus import ShardStatus
from vcray.actors.unready import Unready
from vcray.cache.delta import Delta, Field
from vcray.cache.merge import Merge
from vcray.cache.news import News
from vcray.core.decisions import Decisions
from vcray.core.meter import Meter
from vcray.core.policy import Policy
from vcray.core.session import Carry
from vcray.core.snapshot import Snapshot
from vcray.core.tables import Status
from vcray.errors import ConfigError
from vcray.foresight.recovery import complete, half_bound, holds_gangs, take_back
from vcray.log import get_logger
from vcray.metrics import Metrics
from vcray.registry import Registry

log = get_logger("coordinator")

LATER_S = 5.0
"""How old a sentence that tells why a pod waits may get, where the pod cannot be helped anyway."""


class Coordinator:
    """The sequencer of rounds. `waits_for` are the (resource, shard) pairs whose first list must be in before the
    first round; `conf` is the text of the policy. Without `batch` there is the agent's fast path alone."""

    def __init__(
        self,
        merge: Merge,
        policy: Policy,
        registry: Registry,
        binder: Handle,
        time: Time,
        metrics: Metrics,
        waits_for: Iterable[tuple[str, int]],
        seed: int = 0,
        decider: Decider | None = None,
        coalesce_s: float = 0.005,
        manual: bool = False,
        patience_s: float = 0.0,
        conf: str = "",
        told_of_conf: Callable[[str], None] = lambda _: None,
        agent: tuple[AgentPath, Handle] | None = None,
        policies: Policies | None = None,
        shard_names: tuple[str, ...] = (),
        batch: bool = True,
    ) -> None:
        self._merge = merge
        self._policies = policies or Policies(registry, metrics)
        self._policy = self._policies.fenced(policy)
        self._conf = conf
        self._told_of_conf = told_of_conf  # hears the text of each configuration put in force
        self._binder = binder
        self._time, self._metrics = time, metrics
        self._unsynced = set(waits_for)
        self._shards = len({shard for _, shard in self._unsynced})
        self._marks: dict[str, set[int]] = {}
        self._seed = seed
        self._decider = decider or Decider()
        self._deciding = asyncio.Lock()  # while it is held, what a decision rests on must not change
        self._coalesce_s = coalesce_s
        self._manual, self._batch = manual, batch
        self._carry = Carry()
        self._novelty = Novelty(patience_s)
        self._moments = Moments(time.now())
        self._room = RoomDesk(merge, self._decider, self._moments.complete, seed)
        self._gauges = RoundGauges(metrics)
        self._shard_status = ShardStatus(shard_names)
        self._suspects: set[str] | None = None  # None: look at every gang, as after a start
        self._refusals = Refusals()
        self._unready = Unready()
        self._kept = Refusals()  # by UID of a pod that could not be evicted
        self._dirty = asyncio.Event()
        self._reminder = Reminder(time, self._dirty.set, self._in_background)
        self._agent = agent and AgentTurns(
            *agent,
            merge,
            self._deciding,
            time,
            metrics,
            lambda: bool(self._unsynced),
            self._dirty.set,
            self._moments.complete,
        )
        self._loop: asyncio.Task[None] | None = None
        self._writes: set[asyncio.Task[None]] = set()

    async def start(self) -> None:
        if not self._manual and (self._batch or self._shard_status.names):
            self._loop = asyncio.create_task(self._rounds(), name="rounds")
        if not self._manual and self._agent is not None:
            self._agent.start()

    async def stop(self) -> None:
        if self._agent is not None:
            await self._agent.stop()
        for task in (*self._writes, *([self._loop] if self._loop else [])):
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task

    async def receive(self, message: Message) -> Message | None:
        match message:
            case Changed(parcel=parcel):
                async with self._deciding:
                    self._apply(parcel.delta)
            case Synced(resource=resource, shard=shard):
                self._unsynced.discard((resource, shard))
                self._dirty.set()
                if self._agent is not None:
                    self._agent.wake()
            case Reconfigure(text=text):
                async with self._deciding:
                    return self._reconfigure(text)
            case Measured(usage=usage):
                async with self._deciding:
                    self._moments.usage = usage
                self._dirty.set()
            case RoomAsked(wanted=wanted):
                if self._unsynced:
                    return RoomFound()
                async with self._deciding:
                    return RoomFound(await self._room.answer(wanted, self._policy, self._time.now()))
            case Mark(name=name, shard=shard):
                self._marks.setdefault(name, set()).add(shard)
            case Round(after=mark):
                if mark and len(self._marks.get(mark, ())) < self._shards:
                    return None
                self._marks.pop(mark, None)
                return await self._manual_round()
            case _:
                raise TypeError(type(message).__name__)
        return None

    def _apply(self, delta: Delta) -> None:
        """Take in what changed, and see to who wants to know."""
        self._watched(delta)
        if self._agent is not None:
            self._agent.path.saw(delta)
        news = self._merge.apply(delta)
        if self._agent is not None:
            self._agent.wake()
        if news is News.LATER:
            self._reminder.by(self._time.now() + LATER_S)
        elif news and (self._agent is None or not waits_for_agent_alone(delta)):
            self._dirty.set()

    def _watched(self, delta: Delta) -> None:
        """Take the ages of pods that are seen for the first time."""
        waiting = delta.values[Field.STATUS] == Status.PENDING
        now, latency = self._time.now(), self._metrics.task_latency.labels("Watched")
        for column in waiting.nonzero()[0].tolist():
            if not self._merge.knows(delta.keys[column]):
                latency.observe(max(0.0, now - int(delta.values[Field.CREATED, column])) * 1000)

    async def _rounds(self) -> None:
        while True:
            await self._dirty.wait()
            await self._time.sleep(self._coalesce_s)
            self._dirty.clear()
            if self._unsynced:
                continue
            try:
                for waiting in self._unready.orders(self._merge.generation, self._time.now()):
                    self._write(waiting)
                self._write(await self._round())
            except Exception:  # the fence: a fault in one round must not end scheduling
                log.exception("round failed")
                self._metrics.failed_rounds.inc()
                await self._time.sleep(1.0)
                self._dirty.set()

    async def _manual_round(self) -> RoundDone:
        singles = () if self._agent is None else await self._agent.one()
        for waiting in self._unready.orders(self._merge.generation, self._time.now(), all_of_them=True):
            await self._execute(waiting)
        order = await self._round()
        if is_something(order):
            await self._execute(order)
        told = replace(order.decisions, commits=(*singles, *order.decisions.commits))
        return RoundDone(told.generation, told)

    async def _round(self) -> Execute:
        if self._batch:
            return await self._decide(await self._recover())
        async with self._deciding:
            snapshot = self._snapshot()
            return Execute(Decisions(snapshot.generation), shards=self._shard_status.due(snapshot))

    async def _decide(self, taken_back: frozenset[str]) -> Execute:
        async with self._deciding:
            return await self._decide_alone(taken_back)

    async def _decide_alone(self, taken_back: frozenset[str]) -> Execute:
        started = perf_counter()
        snapshot = self._snapshot()
        opened = perf_counter()
        meter = Meter(perf_counter)
        decisions = await self._decider.decide(snapshot, self._policy, self._conf, self._carry, meter)
        decided = perf_counter()
        self._policies.note(decisions.left_out)
        self._metrics.rounds.inc()
        self._metrics.session_latency.observe((opened - started) * 1000)
        self._metrics.decide_latency.observe((decided - opened) * 1000)
        self._metrics.e2e_latency.observe((decided - started) * 1000)
        decisions = without(
            decisions, taken_back.union(filter(self._refusals.hopeless, self._suspects or ()))
        )
        self._merge.assume(decisions.commits, self._time.now())
        self._merge.assume_gone(decisions.evictions, self._time.now())
        self._merge.expect(decisions)
        self._gauges.show(snapshot, meter)
        kept = self._novelty.keep(decisions, self._time.now())
        self._moments.note(decisions, snapshot.now)
        for moment in (self._novelty.due, decisions.wakes_at):
            self._reminder.by(moment)
        return Execute(kept, limits_of(snapshot, decisions), meter.bound, self._shard_status.due(snapshot))

    def _snapshot(self) -> Snapshot:
        now = self._time.now()
        for uid in self._merge.expire(now):
            log.warning("placement was never confirmed", uid=uid)
        return self._moments.complete(self._merge.snapshot(now, self._seed))

    def _write(self, order: Execute) -> None:
        if is_something(order):
            self._in_background(self._execute(order), f"writes of {order.decisions.generation}")

    def _in_background(self, work: Coroutine[object, object, None], name: str) -> None:
        task = asyncio.create_task(work, name=name)
        self._writes.add(task)
        task.add_done_callback(self._writes.discard)

    async def _execute(self, order: Execute) -> None:
        started = perf_counter()
        with self._merge.unanswered(order.decisions) as uids:
            answer = await self._binder.ask(order)
            self._metrics.write_latency.observe((perf_counter() - started) * 1000)
            if not isinstance(answer, Executed):
                return
            async with self._deciding:
                self._merge.answered(uids, self._time.now())
                self._unready.note(order, answer.outcomes, self._time.now())
                self._reminder.by(self._unready.due)
                self._learn(order.decisions, answer.outcomes)
                self._learn_who_stays(answer.evictions)
                self._reminder.by(self._novelty.unsay(answer.unwritten, self._time.now()))

    def _learn(self, decisions: Decisions, outcomes: Iterable[Outcome]) -> None:
        """Forget what was not bound; a gang of which only a part went out is suspect from now on."""
        waits = self._refusals.note(outcomes)
        whole = {commit.job for commit in decisions.commits if commit.whole}
        failed: dict[str, list[Outcome]] = {}
        for outcome in outcomes:
            if outcome.result not in ("bound", "waiting"):
                failed.setdefault(outcome.job, []).append(outcome)
        for job, of_job in failed.items():
            if waits.get(job):
                self._in_background(self._forget_later(waits[job], of_job, job in whole), f"wait of {job}")
            else:
                self._forget(of_job, job in whole)

    def _learn_who_stays(self, evictions: Iterable[Outcome]) -> None:
        """A pod whose eviction the server refuses counts as leaving for a moment longer each time, so that nobody tries it
        again at once; then it stays."""
        of_pods = [msgspec.structs.replace(outcome, job=outcome.uid) for outcome in evictions]
        waits = self._kept.note(of_pods)
        for outcome in of_pods:
            if outcome.result == "refused":
                self._in_background(
                    self._forget_later(waits[outcome.job], (outcome,), False), f"wait of {outcome.task}"
                )

    async def _forget_later(self, seconds: float, failed: Sequence[Outcome], whole: bool) -> None:
        """Until then the placements stay assumed, so nobody tries them again."""
        await self._time.sleep(seconds)
        async with self._deciding:
            self._forget(failed, whole)

    def _forget(self, failed: Sequence[Outcome], whole: bool) -> None:
        self._merge.forget(outcome.uid for outcome in failed)
        self._novelty.forget(outcome.uid for outcome in failed)
        if self._agent is not None:
            self._agent.cure()
        if whole and self._suspects is not None:
            self._suspects |= {outcome.job for outcome in failed if outcome.result in ("refused", "gone")}
        self._dirty.set()

    async def _recover(self) -> frozenset[str]:
        """Make suspect gangs whole, else take back what was bound of them (those jobs are returned). Waits for its writes."""
        if not holds_gangs(self._policy):
            self._suspects = set()
        if self._suspects is not None and not self._suspects:
            return frozenset()
        snapshot = self._snapshot()
        wanted, self._suspects = self._suspects, set()
        early = set(in_flight(snapshot))
        self._suspects |= early if wanted is None else wanted & early
        jobs = [job for job in half_bound(snapshot) if wanted is None or job in wanted]
        if not jobs:
            return frozenset()
        log.warning("gangs bound in part", jobs=", ".join(jobs))
        hopeful = [job for job in jobs if not self._refusals.hopeless(job)]
        decisions = complete(snapshot, self._policy, hopeful)
        self._merge.assume(decisions.commits, self._time.now())
        if decisions.commits:
            await self._execute(Execute(decisions, limits_of(snapshot, decisions)))
        made_whole = {commit.job for commit in decisions.commits}
        lost = frozenset(jobs) - made_whole
        evictions = take_back(snapshot, lost)
        if evictions:
            self._merge.assume_gone(evictions, self._time.now())
            await self._execute(Execute(Decisions(snapshot.generation, evictions=evictions)))
        self._metrics.recoveries.labels(result="completed").inc(len(made_whole))
        self._metrics.recoveries.labels(result="evicted").inc(len(lost))
        return lost

    def _reconfigure(self, text: str) -> Accepted:
        try:
            policy, conf = self._policies.read(text)
        except ConfigError as error:
            for problem in error.problems:
                self._metrics.config_problems.labels(code=problem.code).inc()
            return Accepted(False, tuple(map(str, error.problems)))
        for problem in policy.problems:
            self._metrics.config_problems.labels(code=problem.code).inc()
        self._policy, self._conf = policy, conf
        self._told_of_conf(text)
        self._carry = Carry()
        self._dirty.set()
        return Accepted(True, tuple(map(str, policy.problems)))

"""All actors in one asyncio loop: tests, `vcray sim`, small clusters, life without a Ray head.

Each actor has a bounded mailbox and one task that serves it, so an actor never runs twice at once. With `frames` every
message is packed and unpacked on the way, which proves that it could have crossed a process. `Activity.quiet` waits until
nothing moves any more: the manual-round mode of scenarios rests on it.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Awaitable, Callable

from vcray.actors.messages import Message, pack, unpack
from vcray.actors.runtime import Actor, Crash, Handle, Statistics, Time
from vcray.actors.timekeeping import WallTime
from vcray.kube.transport import JSON, PassingTransport, Query, Response, Transport
from vcray.log import get_logger

log = get_logger("runtime")

QUIET_TURNS = 40
"""Turns of the loop without any activity after which in-process work is taken to be at rest: more than the longest
chain of awaits between two activities (a request through the client, a watch line, a mailbox)."""


class Activity:
    """Grows with every message, answer and request of all runtimes that share it: what `quiet` watches."""

    def __init__(self) -> None:
        self.count = 0

    def note(self) -> None:
        """Something moved."""
        self.count += 1

    async def quiet(self) -> None:
        """Wait until nothing has moved for `QUIET_TURNS` turns of the loop. Only for in-process transports, where
        every answer comes without real waiting."""
        still, seen = 0, self.count
        while still < QUIET_TURNS:
            await asyncio.sleep(0)
            still = still + 1 if self.count == seen else 0
            seen = self.count


class ActiveTransport(PassingTransport):
    """A transport that notes each request and each line of a watch."""

    def __init__(self, transport: Transport, activity: Activity) -> None:
        super().__init__(transport)
        self._activity = activity

    async def request(
        self,
        method: str,
        path: str,
        query: Query | None = None,
        body: bytes | None = None,
        content_type: str = JSON,
    ) -> Response:
        self._activity.note()
        try:
            return await self._transport.request(method, path, query, body, content_type)
        finally:
            self._activity.note()

    async def stream(self, path: str, query: Query | None = None) -> AsyncGenerator[bytes, None]:
        async with contextlib.aclosing(self._transport.stream(path, query)) as lines:
            async for line in lines:
                self._activity.note()
                yield line


class _Mail:
    """A message and the future that its asker waits on, if any."""

    __slots__ = ("answer", "message")

    def __init__(self, message: Message, answer: asyncio.Future[Message | None] | None) -> None:
        self.message = message
        self.answer = answer


class LocalHandle:
    """A mailbox and the task that serves it."""

    def __init__(self, name: str, factory: Callable[[], Actor], mailbox: int, runtime: LocalRuntime) -> None:
        self._name = name
        self._factory = factory
        self._runtime = runtime
        self._mail: asyncio.Queue[_Mail] = asyncio.Queue(mailbox)
        self._actor = factory()
        self._handled = self._failed = self._restarts = 0
        self._task: asyncio.Task[None] | None = None

    @property
    def name(self) -> str:
        return self._name

    @property
    def actor(self) -> Actor:
        """The object itself: for tests and the composition root, never for another actor."""
        return self._actor

    async def send(self, message: Message) -> None:
        self._runtime.activity.note()
        await self._mail.put(_Mail(self._runtime.carry(message), None))

    async def ask(self, message: Message) -> Message | None:
        self._runtime.activity.note()
        answer: asyncio.Future[Message | None] = asyncio.get_running_loop().create_future()
        await self._mail.put(_Mail(self._runtime.carry(message), answer))
        return await answer

    def statistics(self) -> Statistics:
        return Statistics(self._name, self._handled, self._failed, self._restarts, self._mail.qsize())

    async def open(self) -> None:
        """Start the actor and serve its mailbox."""
        await self._actor.start()
        self._task = asyncio.create_task(self._serve(), name=f"actor {self._name}")

    async def close(self) -> None:
        """Stop serving, then stop the actor; waiting askers are cancelled."""
        if self._task is not None:
            self._task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._task
        while not self._mail.empty():
            answer = self._mail.get_nowait().answer
            if answer is not None and not answer.done():
                answer.cancel()
        await self._actor.stop()

    async def _serve(self) -> None:
        while True:
            mail = await self._mail.get()
            try:
                await self._serve_one(mail)
            except asyncio.CancelledError:
                if mail.answer is not None and not mail.answer.done():
                    mail.answer.cancel()
                raise
            finally:
                self._runtime.activity.note()

    async def _serve_one(self, mail: _Mail) -> None:
        try:
            result = await self._actor.receive(mail.message)
        except Exception as error:  # the fence: one bad message must not end the actor
            self._failed += 1
            log.exception("actor failed", actor=self._name, message=type(mail.message).__name__)
            if mail.answer is not None and not mail.answer.done():
                mail.answer.set_exception(error)
            if isinstance(error, Crash):
                await self._restart()
            return
        self._handled += 1
        if mail.answer is not None and not mail.answer.done():
            mail.answer.set_result(None if result is None else self._runtime.carry(result))

    async def _restart(self) -> None:
        self._restarts += 1
        await self._actor.stop()
        self._actor = self._factory()
        await self._actor.start()


class LocalRuntime:
    """The runtime protocol in one loop."""

    def __init__(
        self, time: Time | None = None, frames: bool = False, activity: Activity | None = None
    ) -> None:
        self._time: Time = time or WallTime()
        self._frames = frames
        self._handles: dict[str, LocalHandle] = {}
        self._background: list[asyncio.Task[None]] = []
        self.activity = activity or Activity()

    @property
    def time(self) -> Time:
        return self._time

    def carry(self, message: Message) -> Message:
        """The message as the receiver sees it."""
        return unpack(pack(message)) if self._frames else message

    async def spawn(self, name: str, factory: Callable[[], Actor], mailbox: int = 1024) -> Handle:
        if name in self._handles:
            raise ValueError(f"there is an actor named {name!r} already")
        handle = LocalHandle(name, factory, mailbox, self)
        self._handles[name] = handle
        await handle.open()
        return handle

    def handle(self, name: str) -> LocalHandle:
        return self._handles[name]

    def has(self, name: str) -> bool:
        """Is there an actor of that name?"""
        return name in self._handles

    def handles(self) -> tuple[LocalHandle, ...]:
        """All actors, in order of their start."""
        return tuple(self._handles.values())

    def statistics(self) -> tuple[Statistics, ...]:
        """Of all actors, in order of their start."""
        return tuple(handle.statistics() for handle in self._handles.values())

    def background(self, name: str, work: Callable[[], Awaitable[None]]) -> None:
        self._background.append(asyncio.create_task(self._again_and_again(name, work), name=name))

    async def _again_and_again(self, name: str, work: Callable[[], Awaitable[None]]) -> None:
        delay = 0.05
        while True:
            try:
                await work()
                return
            except Exception:  # the fence: background work is started anew, ever more slowly
                log.exception("background work failed", work=name)
            await self._time.sleep(delay)
            delay = min(30.0, delay * 2)

    async def stop(self) -> None:
        for task in self._background:
            task.cancel()
        for task in self._background:
            with contextlib.suppress(asyncio.CancelledError):
                await task
        self._background.clear()
        for handle in reversed(self._handles.values()):
            await handle.close()
        self._handles.clear()

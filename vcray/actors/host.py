"""A host: some parts of a control plane in one process, whatever started that process.

It is opened with plain data, closed, and opened again by whoever supervises it. Each opening has a number; what a host sends
carries the number of its own opening, and a receiver turns away what comes from another opening than the one it was told of:
rows or decisions of a predecessor must not mix with those of its successor. A host that nobody looks after closes by
itself, since its supervisor may have opened another in its place.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections import deque
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from typing import Final, Protocol

from vcray.actors.deployment import HostPlan, homes
from vcray.actors.local_runtime import LocalRuntime
from vcray.actors.messages import Message, pack, unpack
from vcray.actors.parts import Facts, Place, build
from vcray.actors.runtime import Handle, Statistics, Time
from vcray.actors.timekeeping import WallTime
from vcray.core.pools import PoolScorer, Scorers
from vcray.kube.auth import load as load_transport
from vcray.kube.pace import paced
from vcray.kube.substitutes import SubstitutingTransport
from vcray.kube.transport import Transport
from vcray.log import configure, get_logger
from vcray.metrics import Metrics

log = get_logger("host")

DRIVER: Final = "driver"
"""Name of the sender that supervises; it is heard whatever its number."""

ALONE_S: Final = 15.0
"""A host that nobody has looked at for so long closes."""

OUTBOX: Final = 1024
"""Messages to one part of another host that may wait; then the sender waits."""
BATCH: Final = 256
"""Messages that go out together at most."""
RETRY_S: Final = 0.1
LINES: Final = 10_000
"""Log lines kept for the supervisor."""


class Lost(Exception):
    """The other host is not there, not open, or of another opening than the one that was meant."""


class RemoteFailure(Exception):
    """An actor of another host failed on the message; the text is its exception."""


@dataclass(frozen=True, slots=True)
class Stamp:
    """Who sends: a host and the number of its opening."""

    host: str
    opening: int


@dataclass(frozen=True, slots=True)
class Opening:
    """All that a host needs to start its parts. `openings`: the number of every host's present opening."""

    host: str
    hosts: tuple[HostPlan, ...]
    facts: Facts
    openings: Mapping[str, int]
    kubeconfig: Path | None = None
    context: str | None = None
    server: str | None = None

    @property
    def stamp(self) -> Stamp:
        """What this host's messages carry."""
        return Stamp(self.host, self.openings[self.host])


@dataclass(frozen=True, slots=True)
class Look:
    """What a supervisor sees: the process, the number of the opening (-1: closed), its actors, metrics and log lines."""

    pid: int
    opening: int
    statistics: tuple[Statistics, ...]
    metrics: bytes
    lines: tuple[str, ...]


class Link(Protocol):
    """Carries packed messages to other hosts. Both raise `Lost`."""

    async def post(self, host: str, stamp: Stamp, part: str, frames: Sequence[bytes]) -> None:
        """Put messages into a part's mailbox, in order; waits while it is full."""
        ...

    async def ask(self, host: str, stamp: Stamp, part: str, frame: bytes) -> bytes | None:
        """Ask a part and wait for its answer. RemoteFailure when it failed."""
        ...

    def scorers(self, stamp: Stamp, parts: Sequence[tuple[str, str]]) -> Scorers:
        """The scorers of (host, part); to be asked from a thread, since they block."""
        ...


class RemoteHandle:
    """A part of another host. What is sent goes out in batches, one under way at a time, so order holds; what is asked is
    asked again until it is answered, for every message may arrive twice."""

    def __init__(self, part: str, host: str, link: Link, stamp: Stamp) -> None:
        self._part = part
        self._host = host
        self._link = link
        self._stamp = stamp
        self._outbox: asyncio.Queue[bytes] = asyncio.Queue(OUTBOX)
        self._sent = self._failed = 0

    @property
    def name(self) -> str:
        return self._part

    async def send(self, message: Message) -> None:
        await self._outbox.put(pack(message))

    async def ask(self, message: Message) -> Message | None:
        frame = pack(message)
        while True:
            try:
                answer = await self._link.ask(self._host, self._stamp, self._part, frame)
            except Lost as lost:
                self._failed += 1
                log.debug("asking again", part=self._part, why=str(lost))
                await asyncio.sleep(RETRY_S)
            else:
                return None if answer is None else unpack(answer)

    def statistics(self) -> Statistics:
        """Of the way there, not of the part: what was sent, what was lost, what waits."""
        return Statistics(f"to {self._part}", self._sent, self._failed, 0, self._outbox.qsize())

    async def carry(self) -> None:
        """Take out what was sent, for ever. What could not be delivered is tried again: whoever lost its receiver for good
        is closed."""
        while True:
            frames = [await self._outbox.get()]
            while len(frames) < BATCH and not self._outbox.empty():
                frames.append(self._outbox.get_nowait())
            while True:
                try:
                    await self._link.post(self._host, self._stamp, self._part, frames)
                    break
                except Lost as lost:
                    self._failed += 1
                    log.debug("sending again", part=self._part, why=str(lost))
                    await asyncio.sleep(RETRY_S)
            self._sent += len(frames)


class Host:
    """The parts of one process, and the door through which others reach them."""

    def __init__(
        self,
        link: Link,
        connect: Callable[[Opening], Awaitable[Transport]] | None = None,
        time: Time | None = None,
    ) -> None:
        self._link = link
        self._time = time or WallTime()
        self._connect = connect or _connect
        self._metrics = Metrics()
        self._runtime: LocalRuntime | None = None
        self._transport: Transport | None = None
        self._opening: Opening | None = None
        self._scorers: dict[str, PoolScorer] = {}
        self._turn = asyncio.Lock()
        self._seen = monotonic()
        self._alone: asyncio.Task[None] | None = None
        self.lines: deque[str] = deque(maxlen=LINES)

    async def open(self, opening: Opening) -> int:
        """Close what is open, then start the parts of this host; the process' number. Raises what a part's start raises."""
        async with self._turn:
            await self._close()
            self._seen = monotonic()
            self._metrics = Metrics()
            self._transport = await self._connect(opening)
            self._runtime = runtime = LocalRuntime(self._time)
            where = homes(opening.hosts)
            elsewhere: dict[str, RemoteHandle] = {}

            def reach(part: str) -> Handle:
                if where[part] == opening.host:
                    return runtime.handle(part)
                if part not in elsewhere:
                    elsewhere[part] = RemoteHandle(part, where[part], self._link, opening.stamp)
                    runtime.background(f"to {part}", elsewhere[part].carry)
                return elsewhere[part]

            def scorers(parts: Sequence[str]) -> Scorers:
                return self._link.scorers(opening.stamp, [(where[part], part) for part in parts])

            place = Place(opening.facts, runtime, self._transport, self._metrics, reach, scorers=scorers)
            self._opening = opening
            try:
                for part in next(each for each in opening.hosts if each.name == opening.host).parts:
                    await build(place, part)
            except BaseException:
                await self._close()
                raise
            if self._alone is None:
                self._alone = asyncio.create_task(self._leave_when_alone(), name="alone")
            return os.getpid()

    async def close(self) -> None:
        """Stop all parts; what is under way at the API server is waited for."""
        async with self._turn:
            await self._close()

    async def post(self, stamp: Stamp, part: str, frames: Sequence[bytes]) -> None:
        """See `Link.post`."""
        handle = self._door(stamp, part)
        for frame in frames:
            await handle.send(unpack(frame))

    async def ask(self, stamp: Stamp, part: str, frame: bytes) -> bytes | None:
        """See `Link.ask`."""
        handle = self._door(stamp, part)
        try:
            answer = await handle.ask(unpack(frame))
        except asyncio.CancelledError:
            if self._opening is not None and self._runtime is not None and not _cancelling():
                raise Lost("closed while it was asked") from None
            raise
        except Exception as error:
            raise RemoteFailure(f"{type(error).__name__}: {error}") from error
        return None if answer is None else pack(answer)

    def score(self, stamp: Stamp, part: str, request: bytes, snapshot: memoryview | None = None) -> bytes:
        """Answer one request to the scorer of a pool (`vcray.core.pools`). Raises `Lost`."""
        self._door(stamp, part)
        if part not in self._scorers:
            from vcray.actors.policies import policy_from
            from vcray.core.shardrules import with_shard
            from vcray.registry import discover

            assert self._opening is not None
            registry = discover(folder=self._opening.facts.settings.plugins_dir)
            settings = self._opening.facts.settings
            shard = (settings.scheduler_sharding_name, settings.scheduler_sharding_mode)
            self._scorers[part] = PoolScorer(
                lambda text: with_shard(policy_from(text, registry.refreshed()), *shard)
            )
        return self._scorers[part].serve(request, snapshot)

    def look(self) -> Look:
        """How things are; being looked at keeps a host open."""
        self._seen = monotonic()
        statistics = () if self._runtime is None else self._runtime.statistics()
        lines = tuple(self.lines)
        self.lines.clear()
        opening = -1 if self._opening is None else self._opening.stamp.opening
        return Look(os.getpid(), opening, statistics, self._metrics.expose(), lines)

    def _door(self, stamp: Stamp, part: str) -> Handle:
        if self._opening is None or self._runtime is None:
            raise Lost(f"the host of {part} is not open")
        known = self._opening.openings.get(stamp.host) == stamp.opening or _only_asks(self._opening, stamp)
        if stamp.host != DRIVER and not known:
            raise Lost(f"{part} hears another opening of {stamp.host}")
        try:
            return self._runtime.handle(part)
        except KeyError:
            raise Lost(f"{part} has not started") from None

    async def _close(self) -> None:
        self._opening = None
        self._scorers.clear()
        runtime, self._runtime = self._runtime, None
        if runtime is not None:
            await runtime.stop()
        transport, self._transport = self._transport, None
        if transport is not None:
            await transport.close()

    async def _leave_when_alone(self) -> None:
        while True:
            await asyncio.sleep(ALONE_S / 5)
            if self._opening is not None and monotonic() - self._seen > ALONE_S:
                log.error("nobody looks after this host any more; it closes", host=self._opening.host)
                await self.close()


class Lines(logging.Handler):
    """Keeps log lines until the supervisor takes them."""

    def __init__(self, lines: deque[str]) -> None:
        super().__init__()
        self._lines = lines

    def emit(self, record: logging.LogRecord) -> None:
        self._lines.append(self.format(record))


def send_lines(host: Host, level: str) -> None:
    """What is logged in this process goes to whoever looks at the host."""
    configure(level, Lines(host.lines))


def _only_asks(opening: Opening, sender: Stamp) -> bool:
    """Is the sender a host that never begins anew together with this one? Neither holds anything of the other's."""
    chains = [each.reopens for each in opening.hosts]
    named = any(sender.host in chain for chain in chains)
    return named and not any(sender.host in chain and opening.host in chain for chain in chains)


def _cancelling() -> bool:
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


async def _connect(opening: Opening) -> Transport:
    settings = opening.facts.settings
    transport = await load_transport(opening.kubeconfig, opening.context, opening.server)
    return paced(SubstitutingTransport(transport), settings.kube_api_qps, settings.kube_api_burst)

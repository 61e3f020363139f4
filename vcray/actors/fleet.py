"""All hosts of a layout, opened in order, looked after, and opened anew when one is lost.

It knows nothing of how a process is started: `Processes` does. What a lost host takes with it is in the deployment table
(`HostPlan.reopens`); nothing else is needed, since all truth is in the API server. When the ground gives way under all
processes (Ray itself is gone), they are started anew and everything is opened again.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

from vcray.actors.deployment import HostPlan, homes
from vcray.actors.host import DRIVER, Link, Look, Lost, Opening, RemoteHandle, Stamp
from vcray.actors.messages import Message, pack
from vcray.actors.parts import Facts
from vcray.actors.runtime import Statistics
from vcray.errors import Problem, ServerError, VcrayError
from vcray.log import get_logger
from vcray.metrics import Metrics, merged

log = get_logger("fleet")

PERIOD_S = 1.0
"""How often every host is looked at; the death of a process is told at once."""
HUNG_S = 30.0
"""A process that has not answered a look for so long is replaced."""
AWAY_S = 10.0
"""A host that has been closed for so long makes the control plane unhealthy."""


class Processes(Protocol):
    """One process a host, and how to talk to it. What needs a process raises `Lost` when it is not there."""

    @property
    def link(self) -> Link: ...

    async def begin(self, hosts: Sequence[str]) -> None:
        """Start a process for each host. VcrayError when that cannot be done."""
        ...

    async def open(self, opening: Opening) -> None: ...

    async def close(self, host: str) -> None: ...

    async def look(self, host: str) -> Look:
        """TimeoutError when no answer comes in good time."""
        ...

    async def replace(self, host: str) -> None:
        """Kill the process; another takes its place."""
        ...

    async def trouble(self) -> str:
        """Wait until something died; why none of the processes can be used any more, empty when only some died."""
        ...

    async def end(self) -> None:
        """End every process and whatever was started for them; safe to call twice."""
        ...


@dataclass(frozen=True, slots=True)
class Connection:
    """How every host finds the API server."""

    kubeconfig: Path | None = None
    context: str | None = None
    server: str | None = None


class Seen(RemoteHandle):
    """A part as the supervisor sees it: reachable, with the statistics of the last look."""

    def __init__(self, part: str, host: str, link: Link, seen: Statistics | None) -> None:
        super().__init__(part, host, link, Stamp(DRIVER, 0))
        self._seen = seen or Statistics(part, 0, 0, 0, 0)

    def statistics(self) -> Statistics:
        return self._seen


class Fleet:
    """The supervisor of a layout's hosts. `say` hears the log lines of other processes."""

    def __init__(
        self,
        processes: Processes,
        hosts: tuple[HostPlan, ...],
        facts: Facts,
        connection: Connection,
        metrics: Metrics,
        say: Callable[[str], None],
    ) -> None:
        self._processes = processes
        self._hosts = hosts
        self._by_name: Mapping[str, HostPlan] = {each.name: each for each in hosts}
        self._homes = homes(hosts)
        self.facts = facts
        self._connection = connection
        self._metrics = metrics
        self._say = say
        self._openings = {each.name: 0 for each in hosts}
        self._looks: dict[str, Look] = {}
        self._seen_at: dict[str, float] = {}
        self._reopened = {each.name: 0 for each in hosts}
        self._task: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Start all processes and open all hosts. VcrayError when one cannot be opened."""
        names = [each.name for each in self._hosts]
        await self._processes.begin(names)
        try:
            await self._open(names)
        except Lost as lost:
            what = f"a process of the control plane ended while it started: {lost}"
            raise ServerError(Problem("VC0605", "Ray", what)) from lost
        await self.look(names)
        self._task = asyncio.create_task(self._supervise(), name="fleet")

    async def stop(self) -> None:
        """Close the hosts, then end all processes."""
        if self._task is not None:
            self._task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._task
            await asyncio.gather(*(self._close(each.name) for each in self._hosts))
            await self.look([each.name for each in self._hosts])
        await self._processes.end()

    def handle(self, part: str) -> Seen:
        """KeyError when no host has such a part."""
        host = self._homes[part]
        look = self._looks.get(host)
        seen = [] if look is None else [each for each in look.statistics if each.name == part]
        again = self._reopened[host]
        statistics = replace(seen[0], restarts=seen[0].restarts + again) if seen else None
        return Seen(part, host, self._processes.link, statistics)

    async def post(self, part: str, messages: Sequence[Message]) -> None:
        """Put messages into a part's mailbox, in order. Raises `Lost`."""
        frames = [pack(message) for message in messages]
        await self._processes.link.post(self._homes[part], Stamp(DRIVER, 0), part, frames)

    async def ask(self, part: str, message: Message) -> Message | None:
        """Ask a part and wait for its answer."""
        return await self.handle(part).ask(message)

    def handles(self) -> list[Seen]:
        """All parts, with the statistics of the last look."""
        return [self.handle(part) for each in self._hosts for part in each.parts]

    def exposition(self) -> bytes:
        """The metrics of all hosts as of the last look, and the supervisor's own, series by series summed."""
        return merged([self._metrics.expose(), *(look.metrics for look in self._looks.values())])

    def health(self) -> str:
        """Empty when all is well, else one sentence."""
        now = time.monotonic()
        away = sorted(name for name, seen in self._seen_at.items() if now - seen > AWAY_S)
        return f"not running for {AWAY_S:g} s: {', '.join(away)}" if away else ""

    def processes(self) -> dict[str, int]:
        """Host -> process number, as of the last look."""
        return {name: look.pid for name, look in self._looks.items()}

    async def look(self, names: Iterable[str]) -> set[str]:
        """Look at hosts; those that are lost."""
        names = list(names)
        found = await asyncio.gather(*(self._look(name) for name in names))
        return {name for name, lost in zip(names, found, strict=True) if lost}

    async def _look(self, name: str) -> bool:
        try:
            look = await self._processes.look(name)
        except TimeoutError:
            return False  # no news: it may be busy
        except Lost as lost:
            log.debug("a host is not there", host=name, why=str(lost))
            return True
        for line in look.lines:
            self._say(line)
        self._looks[name] = look
        self._metrics.host_process.labels(host=name).set(look.pid)
        if look.opening != self._openings[name]:
            return True
        self._metrics.host_openings.labels(host=name).set(look.opening + 1)
        self._seen_at[name] = time.monotonic()
        return False

    # -- supervision ------------------------------------------------------------------------------------------------

    async def _supervise(self) -> None:
        trouble = asyncio.create_task(self._processes.trouble(), name="trouble")
        try:
            while True:
                await asyncio.wait({trouble}, timeout=PERIOD_S)
                why = ""
                if trouble.done():
                    why = trouble.result()
                try:
                    await (self._rebuild(why) if why else self._mend())
                except (Lost, VcrayError) as error:
                    log.warning("not mended yet", why=str(error))
                    if why:
                        await asyncio.sleep(PERIOD_S)
                        continue  # the trouble is still the same
                if trouble.done():
                    trouble = asyncio.create_task(self._processes.trouble(), name="trouble")
        finally:
            trouble.cancel()

    async def _mend(self) -> None:
        """Look at every host; open anew what was lost, and what must begin again with it."""
        now = time.monotonic()
        lost = await self.look(self._by_name)
        for name in self._by_name:
            if now - self._seen_at.get(name, now) > HUNG_S:
                log.error("a process does not answer; it is replaced", host=name)
                self._seen_at[name] = now
                await self._processes.replace(name)
        if lost:
            await self._reopen(lost)

    async def _reopen(self, lost: Iterable[str]) -> None:
        again = {name for each in lost for name in self._by_name[each].reopens}
        order = [each.name for each in self._hosts if each.name in again]
        log.warning("opened anew", lost=", ".join(sorted(lost)), hosts=", ".join(order))
        for name in order:
            self._openings[name] += 1
            self._reopened[name] += 1
        await asyncio.gather(*(self._close(name) for name in order))
        await self._open(order)

    async def _close(self, name: str) -> None:
        with contextlib.suppress(Lost):
            await self._processes.close(name)

    async def _open(self, names: Sequence[str]) -> None:
        """Hosts that depend on each other in the order of the table, others side by side."""
        chains: dict[tuple[str, ...], list[str]] = {}
        for name in names:
            chain = max((each.reopens for each in self._hosts if name in each.reopens), key=len)
            chains.setdefault(chain, []).append(name)

        async def in_order(chain: Sequence[str]) -> None:
            for name in chain:
                await self._processes.open(self._opening(name))
                self._seen_at[name] = time.monotonic()

        await asyncio.gather(*map(in_order, chains.values()))

    async def _rebuild(self, why: str) -> None:
        log.warning("all processes are started anew", why=why)
        await self._processes.end()
        await self._processes.begin([each.name for each in self._hosts])
        await self._reopen(self._by_name)

    def _opening(self, name: str) -> Opening:
        where = self._connection
        return Opening(
            name, self._hosts, self.facts, dict(self._openings), where.kubeconfig, where.context, where.server
        )

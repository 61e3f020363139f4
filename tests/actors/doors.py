"""Processes of a fleet that are none: a door for each host in this loop, which can be killed as a process can."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence

from vcray.actors.door import Door, Reply, opened
from vcray.actors.host import Host, Look, Lost, Opening, Stamp
from vcray.core.pools import Scorers, ScorersLost
from vcray.kube.transport import Transport


class Doors:
    """`Processes` and `Link` in one. A killed host gets a new, closed door at once, as Ray starts a new process."""

    def __init__(self, connect: Callable[[Opening], Awaitable[Transport]]) -> None:
        self._connect = connect
        self._doors: dict[str, Door] = {}
        self._died = asyncio.Event()
        self._broken = ""
        self.opened: list[str] = []
        """Hosts in the order of their openings."""
        self.ended = 0

    @property
    def link(self) -> Doors:
        return self

    def host(self, name: str) -> Host:
        return self._doors[name]._host

    async def kill(self, name: str) -> None:
        """End a host without a word to anybody. (Its tasks must end, for the test's sake.)"""
        gone = self._doors[name]
        self._doors[name] = self._new()
        self._died.set()
        await gone.close()

    def shake(self, why: str) -> None:
        """Nothing can be relied on any more."""
        self._broken = why
        self._died.set()

    # -- Processes ------------------------------------------------------------------------------------------------

    async def begin(self, hosts: Sequence[str]) -> None:
        self._doors = {name: self._new() for name in hosts}
        self._broken = ""

    async def open(self, opening: Opening) -> None:
        self.opened.append(opening.host)
        await self._doors[opening.host]._host.open(opening)

    async def close(self, host: str) -> None:
        await self._doors[host].close()

    async def look(self, host: str) -> Look:
        return await self._doors[host].look()

    async def replace(self, host: str) -> None:
        await self.kill(host)

    async def trouble(self) -> str:
        await self._died.wait()
        self._died.clear()
        return self._broken

    async def end(self) -> None:
        self.ended += 1
        for door in self._doors.values():
            await door.close()
        self._doors = {}

    # -- Link -----------------------------------------------------------------------------------------------------

    async def post(self, host: str, stamp: Stamp, part: str, frames: Sequence[bytes]) -> None:
        opened(await self._door(host).post(stamp, part, frames))

    async def ask(self, host: str, stamp: Stamp, part: str, frame: bytes) -> bytes | None:
        reply: Reply = await self._door(host).ask(stamp, part, frame)
        return opened(reply)

    def scorers(self, stamp: Stamp, parts: Sequence[tuple[str, str]]) -> Scorers:
        return _Scorers(self, stamp, parts)

    def _door(self, host: str) -> Door:
        if host not in self._doors:
            raise Lost(host)
        return self._doors[host]

    def _new(self) -> Door:
        return Door(self, Host(self, self._connect))


class _Scorers:
    """The pools' scorers behind their doors."""

    def __init__(self, doors: Doors, stamp: Stamp, parts: Sequence[tuple[str, str]]) -> None:
        self._doors = doors
        self._stamp = stamp
        self._parts = parts

    def __len__(self) -> int:
        return len(self._parts)

    def begin(self, snapshot: bytes, requests: Sequence[bytes]) -> None:
        self._all(requests, memoryview(snapshot))

    def ask(self, requests: Sequence[bytes]) -> list[bytes]:
        return self._all(requests)

    def _all(self, requests: Sequence[bytes], *snapshot: memoryview) -> list[bytes]:
        try:
            return [
                self._doors.host(host).score(self._stamp, part, request, *snapshot)
                for (host, part), request in zip(self._parts, requests, strict=True)
            ]
        except (Lost, RuntimeError) as lost:
            raise ScorersLost(str(lost)) from lost

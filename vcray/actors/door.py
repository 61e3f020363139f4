"""A host as callers in other processes see it: every answer is plain data, none is an exception.

So whatever carries the calls has nothing to pickle or to log but what it was given; `opened` turns an answer into the value or
the exception again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import NoReturn, TypeAlias

from vcray import errors
from vcray.actors.host import Host, Link, Look, Lost, Opening, RemoteFailure, Stamp, send_lines
from vcray.errors import Problem, VcrayError

Reply: TypeAlias = tuple[str, bytes | str | None]
"""`ok` and a frame (or nothing), or `lost` or `failed` and why."""

Refusal: TypeAlias = tuple[str, tuple[Problem, ...]]
"""The class of a VcrayError and its problems."""


class Door:
    """The methods that a process of its own offers."""

    def __init__(self, link: Link, host: Host | None = None) -> None:
        self._host = host or Host(link)

    async def open(self, opening: Opening) -> Refusal | None:
        """See `Host.open`; the VcrayError that a part's start raises, as data."""
        send_lines(self._host, opening.facts.settings.log_level)
        try:
            await self._host.open(opening)
        except VcrayError as error:
            return type(error).__name__, error.problems
        return None

    async def close(self) -> None:
        """See `Host.close`."""
        await self._host.close()

    async def look(self) -> Look:
        """See `Host.look`."""
        return self._host.look()

    async def live(self) -> None:
        """Never returns: its failure is the news of this process' death."""
        await asyncio.Event().wait()

    async def post(self, stamp: Stamp, part: str, frames: Sequence[bytes]) -> Reply:
        """See `Host.post`."""
        try:
            await self._host.post(stamp, part, frames)
        except Lost as lost:
            return "lost", str(lost)
        return "ok", None

    async def ask(self, stamp: Stamp, part: str, frame: bytes) -> Reply:
        """See `Host.ask`."""
        try:
            return "ok", await self._host.ask(stamp, part, frame)
        except Lost as lost:
            return "lost", str(lost)
        except RemoteFailure as failure:
            return "failed", str(failure)

    async def score(
        self, stamp: Stamp, part: str, request: bytes, snapshot: memoryview | None = None
    ) -> Reply:
        """See `Host.score`."""
        try:
            return "ok", self._host.score(stamp, part, request, snapshot)
        except (Lost, RuntimeError) as lost:
            return "lost", str(lost)


def opened(reply: Reply) -> bytes | None:
    """The frame of a reply. Raises `Lost` or `RemoteFailure`."""
    kind, value = reply
    if kind == "lost":
        raise Lost(value)
    if kind == "failed":
        raise RemoteFailure(value)
    assert value is None or isinstance(value, bytes)
    return value


def raise_refusal(refusal: Refusal) -> NoReturn:
    """Raise the VcrayError again."""
    name, problems = refusal
    kind = getattr(errors, name, VcrayError)
    raise kind(problems)

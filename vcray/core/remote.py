"""The way to a program outside, for the one plugin whose answers come from there.

Rules stay deterministic given the answers; only the composition root knows how to call. A plugin that says `calls_out` finds
the way in its attribute `remote`, and rounds of a policy that has one are decided in a thread, so that waiting blocks nobody.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol


class RemoteError(Exception):
    """No answer, or one that is none: the sentence says why."""


@dataclass(frozen=True, slots=True)
class Call:
    """POST a JSON body to a URL and wait no longer than `timeout_s` for the whole answer."""

    url: str
    body: bytes
    timeout_s: float


class Remote(Protocol):
    """Calls programs outside."""

    def post(self, calls: Sequence[Call]) -> list[bytes | RemoteError]:
        """Make calls, several at the same time; the bodies of their answers, or why there is none, in order. Blocks."""
        ...


class NoRemote:
    """Where there is no way out: every call fails."""

    def post(self, calls: Sequence[Call]) -> list[bytes | RemoteError]:
        """One error for each call."""
        return [RemoteError("nothing outside can be called from here") for _ in calls]


NO_REMOTE = NoRemote()

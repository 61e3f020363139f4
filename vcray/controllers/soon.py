"""Requests that are kept back for a moment, so that many changes become one turn."""

from __future__ import annotations

from vcray.controllers.base import Again, Effects, Request


class Soon:
    """Each request comes `after_s` seconds after it was first asked for, and once, however often it is asked for till then.

    What is kept back is forgotten by a restart, which tells of every object anew."""

    def __init__(self, after_s: float) -> None:
        self._after_s = after_s
        self._kept: set[Request] = set()

    def keep(self, request: Request) -> Effects:
        """Promise the request, unless it is promised already."""
        if request not in self._kept:
            self._kept.add(request)
            yield Again(self._after_s, request)

    def let_go(self, request: Request) -> None:
        """The request is being handled: the next change asks for another."""
        self._kept.discard(request)

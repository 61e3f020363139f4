"""Commits that wait for volumes: sent to the binder again and again, until they are bound, refused, or late.

Whoever binds volumes says nothing to us but by its objects, so each look asks for those; looks become rarer with time.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from vcray.actors.messages import Execute, GangLimits, Outcome
from vcray.core.decisions import Commit, Decisions

FIRST_LOOK_S, LONGEST_S = 0.1, 5.0


@dataclass(slots=True)
class _Held:
    commit: Commit
    limits: tuple[GangLimits, ...]
    since: float
    look_at: float
    pause: float = FIRST_LOOK_S
    asked: bool = False


class Unready:
    """What waits, by job and pods."""

    def __init__(self) -> None:
        self._held: dict[tuple[str, tuple[str, ...]], _Held] = {}

    @property
    def due(self) -> float | None:
        """When the next look is worth its while; None when nothing waits."""
        return min((held.look_at for held in self._held.values() if not held.asked), default=None)

    def note(self, order: Execute, outcomes: Iterable[Outcome], now: float) -> None:
        """Take in what became of an order's commits."""
        waiting = {outcome.uid for outcome in outcomes if outcome.result == "waiting"}
        limits = {limit.job: limit for limit in order.limits}
        for commit in order.decisions.commits:
            known = self._held.pop(_key(commit), None)
            binds = tuple(bind for bind in commit.binds if bind.uid in waiting)
            if not binds:
                continue
            rest = replace(commit, binds=binds)
            since, pause = (known.since, min(known.pause * 2, LONGEST_S)) if known else (now, FIRST_LOOK_S)
            of_job = (limits[commit.job],) if commit.job in limits else ()
            self._held[_key(rest)] = _Held(rest, of_job, since, now + pause, pause)

    def orders(self, generation: int, now: float, all_of_them: bool = False) -> list[Execute]:
        """What is to be sent now, each once until its outcome is noted."""
        found = []
        for held in self._held.values():
            if held.asked or (held.look_at > now and not all_of_them):
                continue
            held.asked = True
            patience = max(bind.before.timeout_s for bind in held.commit.binds if bind.before is not None)
            late = now >= held.since + patience
            decisions = Decisions(generation, commits=(held.commit,))
            found.append(Execute(decisions, held.limits, later=True, last=late))
        return found


def _key(commit: Commit) -> tuple[str, tuple[str, ...]]:
    return commit.job, tuple(bind.uid for bind in commit.binds)

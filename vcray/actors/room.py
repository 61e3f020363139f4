"""Answers how many pods that somebody wants would find a place now, and remembers for a moment what it said.

Who was told of room makes the pods only then; until they are there, nobody else is told of the same room. Nothing that a round
rests on is changed by a question.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from msgspec.structs import replace

from vcray.actors.scoring import Decider
from vcray.cache.merge import Merge
from vcray.cache.supposed import Supposed, Wanted
from vcray.core.policy import Policy
from vcray.core.snapshot import Snapshot
from vcray.foresight.room import Places, missing, room

PROMISED_S: Final = 10.0
"""How long room is kept from other askers while the pods for it are not there."""


class RoomDesk:
    """`complete` adds to a snapshot what is measured elsewhere. While it is asked, nobody else may change the merge."""

    def __init__(
        self, merge: Merge, decider: Decider, complete: Callable[[Snapshot], Snapshot], seed: int
    ) -> None:
        self._merge = merge
        self._decider = decider
        self._complete = complete
        self._seed = seed
        self._promised: dict[tuple[str, str], tuple[float, Wanted]] = {}

    async def answer(self, wanted: Sequence[Wanted], policy: Policy, now: float) -> Places:
        """See `vcray.foresight.room`. Raises QuantityError for pods that cannot be read."""
        present = self._suppose((), now)
        self._forget_old(present, now)
        asked = {(each.job, each.role) for each in wanted}
        promised = [each for key, (_, each) in sorted(self._promised.items()) if key not in asked]
        trial = room(present, wanted, promised)
        try:
            pods = next(trial)
            while True:
                snapshot = self._suppose(pods, now)
                pods = trial.send((snapshot, await self._decider.alone(snapshot, policy)))
        except StopIteration as ended:
            places: Places = ended.value
        for each, found in zip(wanted, places, strict=True):
            if found is not None:
                granted = min(each.count, found // each.hosts * each.hosts)
                self._promised[each.job, each.role] = now + PROMISED_S, replace(each, count=granted)
        return places

    def _suppose(self, pods: Sequence[Supposed], now: float) -> Snapshot:
        return self._complete(self._merge.supposing(pods, now, self._seed))

    def _forget_old(self, present: Snapshot, now: float) -> None:
        """Promises are over with their time, or when their pods are there."""
        self._promised = {
            key: (until, each)
            for key, (until, each) in self._promised.items()
            if until > now and missing(present, each)
        }

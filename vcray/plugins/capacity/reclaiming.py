"""Which candidates may be taken back from their queues.

A candidate goes when its queue stays above its guarantee without it, and either nothing that it asks for is deserved by the
queue (an immediate victim), or the queue holds more than it deserves of something that the candidate asks for. In a tree the
queues above it keep their guarantees too, but for those that are above the claimant's queue as well: inside them it only
moves. Candidates are walked in order and those that go are subtracted; one that stays does not end the walk.

All candidates are judged at once with running sums. That equals the walk as long as nobody of a queue was refused
before, or all of a queue on a node are alike, and as no queue above would lose its guarantee if all of them went; the others
are walked one by one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from vcray.core.arrays import Bool, Int
from vcray.core.space import PODS
from vcray.core.victims import Candidates, Claim, starts
from vcray.core.view import View
from vcray.plugins.capacity.limits import Limits


class Reclaiming:
    """The rules for one session. `paths`: of each queue those that it is charged to, root first, itself last. `level`: up to
    which distance queues above a victim's must hold too much as well."""

    def __init__(
        self,
        view: View,
        held: Sequence[Sequence[int]],
        paths: Sequence[Sequence[int]],
        limits: Limits,
        level: int,
    ) -> None:
        self._held = held
        self._paths = paths
        self._deserved = limits.deserved
        self._asked = limits.deserved > 0
        self._counted = limits.counted
        self._guarantee = limits.guarantee
        self._guarded = limits.guarantee > 0
        sure = np.logical_or.reduce(self._guarded, axis=0)
        self._sure_above = [[at for at in path[:-1] if sure[at]] for path in paths]
        self._level = level
        self._view = view

    def takeable(self, claim: Claim, candidates: Candidates, related: bool) -> Bool:
        """(k,) who may go. `related`: only who holds something (pods aside) that the claim asks for."""
        held = self._view.queues.claimed[:, candidates.queue]
        asks = candidates.request > 0
        ok = self._possible(claim, asks) if related else np.ones(len(candidates), dtype=bool)
        ok &= self._fits(candidates, asks, held)
        if not ok.any():
            return ok
        if self._level > 0:
            return self._walk_all(claim, candidates, asks, ok)
        going = np.where(ok, candidates.request, 0)
        left = held - candidates.running(candidates.queue, going, inclusive=False)
        fine = ok & self._fits(candidates, asks, left)
        for group in (*self._mixed(candidates, ok, ok & ~fine), *self._scarce(claim, candidates, ok)):
            fine[group] = self._walk(claim, candidates, asks, group)
        return fine

    def _possible(self, claim: Claim, asks: Bool) -> Bool:
        wanted = claim.request > 0
        wanted[PODS] = False
        some: Bool = np.logical_or.reduce(asks & wanted[:, None], axis=0)
        return some

    def _fits(self, candidates: Candidates, asks: Bool, held: Int) -> Bool:
        """(k,) may the candidate go when its queue holds `held` (R, k)?"""
        queue = candidates.queue
        guarded = self._guarded[:, queue] & (held - candidates.request < self._guarantee[:, queue])
        any_of = np.logical_or.reduce
        immediate = ~any_of(asks & self._asked[:, queue], axis=0)
        over = any_of(asks & self._counted[:, queue] & (held > self._deserved[:, queue]), axis=0)
        allowed: Bool = ~any_of(guarded, axis=0) & (immediate | over)
        return allowed

    def _mixed(self, candidates: Candidates, ok: Bool, refused: Bool) -> list[Int]:
        """Candidates of a queue on a node, of whom one was refused by the running sums and who are not all alike."""
        if not refused.any():
            return []
        queues = len(self._view.snapshot.queues)
        key = candidates.group * queues + candidates.queue
        rows = np.flatnonzero(ok & np.isin(key, np.unique(key[refused])))
        rows = rows[np.argsort(key[rows], kind="stable")]
        shape = self._view.snapshot.tasks.shape[candidates.task[rows]]
        edges = np.flatnonzero(np.diff(key[rows])) + 1
        parts = zip(np.split(rows, edges), np.split(shape, edges), strict=True)
        return [part for part, kinds in parts if (kinds != kinds[0]).any()]

    def _scarce(self, claim: Claim, candidates: Candidates, ok: Bool) -> Iterator[Int]:
        """Candidates of a node below a queue that would lose some of its guarantee if all of them went, lower queues first."""
        below: dict[int, list[int]] = {}
        for queue in np.unique(candidates.queue[ok]).tolist():
            for at in self._sure_for(claim, queue):
                below.setdefault(at, []).append(queue)
        for at in sorted(below, key=lambda at: -len(self._paths[at])):
            rows = np.flatnonzero(ok & np.isin(candidates.queue, below[at]))
            first = np.flatnonzero(starts(candidates.group[rows]))
            going = np.add.reduceat(candidates.request[:, rows], first, axis=1)
            held = np.array(self._held[at], dtype=np.int64)
            short = held[:, None] - going < self._guarantee[:, at, None]
            breaks = np.logical_or.reduce(short & self._guarded[:, at, None], axis=0).tolist()
            yield from (
                part for part, broken in zip(np.split(rows, first[1:]), breaks, strict=True) if broken
            )

    # ---- one by one ----

    def _walk_all(self, claim: Claim, candidates: Candidates, asks: Bool, ok: Bool) -> Bool:
        fine = np.zeros_like(ok)
        for group in candidates.groups():
            rows = np.flatnonzero(ok[group]) + group.start
            if len(rows):
                fine[rows] = self._walk(claim, candidates, asks, rows)
        return fine

    def _walk(self, claim: Claim, candidates: Candidates, asks: Bool, rows: Int) -> list[bool]:
        """Who of one node goes, in order; `rows` are those that could."""
        held: dict[int, Int] = {}
        out = []
        for row in rows.tolist():
            request, queue = candidates.request[:, row], int(candidates.queue[row])
            chain = (queue, *self._above(claim, queue))
            sure = (queue, *self._sure_for(claim, queue))
            for at in {*chain, *sure}:
                if at not in held:
                    held[at] = np.array(self._held[at], dtype=np.int64)
            goes = not any(self._breaks(at, held[at] - request) for at in sure)
            goes = goes and self._goes(claim, chain, asks[:, row], held)
            if goes:
                for at in {*chain, *sure}:
                    held[at] = held[at] - request
            out.append(goes)
        return out

    def _breaks(self, queue: int, left: Int) -> bool:
        return bool((self._guarded[:, queue] & (left < self._guarantee[:, queue])).any())

    def _goes(self, claim: Claim, chain: Sequence[int], asks: Bool, held: dict[int, Int]) -> bool:
        queue = chain[0]
        if self._immediate(queue, asks):
            if self._level > 0 and self._shares_a_branch(claim, queue):
                return False
        elif not self._over(queue, asks, held[queue]):
            return False
        return all(self._immediate(at, asks) or self._over(at, asks, held[at]) for at in chain[1:])

    def _immediate(self, queue: int, asks: Bool) -> bool:
        return not (asks & self._asked[:, queue]).any()

    def _over(self, queue: int, asks: Bool, held: Int) -> bool:
        return bool((asks & self._counted[:, queue] & (held > self._deserved[:, queue])).any())

    # ---- ancestors ----

    def _sure_for(self, claim: Claim, queue: int) -> list[int]:
        """Queues above a victim's that are sure of something and lose what it holds: those not above the claimant's."""
        mine = self._paths[claim.queue]
        return [at for at in self._sure_above[queue] if at not in mine]

    def _at_distance(self, queue: int, distance: int) -> int | None:
        """The queue so far above, None for root and beyond."""
        path = self._paths[queue]
        place = len(path) - 1 - distance
        return path[place] if place >= 0 and path[place] != self._view.tree.root else None

    def _above(self, claim: Claim, queue: int) -> list[int]:
        """Queues above a victim's that must hold too much too: those that are not above the claimant's at the same distance."""
        found = []
        for distance in range(1, self._level + 1):
            above = self._at_distance(queue, distance)
            if above is not None and above != self._at_distance(claim.queue, distance):
                found.append(above)
        return found

    def _shares_a_branch(self, claim: Claim, queue: int) -> bool:
        """Both queues hang under one near queue, and the claimant's deserves nothing of what it asks for."""
        if (self._asked[:, claim.queue] & (claim.request > 0)).any():
            return False
        near = range(1, self._level + 1)
        mine = {self._at_distance(claim.queue, distance) for distance in near} - {None}
        return any(self._at_distance(queue, distance) in mine for distance in near)


@dataclass(frozen=True, slots=True)
class Asking:
    """May a queue take from others for a request?"""

    held: Sequence[Sequence[int]]
    limits: Limits
    level: int

    def allowed(self, view: View, queue: int, request: Int) -> bool:
        """Within what it may hold of all that it asks for, and within what it deserves of one thing at least, itself or (with
        a level) a near queue above it."""
        asked = [row for row in np.flatnonzero(request > 0).tolist() if row != PODS]
        held, real = self.held[queue], self.limits.real[:, queue].tolist()
        if any(held[row] + request[row] > real[row] for row in asked):
            return False
        path = view.tree.paths[queue]
        near = [at for at in path[-1 - self.level : -1] if at != view.tree.root] if self.level else []
        return any(
            self.held[at][row] + request[row] <= self.limits.deserved[row, at]
            for at in (queue, *near)
            for row in asked
        )

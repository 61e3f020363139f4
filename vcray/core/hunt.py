"""Makes room for one pod by evicting others, or leaves everything as it was.

First it looks where the pod may go as things are: nobody is evicted for what fits. Then it walks the nodes in the action's
order, a chunk at a time: plugins judge the candidates of the whole chunk, and on the first node where what may go is enough
the least valuable go, no more than needed. Who leads a gang is left out as long as any node can do without. A claim succeeds only
with its pod promised to the node in the ledger, after quota and filters were asked again: nothing is evicted for a pod that would
not fit then.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from weakref import WeakKeyDictionary

import numpy as np

from vcray.core.arrays import Bool, Int
from vcray.core.candidates import Pool
from vcray.core.choose import Scope
from vcray.core.classes import Class
from vcray.core.leaders import must_stay
from vcray.core.ranking import Ranking, best_first
from vcray.core.session import Session
from vcray.core.tables import MISSING, Status
from vcray.core.victims import Candidates, Claim, ClaimKind, starts


def _without(tasks: list[int], gone: Sequence[int]) -> list[int]:
    left = set(gone)
    return [task for task in tasks if task not in left]


@dataclass(frozen=True, slots=True)
class Yield:
    """One node and the tasks that may go there, least valuable first."""

    node: int
    victims: list[int]
    request: Int  # (R, k)

    def without(self, taken: Sequence[int]) -> Yield:
        """What is left once some have gone."""
        gone = set(taken)
        rest = [at for at, victim in enumerate(self.victims) if victim not in gone]
        return Yield(self.node, [self.victims[at] for at in rest], self.request[:, rest])


class Hunt:
    """The claims of one action. `scored`: walk nodes by score, else in the order of their tie rank."""

    def __init__(self, session: Session, kind: ClaimKind, scored: bool) -> None:
        self.session = session
        self.kind = kind
        self.reason = kind.value
        self.scored = scored
        self.promises_for = ""
        """The reason that goes with promises of room that is there: some of the gang's other pods cost evictions."""
        self._rankings: dict[Class, Ranking] = {}
        self._failed: WeakKeyDictionary[Pool, dict[object, int]] = WeakKeyDictionary()
        self._more: tuple[object, int, Yield, bool] | None = None
        self._looked = False
        self._spares = True
        """Are leaders left out?"""
        self._left_out = False
        """Was one, since the last look at all nodes began?"""

    def claim(self, task: int, pool: Pool, others: bool = True, scope: Scope | None = None) -> bool:
        """Room for a pending task: promised in the ledger, with the evictions that it takes. False: nothing changed.

        `others`: victims are pods of other jobs; else of its own, and what fits without eviction is not taken up. `scope`: the
        part of the cluster that the task must be in; the pool has nothing elsewhere."""
        session, view = self.session, self.session.view
        table = view.snapshot.tasks
        job, shape = int(table.job[task]), view.shapes[int(table.shape[task])]
        queue = int(view.snapshot.jobs.queue[job])
        cls = session.placer.class_of(job, shape)
        claim = Claim(self.kind, job, queue, (task,), shape.request)
        alike = (self._key(claim, cls, others), MISSING if scope is None else scope.hypernode)
        key = (alike, pool)
        failed = self._failed.setdefault(pool, {})
        if failed.get(alike) == session.ledger.version:
            return False
        self._looked = others and session.chains.queue_allows(view, queue, shape, 1) > 0
        if self._looked:
            near = self._only_place(key, cls)
            if near is None:
                if session.placer.promise(job, shape, task, scope, self.promises_for):
                    return True
            elif session.placer.promise_at(job, shape, task, near, self.promises_for):
                return True
        if self._evict_somewhere(claim, cls, pool, others, key):
            return True
        failed[alike] = session.ledger.version
        return False

    def _only_place(self, key: object, cls: Class) -> int | None:
        """The one node where room may have come up since an equal claim looked everywhere; None: look everywhere again."""
        if self._more is None or self._more[:2] != (key, self.session.ledger.version) or not self._more[3]:
            return None
        spec = cls.shape.spec
        across = (
            cls.moves or cls.reserves or spec.affinity or spec.anti_affinity or spec.spread or spec.matches
        )
        return None if across else self._more[2].node

    def _key(self, claim: Claim, cls: Class, others: bool) -> object:
        """Claims with equal keys end alike in the same state: nothing that judges them tells them apart. Own pods of the
        claimant's job would, so such a job stands for itself."""
        view = self.session.view
        count = view.jobs.count
        alone = not others or count[Status.RUNNING, claim.job] + count[Status.BOUND, claim.job] > 0
        key = self.session.chains.verdicts.claim_key(view, claim)
        return (
            cls,
            claim.queue,
            claim.job if alone else MISSING,
            others,
            key,
            *self._kind(cls, claim.tasks[0]),
        )

    def _kind(self, cls: Class, task: int) -> tuple[int, ...]:
        return self.session.ledger.reservations.kind(cls.shape, task) if cls.reserves else ()

    def _evict_somewhere(self, claim: Claim, cls: Class, pool: Pool, others: bool, key: object) -> bool:
        """Without the leaders of gangs whose other pods could go instead; with them when that is not enough anywhere."""
        self._left_out = False
        if self._evict_among(claim, cls, pool, others, key):
            return True
        if not self._left_out:
            return False
        self._spares, self._more = False, None
        try:
            return self._evict_among(claim, cls, pool, others, key)
        finally:
            self._spares, self._more = True, None

    def _evict_among(self, claim: Claim, cls: Class, pool: Pool, others: bool, key: object) -> bool:
        for found in self._offers(claim, cls, pool, others, key):
            mark = self.session.ledger.checkpoint()
            self.session.meter.attempts += 1
            before = pool.standing(found.node, claim.queue)
            if self.take(claim, cls, found):
                taken = self.session.ledger.evicted_since(mark)
                left = found.without(taken)
                if left.victims and pool.standing(found.node, claim.queue) != _without(before, taken):
                    left = Yield(found.node, [], found.request[:, :0])
                self._more = (key, self.session.ledger.version, left, self._looked)
                return True
        return False

    def _offers(self, claim: Claim, cls: Class, pool: Pool, others: bool, key: object) -> Iterator[Yield]:
        """The node where an equal claim has just evicted, as long as it can give more, then all.

        Plugins judged those behind the ones taken as if these were gone, which they are now; where none are left the next tier
        may name others, and where a job that gave has moved among the candidates plugins judge all anew. Where nodes go by score,
        which the last claim has moved, it must still be the best; where they go by cost too."""
        if pool.costs is not None and not self.scored:
            yield from self._cheap_first(cls, pool.costs, self.yields(claim, cls, pool, others))
            return
        known: Yield | None = None
        if self._more is not None and self._more[:2] == (key, self.session.ledger.version):
            known = self._more[2] if self._more[2].victims else None
            if known is not None and not self.scored:
                yield known
        yield from self.yields(claim, cls, pool, others, known)

    def _cheap_first(self, cls: Class, costs: Int, found: Iterator[Yield]) -> Iterator[Yield]:
        """Those whose victims cost nothing in the order they come, then the others by what the victims cost in all."""
        dear: list[tuple[int, Yield]] = []
        for each in found:
            going = self._fewest(cls, each) or each.victims[:1]
            cost = int(np.maximum(costs[going], 0).sum())
            if cost:
                dear.append((cost, each))
            else:
                yield each
        yield from (each for _, each in sorted(dear, key=lambda pair: pair[0]))

    # ---- where ----

    def yields(
        self, claim: Claim, cls: Class, pool: Pool, others: bool, known: Yield | None = None
    ) -> Iterator[Yield]:
        """Nodes where what may go is enough for the request, in order; the caller may evict between.

        `known`: what plugins said of one node already."""
        view = self.session.view
        future = view.nodes.future
        for nodes in self._nodes(cls, pool):
            if known is not None and len(nodes) == 1 and nodes[0] == known.node:
                if self.scored:
                    yield known
                continue
            candidates = self._candidates(claim, cls, pool, nodes, others)
            if not len(candidates):
                continue
            first = np.flatnonzero(starts(candidates.group))
            ends = [*first[1:].tolist(), len(candidates)]
            where = nodes[candidates.group[first]]
            enough = np.ones(len(first), dtype=bool)
            for r, amount in cls.fit if cls.fits else ():
                enough &= future[r, where] + np.add.reduceat(candidates.request[r], first) >= amount
            for at in np.flatnonzero(enough).tolist():
                part = slice(int(first[at]), ends[at])
                victims: list[int] = candidates.task[part].tolist()
                self.session.meter.victims = len(victims)
                yield Yield(int(where[at]), victims, candidates.request[:, part])

    def _nodes(self, cls: Class, pool: Pool) -> Iterator[Int]:
        """Nodes that hold enough for the request if all of the pool went, in chunks."""
        pool.refresh()
        future = self.session.view.nodes.future
        possible: Bool = cls.static & pool.holds
        for r, amount in cls.fit if cls.fits else ():
            possible = possible & (future[r] + pool.sums[r] >= amount)
        if not possible.any():
            return iter(())
        if not self.scored:
            return best_first(self.session.view.snapshot.nodes.tie, possible)
        ranking = self._rankings.get(cls)
        if ranking is None:
            ranking = self._rankings[cls] = Ranking(cls)
        return best_first(ranking.keys(), possible)

    def _candidates(self, claim: Claim, cls: Class, pool: Pool, nodes: Int, others: bool) -> Candidates:
        """Those that the action may look at and the plugins let go."""
        view = self.session.view
        found = pool.candidates(nodes, claim.queue)
        wanted = (found.job != claim.job) if others else (found.job == claim.job)
        if not cls.fits:
            wanted &= view.best_effort[view.snapshot.tasks.shape[found.task]]
        stay = must_stay(view, found.task) if self._spares else None
        if stay is not None and (stay & wanted).any():
            wanted = wanted & ~stay
            self._left_out = True
        if not wanted.all():
            found = found.at(np.flatnonzero(wanted))
        allowed = self.session.chains.verdicts.allowed(view, claim, found)
        return found if allowed.all() else found.at(np.flatnonzero(allowed))

    # ---- who ----

    def take(self, claim: Claim, cls: Class, found: Yield) -> bool:
        """Evict what is needed and promise the node to the claim's task; False: the node would not take it, nothing changed."""
        ledger = self.session.ledger
        mark = ledger.checkpoint()
        fewest = self._fewest(cls, found)
        if fewest is None:
            return False
        if fewest:
            self._evict(fewest)
            if self._settle(claim, cls, found.node):
                return True
            ledger.rollback(mark)
        taken = self._until_it_settles(claim, cls, found)
        if not taken:
            ledger.rollback(mark)
            return False
        self._spare(claim, cls, found.node, mark, taken)
        return True

    def _fewest(self, cls: Class, found: Yield) -> list[int] | None:
        """By amounts alone: the shortest stretch from the least valuable on that is enough, without those not needed in it.
        None when all are too few."""
        future = self.session.view.nodes.future[:, found.node].tolist()
        short = {r: amount - future[r] for r, amount in cls.fit if amount > future[r]} if cls.fits else {}
        if not short:
            return []
        rows = list(short)
        # One pod for one pod is by far the most frequent: no need to look at the others.
        if found.victims and (found.request[rows, 0] >= list(short.values())).all():
            return found.victims[:1]
        gives = found.request[rows].T.tolist()
        left = list(short.values())
        count = 0
        while any(amount > 0 for amount in left):
            if count == len(gives):
                return None
            left = [amount - give for amount, give in zip(left, gives[count], strict=True)]
            count += 1
        kept = list(range(count))
        for at in reversed(range(count - 1)):
            without = [amount + give for amount, give in zip(left, gives[at], strict=True)]
            if all(amount <= 0 for amount in without):
                left = without
                kept.remove(at)
        return [found.victims[at] for at in kept]

    def _until_it_settles(self, claim: Claim, cls: Class, found: Yield) -> list[int]:
        """Evict one after the other until quota, room and filters let the task in; empty when they never do."""
        taken: list[int] = []
        for victim in found.victims:
            self._evict([victim])
            taken.append(victim)
            if self._settle(claim, cls, found.node):
                return taken
        return []

    def _spare(self, claim: Claim, cls: Class, node: int, mark: int, taken: list[int]) -> None:
        """Take back evictions that the task does not need after all, the most valuable first."""
        for victim in taken[-2::-1]:
            fewer = [task for task in taken if task != victim]
            if self.redo(claim, cls, node, mark, fewer):
                taken = fewer
            else:
                self.redo(claim, cls, node, mark, taken)

    def redo(self, claim: Claim, cls: Class, node: int, mark: int, victims: Sequence[int]) -> bool:
        """From the mark on: these evictions and the promise; True when the node takes the task."""
        self.session.ledger.rollback(mark)
        self._evict(victims)
        return self._settle(claim, cls, node)

    def _evict(self, victims: Sequence[int]) -> None:
        for victim in victims:
            self.session.ledger.evict(victim, self.reason)

    def _settle(self, claim: Claim, cls: Class, node: int) -> bool:
        session = self.session
        if session.chains.queue_allows(session.view, claim.queue, cls.shape, 1) < 1:
            return False
        return session.placer.promise_at(claim.job, cls.shape, claim.tasks[0], node, self.reason)


def pool_tasks(session: Session, statuses: Sequence[int]) -> Int:
    """Tasks on nodes in one of the statuses that their annotation lets go, of jobs in a queue."""
    view = session.view
    tasks = view.snapshot.tasks
    willing = np.array([facts.preemptable for facts in view.snapshot.pod_facts], dtype=bool)
    rows = np.flatnonzero(np.isin(view.status, statuses) & (tasks.node != MISSING))
    rows = rows[willing[tasks.facts[rows]]]
    owned: Int = rows[view.snapshot.jobs.queue[tasks.job[rows]] != MISSING]
    return owned

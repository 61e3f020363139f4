"""Makes room for a whole gang with the least damage, inside one HyperNode where the gang must stay near, or not at all.

Per domain the bundles of what others can give (`vcray.core.bundles`) are put together until they could be enough, and the gang is
tried in the ledger: whole bundles go, pods of safe ones only where one is needed, members are promised nodes until the gang can
start. More bundles are added until that works; those that turn out not to be needed stay. Without success all is undone.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from vcray.api import names
from vcray.core.arrays import Bool, Int
from vcray.core.bundles import Bundle, Bundles
from vcray.core.candidates import Pool
from vcray.core.choose import Scope
from vcray.core.hunt import Hunt, pool_tasks
from vcray.core.moves import Kind
from vcray.core.parthooks import Purpose
from vcray.core.session import Session
from vcray.core.subjobs import Parts, SubJob
from vcray.core.tables import MISSING, Status
from vcray.core.victims import Claim, ClaimKind

_NOBODY: Int = np.zeros(0, dtype=np.int64)


class GangHunt:
    """The attempts of one action, one a job. `most`: domains looked at; `whole`: may gangs be broken?"""

    def __init__(self, session: Session, kind: ClaimKind, most: int, whole: bool) -> None:
        self.session = session
        self.view = session.view
        self.kind = kind
        self.most = most
        self.whole = whole
        self.hunt = Hunt(session, kind, scored=True)
        reclaims = kind is ClaimKind.GANG_RECLAIM
        statuses = (Status.RUNNING,) if reclaims else (Status.BOUND, Status.RUNNING)
        rows = pool_tasks(session, statuses)
        self._victims = rows[~_kept(session)[self.view.snapshot.tasks.job[rows]]]
        self._failed: dict[object, int] = {}

    def attempt(self, job: int, tasks: Sequence[int]) -> bool:
        """Room for the gang's pending tasks (rows, in order); True with promises and evictions in the ledger."""
        version = self.session.ledger.version
        claim = self._claim(job, tasks)
        key = self._key(claim, tasks)
        if self._failed.get(key) == version or not self._may_claim(claim):
            return False
        for domain in self._domains(job):
            if _Domain(self, claim, list(tasks), domain).run():
                return True
        self._failed[key] = version
        return False

    def _claim(self, job: int, tasks: Sequence[int]) -> Claim:
        """What the gang lacks: as many of its tasks as make it ready, at least the smallest of them."""
        view, chains = self.view, self.session.chains
        rows = np.array(tasks, dtype=np.int64)
        count = min(len(rows), chains.gang_need(view, job, rows))
        each = view.requests[:, view.snapshot.tasks.shape[rows]]
        need: Int = np.sort(each, axis=1)[:, :count].sum(axis=1)
        return Claim(self.kind, job, int(view.snapshot.jobs.queue[job]), tuple(tasks), need)

    def _may_claim(self, claim: Claim) -> bool:
        if self.kind is not ClaimKind.GANG_RECLAIM:
            return True
        return self.session.chains.verdicts.queue_preemptive(self.view, claim.queue, claim.request)

    def _key(self, claim: Claim, tasks: Sequence[int]) -> object:
        """Gangs with equal keys fail alike in the same state; one with parts or with pods on nodes stands for itself."""
        view, table = self.view, self.view.snapshot.tasks
        held = view.jobs.count[:, claim.job].sum() > len(tasks)
        if held or claim.job in view.subjobs.of_job or self.session.chains.class_keys:
            return claim.job
        shapes = tuple(zip(table.shape[list(tasks)].tolist(), table.role[list(tasks)].tolist(), strict=True))
        least = int(view.snapshot.jobs.min_available[claim.job])
        priority = int(view.snapshot.jobs.priority[claim.job])
        roles = view.snapshot.jobs.role_minimum[claim.job]
        return claim.queue, shapes, least, priority, roles, self._judged_by(claim)

    def _judged_by(self, claim: Claim) -> object:
        return self.session.chains.verdicts.claim_key(self.view, claim)

    def _domains(self, job: int) -> list[int]:
        """HyperNodes to look at, narrow ones first; the whole cluster for a job that need not stay near."""
        top, parts = self.view.hypernodes.top, self.view.subjobs.of_job.get(job)
        if parts is None or (parts.limit is None and all(sub.limit is None for sub in parts.subjobs)):
            return [top]
        groups = self.session.chains.parts.gradients(self.view, parts, top, Purpose.EVICT)
        return list(dict.fromkeys(row for group in groups for row in group))[: self.most]

    def victims(self, claim: Claim, rows: Int | None) -> Int:
        """Tasks on these nodes (None: all) that the action may look at."""
        view = self.view
        table, jobs = view.snapshot.tasks, view.snapshot.jobs
        tasks = self._victims[np.isin(view.status[self._victims], (Status.RUNNING, Status.BOUND))]
        owner = table.job[tasks]
        if self.kind is ClaimKind.GANG_RECLAIM:
            give = view.snapshot.queues.reclaimable.copy()
            give[claim.queue] = False
            mask = give[jobs.queue[owner]]
        else:
            mask = (jobs.queue[owner] == claim.queue) & (jobs.priority[owner] < jobs.priority[claim.job])
        if rows is not None:
            inside = np.zeros(len(view.snapshot.nodes), dtype=bool)
            inside[rows] = True
            mask &= inside[table.node[tasks]]
        return tasks[mask]


class _Domain:
    """One gang in one domain."""

    def __init__(self, owner: GangHunt, claim: Claim, tasks: list[int], domain: int) -> None:
        self.owner = owner
        self.session = owner.session
        self.view = owner.view
        self.claim = claim
        self.tasks = tasks
        self.domain = domain
        tree = self.view.hypernodes
        self.rows: Int | None = None if domain == tree.top else tree.rows(domain)
        self.mark = self.session.ledger.checkpoint()
        self.started = self.session.chains.job_pipelined(self.view, claim.job)

    def run(self) -> bool:
        """As things are, else with as few bundles as will do."""
        if self._plan([]):
            return True
        victims = self.owner.victims(self.claim, self.rows)
        if not len(victims):
            return False
        bundles = Bundles(self.view, self.session.chains, self.claim, victims)
        offered = [bundle for bundle in bundles.all if bundle.safe or self.owner.whole]
        first = self._first_enough(bundles, offered)
        chosen = self._fewest(offered, first) if first else None
        if chosen is None:
            return False
        self._without_needless(chosen)
        return True

    def _first_enough(self, bundles: Bundles, offered: Sequence[Bundle]) -> int:
        """How many bundles could be enough by amounts; 0 when all are too few."""
        future = self.view.nodes.future if self.rows is None else self.view.nodes.future[:, self.rows]
        have = np.maximum(future, 0).sum(axis=1)
        for count, bundle in enumerate(offered, start=1):
            have = have + bundles.requests(bundle)
            if (self.claim.request <= have).all():
                return count
        return 0

    def _fewest(self, offered: Sequence[Bundle], first: int) -> Sequence[Bundle] | None:
        """The shortest beginning of the list that works, its plan in the ledger; None with nothing changed."""
        fails, step, works = first - 1, 1, first
        while not self._plan(offered[:works]):
            if works == len(offered):
                return None
            fails, works, step = works, min(works + step, len(offered)), step * 2
        while works - fails > 1:
            middle = (fails + works) // 2
            self._undo()
            if self._plan(offered[:middle]):
                works = middle
                continue
            fails = middle
            self._plan(offered[:works])
        return offered[:works]

    def _without_needless(self, chosen: Sequence[Bundle]) -> None:
        """Leave out whole bundles that the gang can do without: those that gave no member its place first, all at once, then
        those whose pods would still have room, the most valuable first."""
        left = list(chosen)
        seats = self._seats()
        nodes = self.view.snapshot.tasks.node
        idle = [
            each
            for each in chosen
            if not each.safe and not seats.intersection(nodes[list(each.tasks)].tolist())
        ]
        if idle:
            left = self._try_without(left, idle)
        for bundle in [each for each in reversed(chosen) if not each.safe]:
            if bundle in left and self._would_fit(bundle):
                left = self._try_without(left, [bundle])

    def _try_without(self, left: list[Bundle], needless: Sequence[Bundle]) -> list[Bundle]:
        """The plan without some bundles if that works, else as it was; what is in the plan now."""
        spared = {id(bundle) for bundle in needless}
        fewer = [bundle for bundle in left if id(bundle) not in spared]
        self._undo()
        if self._plan(fewer):
            return fewer
        self._plan(left)
        return left

    def _seats(self) -> set[int]:
        """Nodes that members are promised."""
        return {
            node
            for entry in self.session.ledger.entries[self.mark :]
            if entry.reason and entry.kind is Kind.PIPELINE
            for node in entry.nodes
        }

    def _would_fit(self, bundle: Bundle) -> bool:
        """Is there room left for the bundle beside the members, by amounts?"""
        table = self.view.snapshot.tasks
        held: dict[int, Int] = {}
        for task in bundle.tasks:
            node = int(table.node[task])
            request = self.view.shapes[int(table.shape[task])].request
            held[node] = held[node] + request if node in held else request
        future = self.view.nodes.future
        return all(bool((future[:, node] >= amount).all()) for node, amount in held.items())

    def _undo(self) -> None:
        self.session.ledger.rollback(self.mark)

    # ---- a plan ----

    def _plan(self, bundles: Sequence[Bundle]) -> bool:
        """Evict and promise; False with nothing changed when the gang could not start."""
        ledger = self.session.ledger
        for bundle in bundles:
            for task in () if bundle.safe else bundle.tasks:
                ledger.evict(task, self.owner.kind.value)
        safe = np.array([t for bundle in bundles if bundle.safe for t in bundle.tasks], dtype=np.int64)
        pool = Pool(self.view, self.session.chains, ledger, safe)
        self.owner.hunt.promises_for = self.owner.kind.value if bundles else ""
        if self._place(pool):
            return True
        self._undo()
        return False

    def _place(self, pool: Pool) -> bool:
        parts = self.view.subjobs.of_job.get(self.claim.job)
        if parts is None:
            before = len(self.session.ledger.entries)
            self._promise(self.tasks, pool, self._scope(self.domain, None), None)
            grown = len(self.session.ledger.entries) > before
        else:
            grown = self._place_parts(parts, pool)
        return grown and self.session.chains.job_pipelined(self.view, self.claim.job)

    def _place_parts(self, parts: Parts, pool: Pool) -> bool:
        chains = self.session.chains
        waiting = [sub for sub in parts.subjobs if self._pending(sub)]
        waiting.sort(key=lambda sub: chains.parts.key(self.view, sub))
        placed: list[tuple[SubJob, int]] = []
        for sub in waiting:
            hypernode = self._place_part(parts, sub, pool)
            if hypernode is None:
                return False
            placed.append((sub, hypernode))
            if self.started or chains.job_pipelined(self.view, self.claim.job):
                break
        for sub, hypernode in placed:
            sub.nominated = hypernode if sub.near else MISSING
        return bool(placed)

    def _place_part(self, parts: Parts, sub: SubJob, pool: Pool) -> int | None:
        """Promise nodes to a part inside the first HyperNode that takes it; None with nothing changed when none does."""
        chains, ledger = self.session.chains, self.session.ledger
        domains = [self.domain]
        if sub.limit is not None:
            groups = chains.parts.gradients(self.view, sub, self.domain, Purpose.EVICT)
            domains = [row for group in groups for row in group]
        for hypernode in domains:
            mark = ledger.checkpoint()
            self._promise(
                self._pending(sub), pool, self._scope(hypernode, sub), sub if parts.grouped else None
            )
            if ledger.checkpoint() > mark and self._may_stay(parts, sub):
                return hypernode
            ledger.rollback(mark)
        return None

    def _may_stay(self, parts: Parts, sub: SubJob) -> bool:
        chains = self.session.chains
        if not parts.grouped:
            return chains.job_pipelined(self.view, self.claim.job)
        return chains.parts.ready(self.view, sub) or chains.parts.pipelined(self.view, sub)

    def _pending(self, sub: SubJob) -> list[int]:
        rows = np.array(self.tasks, dtype=np.int64)
        own = self.view.subjobs.of_task[rows] == sub.number
        pending: list[int] = rows[own & (self.view.status[rows] == Status.PENDING)].tolist()
        return pending

    def _promise(self, tasks: Sequence[int], pool: Pool, scope: Scope, sub: SubJob | None) -> None:
        """Claim for one task after the other until no more are needed; one that finds nothing is passed over."""
        for task in tasks:
            if self._enough(sub):
                break
            self.owner.hunt.claim(task, pool, scope=scope)

    def _enough(self, sub: SubJob | None) -> bool:
        chains = self.session.chains
        if sub is not None:
            return chains.parts.ready(self.view, sub) or chains.parts.pipelined(self.view, sub)
        if self.started:
            return not chains.job_starving(self.view, self.claim.job)
        return chains.job_pipelined(self.view, self.claim.job)

    def _scope(self, hypernode: int, sub: SubJob | None) -> Scope:
        tree = self.view.hypernodes
        rows = None if hypernode == tree.top else tree.rows(hypernode)
        running = sub.allocated if sub is not None and sub.near else MISSING
        return Scope(hypernode, rows, sub, running)


def _kept(session: Session) -> Bool:
    """(J,) jobs whose PodGroup says that it is not preemptable; one that says nothing may lose pods."""
    jobs = session.view.snapshot.jobs
    said = [any(key == names.PREEMPTABLE for key, _ in notes) for notes in jobs.notes]
    kept: Bool = np.array(said, dtype=np.bool_) & ~jobs.preemptable
    return kept

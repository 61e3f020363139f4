"""The laws of hooks that judge victims and of hooks that reserve, for `vcray.core.check`.

 9  what is said of the candidates on one node is said of them among the candidates of other nodes too
10  claims with equal `claim_key` are judged alike, and so are those behind a victim once it has gone
11  reserving and undoing, releasing and undoing restore every answer
12  placing or evicting and rolling back restores what is said of victims
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np

from vcray.core.arrays import Int
from vcray.core.candidates import Pool, takeable
from vcray.core.session import Session
from vcray.core.tables import MISSING, Status
from vcray.core.verdicts import HOOK_OF
from vcray.core.victims import Candidates, Claim, ClaimKind

MOST_CLAIMS = 4
Breach = tuple[int, str, str]
"""Law, hook, what."""


def breaches_of_claims(session: Session, answers: Callable[[], object]) -> Iterator[Breach]:
    """Laws 9 to 12 on one session of one plugin; `answers` is all that its node hooks say, comparable."""
    (plugin, _), *_ = session.chains.plugins[0]
    for kind, (hook, _) in HOOK_OF.items():
        if callable(getattr(plugin, hook, None)):
            for claim in _claims(session, kind):
                yield from _Judged(session, claim, getattr(plugin, hook), hook).breaches(plugin)
    yield from _reservations(session, answers)


def _claims(session: Session, kind: ClaimKind) -> list[Claim]:
    """A claim for the first pending tasks, one a job and shape."""
    view, tasks = session.view, session.view.snapshot.tasks
    found: dict[tuple[int, int], Claim] = {}
    for task in np.flatnonzero((view.status == Status.PENDING) & ~tasks.gated).tolist():
        job, shape = int(tasks.job[task]), int(tasks.shape[task])
        if job == MISSING or view.snapshot.jobs.queue[job] == MISSING:
            continue
        queue = int(view.snapshot.jobs.queue[job])
        found.setdefault((job, shape), Claim(kind, job, queue, (task,), view.requests[:, shape]))
    return list(found.values())[:MOST_CLAIMS]


class _Judged:
    """One claim and one hook that judges its victims."""

    def __init__(self, session: Session, claim: Claim, judge: Callable[..., object], hook: str) -> None:
        self.session, self.claim, self.judge, self.hook = session, claim, judge, hook
        self.pool = self._pool()
        self.nodes: Int = np.flatnonzero(self.pool.holds)

    def _pool(self) -> Pool:
        view, tasks, jobs = (
            self.session.view,
            self.session.view.snapshot.tasks,
            self.session.view.snapshot.jobs,
        )
        running = takeable(view.status) & (tasks.job != MISSING) & (tasks.node != MISSING)
        other = running & (tasks.job != self.claim.job) & (jobs.queue[tasks.job] != MISSING)
        same_queue = jobs.queue[tasks.job] == self.claim.queue
        within = self.claim.kind in (ClaimKind.PREEMPT, ClaimKind.GANG_PREEMPT)
        rows = np.flatnonzero(other & (same_queue if within else ~same_queue))
        return Pool(view, self.session.chains, self.session.ledger, rows)

    def candidates(self, nodes: Int) -> Candidates:
        self.pool.refresh()
        return self.pool.candidates(nodes, self.claim.queue)

    def said(self, candidates: Candidates, claim: Claim | None = None) -> dict[int, bool] | None:
        """Task -> may it go; None when the plugin abstains."""
        mask = self.judge(self.session.view, claim or self.claim, candidates)
        if mask is None:
            return None
        assert isinstance(mask, np.ndarray)
        return dict(zip(candidates.task.tolist(), mask.tolist(), strict=True))

    def breaches(self, plugin: object) -> Iterator[Breach]:
        """All laws of this claim."""
        if not len(self.nodes):
            return
        together = self.said(self.candidates(self.nodes))
        where = f"{self.claim.kind.value} for {self.session.view.snapshot.tasks.names[self.claim.tasks[0]]}"
        for node in self.nodes.tolist():
            alone = self.said(self.candidates(np.array([node])))
            expected = None if alone is None or together is None else {t: together[t] for t in alone}
            if alone != expected:
                name = self.session.view.snapshot.nodes.names[node]
                yield 9, self.hook, f"{where}: the victims on {name} are others when it is asked about alone"
        yield from self._rolled_back(where, together)
        if callable(getattr(plugin, "claim_key", None)):
            yield from self._alike(where, together, plugin.claim_key)  # type: ignore[attr-defined]
            yield from self._behind(where)

    def _rolled_back(self, where: str, before: dict[int, bool] | None) -> Iterator[Breach]:
        ledger, view = self.session.ledger, self.session.view
        task = self.claim.tasks[0]
        shape = view.shapes[int(view.snapshot.tasks.shape[task])]
        mark = ledger.checkpoint()
        ledger.evict(int(self.candidates(self.nodes).task[0]))
        ledger.place(self.claim.job, shape, [task], [int(self.nodes[0])])
        ledger.rollback(mark)
        if self.said(self.candidates(self.nodes)) != before:
            yield 12, self.hook, f"{where}: rolling back did not restore who may go"

    def _alike(
        self, where: str, before: dict[int, bool] | None, key: Callable[..., object]
    ) -> Iterator[Breach]:
        view, tasks = self.session.view, self.session.view.snapshot.tasks
        mine = key(view, self.claim)
        same = (tasks.shape == tasks.shape[self.claim.tasks[0]]) & (view.status == Status.PENDING)
        for task in np.flatnonzero(same & ~tasks.gated).tolist()[: 2 * MOST_CLAIMS]:
            job = int(tasks.job[task])
            if job == MISSING or int(view.snapshot.jobs.queue[job]) != self.claim.queue:
                continue
            other = replace(self.claim, job=job, tasks=(task,))
            if (takeable(view.status) & (tasks.job == job)).any() or key(view, other) != mine:
                continue
            if self.said(self.candidates(self.nodes), other) != before:
                yield 10, self.hook, f"{where}: {tasks.names[task]} has the same key and other victims"

    def _behind(self, where: str) -> Iterator[Breach]:
        ledger = self.session.ledger
        for node in self.nodes.tolist()[:MOST_CLAIMS]:
            listed = self.candidates(np.array([node]))
            before = self.said(listed)
            first = next((task for task, gone in (before or {}).items() if gone), None)
            if first is None:
                continue
            behind = listed.task.tolist()[listed.task.tolist().index(first) + 1 :]
            mark = ledger.checkpoint()
            ledger.evict(first)
            after = self.said(self.candidates(np.array([node])))
            ledger.rollback(mark)
            if after is None or any(after[task] != before[task] for task in behind if before is not None):
                name = self.session.view.snapshot.tasks.names[first]
                yield 10, self.hook, f"{where}: once {name} had gone, those behind it were judged otherwise"


def _reservations(session: Session, answers: Callable[[], object]) -> Iterator[Breach]:
    """Law 11 for tasks of every shape that reserves, on a few nodes."""
    view, tasks, held = session.view, session.view.snapshot.tasks, session.ledger.reservations
    for shape in view.shapes:
        if not held.of(shape):
            continue
        rows = np.flatnonzero(tasks.shape == shape.row)
        waiting = rows[view.status[rows] == Status.PENDING].tolist()[:1]
        running = rows[takeable(view.status[rows]) & (tasks.node[rows] != MISSING)].tolist()[:1]
        nodes = range(min(len(view.snapshot.nodes), MOST_CLAIMS))
        for task, node in [(task, node) for task in waiting for node in nodes]:
            before = (answers(), held.notes(shape, task, node))
            taken = held.take(shape, task, node, promised=False)
            if taken is None or isinstance(taken, str):
                if answers() != before[0]:
                    yield 11, "reserve", f"shape {shape.row}: a refusal changed the answers"
                continue
            taken()
            if (answers(), held.notes(shape, task, node)) != before:
                yield 11, "reserve", f"shape {shape.row}: undoing did not restore the answers"
            again = held.take(shape, task, node, promised=False)
            if isinstance(again, str):
                yield 11, "reserve", f"shape {shape.row}: what was undone cannot be reserved again: {again}"
            elif again is not None:
                again()
        for task in running:
            before_release = answers()
            undo = held.free(shape, task, int(tasks.node[task]))
            if undo is not None:
                undo()
            if answers() != before_release:
                yield 11, "release", f"shape {shape.row}: undoing did not restore the answers"

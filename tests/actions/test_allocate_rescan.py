"""`allocate` against a loop that scans all queues and jobs before every turn and places one task at a time."""

from __future__ import annotations

import numpy as np
import pytest

from tests.core.random_worlds import preferring_snapshot, random_snapshot
from vcray.actions.allocate import Allocate
from vcray.config.scheduler import HELM_CONF, load_scheduler_config
from vcray.core.arrays import Int
from vcray.core.place import Placer, nominated_node
from vcray.core.policy import Policy, build_policy
from vcray.core.session import Session, open_session
from vcray.core.space import CPU, MEMORY
from vcray.core.tables import MISSING, READY_STATUS, STATUSES, Phase, Status
from vcray.registry import discover

CONF = HELM_CONF.replace("enqueue, allocate, backfill", "allocate")


@pytest.fixture(scope="module")
def policy() -> Policy:
    return build_policy(load_scheduler_config(CONF), discover())


class Rescan:
    """The same rules with no heap, no runs, no caches, no batches."""

    def __init__(self, session: Session) -> None:
        self.session = session
        view = self.view = session.view
        tasks, jobs = view.snapshot.tasks, view.snapshot.jobs
        self.left: dict[int, list[int]] = {}
        for job in range(len(jobs)):
            if jobs.queue[job] == MISSING or session.chains.job_valid(view, job) is not None:
                continue
            view.jobs.phase[job] = max(int(view.jobs.phase[job]), Phase.INQUEUE)
            rows = [
                task
                for task in view.tasks_of_job[job].tolist()
                if view.status[task] == Status.PENDING
                and not tasks.gated[task]
                and not view.shapes[int(tasks.shape[task])].best_effort
            ]
            if rows:
                keys = [np.asarray(hook(view, np.array(rows))) for hook in session.chains.task_orders]
                indexed = all(tasks.index[task] != MISSING for task in rows)
                rank = {
                    task: (
                        *(key[i] for key in keys),
                        tasks.index[task] if indexed else 0,
                        tasks.created[task],
                        tasks.uids[task],
                    )
                    for i, task in enumerate(rows)
                }
                self.left[job] = sorted(rows, key=lambda task: rank[task])
        self.queues = {int(jobs.queue[job]) for job in self.left}
        self.jobs = set(self.left)

    def run(self) -> None:
        self.kept_first()
        while self.queues:
            queue = min(self.queues, key=self.queue_key)
            mine = [job for job in self.jobs if self.queue_of(job) == queue]
            if self.session.chains.queue_overused(self.view, queue) or not mine:
                self.queues.discard(queue)
                continue
            self.first_of(mine, queue)

    def kept_first(self) -> None:
        """Turns of jobs with pods nominated to nodes with room, and of queue-mates of higher priority before them."""
        view, priority = self.view, self.view.snapshot.jobs.priority
        kept = {job: [task for task in self.left[job] if self.has_place(task)] for job in self.jobs}
        waiting = {job for job in self.jobs if kept[job]}
        self.kept, self.waiting = kept, waiting
        first = set(waiting)
        for job in waiting:
            self.left[job].sort(key=lambda task, job=job: task not in kept[job])  # type: ignore[misc]
        for job in self.jobs:
            mates = [mate for mate in waiting if self.queue_of(mate) == self.queue_of(job)]
            if mates and priority[job] > min(priority[mate] for mate in mates):
                first.add(job)
        open_queues = set(self.queues)
        while queues := {self.queue_of(job) for job in waiting} & open_queues:
            queue = min(queues, key=self.queue_key)
            if self.session.chains.queue_overused(view, queue):
                open_queues.discard(queue)
                continue
            job = self.first_of([job for job in first & self.jobs if self.queue_of(job) == queue], queue)
            left = [task for task in kept[job] if view.status[task] == Status.PENDING]
            if job not in self.jobs or not left:
                waiting.discard(job)
            if job not in self.jobs and left:
                self.hold(job, kept[job])

    def for_others(self, task: int) -> Int:
        """Nodes kept for other pods of jobs that still wait for them."""
        nominated, status = self.view.snapshot.tasks.nominated, self.view.status
        others = [other for job in self.waiting for other in self.kept[job] if other != task]
        nodes = {int(nominated[other]) for other in others if status[other] == Status.PENDING}
        return np.array(sorted(nodes), dtype=np.int64)

    def hold(self, job: int, kept: list[int]) -> None:
        """While some of the nominated nodes are being cleared, pods of the job that still wait are promised them."""
        table, view = self.view.snapshot.tasks, self.view
        if not any(view.nodes.releasing[:, table.nominated[task]].any() for task in kept):
            return
        for task in kept:
            if view.status[task] == Status.PENDING and self.has_place(task):
                shape, node = view.shapes[int(table.shape[task])], int(table.nominated[task])
                Placer(view, self.session.chains, self.session.ledger).hold(job, shape, task, node)

    def has_place(self, task: int) -> bool:
        table, view = self.view.snapshot.tasks, self.view
        node, shape = int(table.nominated[task]), view.shapes[int(table.shape[task])]
        room = view.nodes.future[:, node].tolist()
        fits = all(
            shape.req[row] <= room[row] for row in range(len(room)) if shape.req[row] or row in (CPU, MEMORY)
        )
        placer = Placer(view, self.session.chains, self.session.ledger)
        return node != MISSING and fits and placer.allows(int(table.job[task]), shape, node)

    def queue_of(self, job: int) -> int:
        return int(self.view.snapshot.jobs.queue[job])

    def queue_key(self, queue: int) -> tuple[object, ...]:
        queues = self.view.snapshot.queues
        return (*self.session.chains.queue_key(self.view, queue), queues.created[queue], queues.names[queue])

    def first_of(self, jobs: list[int], queue: int) -> int:
        """The turn of the first of these jobs of a queue; it drops out unless it may come again."""
        view, table = self.view, self.view.snapshot.jobs
        job = min(
            jobs,
            key=lambda j: (
                *(hook(view, j) for hook in self.session.chains.job_orders),
                table.created[j],
                table.names[j],
            ),
        )
        if not self.turn(job, queue):
            self.jobs.discard(job)
        return job

    def turn(self, job: int, queue: int) -> bool:
        session, view, chains = self.session, self.view, self.session.chains
        tasks = view.snapshot.tasks
        mark = session.ledger.checkpoint()
        while self.left[job]:
            task = self.left[job].pop(0)
            shape = view.shapes[int(tasks.shape[task])]
            role = int(tasks.role[task])
            if not chains.queue_allows(view, queue, shape, 1):
                continue
            if role in session.record.roles_failed(job):
                session.record.refused[task] = ""
                continue
            placer = Placer(view, chains, session.ledger)
            node = nominated_node(view, task)
            nominated = node != MISSING and placer.place_nominated(job, shape, task, node, self.for_others)
            if nominated or placer.place(job, shape, [task]):
                if chains.job_ready(view, job):
                    break
                continue
            session.record.refused[task] = ""
            if role:
                session.record.failed_roles.setdefault(job, set()).add(role)
            if not self.go_on(job):
                break
        if chains.job_ready(view, job):
            session.ledger.commit(job, session.ledger.allocated_since(mark))
            return bool(self.left[job])
        if not chains.job_pipelined(view, job):
            session.ledger.rollback(mark)
        return False

    def go_on(self, job: int) -> bool:
        view, jobs = self.view, self.view.snapshot.jobs
        least, rows = int(jobs.min_available[job]), view.tasks_of_job[job].tolist()
        if least >= len(rows):
            return False
        minimums = jobs.role_minimum[job]
        roles = view.snapshot.tasks.role
        failed = {int(roles[task]) for task in rows if task in self.session.record.refused}
        if least < sum(minimum for _, minimum in minimums):
            status = {task: view.status[task] for task in rows}
            ready = sum(status[task] in READY_STATUS for task in rows)
            good = sum(status[task] == Status.PENDING and int(roles[task]) not in failed for task in rows)
            return ready + good >= least
        return not any(
            role in failed and minimum > self.held(job, role) for role, minimum in minimums if minimum > 0
        )

    def held(self, job: int, role: int) -> int:
        count = self.view.jobs.role_count[job, role]
        return sum(count[status] for status in READY_STATUS) + count[STATUSES]


def outcome(session: Session) -> list[tuple[int, int]]:
    return list(zip(session.view.status.tolist(), session.ledger.node, strict=True))


@pytest.mark.parametrize("block", range(3))
def test_turns_are_those_of_a_full_rescan(policy: Policy, block: int) -> None:
    for seed in range(block * 25, block * 25 + 25):
        for make in (random_snapshot, preferring_snapshot):
            snapshot = make(seed)
            fast, slow = open_session(snapshot, policy), open_session(snapshot, policy)
            Allocate({}).run(fast)
            Rescan(slow).run()
            assert outcome(fast) == outcome(slow), (make.__name__, seed)
            assert set(fast.record.refused) == set(slow.record.refused), (make.__name__, seed)

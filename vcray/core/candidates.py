"""Tasks that may be taken, by node: built once an action, then kept in step with the ledger by its journal.

A pool holds the running tasks that one kind of claim may look at. On each node they stand least valuable first by the order of
tasks; queues and jobs, whose order moves with every eviction, are weighed when a chunk of nodes is looked at. The sums of
what a node could give are a quick test only: plugins may refuse.
"""

from __future__ import annotations

import numpy as np

from vcray.api.names import POD_DELETION_COST
from vcray.core.arrays import Bool, Int, Int8
from vcray.core.ledger import Ledger
from vcray.core.order import ascending_tasks, queue_key
from vcray.core.policy import Chains
from vcray.core.tables import Notes, Status
from vcray.core.victims import Candidates
from vcray.core.view import View

Key = tuple[object, ...]


class Pool:
    """The tasks (rows) of a pool, those on nodes. `sums` (R, N): what they hold there; `holds` (N,): any left? `costs`: `deletion_costs`."""

    def __init__(self, view: View, chains: Chains, ledger: Ledger, tasks: Int) -> None:
        self.view = view
        self.chains = chains
        self.ledger = ledger
        table = view.snapshot.tasks
        nodes = len(view.snapshot.nodes)
        order = ascending_tasks(view, chains, tasks, -table.node[tasks].astype(np.int64))
        self.costs = deletion_costs(view)
        self.tasks: Int = by_cost(view, chains, order[::-1].copy(), self.costs)
        of = table.node[self.tasks]
        self.start: Int = np.searchsorted(of, np.arange(nodes + 1))
        self.request = view.requests[:, table.shape[self.tasks]]
        self.sums: Int = np.zeros((len(view.space), nodes), dtype=np.int64)
        for r in range(len(view.space)):
            np.add.at(self.sums[r], of, self.request[r])
        self.holds: Bool = np.diff(self.start) > 0
        self.pointer = ledger.touched
        queues = np.unique(view.snapshot.jobs.queue[table.job[self.tasks]])
        self._many_queues = len(queues) > 1

    def refresh(self) -> None:
        """Leave out of the sums what was evicted since the last look, take in what came back."""
        if self.pointer == self.ledger.touched:
            return
        status = self.view.status
        for node in self.ledger.touched_since(self.pointer):
            first, last = int(self.start[node]), int(self.start[node + 1])
            if first == last:
                continue
            live = takeable(status[self.tasks[first:last]])
            self.sums[:, node] = self.request[:, first:last] @ live.astype(np.int64)
            self.holds[node] = live.any()
        self.pointer = self.ledger.touched

    def candidates(self, nodes: Int, claimant: int) -> Candidates:
        """All that is left on these nodes, a group for each, least valuable first for a claimant's queue."""
        view, table = self.view, self.view.snapshot.tasks
        counts = self.start[nodes + 1] - self.start[nodes]
        offsets = np.repeat(self.start[nodes] - np.cumsum(counts) + counts, counts)
        rows = offsets + np.arange(len(offsets))
        group = np.repeat(np.arange(len(nodes)), counts)
        live = takeable(view.status[self.tasks[rows]])
        if not live.all():
            rows, group = rows[live], group[live]
        tasks = self.tasks[rows]
        job = table.job[tasks].astype(np.int64)
        queue = view.snapshot.jobs.queue[job].astype(np.int64)
        order = self._order(group, queue, job, claimant)
        if order is not None:
            rows, tasks, job, queue = rows[order], tasks[order], job[order], queue[order]
        return Candidates(tasks, group, job, queue, nodes[group], self.request[:, rows])

    def standing(self, node: int, claimant: int) -> list[int]:
        """What is left on a node, least valuable first; empty where all is of one job, whose order nothing moves."""
        tasks = self.tasks[int(self.start[node]) : int(self.start[node + 1])]
        job = self.view.snapshot.tasks.job[tasks]
        if not len(job) or (job == job[0]).all():
            return []
        found: list[int] = self.candidates(np.array([node]), claimant).task.tolist()
        return found

    def _order(self, group: Int, queue: Int, job: Int, claimant: int) -> Int | None:
        """How to sort candidates that stand by group and task order; None when they stand right."""
        if not len(group):
            return None
        keys: list[Int] = []
        for hook in reversed(self.chains.job_orders):
            column = -np.asarray(hook(self.view, job))
            if (column != column[0]).any():
                keys.append(column)
        if self._many_queues:
            ranks = queue_ranks(self.view, self.chains, np.unique(queue).tolist(), claimant)
            keys.append(np.array([ranks[each] for each in queue.tolist()], dtype=np.int64))
        return np.lexsort((*keys, group)) if keys else None


def deletion_costs(view: View) -> Int | None:
    """(P,) what each pod's `controller.kubernetes.io/pod-deletion-cost` says, 0 for none; None when no pod says anything."""
    costs = np.array([_cost(facts.notes) for facts in view.snapshot.pod_facts], dtype=np.int64)
    return costs[view.snapshot.tasks.facts] if costs.any() else None


def _cost(notes: Notes) -> int:
    text = dict(notes).get(POD_DELETION_COST, "")
    digits = text[1:] if text[:1] in ("-", "+") else text
    return int(text) if digits.isascii() and digits.isdecimal() and abs(int(text)) < 2**31 else 0


def by_cost(view: View, chains: Chains, tasks: Int, costs: Int | None) -> Int:
    """Tasks that stand by node, least valuable first, with those of one job on one node so that of equal ones, for the plugins,
    the cheaper go first. Places that a job has among others stay the job's."""
    if costs is None or not len(tasks):
        return tasks
    table, place = view.snapshot.tasks, np.arange(len(tasks))
    own = (table.job[tasks], table.node[tasks])
    worth: list[np.typing.NDArray[np.generic]] = [
        -np.asarray(hook(view, tasks)) for hook in chains.task_orders
    ]
    order = np.lexsort((place, costs[tasks], *reversed(worth), *own))
    out = np.empty_like(tasks)
    out[np.lexsort((place, *own))] = tasks[order]
    return out


def takeable(status: Int8) -> Bool:
    """Tasks that hold a node and are not on their way out."""
    mask: Bool = (status == Status.RUNNING) | (status == Status.BOUND)
    return mask


def queue_ranks(view: View, chains: Chains, queues: list[int], claimant: int) -> dict[int, int]:
    """Queues that victims are in -> place, who gives first: by the plugins' victim order, then the inverse of queue order."""
    if len(queues) == 1:
        return {queues[0]: 0}
    last = sorted(queues, key=lambda queue: queue_key(view, chains, queue), reverse=True)
    ordered = sorted(last, key=lambda q: chains.verdicts.victim_key(view, claimant, q))
    return {queue: rank for rank, queue in enumerate(ordered)}

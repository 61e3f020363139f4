"""The end of a session: statuses of PodGroups and queues, conditions of pods, events; then everything in name order.

Rules are Volcano's job updater's. Decided otherwise: a PodGroup is Completed only when no member waits or runs, and the
ancestors of a queue are charged once each and may be missing.
"""

from __future__ import annotations

from datetime import UTC, datetime

import numpy as np

from vcray.core.decisions import Bind, Commit, Decisions, Event, GroupUpdate, PodCondition, QueueUpdate
from vcray.core.ledger import Ledger
from vcray.core.policy import Chains
from vcray.core.reasons import first_refused, group_sentence
from vcray.core.record import Record
from vcray.core.space import CPU, MEMORY
from vcray.core.tables import (
    MISSING,
    READY_STATUS,
    Condition,
    GroupStatus,
    Phase,
    Status,
)
from vcray.core.view import View

ROOT = "root"
UNSCHEDULABLE = "Unschedulable"
SCHEDULABLE = "Schedulable"


def close(view: View, chains: Chains, ledger: Ledger, record: Record) -> Decisions:
    """Ask the plugins for their last words and draw up the decisions."""
    collector = Collector(view, ledger, record)
    _say_missing_queues(view, collector)
    for hook in chains.closers:
        hook(view, collector)
    groups, group_events = _groups(view, collector)
    conditions, pod_events = _pod_conditions(view, ledger, collector)
    return Decisions(
        generation=view.snapshot.generation,
        commits=_commits(view, ledger),
        evictions=(),
        pipelined=_pipelined(view, ledger),
        groups=groups,
        conditions=conditions,
        events=tuple(sorted([*record.events, *group_events, *pod_events], key=_event_order)),
        queues=_queues(view),
    )


def _event_order(event: Event) -> tuple[str, str, str, str, str]:
    return event.kind, event.name, event.reason, event.message, event.uid


class Collector:
    """What plugins may ask while they close, and the conditions they set (`vcray.core.hooks.Closing`)."""

    def __init__(self, view: View, ledger: Ledger, record: Record) -> None:
        self.view = view
        self.ledger = ledger
        self.record = record
        self.conditions: dict[int, dict[str, Condition]] = {}
        self._since = datetime.fromtimestamp(int(view.snapshot.now), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        self._sentences: dict[int, str] = {}

    def ready(self, job: int) -> bool:
        """Enough tasks hold a node, are done, or wait for backfill (Volcano's IsReady)."""
        count = self.view.jobs.count[:, job].tolist()
        held = sum(count[status] for status in READY_STATUS) + int(self.view.jobs.pending_best_effort[job])
        return bool(held >= int(self.view.snapshot.jobs.min_available[job]))

    def fit_error(self, job: int) -> str:
        """Why the job's pods do not all run, as one sentence; asked often, made once."""
        sentence = self._sentences.get(job)
        if sentence is None:
            view = self.view
            tasks = view.tasks_of_job[job]
            count = view.jobs.count[:, job].tolist()
            pending = tasks[view.status[tasks] == Status.PENDING].tolist()
            sentence = self._sentences[job] = group_sentence(
                self.ready(job),
                {status: count[status] for status in Status},
                int(view.snapshot.jobs.min_available[job]),
                (self.reason(task) for task in pending),
                first_refused(view, tasks, self.record.refused),
            )
        return sentence

    def undone(self, job: int) -> int:
        """Pending tasks whose last placement was an allocation that was rolled back."""
        if not self.ledger.undone:
            return 0
        tasks = self.view.tasks_of_job[job]
        pending = tasks[self.view.status[tasks] == Status.PENDING].tolist()
        return sum(self.reason(task) == SCHEDULABLE for task in pending)

    def condition(self, job: int, type: str, reason: str, message: str) -> None:
        """Set a PodGroup condition with status True in place of the one of that type."""
        made = Condition(type, "True", reason, message, self.view.session, self._since)
        self.conditions.setdefault(job, {})[type] = made

    def reason(self, task: int) -> str:
        """Schedulable for a task that an undone gang had allocated, else Unschedulable."""
        last = self.ledger.undone.get(task)
        return SCHEDULABLE if last is not None and last.status is Status.ALLOCATED else UNSCHEDULABLE


def _say_missing_queues(view: View, collector: Collector) -> None:
    jobs = view.snapshot.jobs
    for job in np.flatnonzero(jobs.queue == MISSING).tolist():
        collector.condition(job, UNSCHEDULABLE, "QueueNotFound", missing_queue(jobs.queue_names[job]))


def missing_queue(name: str) -> str:
    """What a PodGroup says whose queue is not there."""
    return f"queue '{name}' does not exist; create it or name another in spec.queue"


# ---- PodGroups ----


def _groups(view: View, collector: Collector) -> tuple[tuple[GroupUpdate, ...], list[Event]]:
    jobs = view.snapshot.jobs
    updates: list[GroupUpdate] = []
    events: list[Event] = []
    counts = view.jobs.count.T.tolist()
    releasing = _releasing_on_nodes(view)
    for job in sorted(range(len(jobs)), key=jobs.names.__getitem__):
        old, count = jobs.status[job], counts[job]
        conditions = _merged(old.conditions, collector.conditions.get(job, {}))
        status = GroupStatus(
            phase=_phase(view, job, count, int(releasing[job]), conditions),
            running=count[Status.RUNNING],
            succeeded=count[Status.SUCCEEDED],
            failed=count[Status.FAILED],
            conditions=conditions,
        )
        changed = not _same(old, status)
        if changed:
            updates.append(GroupUpdate(jobs.names[job], jobs.uids[job], jobs.resource_version[job], status))
        event = _group_event(view, collector, job, status, count, changed)
        if event is not None:
            events.append(event)
    return tuple(updates), events


def _releasing_on_nodes(view: View) -> np.typing.NDArray[np.int64]:
    tasks = view.snapshot.tasks
    on_node = (view.status == Status.RELEASING) & (tasks.node != MISSING)
    return np.bincount(tasks.job[on_node], minlength=len(view.snapshot.jobs))


def _phase(
    view: View, job: int, count: list[int], releasing: int, conditions: tuple[Condition, ...]
) -> Phase:
    now = Phase(int(view.jobs.phase[job]))
    if int(view.snapshot.jobs.queue[job]) == MISSING:
        return Phase.PENDING if now is Phase.EMPTY else now
    unschedulable = any(
        c.type == UNSCHEDULABLE and c.status == "True" and c.transition == view.session for c in conditions
    )
    if count[Status.RUNNING] and unschedulable:
        return Phase.UNKNOWN
    completed = count[Status.SUCCEEDED] + count[Status.FAILED]
    scheduled = count[Status.RUNNING] + count[Status.BOUND] + completed + releasing
    if scheduled >= int(view.snapshot.jobs.min_available[job]):
        waiting = sum(
            count[status] for status in (Status.PENDING, Status.ALLOCATED, Status.PIPELINED, Status.BINDING)
        )
        return Phase.COMPLETED if scheduled == completed and not waiting else Phase.RUNNING
    return Phase.INQUEUE if now is Phase.INQUEUE else Phase.PENDING


def _merged(old: tuple[Condition, ...], new: dict[str, Condition]) -> tuple[Condition, ...]:
    """Conditions by type in place; a new type at the end. One that says the same keeps its time."""
    out = []
    for condition in old:
        fresh = new.get(condition.type)
        out.append(condition if fresh is None else fresh)
    known = {condition.type for condition in old}
    out += [new[type] for type in sorted(new) if type not in known]
    return tuple(out)


def _same(old: GroupStatus, new: GroupStatus) -> bool:
    """Equal but for lastTransitionTime and transitionID of conditions."""

    def plain(status: GroupStatus) -> tuple[object, ...]:
        said = tuple((c.type, c.status, c.reason, c.message) for c in status.conditions)
        return status.phase, status.running, status.succeeded, status.failed, said

    return plain(old) == plain(new)


def _group_event(
    view: View, collector: Collector, job: int, status: GroupStatus, count: list[int], changed: bool
) -> Event | None:
    jobs = view.snapshot.jobs
    name, uid = jobs.names[job], jobs.uids[job]
    if int(jobs.queue[job]) == MISSING:
        return Event("PodGroup", name, uid, "Warning", UNSCHEDULABLE, missing_queue(jobs.queue_names[job]))
    if status.phase in (Phase.UNKNOWN, Phase.PENDING, Phase.INQUEUE):
        if not count[Status.PENDING] and collector.ready(job):
            return None
        message = (
            f"{count[Status.PENDING]}/{sum(count)} tasks in gang unschedulable: {collector.fit_error(job)}"
        )
        return Event("PodGroup", name, uid, "Warning", UNSCHEDULABLE, message)
    if changed:
        return Event("PodGroup", name, uid, "Normal", "Scheduled", "pod group is ready")
    return None


# ---- pods ----


def _pod_conditions(
    view: View, ledger: Ledger, collector: Collector
) -> tuple[tuple[PodCondition, ...], list[Event]]:
    tasks = view.snapshot.tasks
    waits = np.isin(view.status, (Status.PENDING, Status.ALLOCATED, Status.PIPELINED)) & ~tasks.gated
    waits &= view.snapshot.jobs.queue[tasks.job] != MISSING
    rows = sorted(np.flatnonzero(waits).tolist(), key=tasks.names.__getitem__)
    conditions = []
    events = []
    for task in rows:
        reason, message = _pod_reason(view, ledger, collector, task)
        name, uid = tasks.names[task], tasks.uids[task]
        conditions.append(PodCondition(name, uid, reason, message))
        events.append(Event("Pod", name, uid, "Warning", "FailedScheduling", message))
    return tuple(conditions), events


def _pod_reason(view: View, ledger: Ledger, collector: Collector, task: int) -> tuple[str, str]:
    """Reason and message by the last transaction, else by the present status."""
    last = ledger.undone.get(task)
    status = Status(int(view.status[task])) if last is None else last.status
    if status is Status.PENDING:
        refused = collector.record.refused.get(task)
        return UNSCHEDULABLE, collector.fit_error(
            int(view.snapshot.tasks.job[task])
        ) if refused is None else refused
    node = view.snapshot.nodes.names[ledger.node[task] if last is None else last.node]
    head = f"Pod {view.snapshot.tasks.names[task]} can possibly be assigned to {node}, once "
    if status is Status.ALLOCATED:
        return SCHEDULABLE, head + "minAvailable is satisfied"
    return UNSCHEDULABLE, head + "resource is released and minAvailable is satisfied"


# ---- bindings and queues ----


def _commits(view: View, ledger: Ledger) -> tuple[Commit, ...]:
    """Per job its gang, then what was added once it was ready, in one commit: pods that need not wait for each other."""
    tasks, nodes, jobs = view.snapshot.tasks, view.snapshot.nodes, view.snapshot.jobs
    parts: dict[tuple[str, bool], list[Bind]] = {}
    for committed in ledger.commits:
        binds = parts.setdefault((jobs.names[committed.job], not committed.whole), [])
        binds += [
            Bind(tasks.names[task], tasks.uids[task], nodes.names[node])
            for task, node in zip(committed.tasks, committed.nodes, strict=True)
        ]
    return tuple(
        Commit(job, tuple(sorted(binds, key=lambda bind: bind.task)), not single)
        for (job, single), binds in sorted(parts.items(), key=lambda item: item[0])
    )


def _pipelined(view: View, ledger: Ledger) -> tuple[tuple[str, str], ...]:
    names, nodes = view.snapshot.tasks.names, view.snapshot.nodes.names
    rows = np.flatnonzero(view.status == Status.PIPELINED).tolist()
    return tuple(sorted((names[task], nodes[ledger.node[task]]) for task in rows))


def _queues(view: View) -> tuple[QueueUpdate, ...]:
    """Queues whose allocated sum is not what their status says; sums include those of descendants."""
    queues, names = view.snapshot.queues, view.space.names
    sums = view.queues.allocated.copy()
    parents = queues.parent.tolist()
    for queue in range(len(queues)):
        for ancestor in _ancestors(parents, queues.names, queue):
            sums[:, ancestor] += view.queues.allocated[:, queue]
    updates = []
    for queue in sorted(range(len(queues)), key=queues.names.__getitem__):
        column = sums[:, queue].tolist()
        amounts = tuple(
            sorted((names[r], amount) for r, amount in enumerate(column) if amount or r in (CPU, MEMORY))
        )
        recorded = queues.allocated[queue]
        if recorded is None or _nonzero(recorded) != _nonzero(amounts):
            updates.append(QueueUpdate(queues.names[queue], queues.resource_version[queue], amounts))
    return tuple(updates)


def _nonzero(amounts: tuple[tuple[str, int], ...]) -> dict[str, int]:
    return {name: amount for name, amount in amounts if amount}


def _ancestors(parents: list[int], names: tuple[str, ...], queue: int) -> list[int]:
    """Rows above a queue, each once; a parent that is missing means root; a cycle ends where it closes."""
    root = names.index(ROOT) if ROOT in names else MISSING
    found: list[int] = []
    at = queue
    while True:
        up = parents[at] if parents[at] != MISSING else root
        if up in (MISSING, queue) or up in found or at == root:
            return found
        found.append(up)
        at = up

"""The end of a session: statuses of PodGroups and queues, conditions of pods, events; then everything in name order.

Rules are Volcano's job updater's. Decided otherwise: a PodGroup is Completed only when no member waits or runs, and the
ancestors of a queue are charged once each and may be missing.
"""

from __future__ import annotations

import numpy as np

from vcray.core.carry import Carry
from vcray.core.decisions import (
    Bind,
    Commit,
    Decisions,
    Event,
    Evict,
    GroupUpdate,
    Lift,
    Preparation,
    QueueUpdate,
    Waiting,
)
from vcray.core.groups import SCHEDULABLE, UNSCHEDULABLE, Collector, close_groups, say_missing_queues
from vcray.core.ledger import Ledger
from vcray.core.openview import by_owner
from vcray.core.policy import Chains
from vcray.core.queuedevices import held_devices, status_amounts
from vcray.core.record import Record
from vcray.core.space import CPU, MEMORY
from vcray.core.tables import (
    MISSING,
    WAITING_STATUS,
    Status,
)
from vcray.core.view import View


def close(
    view: View, chains: Chains, ledger: Ledger, record: Record, carry: Carry | None = None
) -> Decisions:
    """Ask the plugins for their last words and draw up the decisions."""
    collector, groups, group_events = last_words(view, chains, ledger, record)
    waiting = _waiting(view, ledger, collector, Carry() if carry is None else carry)
    return Decisions(
        generation=view.snapshot.generation,
        commits=_commits(view, ledger),
        evictions=_evictions(view, ledger),
        pipelined=_pipelined(view, ledger),
        groups=groups,
        waiting=waiting,
        events=tuple(sorted([*record.events, *group_events], key=Event.order)),
        queues=_queues(view),
        lifts=_lifts(view),
        wakes_at=chains.wakes_at(view),
        ran=chains.ran(view),
    )


def last_words(
    view: View, chains: Chains, ledger: Ledger, record: Record
) -> tuple[Collector, tuple[GroupUpdate, ...], list[Event]]:
    """What is said of PodGroups: by the plugins, then by their phases."""
    collector = Collector(view, ledger, record)
    say_missing_queues(view, collector)
    chains.close(view, collector)
    return collector, *close_groups(view, collector)


# ---- pods ----


def _waiting(view: View, ledger: Ledger, collector: Collector, carry: Carry) -> tuple[Waiting, ...]:
    """PodScheduled=False of all that wait, by the last transaction of each, else by its present status; by job and reason.

    Repeated every round: who writes them leaves out what the pod says already, event included."""
    tasks, jobs = view.snapshot.tasks, view.snapshot.jobs
    waits = np.isin(view.status, WAITING_STATUS) & ~tasks.gated
    waits &= jobs.queue[tasks.job] != MISSING
    special = waits & (view.status != Status.PENDING)
    tried = [*ledger.undone, *collector.record.refused]
    special[tried] = waits[tried]
    groups: dict[tuple[int, str, str, str], list[int]] = {}
    nominations = ledger.nominations()
    chosen = np.flatnonzero(special)
    columns = (chosen, tasks.job[chosen], view.status[chosen])
    for task, job, status in zip(*(column.tolist() for column in columns), strict=True):
        nominated = view.snapshot.nodes.names[nominations[task]] if task in nominations else ""
        last = ledger.undone.get(task) or (status, ledger.node[task])
        key = (job, *_words(view, collector, task, job, last), nominated)
        groups.setdefault(key, []).append(task)
    rest = np.flatnonzero(waits & ~special)
    for job, members in by_owner(tasks.job[rest], rest):
        key = (job, UNSCHEDULABLE, collector.fit_error(job), "")
        groups[key] = groups.get(key, []) + members
    names = jobs.names
    keys = (
        (names[job], tuple(rows), reason, message, node)
        for (job, reason, message, node), rows in groups.items()
    )
    found = carry.waiting(tasks, keys)
    return tuple(sorted(found, key=lambda group: (group.job, group.pods)))


def _words(view: View, collector: Collector, task: int, job: int, last: tuple[int, int]) -> tuple[str, str]:
    """Reason and message of a task that was tried in this session; `last`: the status and node that are told of it."""
    status, node = last
    if status == Status.PENDING:
        return UNSCHEDULABLE, collector.record.refused.get(task) or collector.fit_error(job)
    reason = SCHEDULABLE if status == Status.ALLOCATED else UNSCHEDULABLE
    return reason, _promise(view.snapshot.tasks.names[task], view.snapshot.nodes.names[node], reason)


def _promise(pod: str, node: str, reason: str) -> str:
    """Where a pod could go, and what for it waits: its gang, or resources that are being released too."""
    awaited = "minAvailable" if reason == SCHEDULABLE else "resource is released and minAvailable"
    return f"Pod {pod} can possibly be assigned to {node}, once {awaited} is satisfied"


# ---- evictions, bindings and queues ----


def _evictions(view: View, ledger: Ledger) -> tuple[Evict, ...]:
    tasks, jobs = view.snapshot.tasks, view.snapshot.jobs
    found = [
        Evict(tasks.names[task], tasks.uids[task], jobs.names[int(tasks.job[task])], reason)
        for task, reason in ledger.evictions()
    ]
    return tuple(sorted(found, key=lambda evict: evict.task))


def _commits(view: View, ledger: Ledger) -> tuple[Commit, ...]:
    """Per job its gang, then what was added once it was ready, in one commit: pods that need not wait for each other."""
    tasks, nodes, jobs = view.snapshot.tasks, view.snapshot.nodes, view.snapshot.jobs
    parts: dict[tuple[str, bool], list[Bind]] = {}
    for committed in ledger.commits:
        binds = parts.setdefault((jobs.names[committed.job], not committed.whole), [])
        binds += [
            Bind(tasks.names[task], tasks.uids[task], nodes.names[node], *_belongings(ledger, task, node))
            for task, node in zip(committed.tasks, committed.nodes, strict=True)
        ]
    return tuple(
        Commit(job, tuple(sorted(binds, key=lambda bind: bind.task)), not single)
        for (job, single), binds in sorted(parts.items(), key=lambda item: item[0])
    )


def _belongings(
    ledger: Ledger, task: int, node: int
) -> tuple[tuple[tuple[str, str], ...], Preparation | None]:
    """What a pod's binding says of what was reserved for it, and what must be done before it."""
    view = ledger.view
    shape = view.shapes[int(view.snapshot.tasks.shape[task])]
    if not ledger.reservations.of(shape):
        return (), None
    notes = tuple(sorted(ledger.reservations.notes(shape, task, node).items()))
    return notes, ledger.reservations.before(shape, task, node)


def _pipelined(view: View, ledger: Ledger) -> tuple[tuple[str, str], ...]:
    names, nodes = view.snapshot.tasks.names, view.snapshot.nodes.names
    rows = np.flatnonzero(view.status == Status.PIPELINED).tolist()
    return tuple(sorted((names[task], nodes[ledger.node[task]]) for task in rows))


def _lifts(view: View) -> tuple[Lift, ...]:
    tasks = view.snapshot.tasks
    rows = [] if view.gates is None else view.gates.lifted
    return tuple(Lift(tasks.names[row], tasks.uids[row]) for row in sorted(rows, key=tasks.names.__getitem__))


def _queues(view: View) -> tuple[QueueUpdate, ...]:
    """Queues whose allocated sum is not what their status says; sums include those of descendants."""
    queues, names = view.snapshot.queues, view.space.names
    sums = np.zeros_like(view.queues.allocated)
    for own, path in zip(view.queues.allocated.T, view.tree.paths, strict=True):
        sums[:, path] += own[:, None]
    devices = held_devices(view, view.tree.paths)
    updates = []
    for queue in sorted(range(len(queues)), key=queues.names.__getitem__):
        column = sums[:, queue].tolist()
        held = {names[r]: amount for r, amount in enumerate(column) if amount or r in (CPU, MEMORY)}
        amounts = tuple(sorted({**held, **status_amounts(devices, queue)}.items()))
        update = QueueUpdate(queues.names[queue], queues.resource_version[queue], amounts)
        if not update.is_said(queues.allocated[queue]):
            updates.append(update)
    return tuple(updates)

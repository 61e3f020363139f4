"""What pods are charged, where that is not what they request: cards that a device plugin counts otherwise than Kubernetes.

A pod that asks for two cards with 1024 MiB each takes 2048 MiB; one that asks for a fifth of a card takes its memory; a resource
that only a ledger of cards knows is no resource of nodes and queues. The snapshot is changed before a session opens, so all
sums of nodes, jobs and queues agree; pods on nodes are counted alike. Volcano changes what it writes into the status of a queue,
and limits the queue by something else.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from vcray.core.arrays import Int
from vcray.core.hooks import Charges
from vcray.core.snapshot import Snapshot
from vcray.core.tables import MISSING, JobTable, NodeTable, ShapeSpec, Status

ON_NODE = (Status.ALLOCATED, Status.BINDING, Status.BOUND, Status.RUNNING, Status.RELEASING, Status.UNKNOWN)


def charged(snapshot: Snapshot, hooks: Sequence[Charges]) -> Snapshot:
    """The snapshot with requests as plugins charge them; the same object when nobody charges anything."""
    if not hooks or not any(spec.asks for spec in snapshot.shapes):
        return snapshot
    found = {row: _charges(snapshot, hooks, spec) for row, spec in enumerate(snapshot.shapes) if spec.asks}
    shapes = list(snapshot.shapes)
    passed: set[str] = set()
    for row, amounts in found.items():
        if amounts:
            shapes[row] = _recharged(snapshot, shapes[row], amounts)
            passed.update(name for name, amount in amounts.items() if not amount)
    changed = [row for row in found if shapes[row] is not snapshot.shapes[row]]
    snapshot = _offered(snapshot, hooks)
    if not changed:
        return snapshot
    return replace(
        snapshot,
        shapes=tuple(shapes),
        nodes=_nodes(snapshot, shapes, changed),
        jobs=_jobs(snapshot, passed),
    )


def _offered(snapshot: Snapshot, hooks: Sequence[Charges]) -> Snapshot:
    """The snapshot with what ledgers offer added to what nodes list."""
    extra = [(name, amounts) for hook in hooks for name, amounts in hook.offers(snapshot).items()]
    extra = [(name, amounts) for name, amounts in extra if name in snapshot.space.rows]
    if not extra:
        return snapshot
    nodes = snapshot.nodes
    allocatable, kube = nodes.allocatable.copy(), nodes.kube_allocatable.copy()
    for name, amounts in extra:
        allocatable[snapshot.space.rows[name]] += amounts
        kube[snapshot.space.rows[name]] += amounts
    return replace(snapshot, nodes=replace(nodes, allocatable=allocatable, kube_allocatable=kube))


def _charges(snapshot: Snapshot, hooks: Sequence[Charges], spec: ShapeSpec) -> Mapping[str, int]:
    merged: dict[str, int] = {}
    for hook in hooks:
        merged.update(hook.charges(snapshot, spec) or {})
    return merged


def _recharged(snapshot: Snapshot, spec: ShapeSpec, amounts: Mapping[str, int]) -> ShapeSpec:
    """A shape with these amounts (whole units) in place of its own; 0 takes a resource off."""
    requests = {name: amount for name, amount in spec.requests if amounts.get(name, 1)}
    requests |= {
        name: amount * 1000 for name, amount in amounts.items() if amount and name in snapshot.space.rows
    }
    sorted_requests = tuple(sorted(requests.items()))
    return spec if sorted_requests == spec.requests else replace(spec, requests=sorted_requests)


def _nodes(snapshot: Snapshot, shapes: Sequence[ShapeSpec], changed: Sequence[int]) -> NodeTable:
    """Node sums with the difference that pods on nodes make."""
    tasks, nodes, space = snapshot.tasks, snapshot.nodes, snapshot.space
    there = (tasks.node != MISSING) & np.isin(tasks.status, ON_NODE) & np.isin(tasks.shape, changed)
    rows = np.flatnonzero(there)
    if not len(rows):
        return nodes
    more: dict[int, Int] = {
        row: space.vector(dict(shapes[row].requests)) - space.vector(dict(snapshot.shapes[row].requests))
        for row in changed
    }
    delta = np.stack([more[shape] for shape in tasks.shape[rows].tolist()], axis=1)
    used, requested, releasing = nodes.used.copy(), nodes.requested.copy(), nodes.releasing.copy()
    leaving = tasks.status[rows] == Status.RELEASING
    for r in np.flatnonzero(delta.any(axis=1)).tolist():
        np.add.at(used[r], tasks.node[rows], delta[r])
        np.add.at(requested[r], tasks.node[rows], delta[r])
        np.add.at(releasing[r], tasks.node[rows[leaving]], delta[r, leaving])
    return replace(nodes, used=used, requested=requested, releasing=releasing)


def _jobs(snapshot: Snapshot, passed: set[str]) -> JobTable:
    """PodGroups whose minimum does not name what queue checks pass by."""
    jobs = snapshot.jobs
    rows = sorted(snapshot.space.rows[name] for name in passed if name in snapshot.space.rows)
    rows = [row for row in rows if jobs.min_resources[row].any()]
    if not rows:
        return jobs
    amounts, named = jobs.min_resources.copy(), jobs.min_resources_named.copy()
    amounts[rows] = 0
    named[rows] = False
    return replace(jobs, min_resources=amounts, min_resources_named=named)

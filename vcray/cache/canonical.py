"""A snapshot as bytes that depend on the objects alone: rows by name, numbers replaced by what they stand for.

Two snapshots of the same objects are equal here whatever the order of events, the number of shards or the rows that
history left behind. `generation` is left out: it counts events.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np

from vcray.core.arrays import Bool, Int, Int32
from vcray.core.snapshot import Snapshot
from vcray.core.tables import MISSING, PodTerm, ShapeSpec, SpreadTerm


def canonical(snapshot: Snapshot) -> bytes:
    """The bytes of a snapshot; equal bytes mean equal snapshots up to the order of rows."""
    writer = _Writer(snapshot)
    return msgspec.msgpack.encode(
        {
            "now": snapshot.now,
            "seed": snapshot.seed,
            "nodes": writer.nodes(),
            "images": writer.images(),
            "tasks": writer.tasks(),
            "jobs": writer.jobs(),
            "queues": writer.queues(),
            "details": repr(snapshot.details),
        }
    )


class _Writer:
    """Tables as lists of plain values in name order."""

    def __init__(self, snapshot: Snapshot) -> None:
        self.snapshot = snapshot
        self.shapes = [self._shape(shape) for shape in snapshot.shapes]

    def _selector(self, row: int) -> str:
        return repr(self.snapshot.selectors[row])

    def _term(self, term: PodTerm) -> list[object]:
        return [self._selector(term.selector), term.key, term.weight, term.self_match]

    def _spread(self, term: SpreadTerm) -> list[object]:
        return [
            self._selector(term.selector), term.key, term.max_skew, term.hard, term.min_domains,
            term.honor_affinity, term.honor_taints, term.self_match, term.system,
        ]  # fmt: skip

    def _shape(self, shape: ShapeSpec) -> list[object]:
        return [
            shape.requests,
            shape.floor,
            shape.node_selector,
            repr((shape.node_required, shape.node_preferred, shape.tolerations, shape.ports)),
            [
                [self._term(term) for term in terms]
                for terms in (shape.affinity, shape.anti_affinity, shape.preferred)
            ],
            [self._spread(term) for term in shape.spread],
            sorted(self._selector(row) for row in shape.matches),
            shape.images,
            shape.containers,
            shape.hold,
            repr((shape.asks, shape.pinned)),
            shape.notes,
        ]

    def _amounts(self, table: Int, column: int, named: Bool | None = None) -> dict[str, int]:
        """Amounts of one column by resource name: the named ones, or those that are not 0."""
        rows = np.flatnonzero(table[:, column] if named is None else named[:, column]).tolist()
        return dict(sorted((self.snapshot.space.names[row], int(table[row, column])) for row in rows))

    def _counts(self, names: Sequence[str], table: Int | Int32, column: int) -> list[tuple[str, int]]:
        return sorted(
            (names[row], int(table[row, column])) for row in np.flatnonzero(table[:, column]).tolist()
        )

    def nodes(self) -> list[object]:
        """Nodes with their sums; counters by what they count."""
        nodes = self.snapshot.nodes
        ports = [repr(port) for port in nodes.ports]
        selectors = [repr(selector) for selector in self.snapshot.selectors]
        anti = [repr(self._term(term)) for term in nodes.anti_terms]
        preferred = [repr(self._term(term)) for term in nodes.preferred_terms]
        tables = (nodes.allocatable, nodes.kube_allocatable, nodes.used, nodes.releasing, nodes.requested)
        labels = nodes.labels

        def row(column: int) -> list[object]:
            return [
                nodes.names[column],
                [self._amounts(table, column) for table in tables],
                nodes.requested_floor[:, column].tolist(),
                bool(nodes.ready[column]),
                bool(nodes.unschedulable[column]),
                sorted(
                    repr(nodes.taints[number]) for number in np.flatnonzero(nodes.tainted[:, column]).tolist()
                ),
                sorted(
                    (key, labels.values[number][labels.column[number, column]])
                    for key, number in labels.keys.items()
                    if labels.column[number, column] != MISSING
                ),
                int(nodes.tie[column]),
                self._counts(ports, nodes.port_count, column),
                self._counts(selectors, nodes.match, column),
                self._counts(anti, nodes.anti_owner, column),
                self._counts(preferred, nodes.preferred_weight, column),
                nodes.notes[column],
            ]

        rows = [row(column) for column in sorted(range(len(nodes)), key=nodes.names.__getitem__)]
        return [*rows, sorted(ports), sorted(anti), sorted(preferred)]

    def images(self) -> list[object]:
        """Images that matter, with nodes and sizes."""
        names = self.snapshot.nodes.names
        return [
            [image, sorted(zip((names[row] for row in rows.tolist()), sizes.tolist(), strict=True))]
            for image, (rows, sizes) in sorted(self.snapshot.nodes.images.items())
        ]

    def _node(self, row: int) -> str:
        return "" if row == MISSING else self.snapshot.nodes.names[row]

    def tasks(self) -> list[object]:
        """Tasks with their whole shape."""
        tasks, snapshot = self.snapshot.tasks, self.snapshot
        return [
            [
                tasks.names[row],
                tasks.uids[row],
                snapshot.jobs.names[tasks.job[row]],
                self.shapes[tasks.shape[row]],
                self._node(int(tasks.node[row])),
                int(tasks.status[row]),
                int(tasks.priority[row]),
                int(tasks.created[row]),
                int(tasks.index[row]),
                snapshot.roles[tasks.role[row]],
                bool(tasks.gated[row]),
                self._node(int(tasks.nominated[row])),
                repr(snapshot.pod_facts[tasks.facts[row]]),
                snapshot.label_sets[tasks.labels[row]],
                int(tasks.started[row]),
                int(tasks.scheduled[row]),
            ]
            for row in sorted(range(len(tasks)), key=tasks.names.__getitem__)
        ]

    def jobs(self) -> list[object]:
        """PodGroups."""
        jobs, snapshot = self.snapshot.jobs, self.snapshot
        return [
            [
                jobs.names[row],
                jobs.uids[row],
                "" if jobs.queue[row] == MISSING else snapshot.queues.names[jobs.queue[row]],
                jobs.queue_names[row],
                int(jobs.min_available[row]),
                int(jobs.priority[row]),
                int(jobs.created[row]),
                bool(jobs.preemptable[row]),
                bool(jobs.min_resources_set[row]),
                self._amounts(jobs.min_resources, row, jobs.min_resources_named),
                sorted((snapshot.roles[role], minimum) for role, minimum in jobs.role_minimum[row]),
                repr(jobs.status[row]),
                jobs.resource_version[row],
                self._amounts(jobs.requested_gated, row),
                jobs.notes[row],
                repr((jobs.closeness[row], jobs.subgroups[row])),
                jobs.quota_minimum[row] if jobs.quota_minimum else (),
            ]
            for row in sorted(range(len(jobs)), key=jobs.names.__getitem__)
        ]

    def queues(self) -> list[object]:
        """Queues."""
        queues = self.snapshot.queues
        return [
            [
                queues.names[row],
                queues.uids[row],
                int(queues.weight[row]),
                int(queues.priority[row]),
                int(queues.created[row]),
                "" if queues.parent[row] == MISSING else queues.names[queues.parent[row]],
                int(queues.state[row]),
                bool(queues.reclaimable[row]),
                self._amounts(queues.capability, row, queues.capability_named),
                self._amounts(queues.deserved, row, queues.deserved_named),
                self._amounts(queues.guarantee, row, queues.guarantee_named),
                queues.allocated[row],
                queues.resource_version[row],
                queues.notes[row],
                repr(queues.affinity[row]) if queues.affinity else "None",
            ]
            for row in sorted(range(len(queues)), key=queues.names.__getitem__)
        ]

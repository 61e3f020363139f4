"""Rows -> snapshot, all at once and plainly: the oracle of the incremental merge.

Every table is made from rows alone, in name order, so that the answer cannot depend on history.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from vcray.cache.amounts import Amounts
from vcray.cache.claims import ClaimFacts, facts_of, node_volumes, settled_facts
from vcray.cache.details.resourceclaims import table as device_table
from vcray.cache.details.storage import table
from vcray.cache.jobcolumns import quota_minimums
from vcray.cache.knowledge import Knowledge
from vcray.cache.labels import selects
from vcray.cache.podspec import SpreadForm
from vcray.cache.resolve import Context, Standing, plain, selectors_read, shape_of
from vcray.cache.rows import GroupRow, NodeRow, PodRow, QueueRow
from vcray.core.arrays import Bool, Int, Int32
from vcray.core.details import Details
from vcray.core.snapshot import SelectorSpec, Snapshot, tie_ranks
from vcray.core.space import ResourceSpace
from vcray.core.storage import ONE_POD
from vcray.core.tables import (
    MISSING,
    HostPort,
    JobTable,
    LabelColumns,
    NodeTable,
    QueueTable,
    ShapeSpec,
    Status,
    TaskTable,
)


@dataclass(slots=True)
class World:
    """All rows: pods by key (assumed placements included), nodes by name, and the rest."""

    pods: dict[str, PodRow] = field(default_factory=dict)
    nodes: dict[str, NodeRow] = field(default_factory=dict)
    knowledge: Knowledge = field(default_factory=Knowledge)


def frozen(array: npt.NDArray[np.generic]) -> None:
    """Forbid writing, so that a snapshot handed out stays what it was."""
    array.flags.writeable = False


class Assembler:
    """One assembly. Numbers are given in sorted order of names."""

    def __init__(self, world: World) -> None:
        self.world = world
        knowledge = world.knowledge
        self.nodes = [self._attaching(row) for _, row in sorted(world.nodes.items())]
        self.node_row = {row.name: number for number, row in enumerate(self.nodes)}
        self.queues = sorted(knowledge.queues.values(), key=lambda row: row.name)
        self.queue_row = {row.name: number for number, row in enumerate(self.queues)}
        self.groups = sorted(knowledge.groups.values(), key=lambda row: row.key)
        self.job_row = {row.key: number for number, row in enumerate(self.groups)}
        standing = {
            row.key: standing_of(row, row.node in self.node_row)
            for row in sorted(world.pods.values(), key=lambda row: row.key)
        }
        self.tasks = [world.pods[key] for key in standing if world.pods[key].job in self.job_row]
        self.residents = [world.pods[key] for key, value in standing.items() if value == Standing.RESIDENT]
        self.standing = standing
        self.selectors = self._live_selectors()
        self.selector_row = {selector: number for number, selector in enumerate(self.selectors)}
        self.known_images = frozenset(name for row in self.nodes for name, _ in row.images)
        self.shape_of_pod = {row.key: self._shape(row) for row in (*self.tasks, *self.residents)}
        used = {self.shape_of_pod[row.key] for row in self.tasks}
        self.shapes = tuple(sorted(used, key=repr))
        self.shape_row = {shape: number for number, shape in enumerate(self.shapes)}
        members = {role for group in self.groups for role, _ in group.role_minimum}
        self.roles = ("", *sorted((members | {row.role for row in self.tasks}) - {""}))
        self.role_row = {role: number for number, role in enumerate(self.roles)}
        self.space = ResourceSpace.of(self._resources())
        self.facts = {
            facts: number for number, facts in enumerate(dict.fromkeys(row.facts for row in self.tasks))
        }
        self.label_sets = {
            labels: n for n, labels in enumerate(dict.fromkeys(row.labels for row in self.tasks))
        }

    def _live_selectors(self) -> tuple[SelectorSpec, ...]:
        found: dict[SelectorSpec, None] = {}
        waiting = [row for row in self.tasks if self.standing[row.key] == Standing.WAITING]
        selector = self.world.knowledge.term_selector
        for row in (*self.residents, *waiting):
            read = selectors_read(row.form, self.standing[row.key], selector, self._default_spread(row))
            found |= dict.fromkeys(read)
        return tuple(sorted(found, key=repr))

    def _default_spread(self, row: PodRow) -> tuple[SpreadForm, ...]:
        if self.standing[row.key] != Standing.WAITING or row.form.spread:
            return ()
        return self.world.knowledge.default_spread(namespace_of(row), row.labels, row.owner)

    def _shape(self, row: PodRow) -> ShapeSpec:
        knowledge, labels = self.world.knowledge, dict(row.labels)
        context = Context(
            selector=knowledge.term_selector,
            row=self.selector_row.__getitem__,
            matches=tuple(
                number
                for number, selector in enumerate(self.selectors)
                if selects(selector, namespace_of(row), labels)
            ),
            claims=self._claims(row),
            default_spread=self._default_spread(row),
            images=tuple(image for image in row.form.images if image in self.known_images),
        )
        return shape_of(row.form, self.standing[row.key], context)

    def _attaching(self, row: NodeRow) -> NodeRow:
        """A node with the volumes that it can attach among what it offers."""
        volumes = dict(node_volumes(self.world.knowledge, row.name))
        return row._replace(
            allocatable=tuple(sorted({**dict(row.allocatable), **volumes}.items())),
            kube_allocatable=tuple(sorted({**dict(row.kube_allocatable), **volumes}.items())),
        )

    def _claims(self, row: PodRow) -> ClaimFacts:
        facts = facts_of(self.world.knowledge, (namespace_of(row), row.claims, row.devices))
        waits = self.standing[row.key] == Standing.WAITING
        return facts if waits else settled_facts(self.world.knowledge, facts)

    def _resources(self) -> Iterable[str]:
        for node in self.nodes:
            yield from (name for name, _ in node.allocatable)
        for shape in {**dict.fromkeys(self.shape_of_pod.values())}:
            yield from (name for name, _ in shape.requests)
        for group in self.groups:
            yield from (name for name, _ in group.min_resources or ())
        for queue in self.queues:
            for amounts in (queue.capability, queue.deserved, queue.guarantee):
                yield from (name for name, _ in amounts)

    def snapshot(self, generation: int, now: float, seed: int) -> Snapshot:
        """The snapshot of the rows."""
        return Snapshot(
            generation=generation,
            now=now,
            seed=seed,
            space=self.space,
            nodes=self._node_table(seed),
            shapes=self.shapes,
            selectors=self.selectors,
            tasks=self._task_table(),
            roles=self.roles,
            jobs=self._job_table(),
            queues=self._queue_table(),
            pod_facts=tuple(self.facts),
            label_sets=tuple(self.label_sets),
            details=Details(
                storage=table(self.world.knowledge, {}),
                devices=device_table(self.world.knowledge, {}),
                claim_users=self._users(),
            ),
        )

    def _users(self) -> dict[str, int] | None:
        """Pods on nodes by claim that only one may use."""
        users: dict[str, int] = {}
        if not any(ONE_POD in claim.access_modes for claim in self.world.knowledge.claims.values()):
            return None
        for row in self.world.pods.values():
            if row.status in (Status.PENDING, Status.SUCCEEDED, Status.FAILED):
                continue
            for key in (f"{namespace_of(row)}/{name}" for name, _ in row.claims):
                claim = self.world.knowledge.claims.get(key)
                if claim is not None and ONE_POD in claim.access_modes:
                    users[key] = users.get(key, 0) + 1
        return dict(sorted(users.items()))

    def amounts(self, columns: Iterable[Amounts]) -> tuple[Int, Bool]:
        """(R, K) amounts and the mask of resources that are named."""
        listed = list(columns)
        amounts = np.zeros((len(self.space), len(listed)), dtype=np.int64)
        named = np.zeros((len(self.space), len(listed)), dtype=np.bool_)
        for number, pairs in enumerate(listed):
            for name, amount in pairs:
                amounts[self.space.rows[name], number] = amount
                named[self.space.rows[name], number] = True
        frozen(amounts)
        frozen(named)
        return amounts, named

    def _node_table(self, seed: int) -> NodeTable:
        names = tuple(row.name for row in self.nodes)
        count, size = len(names), len(self.space)
        used, releasing = np.zeros((size, count), np.int64), np.zeros((size, count), np.int64)
        floor = np.zeros((2, count), np.int64)
        shapes = dict.fromkeys(self.shape_of_pod.values())
        ports = sorted({port for shape in shapes for port in shape.ports}, key=repr)
        anti = sorted({plain(term) for shape in shapes for term in shape.anti_affinity}, key=repr)
        preferred = sorted({plain(term) for shape in shapes for term in shape.preferred}, key=repr)
        port_row: Mapping[HostPort, int] = {port: number for number, port in enumerate(ports)}
        anti_row = {term: number for number, term in enumerate(anti)}
        preferred_row = {term: number for number, term in enumerate(preferred)}
        port_count = np.zeros((len(ports), count), np.int32)
        match = np.zeros((len(self.selectors), count), np.int32)
        anti_owner = np.zeros((len(anti), count), np.int32)
        preferred_weight = np.zeros((len(preferred), count), np.int64)
        for row in self.residents:
            shape, node = self.shape_of_pod[row.key], self.node_row[row.node]
            request = self.space.vector(dict(shape.requests))
            used[:, node] += request
            if row.status == Status.RELEASING:
                releasing[:, node] += request
            floor[:, node] += shape.floor
            for port in shape.ports:
                port_count[port_row[port], node] += 1
            for number in shape.matches:
                if row.status != Status.RELEASING or not self.selectors[number].living:
                    match[number, node] += 1
            for term in dict.fromkeys(map(plain, shape.anti_affinity)):
                anti_owner[anti_row[term], node] += 1
            for term in shape.preferred:
                preferred_weight[preferred_row[plain(term)], node] += term.weight
        taints = tuple(sorted({taint for row in self.nodes for taint in row.taints}, key=repr))
        tainted = np.array([[taint in row.taints for row in self.nodes] for taint in taints], np.bool_)
        ready = np.array([row.ready for row in self.nodes], np.bool_)
        unschedulable = np.array([row.unschedulable for row in self.nodes], np.bool_)
        tainted = tainted.reshape(len(taints), count)
        tie = tie_ranks(seed, names)
        arrays: tuple[npt.NDArray[np.generic], ...] = (
            used, releasing, floor, ready, unschedulable, tainted, tie, port_count, match, anti_owner, preferred_weight,
        )  # fmt: skip
        for array in arrays:
            frozen(array)
        return NodeTable(
            names=names,
            allocatable=self.amounts(row.allocatable for row in self.nodes)[0],
            kube_allocatable=self.amounts(row.kube_allocatable for row in self.nodes)[0],
            used=used,
            releasing=releasing,
            requested=used,
            requested_floor=floor,
            ready=ready,
            unschedulable=unschedulable,
            taints=taints,
            tainted=tainted,
            labels=self._labels(),
            tie=tie,
            ports=tuple(ports),
            port_count=port_count,
            match=match,
            anti_terms=tuple(anti),
            anti_owner=anti_owner,
            preferred_terms=tuple(preferred),
            preferred_weight=preferred_weight,
            images=self._images(),
            notes=tuple(row.notes for row in self.nodes),
        )

    def _labels(self) -> LabelColumns:
        values: dict[str, set[str]] = {}
        for row in self.nodes:
            for key, value in row.labels:
                values.setdefault(key, set()).add(value)
        keys = sorted(values)
        number = {key: {value: n for n, value in enumerate(sorted(values[key]))} for key in keys}
        column = np.full((len(keys), len(self.nodes)), MISSING, np.int32)
        for node, row in enumerate(self.nodes):
            for key, value in row.labels:
                column[keys.index(key), node] = number[key][value]
        frozen(column)
        return LabelColumns(
            {key: n for n, key in enumerate(keys)}, tuple(tuple(number[key]) for key in keys), column
        )

    def _images(self) -> dict[str, tuple[Int32, Int]]:
        wanted = {image for shape in self.shapes for image in shape.images}
        found: dict[str, list[tuple[int, int]]] = {}
        for node, row in enumerate(self.nodes):
            for name, size in row.images:
                if name in wanted:
                    found.setdefault(name, []).append((node, size))
        return {
            name: (
                np.array([node for node, _ in pairs], np.int32),
                np.array([size for _, size in pairs], np.int64),
            )
            for name, pairs in sorted(found.items())
        }

    def _task_table(self) -> TaskTable:
        tasks = self.tasks

        def column(values: Iterable[int], kind: type[np.generic]) -> npt.NDArray[np.generic]:
            array = np.fromiter(values, kind, len(tasks))
            frozen(array)
            return array

        return TaskTable(
            names=tuple(row.key for row in tasks),
            uids=tuple(row.uid for row in tasks),
            job=column((self.job_row[row.job] for row in tasks), np.int32),  # type: ignore[arg-type]
            shape=column((self.shape_row[self.shape_of_pod[row.key]] for row in tasks), np.int32),  # type: ignore[arg-type]
            node=column((self.node_row.get(row.node, MISSING) for row in tasks), np.int32),  # type: ignore[arg-type]
            status=column((row.status for row in tasks), np.int8),  # type: ignore[arg-type]
            priority=column((row.priority for row in tasks), np.int32),  # type: ignore[arg-type]
            created=column((row.created for row in tasks), np.int64),  # type: ignore[arg-type]
            index=column((row.ordinal for row in tasks), np.int32),  # type: ignore[arg-type]
            role=column((self.role_row[row.role] for row in tasks), np.int32),  # type: ignore[arg-type]
            gated=column((row.gated for row in tasks), np.bool_),  # type: ignore[arg-type]
            nominated=column((self.node_row.get(row.nominated, MISSING) for row in tasks), np.int32),  # type: ignore[arg-type]
            facts=column((self.facts[row.facts] for row in tasks), np.int32),  # type: ignore[arg-type]
            labels=column((self.label_sets[row.labels] for row in tasks), np.int32),  # type: ignore[arg-type]
            started=column((row.started for row in tasks), np.int64),  # type: ignore[arg-type]
            scheduled=column((row.scheduled for row in tasks), np.int64),  # type: ignore[arg-type]
        )

    def _job_table(self) -> JobTable:
        groups = self.groups
        min_resources, named = self.amounts(row.min_resources or () for row in groups)
        gated = np.zeros((len(self.space), len(groups)), np.int64)
        for row in self.tasks:
            if row.gated and row.status == Status.PENDING:
                gated[:, self.job_row[row.job]] += self.space.vector(
                    dict(self.shape_of_pod[row.key].requests)
                )
        knowledge = self.world.knowledge
        frozen(gated)
        return JobTable(
            names=tuple(row.key for row in groups),
            uids=tuple(row.uid for row in groups),
            queue=ints((self.queue_row.get(row.queue, MISSING) for row in groups), len(groups)),
            queue_names=tuple(row.queue for row in groups),
            min_available=ints((row.min_available for row in groups), len(groups)),
            priority=ints((knowledge.job_priority(row) for row in groups), len(groups)),
            created=longs((row.created for row in groups), len(groups)),
            preemptable=bools((row.preemptable for row in groups), len(groups)),
            min_resources=min_resources,
            min_resources_set=bools((row.min_resources is not None for row in groups), len(groups)),
            min_resources_named=named,
            role_minimum=tuple(self._role_minimum(row) for row in groups),
            status=tuple(row.status for row in groups),
            resource_version=tuple(row.resource_version for row in groups),
            requested_gated=gated,
            notes=tuple(row.notes for row in groups),
            closeness=tuple(row.closeness for row in groups),
            subgroups=tuple(row.subgroups for row in groups),
            quota_minimum=quota_minimums(list(groups)),
            never_preempts=bools((knowledge.never_preempts(row) for row in groups), len(groups)),
            released=bools((row.released for row in groups), len(groups)),
        )

    def _role_minimum(self, row: GroupRow) -> tuple[tuple[int, int], ...]:
        return tuple((self.role_row[role], minimum) for role, minimum in row.role_minimum)

    def _queue_table(self) -> QueueTable:
        queues = self.queues
        capability, capability_named = self.amounts(row.capability for row in queues)
        deserved, deserved_named = self.amounts(row.deserved for row in queues)
        guarantee, guarantee_named = self.amounts(row.guarantee for row in queues)
        return QueueTable(
            names=tuple(row.name for row in queues),
            uids=tuple(row.uid for row in queues),
            weight=ints((row.weight for row in queues), len(queues)),
            priority=ints((row.priority for row in queues), len(queues)),
            created=longs((row.created for row in queues), len(queues)),
            parent=ints((parent_of(row, self.queue_row) for row in queues), len(queues)),
            state=np.array([row.state for row in queues], np.int8),
            reclaimable=bools((row.reclaimable for row in queues), len(queues)),
            capability=capability,
            capability_named=capability_named,
            deserved=deserved,
            deserved_named=deserved_named,
            guarantee=guarantee,
            guarantee_named=guarantee_named,
            allocated=tuple(row.allocated for row in queues),
            resource_version=tuple(row.resource_version for row in queues),
            notes=tuple(row.notes for row in queues),
            affinity=tuple(row.affinity for row in queues) if any(row.affinity for row in queues) else (),
        )


def standing_of(row: PodRow, node_known: bool) -> Standing:
    """Waiting pods have no node; residents sit on a node that is known and have not ended."""
    if row.status == Status.PENDING:
        return Standing.WAITING
    if node_known and row.status not in (Status.SUCCEEDED, Status.FAILED):
        return Standing.RESIDENT
    return Standing.BARE


def namespace_of(row: PodRow) -> str:
    """The namespace in the row's key."""
    return row.key.partition("/")[0]


def parent_of(queue: QueueRow, rows: Mapping[str, int]) -> int:
    """Row of the parent queue; a queue that names none hangs under root."""
    if queue.name == "root":
        return MISSING
    return rows.get(queue.parent or "root", MISSING)


def ints(values: Iterable[int], count: int) -> Int32:
    """A frozen int32 column."""
    array = np.fromiter(values, np.int32, count)
    frozen(array)
    return array


def longs(values: Iterable[int], count: int) -> Int:
    """A frozen int64 column."""
    array = np.fromiter(values, np.int64, count)
    frozen(array)
    return array


def bools(values: Iterable[bool], count: int) -> Bool:
    """A frozen bool column."""
    array = np.fromiter(values, np.bool_, count)
    frozen(array)
    return array

"""Takes a delta's nodes and cluster objects into the state and marks the pods that they touch."""

from __future__ import annotations

from vcray.cache import details
from vcray.cache.claims import node_volumes
from vcray.cache.consequences import place_of, touched_by
from vcray.cache.delta import Delta, Field
from vcray.cache.rows import ClusterRow, NodeRow
from vcray.cache.state import State
from vcray.cache.store import Store
from vcray.core.tables import MISSING


class ClusterIntake:
    """PodGroups, queues, claims, classes, namespaces, Services and owners."""

    def __init__(self, state: State) -> None:
        self._state = state
        self._seen: Store[ClusterRow] = Store()
        self._shard_of: dict[tuple[str, str], int] = {}
        self._came: list[int] = []
        self._went: list[int] = []

    def take(self, delta: Delta) -> None:
        """Take in rows; the newest version wins."""
        self._came, self._went = [], []
        for kind, key, version in delta.gone_cluster:
            self._drop(kind, key, version)
        for version, row in delta.cluster:
            self._put(row, version, delta.shard)
        if delta.full:
            present = {place_of(row) for _, row in delta.cluster}
            held = [place for place, shard in self._shard_of.items() if shard == delta.shard]
            for kind, key in held:
                if (kind, key) not in present:
                    self._drop(kind, key, 0)
        self._change_tables()

    def _drop(self, kind: str, key: str, version: int) -> None:
        before = self._seen.get(f"{kind}/{key}")
        if self._seen.drop(f"{kind}/{key}", version):
            self._shard_of.pop((kind, key), None)
            self._state.knowledge.drop(kind, key)
            self._follow(kind, key, [before] if before else [])

    def _put(self, row: ClusterRow, version: int, shard: int) -> None:
        kind, key = place_of(row)
        before = self._seen.get(f"{kind}/{key}")
        if self._seen.put(f"{kind}/{key}", version, row):
            self._shard_of[kind, key] = shard
            if before != row:
                self._state.knowledge.put(row)
                self._follow(kind, key, [before, row] if before else [row])

    def _follow(self, kind: str, key: str, rows: list[ClusterRow]) -> None:
        """Draw the consequences of a changed object."""
        state = self._state
        if kind == "PodGroup":
            self._follow_group(key)
        elif kind == "Queue":
            state.frozen.queues = state.frozen.jobs = None
            queue = state.knowledge.queues.get(key)
            if queue is not None:
                parts = (queue.capability, queue.deserved, queue.guarantee)
                state.need(name for part in parts for name, _ in part)
        elif kind == "PriorityClass":
            for group in list(state.jobs.groups):
                state.put_group(group)
        state.frozen.details.changed(kind)
        if kind == "CSINode":
            state.volumes_changed[key] = None
        touched = touched_by(state.resolver, state.strings.of, kind, key, rows)
        if touched is not None:
            state.mark(touched.field, touched.numbers)
            if touched.field == Field.CLAIMS:
                state.need(state.resolver.attached(touched.numbers))

    def _follow_group(self, key: str) -> None:
        state = self._state
        number = state.string(key)
        group = state.knowledge.groups.get(key)
        if group is not None:
            if state.job_row[number] == MISSING:
                self._came.append(number)
                state.frozen.pods_changed()
            state.need(name for name, _ in group.min_resources or ())
            state.put_group(group)
        elif state.job_row[number] != MISSING:
            moved = state.jobs.remove(key)
            state.job_row[number] = MISSING
            if moved is not None:
                state.job_row[state.string(moved[1])] = moved[0]
            state.frozen.jobs = None
            state.frozen.pods_changed()
            self._went.append(number)

    def _change_tables(self) -> None:
        """Pods of PodGroups that came become tasks, those of PodGroups that went no longer are."""
        tables = self._state.tables
        for numbers, task in ((self._went, False), (self._came, True)):
            if numbers:
                origin = tables[not task]
                rows = self._state.rows_with(origin, Field.JOB, numbers)
                for key in [origin.keys[row] for row in rows]:
                    tables[task].take(key, origin)
                    self._state.dirty[key] = None


class NodeIntake:
    """Nodes."""

    def __init__(self, state: State) -> None:
        self._state = state
        self._seen: Store[int] = Store()
        self._plain: dict[str, NodeRow] = {}

    def take(self, delta: Delta) -> None:
        """Take in rows; the newest version wins."""
        for name, version in delta.gone_nodes:
            if self._seen.drop(name, version):
                self._drop(name)
        for row in delta.nodes:
            if self._seen.put(row.name, row.version, delta.shard):
                self._put(row)
        if delta.full:
            present = {row.name for row in delta.nodes}
            held = [name for name, _, shard in self._seen.items() if shard == delta.shard]
            for name in held:
                if name not in present and self._seen.move_away(name):
                    self._drop(name)
        changed, self._state.volumes_changed = self._state.volumes_changed, {}
        for name in changed:
            if name in self._plain:
                self._put(self._plain[name])

    def _put(self, row: NodeRow) -> None:
        """Keep a node, with what it can attach by its CSINode added to what it offers."""
        state = self._state
        self._plain[row.name] = row
        volumes = node_volumes(state.knowledge, row.name)
        if volumes:
            row = row._replace(
                allocatable=tuple(sorted({**dict(row.allocatable), **dict(volumes)}.items())),
                kube_allocatable=tuple(sorted({**dict(row.kube_allocatable), **dict(volumes)}.items())),
            )
        state.need(name for name, _ in row.allocatable)
        if row.name not in state.nodes.rows:
            state.renumber = True
            state.mark(Field.NODE, [state.string(row.name)])
        self._images(state.nodes.put(row))
        state.frozen.nodes = None
        state.frozen.details.changed(details.NODES)

    def _drop(self, name: str) -> None:
        state = self._state
        self._plain.pop(name, None)
        state.renumber = True
        state.mark(Field.NODE, [state.string(name)])
        self._images(state.nodes.drop(name))
        state.frozen.details.changed(details.NODES)
        state.frozen.pods_changed()

    def _images(self, changed: list[str]) -> None:
        """Pods that name an image which some node has now, or none any more."""
        forms = self._state.resolver.forms.with_image
        self._state.mark(Field.FORM, [number for image in changed for number in forms.get(image, ())])

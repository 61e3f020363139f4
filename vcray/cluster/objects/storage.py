"""Versioned objects and their recent history: what etcd is to an API server.

One counter gives every change a resource version. Each resource keeps a window of its last changes, from which watches
resume and from which a list at an earlier version is rebuilt; what lies before the window is gone (410).
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections import deque
from collections.abc import Callable, Iterable, Iterator

from vcray.api.meta import JsonObject
from vcray.api.resources import Resource
from vcray.cluster.objects.record import Change, ObjectKey, Record, StoredEvent, make_record
from vcray.kube.errors import Gone

Listener = Callable[[StoredEvent], None]

HISTORY = 10_000


class _Table:
    """The objects of one resource, in key order, with the window of their last changes."""

    def __init__(self, history: int, horizon: int = 0) -> None:
        self.records: dict[ObjectKey, Record] = {}
        self.order: list[ObjectKey] = []
        self.history: deque[StoredEvent] = deque()
        self.limit = history
        self.horizon = horizon  # the version of the last change that was forgotten

    def note(self, event: StoredEvent) -> None:
        self.history.append(event)
        while len(self.history) > self.limit:
            self.horizon = self.history.popleft().version


class Storage:
    """All objects of one cluster; `history` is the number of changes that each resource remembers."""

    def __init__(self, history: int = HISTORY) -> None:
        self._history = history
        self._tables: dict[Resource, _Table] = {}
        self._owned: dict[str, dict[tuple[Resource, ObjectKey], None]] = {}
        self._uids: dict[str, tuple[Resource, ObjectKey]] = {}
        self._listeners: list[Listener] = []
        self._version = self._begun_at = 0

    def restore(self, records: Iterable[Record], version: int) -> None:
        """Begin with the objects of an earlier run, whose last change was `version`; what was before is forgotten.

        Only before the first change; listeners hear nothing."""
        self._version = self._begun_at = version
        self._tables.clear()
        for record in records:
            table = self._table(record.resource)
            table.records[record.key] = record
            self._uids[record.uid] = (record.resource, record.key)
            self._link(None, record)
        for table in self._tables.values():
            table.order = sorted(table.records)

    @property
    def version(self) -> int:
        """The resource version of the last change."""
        return self._version

    # -- reading ----------------------------------------------------------------------------------------------

    def get(self, resource: Resource, namespace: str, name: str) -> Record | None:
        """The present version of an object."""
        return self._table(resource).records.get((namespace, name))

    def by_uid(self, uid: str) -> Record | None:
        """The object with this UID, whatever its kind."""
        found = self._uids.get(uid)
        return None if found is None else self._table(found[0]).records.get(found[1])

    def counts(self) -> dict[str, int]:
        """How many objects of each resource there are, by the resource's full name; none where there are none."""
        return {
            resource.full_name: len(table.records)
            for resource, table in self._tables.items()
            if table.records
        }

    def owned_by(self, uid: str) -> list[Record]:
        """The objects that name this UID as an owner, oldest first."""
        found = self._owned.get(uid, {})
        return [self._table(resource).records[key] for resource, key in found]

    def scan(
        self, resource: Resource, namespace: str = "", after: ObjectKey | None = None
    ) -> Iterator[Record]:
        """Objects in key order, of one namespace or of all (empty), beginning behind `after`."""
        table = self._table(resource)
        start = bisect_right(table.order, after) if after else bisect_left(table.order, (namespace, ""))
        end = bisect_left(table.order, (namespace + "\0", "")) if namespace else len(table.order)
        for key in table.order[start:end]:
            record = table.records.get(key)
            if record is not None:
                yield record

    def scan_at(
        self, resource: Resource, version: int, namespace: str = "", after: ObjectKey | None = None
    ) -> Iterator[Record]:
        """The same as `scan` would have shown at an earlier version. Raises Gone if that is forgotten."""
        if version >= self._version:
            yield from self.scan(resource, namespace, after)
            return
        before: dict[ObjectKey, Record | None] = {}
        for event in reversed(self.since(resource, version)):
            before[event.record.key] = event.previous
        table = self._table(resource)
        keys = sorted(set(table.order) | set(before))
        for key in keys:
            if (namespace and key[0] != namespace) or (after and key <= after):
                continue
            record = before[key] if key in before else table.records.get(key)
            if record is not None:
                yield record

    def since(self, resource: Resource, version: int) -> list[StoredEvent]:
        """The changes after `version`, oldest first. Raises Gone if some of them are forgotten."""
        table = self._table(resource)
        if version < table.horizon:
            raise Gone(f"too old resource version: {version} ({table.horizon + 1})")
        found: list[StoredEvent] = []
        for event in reversed(table.history):
            if event.version <= version:
                break
            found.append(event)
        found.reverse()
        return found

    # -- writing ----------------------------------------------------------------------------------------------

    def put(self, resource: Resource, obj: JsonObject) -> Record:
        """Store a new version of an object, complete with metadata, and tell the listeners."""
        self._version += 1
        record = make_record(resource, obj, self._version)
        table = self._table(resource)
        previous = table.records.get(record.key)
        if previous is None:
            insort(table.order, record.key)
            self._uids[record.uid] = (resource, record.key)
        table.records[record.key] = record
        self._link(previous, record)
        change = Change.ADDED if previous is None else Change.MODIFIED
        self._tell(StoredEvent(change, record, previous))
        return record

    def remove(self, record: Record, last: JsonObject) -> Record:
        """Take an object away; `last` is its state as watchers are to see it go."""
        self._version += 1
        gone = make_record(record.resource, last, self._version)
        table = self._table(record.resource)
        del table.records[record.key]
        del table.order[bisect_left(table.order, record.key)]
        self._uids.pop(record.uid, None)
        self._link(record, None)
        self._tell(StoredEvent(Change.DELETED, gone, record))
        return gone

    def forget_history(self, resource: Resource | None = None) -> None:
        """Drop the remembered changes (of one resource or of all), as a compaction does."""
        for key, table in self._tables.items():
            if resource in (None, key) and table.history:
                table.horizon = table.history[-1].version
                table.history.clear()

    def listen(self, listener: Listener) -> Callable[[], None]:
        """Call `listener` on every change, in order, within the write; returns what ends it (safe to call twice)."""
        self._listeners.append(listener)

        def end() -> None:
            if listener in self._listeners:
                self._listeners.remove(listener)

        return end

    def _table(self, resource: Resource) -> _Table:
        table = self._tables.get(resource)
        if table is None:
            table = self._tables[resource] = _Table(self._history, self._begun_at)
        return table

    def _link(self, previous: Record | None, record: Record | None) -> None:
        if previous is not None and record is not None and previous.owners == record.owners:
            return
        if previous is not None:
            for uid in previous.owners:
                owned = self._owned.get(uid, {})
                owned.pop((previous.resource, previous.key), None)
                if not owned:
                    self._owned.pop(uid, None)
        if record is not None:
            for uid in record.owners:
                self._owned.setdefault(uid, {})[record.resource, record.key] = None

    def _tell(self, event: StoredEvent) -> None:
        self._table(event.record.resource).note(event)
        for listener in tuple(self._listeners):
            listener(event)

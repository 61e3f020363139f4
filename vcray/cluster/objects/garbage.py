"""What follows the end of an owner or of a namespace: the garbage collector and the namespace controller.

kube-controller-manager does this after a while. Here each change only notes what has to be looked at, and the notes are worked
off either before the verb returns, so that a run repeats exactly, or (after `defer`) in slices between other work of the event
loop, so that the end of an owner of ten thousand keeps nobody waiting.

An object is judged by its owner references: one owner that lives keeps it (the others are struck out), owners that wait for
their dependents make it go in the foreground, and if all are gone it goes too. An owner counts only under its own kind and
name, and, if it has a namespace, within it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple, Protocol

from vcray.api.meta import JsonObject, JsonValue
from vcray.api.resources import NAMESPACES, PODS
from vcray.clock import rfc3339
from vcray.cluster.objects.catalog import Catalog
from vcray.cluster.objects.deletion import FOREGROUND, ORPHAN, DeleteOptions, drop_finalizer, finalizers
from vcray.cluster.objects.emptying import remaining_conditions
from vcray.cluster.objects.record import Change, Record, StoredEvent, dig, entries, section, text
from vcray.cluster.objects.storage import Storage

SLICE = 64
"""Notes that are worked off at a time after `defer`."""

_FOREGROUND, _ORPHAN, _MARKED = FOREGROUND.encode(), b'"orphan"', b'"deletionTimestamp"'

Schedule = Callable[[Callable[[], None]], object]
"""Calls a function soon, as an event loop's `call_soon` does."""


class Writer(Protocol):
    """What the collector needs of the store."""

    def delete_record(self, record: Record, options: DeleteOptions) -> Record: ...
    def rewrite(self, record: Record, change: Callable[[JsonObject], bool]) -> None: ...


class _Note(NamedTuple):
    """Something to look at: `what` with an object's UID, or a namespace's name."""

    what: str
    subject: str


class _Owners(NamedTuple):
    """A dependent's owners: those that live, those that wait for it, those that are gone; of kinds unknown here."""

    solid: int
    waiting: list[str]
    gone: list[str]


class Collector:
    """Deletes or frees the objects that an owner or a namespace leaves behind."""

    def __init__(self, storage: Storage, catalog: Catalog, writer: Writer, now: Callable[[], float]) -> None:
        self._storage = storage
        self._catalog = catalog
        self._writer = writer
        self._now = now
        self._notes: deque[_Note] = deque()
        self._noted: set[_Note] = set()
        self._waiting: set[str] = set()
        self._emptied: set[str] = set()
        self._told: dict[str, str] = {}
        self._schedule: Schedule | None = None
        self._working = False
        self._asked = False
        storage.listen(self._see)

    @property
    def idle(self) -> bool:
        """Whether nothing is left to look at."""
        return not self._notes

    def defer(self, schedule: Schedule | None) -> None:
        """Work in slices from now on, each called through `schedule`; None means at once again."""
        self._schedule = schedule
        self._asked = False
        self.work()

    def recover(self) -> None:
        """Note what was under way in objects that were restored."""
        for resource in self._catalog.resources():
            for record in list(self._storage.scan(resource)):
                self._look(record)
                if any(self._is_odd(record, uid) for uid in record.owners):
                    self._note("item", record.uid)
                if record.resource == NAMESPACES and record.fields["status.phase"] == "Terminating":
                    self.empty_namespace(record.name)
        self.work()

    def empty_namespace(self, name: str) -> None:
        """Delete everything in a namespace that is being deleted, then the namespace itself if nothing lingers."""
        self._note("pods of", name)

    def work(self) -> None:
        """Work off what is noted: at once, or in slices."""
        if self._working:
            return
        if self._schedule is None:
            self._run(None)
        elif self._notes and not self._asked:
            self._asked = True
            self._schedule(self._slice)

    # -- noting -----------------------------------------------------------------------------------------------

    def _note(self, what: str, subject: str) -> None:
        note = _Note(what, subject)
        if note not in self._noted:
            self._noted.add(note)
            self._notes.append(note)
            if self._schedule is not None:
                self.work()

    def _see(self, event: StoredEvent) -> None:
        record, previous = event.record, event.previous
        if event.change is Change.DELETED:
            self._waiting.discard(record.uid)
            if self._storage.owned_by(record.uid):
                self._note("dependents of", record.uid)
            for uid in record.owners:
                if uid in self._waiting:
                    self._note("owner", uid)
            if record.namespace:
                space = self._storage.get(NAMESPACES, "", record.namespace)
                if space is not None and space.fields["status.phase"] == "Terminating":
                    self._note("namespace", record.namespace)
            return
        self._look(record)
        before = previous.owners if previous is not None else ()
        if record.owners != before and any(self._is_odd(record, uid) for uid in record.owners):
            self._note("item", record.uid)
        if self._waiting:
            for uid in {*record.owners, *before} & self._waiting:
                self._note("owner", uid)

    def _is_odd(self, record: Record, uid: str) -> bool:
        """Whether an owner is not there, or not where the dependent can have it."""
        owner = self._storage.by_uid(uid)
        return owner is None or owner.namespace not in ("", record.namespace)

    def _look(self, record: Record) -> None:
        """Note an owner that waits for its dependents."""
        body = record.body
        if _MARKED in body and (_FOREGROUND in body or _ORPHAN in body):
            obj = record.decode()
            held = finalizers(obj)
            if not dig(obj, "metadata", "deletionTimestamp"):
                return
            if ORPHAN in held:
                self._note("orphans of", record.uid)
            elif FOREGROUND in held:
                fresh = record.uid not in self._waiting
                self._waiting.add(record.uid)
                if fresh:
                    self._note("waiting", record.uid)

    # -- working ----------------------------------------------------------------------------------------------

    def _slice(self) -> None:
        self._asked = False
        self._run(SLICE)
        self.work()

    def _run(self, most: int | None) -> None:
        self._working = True
        try:
            while self._notes and (most is None or most > 0):
                note = self._notes.popleft()
                self._noted.discard(note)
                self._act(note)
                most = None if most is None else most - 1
        finally:
            self._working = False

    def _act(self, note: _Note) -> None:
        actions: dict[str, Callable[[str], None]] = {
            "item": self._judge,
            "dependents of": self._judge_dependents,
            "waiting": self._begin_foreground,
            "owner": self._finish_foreground,
            "orphans of": self._orphan,
            "pods of": self._purge_pods,
            "rest of": self._purge_rest,
            "purge": self._purge,
            "namespace": self._finish_namespace,
        }
        actions[note.what](note.subject)

    # -- owners -----------------------------------------------------------------------------------------------

    def _judge_dependents(self, uid: str) -> None:
        for dependent in self._storage.owned_by(uid):
            self._note("item", dependent.uid)

    def _begin_foreground(self, uid: str) -> None:
        self._judge_dependents(uid)
        self._note("owner", uid)

    def _judge(self, uid: str) -> None:
        record = self._storage.by_uid(uid)
        if record is None or not record.owners:
            return
        obj = record.decode()
        if dig(obj, "metadata", "deletionTimestamp"):
            return
        owners = self._sort(record, obj)
        if owners.solid:
            if owners.gone or owners.waiting:
                self._strike(record, {*owners.gone, *owners.waiting})
            return
        if owners.waiting and self._storage.owned_by(uid):
            if any(each.uid in self._waiting for each in self._storage.owned_by(uid)):
                self._unblock(record)  # a circle: nobody may wait for the other
            self._delete(record, "Foreground")
            return
        held = finalizers(obj)
        kept = "Orphan" if ORPHAN in held else "Foreground" if FOREGROUND in held else "Background"
        self._delete(record, kept)

    def _sort(self, record: Record, obj: JsonObject) -> _Owners:
        solid, waiting, gone = 0, [], []
        for owner in entries(dig(obj, "metadata", "ownerReferences")):
            uid, api_version, kind = (
                text(owner.get("uid")),
                text(owner.get("apiVersion")),
                text(owner.get("kind")),
            )
            if self._catalog.named(api_version, kind) is None:
                solid += 1  # nobody can tell
                continue
            found = self._storage.by_uid(uid)
            group = api_version.rpartition("/")[0]
            if (
                found is None
                or (found.resource.kind, found.resource.group, found.name)
                != (kind, group, text(owner.get("name")))
                or found.namespace not in ("", record.namespace)
            ):
                gone.append(uid)
            elif uid in self._waiting:
                waiting.append(uid)
            else:
                solid += 1
        return _Owners(solid, waiting, gone)

    def _delete(self, record: Record, propagation: str) -> None:
        present = self._storage.by_uid(record.uid)
        if present is not None:
            self._writer.delete_record(present, DeleteOptions(propagation=propagation))

    def _strike(self, record: Record, uids: set[str]) -> None:
        def strike(obj: JsonObject) -> bool:
            metadata = section(obj, "metadata")
            before = entries(metadata.get("ownerReferences"))
            left: list[JsonValue] = [each for each in before if each.get("uid") not in uids]
            metadata.pop("ownerReferences", None)
            if left:
                metadata["ownerReferences"] = left
            return len(left) < len(before)

        self._writer.rewrite(record, strike)

    def _unblock(self, record: Record) -> None:
        def unblock(obj: JsonObject) -> bool:
            for owner in entries(dig(obj, "metadata", "ownerReferences")):
                owner["blockOwnerDeletion"] = False
            return True

        self._writer.rewrite(record, unblock)

    def _orphan(self, uid: str) -> None:
        for dependent in self._storage.owned_by(uid)[:SLICE]:
            self._strike(dependent, {uid})
        owner = self._storage.by_uid(uid)
        if self._storage.owned_by(uid):
            self._note("orphans of", uid)
        elif owner is not None:
            self._release(owner, ORPHAN)

    def _release(self, record: Record, finalizer: str) -> None:
        self._writer.rewrite(record, lambda obj: drop_finalizer(obj, finalizer))

    def _finish_foreground(self, uid: str) -> None:
        owner = self._storage.by_uid(uid)
        if owner is None or uid not in self._waiting:
            return
        blocking = [each for each in self._storage.owned_by(uid) if self._blocks(each, uid)]
        if not blocking:
            self._waiting.discard(uid)
            self._release(owner, FOREGROUND)
        for each in blocking:
            self._note("item", each.uid)  # one that was made while its owner goes goes too

    @staticmethod
    def _blocks(dependent: Record, uid: str) -> bool:
        owners = entries(dig(dependent.decode(), "metadata", "ownerReferences"))
        return any(owner.get("uid") == uid and owner.get("blockOwnerDeletion") is True for owner in owners)

    # -- namespaces -------------------------------------------------------------------------------------------

    def _purge(self, uid: str) -> None:
        record = self._storage.by_uid(uid)
        if record is not None:
            self._writer.delete_record(record, DeleteOptions())

    def _purge_pods(self, name: str) -> None:
        for record in self._storage.scan(PODS, name):
            self._note("purge", record.uid)
        self._note("namespace", name)

    def _purge_rest(self, name: str) -> None:
        """Delete everything else, once there are no pods."""
        for resource in self._catalog.resources():
            if resource.namespaced:
                for record in self._storage.scan(resource, name):
                    self._note("purge", record.uid)
        self._emptied.add(name)
        self._note("namespace", name)

    def _finish_namespace(self, name: str) -> None:
        record = self._storage.get(NAMESPACES, "", name)
        if record is None or record.fields["status.phase"] != "Terminating":
            self._emptied.discard(name)
            self._told.pop(name, None)
            return
        if name not in self._emptied:
            if next(self._storage.scan(PODS, name), None) is None:
                self._note("rest of", name)
            else:
                self._tell_remaining(record, "pods", [])
            return
        left = self._left(name)
        if next(left, None) is not None:
            self._tell_remaining(record, "rest", self._left(name))
            return
        self._emptied.discard(name)
        self._told.pop(name, None)

        def finalize(obj: JsonObject) -> bool:
            section(obj, "spec").pop("finalizers", None)
            return True

        self._writer.rewrite(record, finalize)

    def _left(self, name: str) -> Iterator[Record]:
        for resource in self._catalog.resources():
            if resource.namespaced:
                yield from self._storage.scan(resource, name)

    def _tell_remaining(self, record: Record, stage: str, left: Iterable[Record]) -> None:
        """Say once a stage in the namespace's conditions what it waits for; pods go without saying."""
        if self._told.get(record.name) == stage:
            return
        self._told[record.name] = stage
        told = remaining_conditions(left, rfc3339(self._now()))

        def tell(obj: JsonObject) -> bool:
            section(obj, "status")["conditions"] = told
            return True

        self._writer.rewrite(record, tell)

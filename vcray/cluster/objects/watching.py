"""From stored changes to the lines of a watch, and the ways to delay them that tests and scenarios ask for.

Each watcher sees every change of its resource once, in order. A change takes an object into or out of a selector's
view, so it may be shown as another kind of event than it was. On request the events of one object are withheld until
released, and the order in which different watchers are served is shuffled by a seed; neither changes the storage.
"""

from __future__ import annotations

import asyncio
import random
from collections import deque
from collections.abc import Callable, Iterable

import msgspec

from vcray.api.meta import JsonObject
from vcray.api.resources import CUSTOMRESOURCEDEFINITIONS, Resource
from vcray.cluster.objects.catalog import Kind
from vcray.cluster.objects.lines import Lines
from vcray.cluster.objects.record import Change, ObjectKey, Record, StoredEvent, make_record
from vcray.cluster.objects.storage import Storage
from vcray.cluster.objects.versions import shown


def line(change: str, body: bytes) -> bytes:
    """One line of a watch."""
    return b'{"type":"%s","object":%s}' % (change.encode(), body)


def bookmark(resource: Resource, version: int, last_initial: bool = False) -> bytes:
    """An object that tells only how far a watch has come; `last_initial` ends the objects that were there before."""
    metadata: JsonObject = {"resourceVersion": str(version)}
    if last_initial:
        metadata["annotations"] = {"k8s.io/initial-events-end": "true"}
    body: JsonObject = {"kind": resource.kind, "apiVersion": resource.api_version, "metadata": metadata}
    return msgspec.json.encode(body)


def _nothing() -> None:
    return


Encode = Callable[[str, Record], bytes]
Frame = Callable[[str, bytes], bytes]
Shared = dict[tuple[tuple[Resource, str], str], bytes]
"""Lines of one change by the form they were made for and the change they tell."""

_LEFT = "LEFT"  # changed so that a selector sees it no longer


class Watcher:
    """One open watch: which changes it sees, and its lines.

    `encode` turns a change and a record into a line, `frame` a change and an object's bytes, by default JSON without a line end; watchers of one kind whose `form`
    is the same share the lines. `limit` is how many lines its reader may fall behind; `bookmarks` whether it wants any.
    """

    def __init__(
        self,
        kind: Kind,
        namespace: str,
        test: Callable[[Record], bool],
        *,
        encode: Encode | None = None,
        frame: Frame = line,
        form: str = "",
        limit: int = 0,
        bookmarks: bool = True,
    ) -> None:
        self.kind = kind
        self.resource = kind.stored
        self.bookmarks = bookmarks
        self._namespace = namespace
        self._test = test
        self._encode = encode or self._plain
        self._frame = frame
        self._form = (kind.resource, form)
        self.lines = Lines(limit)
        self.withheld: list[StoredEvent] = []
        self.pending: deque[StoredEvent] = deque()

    def _plain(self, change: str, record: Record) -> bytes:
        return line(change, shown(self.kind, record))

    def send(self, event: StoredEvent, shared: Shared) -> None:
        """Queue the line of a change, if it is seen through the selectors. `shared` keeps lines for other watchers."""
        change = self._seen_as(event)
        if change is None:
            return
        left = change == _LEFT
        key = (self._form, change)
        item = shared.get(key)
        if item is None:
            record = event.record
            if left and event.previous is not None:
                record = make_record(record.resource, event.previous.decode(), record.version)
            item = shared[key] = self._encode("DELETED" if left else change, record)
        self.lines.put(item)

    def _sees(self, record: Record) -> bool:
        return (not self._namespace or record.namespace == self._namespace) and self._test(record)

    def _seen_as(self, event: StoredEvent) -> str | None:
        record, previous = event.record, event.previous
        if event.change is Change.ADDED:
            return "ADDED" if self._sees(record) else None
        saw = previous is not None and self._sees(previous)
        if event.change is Change.DELETED:
            return "DELETED" if saw else None
        if self._sees(record):
            return "MODIFIED" if saw else "ADDED"
        return _LEFT if saw else None

    def mark(self, version: int) -> None:
        """Queue a bookmark, unless lines are on their way, so that none runs ahead."""
        if self.bookmarks and not self.withheld and not self.pending:
            self.lines.put(self._frame("BOOKMARK", bookmark(self.kind.resource, version)))


class Delivery:
    """Brings every change of a storage to the open watchers.

    With a `shuffle_seed`, watchers are served in a random order that the seed determines, each its own changes in
    order and in chunks, over several turns of the event loop; without one, within the write.
    """

    def __init__(self, storage: Storage, shuffle_seed: int | None = None) -> None:
        self._storage = storage
        self._watchers: dict[Resource, list[Watcher]] = {}
        self._held: set[tuple[Resource, ObjectKey]] = set()
        self._dice = None if shuffle_seed is None else random.Random(shuffle_seed)
        self._waiting: list[Watcher] = []
        self._scheduled = False
        self._stop = storage.listen(self._on_change)

    def open(self, watcher: Watcher, since: int | None) -> None:
        """Serve a watcher, beginning behind version `since`. Raises Gone if that is forgotten."""
        if since is not None:
            for event in self._storage.since(watcher.resource, since):
                self._offer(watcher, event, {})
        self._watchers.setdefault(watcher.resource, []).append(watcher)

    def close(self, watcher: Watcher) -> None:
        """Stop serving a watcher; safe to call twice."""
        watchers = self._watchers.get(watcher.resource, [])
        if watcher in watchers:
            watchers.remove(watcher)

    def end(self, watcher: Watcher, with_bookmark: bool = False) -> None:
        """End one watch in order: what was sent so far, on wish a last bookmark, then the end."""
        if watcher not in self._watchers.get(watcher.resource, []):
            return
        self.close(watcher)
        if with_bookmark:
            watcher.mark(self._storage.version)
        watcher.lines.put(None)

    def end_all(self) -> None:
        """End every open watch, as a server that goes away does."""
        for watcher in list(self.watchers()):
            self.end(watcher)

    def shut(self) -> None:
        """End every watch and listen to the storage no more."""
        self.end_all()
        self._stop()
        self._stop = _nothing

    def watchers(self) -> Iterable[Watcher]:
        """The open watches."""
        for watchers in self._watchers.values():
            yield from watchers

    def bookmark_all(self) -> None:
        """Send every idle watcher that wants any a bookmark."""
        for watcher in self.watchers():
            watcher.mark(self._storage.version)

    def idle(self) -> bool:
        """True if no change is on its way to a watcher; withheld ones do not count."""
        return not self._waiting and all(watcher.lines.empty() for watcher in self.watchers())

    # -- holding ----------------------------------------------------------------------------------------------

    def hold(self, resource: Resource, namespace: str, name: str) -> None:
        """Withhold the events of one object from all watchers until it is released."""
        self._held.add((resource, (namespace, name)))

    def release(self, resource: Resource, namespace: str, name: str) -> None:
        """Send what was withheld, in order, and withhold no more."""
        key = (namespace, name)
        self._held.discard((resource, key))
        for watcher in self._watchers.get(resource, []):
            due = [event for event in watcher.withheld if event.record.key == key]
            watcher.withheld = [event for event in watcher.withheld if event.record.key != key]
            for event in due:
                self._offer(watcher, event, {})

    # -- sending ----------------------------------------------------------------------------------------------

    def _on_change(self, event: StoredEvent) -> None:
        watchers = self._watchers.get(event.record.resource)
        if watchers:
            shared: Shared = {}
            for watcher in watchers:
                self._offer(watcher, event, shared)
        if event.change is Change.DELETED and event.record.resource == CUSTOMRESOURCEDEFINITIONS:
            self._end_kind(event.record.name)

    def _end_kind(self, name: str) -> None:
        """End the watches of a kind whose definition is gone; `name` is the definition's."""
        for watcher in [each for each in self.watchers() if each.resource.full_name == name]:
            self.end(watcher)

    def _offer(self, watcher: Watcher, event: StoredEvent, shared: Shared) -> None:
        if self._held and (watcher.resource, event.record.key) in self._held:
            watcher.withheld.append(event)
        elif self._dice is None:
            watcher.send(event, shared)
        else:
            if not watcher.pending:
                self._waiting.append(watcher)
            watcher.pending.append(event)
            self._schedule()

    def _schedule(self) -> None:
        if not self._scheduled:
            self._scheduled = True
            asyncio.get_running_loop().call_soon(self._serve_one)

    def _serve_one(self) -> None:
        self._scheduled = False
        if self._dice is None or not self._waiting:
            return
        watcher = self._waiting.pop(self._dice.randrange(len(self._waiting)))
        for _ in range(self._dice.randint(1, len(watcher.pending))):
            watcher.send(watcher.pending.popleft(), {})
        if watcher.pending:
            self._waiting.append(watcher)
        if self._waiting:
            self._schedule()

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
from vcray.cluster.objects.record import Change, ObjectKey, Record, StoredEvent, make_record
from vcray.cluster.objects.storage import Storage
from vcray.cluster.objects.versions import shown


def line(change: str, body: bytes) -> bytes:
    """One line of a watch."""
    return b'{"type":"%s","object":%s}' % (change.encode(), body)


def bookmark(resource: Resource, version: int, last_initial: bool = False) -> bytes:
    """A line that tells only how far the watch has come; `last_initial` ends the objects that were there before."""
    metadata: JsonObject = {"resourceVersion": str(version)}
    if last_initial:
        metadata["annotations"] = {"k8s.io/initial-events-end": "true"}
    body: JsonObject = {"kind": resource.kind, "apiVersion": resource.api_version, "metadata": metadata}
    return line("BOOKMARK", msgspec.json.encode(body))


def _nothing() -> None:
    return


class Watcher:
    """One open watch: which changes it sees, and the queue of its lines (None ends it)."""

    def __init__(self, kind: Kind, namespace: str, test: Callable[[Record], bool]) -> None:
        self.kind = kind
        self.resource = kind.stored
        self._namespace = namespace
        self._test = test
        self.queue: asyncio.Queue[bytes | None] = asyncio.Queue()
        self.withheld: list[StoredEvent] = []
        self.pending: deque[StoredEvent] = deque()

    def send(self, event: StoredEvent) -> None:
        """Queue the line of a change, if it is seen through the selectors."""
        shown = self._show(event)
        if shown is not None:
            self.queue.put_nowait(shown)

    def _sees(self, record: Record) -> bool:
        return (not self._namespace or record.namespace == self._namespace) and self._test(record)

    def _show(self, event: StoredEvent) -> bytes | None:
        record, previous = event.record, event.previous
        saw = previous is not None and self._sees(previous)
        if event.change is Change.DELETED:
            return line("DELETED", shown(self.kind, record)) if saw else None
        if self._sees(record):
            return line("MODIFIED" if saw else "ADDED", shown(self.kind, record))
        if saw and previous is not None:
            last = make_record(previous.resource, previous.decode(), record.version)
            return line("DELETED", shown(self.kind, last))
        return None


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
                self._offer(watcher, event)
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
        if with_bookmark and not watcher.withheld and not watcher.pending:
            watcher.queue.put_nowait(bookmark(watcher.kind.resource, self._storage.version))
        watcher.queue.put_nowait(None)

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
        """Send every idle watcher a bookmark; one that has lines on the way gets none, so none runs ahead."""
        for watcher in self.watchers():
            if not watcher.withheld and not watcher.pending:
                watcher.queue.put_nowait(bookmark(watcher.kind.resource, self._storage.version))

    def idle(self) -> bool:
        """True if no change is on its way to a watcher; withheld ones do not count."""
        return not self._waiting and all(watcher.queue.empty() for watcher in self.watchers())

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
                self._offer(watcher, event)

    # -- sending ----------------------------------------------------------------------------------------------

    def _on_change(self, event: StoredEvent) -> None:
        for watcher in self._watchers.get(event.record.resource, ()):
            self._offer(watcher, event)
        if event.change is Change.DELETED and event.record.resource == CUSTOMRESOURCEDEFINITIONS:
            self._end_kind(event.record.name)

    def _end_kind(self, name: str) -> None:
        """End the watches of a kind whose definition is gone; `name` is the definition's."""
        for watcher in [each for each in self.watchers() if each.resource.full_name == name]:
            self.end(watcher)

    def _offer(self, watcher: Watcher, event: StoredEvent) -> None:
        if (watcher.resource, event.record.key) in self._held:
            watcher.withheld.append(event)
        elif self._dice is None:
            watcher.send(event)
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
            watcher.send(watcher.pending.popleft())
        if watcher.pending:
            self._waiting.append(watcher)
        if self._waiting:
            self._schedule()

"""The verbs of the API server on stored objects: create, read, list, update, patch, apply, delete, bind, evict.

Synchronous and without I/O: each verb either changes the storage and returns, or raises the `ApiError` that a
kube-apiserver would answer with. Time comes from a `Clock`, identities from a counter, so a run repeats exactly. A server
that asks webhooks drives the same verbs step by step: `Store.verbs`.
"""

from __future__ import annotations

from collections.abc import Callable

from vcray.api.meta import JsonObject, JsonValue
from vcray.api.resources import NAMESPACES, PRIORITYCLASSES, Resource
from vcray.clock import Clock, WallClock
from vcray.cluster.admission.chain import Admission
from vcray.cluster.admission.pods import SYSTEM_PRIORITIES
from vcray.cluster.objects import lists, refusals
from vcray.cluster.objects.catalog import Catalog, default_catalog
from vcray.cluster.objects.deletion import DeleteOptions
from vcray.cluster.objects.lists import ListPage, Selection
from vcray.cluster.objects.metadata import Identities
from vcray.cluster.objects.persistence import Database
from vcray.cluster.objects.record import Record
from vcray.cluster.objects.removal import Removal
from vcray.cluster.objects.review import Gate, settled
from vcray.cluster.objects.storage import HISTORY, Storage
from vcray.cluster.objects.verbs import Verbs
from vcray.cluster.objects.write import PLAIN, Write

__all__ = ["DEFAULT_NAMESPACES", "ListPage", "Selection", "Store", "Write"]

DEFAULT_NAMESPACES = ("default", "kube-system", "kube-public", "kube-node-lease")

_SERVER = Write(manager="kube-apiserver")


class Store:
    """The objects of one embedded cluster.

    `clock` gives creation and deletion times; `seed` varies UIDs and generated names; `history` is the number of
    changes a resource remembers. With `collects` false, garbage and the contents of ended namespaces are left to
    controllers. `database` keeps all over restarts, of which each needs a seed of its own. `gates` are asked by every
    write; more may be appended.
    """

    def __init__(
        self,
        clock: Clock | None = None,
        *,
        catalog: Catalog | None = None,
        history: int = HISTORY,
        seed: int = 0,
        collects: bool = True,
        database: Database | None = None,
    ) -> None:
        self.clock: Clock = clock or WallClock()
        self.catalog = catalog or default_catalog()
        self.storage = Storage(history)
        self.gates: list[Gate] = []
        self.removal = Removal(self.storage, self.catalog, self.clock, collects)
        admission = Admission(self.storage)
        identities = Identities(seed)
        self.verbs = Verbs(
            self.storage, self.catalog, admission, self.removal, identities, self.clock, self.gates
        )
        if database is not None:
            database.restore(self.storage, self.catalog)
            self.removal.resume()
            if self.removal.collector is not None:
                self.removal.collector.recover()
        self._bootstrap()

    def _bootstrap(self) -> None:
        for name in DEFAULT_NAMESPACES:
            if self.storage.get(NAMESPACES, "", name) is None:
                self.create(NAMESPACES, "", {"metadata": {"name": name}}, _SERVER)
        for name, value in SYSTEM_PRIORITIES.items():
            if self.storage.get(PRIORITYCLASSES, "", name) is None:
                self.create(PRIORITYCLASSES, "", {"metadata": {"name": name}, "value": value}, _SERVER)

    # -- reading ----------------------------------------------------------------------------------------------

    def read(self, resource: Resource, namespace: str, name: str) -> Record:
        """One object. NotFound if it is not there."""
        record = self.storage.get(self.catalog.of(resource).stored, namespace, name)
        if record is None:
            raise refusals.not_found(resource, name)
        return record

    def list(self, resource: Resource, selection: Selection | None = None) -> ListPage:
        """One page of objects in key order. Gone if the page token or version is too old, BadRequest if malformed."""
        return lists.page(self.storage, self.catalog.of(resource), selection or Selection())

    # -- writing ----------------------------------------------------------------------------------------------

    def create(self, resource: Resource, namespace: str, obj: JsonObject, write: Write = PLAIN) -> Record:
        """Store a new object. `obj` is taken over and must not be used afterwards."""
        return settled(self.verbs.create(resource, namespace, obj, write))

    def update(
        self, resource: Resource, namespace: str, name: str, obj: JsonObject, write: Write = PLAIN
    ) -> Record:
        """Replace an object, or one subresource of it. Conflict if it names an older version than the present."""
        return settled(self.verbs.update(resource, namespace, name, obj, write))

    def patch(
        self, resource: Resource, namespace: str, name: str, body: JsonValue, how: str, write: Write = PLAIN
    ) -> Record:
        """Change an object by a patch of media type `how`; an apply creates it if it is not there."""
        return settled(self.verbs.patch(resource, namespace, name, body, how, write))

    def delete(
        self, resource: Resource, namespace: str, name: str, options: DeleteOptions | None = None
    ) -> tuple[Record, bool]:
        """Delete an object, or mark it if it has to wait; returns its last version and whether it is gone."""
        return settled(self.verbs.delete(resource, namespace, name, options or DeleteOptions(), PLAIN))

    def delete_record(self, record: Record, options: DeleteOptions) -> Record:
        """Delete without preconditions or reviews; returns the version after it."""
        return self.removal.delete(record, options)

    def rewrite(self, record: Record, change: Callable[[JsonObject], bool]) -> None:
        """Change the present version of an object as the server itself; done if `change` returns False."""
        self.removal.rewrite(record, change)

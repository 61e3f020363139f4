"""The recount of ResourceQuotas: their status says what limits hold and what is used, as kube-controller-manager's does.

A quota is recounted when its limits change, and when something in its namespace goes away or ends: what comes is charged by
admission. The recount happens after the event that caused it, by `later`, and writes only what changed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from vcray.api.jsonview import dig, dig_object
from vcray.api.meta import JsonObject
from vcray.api.resources import PODS, RESOURCEQUOTAS, Resource
from vcray.clock import Clock
from vcray.cluster.admission.quota import counted_resources
from vcray.cluster.admission.scopes import in_scope, is_terminating
from vcray.cluster.admission.usage import ZERO, Amounts, amounts_of, limited_names, texts_of, total, usage_of
from vcray.cluster.objects.catalog import Catalog
from vcray.cluster.objects.record import Change, Record, StoredEvent
from vcray.cluster.objects.storage import Storage

Later = Callable[[Callable[[], None]], object]
"""Calls a function soon, but not now: an event loop's `call_soon`."""

_ENDED = ("Succeeded", "Failed")
_CHANGING = ("services", "persistentvolumeclaims")


class QuotaStatus:
    """Keeps the statuses of all quotas of a store."""

    def __init__(self, storage: Storage, catalog: Catalog, clock: Clock, later: Later) -> None:
        self._storage = storage
        self._catalog = catalog
        self._clock = clock
        self._later = later
        self._waiting: dict[str, None] = {}
        self._unlisten = storage.listen(self._noticed)
        for record in storage.scan(RESOURCEQUOTAS):
            self._want(record.namespace)

    def close(self) -> None:
        """Stop following the store."""
        self._unlisten()

    def _noticed(self, event: StoredEvent) -> None:
        record = event.record
        if not record.namespace:
            return
        if record.resource == RESOURCEQUOTAS:
            if event.change is not Change.MODIFIED or _limits_changed(event):
                self._want(record.namespace)
        elif event.change is not Change.ADDED and self._has_quotas(record.namespace) and _frees(event):
            self._want(record.namespace)

    def _has_quotas(self, namespace: str) -> bool:
        return next(self._storage.scan(RESOURCEQUOTAS, namespace), None) is not None

    def _want(self, namespace: str) -> None:
        if not self._waiting:
            self._later(self._recount_waiting)
        self._waiting[namespace] = None

    def _recount_waiting(self) -> None:
        waiting, self._waiting = list(self._waiting), {}
        for namespace in waiting:
            self.recount(namespace)

    def recount(self, namespace: str) -> None:
        """Bring the status of every quota in a namespace up to date."""
        for record in list(self._storage.scan(RESOURCEQUOTAS, namespace)):
            quota = record.decode()
            hard = amounts_of(dig(quota, "spec", "hard"))
            used = self._used(namespace, quota, hard)
            before = dig_object(quota, "status")
            known = amounts_of(before.get("used"))
            same = "used" in before and _equal(amounts_of(before.get("hard")), hard) and _equal(known, used)
            if not same:
                quota["status"] = {"hard": dig_object(quota, "spec", "hard"), "used": texts_of(used)}
                self._storage.put(RESOURCEQUOTAS, quota)

    def _used(self, namespace: str, quota: JsonObject, hard: Amounts) -> Amounts:
        used: Amounts = {}
        now = self._clock.now()
        for resource in self._counted(list(hard)):
            names = limited_names(resource, hard)
            if all(name.startswith("count/") for name in names) and not _scoped(quota):
                count = sum(1 for _ in self._records(resource, namespace))
                used = total(used, {names[0]: ZERO._replace(nanos=count * 10**9)})
                continue
            for record in self._records(resource, namespace):
                obj = record.decode()
                if in_scope(quota, resource, obj):
                    mine = usage_of(resource, obj, now)
                    used = total(used, {name: mine[name] for name in names if name in mine})
        return {name: used.get(name, ZERO) for name in hard}

    def _counted(self, names: list[str]) -> list[Resource]:
        seen: dict[tuple[str, str], Resource] = {}
        for resource in counted_resources(self._catalog.resources(), names):
            seen.setdefault((resource.group, resource.plural), resource)
        return list(seen.values())

    def _records(self, resource: Resource, namespace: str) -> Iterator[Record]:
        return self._storage.scan(self._catalog.of(resource).stored, namespace)


def _scoped(quota: JsonObject) -> bool:
    return bool(dig(quota, "spec", "scopes") or dig(quota, "spec", "scopeSelector"))


def _equal(a: Amounts, b: Amounts) -> bool:
    return {name: amount.nanos for name, amount in a.items()} == {
        name: amount.nanos for name, amount in b.items()
    }


def _limits_changed(event: StoredEvent) -> bool:
    """Whether the limits are others than before, or than those in the status, whoever wrote it."""
    quota = event.record.decode()
    before = event.previous.decode() if event.previous is not None else {}
    told = amounts_of(dig(quota, "status", "hard"))
    return dig(before, "spec") != dig(quota, "spec") or not _equal(
        told, amounts_of(dig(quota, "spec", "hard"))
    )


def _frees(event: StoredEvent) -> bool:
    """Whether an event may have made room in a quota."""
    record, previous = event.record, event.previous
    if event.change is Change.DELETED:
        return True
    if previous is None:
        return False
    if record.resource == PODS:
        phase = record.fields.get("status.phase")
        if phase in _ENDED and previous.fields.get("status.phase") != phase:
            return True
        return is_terminating(record.decode()) != is_terminating(previous.decode())
    return not record.resource.group and record.resource.plural in _CHANGING

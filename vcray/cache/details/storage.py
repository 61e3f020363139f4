"""Volumes, what drivers attach where and how much they have left, as `core.storage` wants them."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final, TypeVar

import msgspec
import numpy as np

from vcray.api import names
from vcray.api.jsonview import dig, dig_list, dig_object, dig_objects, dig_str, dig_strings
from vcray.api.meta import JsonObject, JsonValue
from vcray.api.quantity import value
from vcray.api.wire import Selector
from vcray.api.wire_pod import NodeSelector
from vcray.cache.claims import owed, owed_volume
from vcray.cache.delta import Field
from vcray.cache.details.source import PODS, Kept, Source
from vcray.cache.labels import labels_of, requirements_of
from vcray.cache.podspec import node_term
from vcray.cache.promises import PROMISES
from vcray.core.storage import ONE_POD, Capacity, Driver, Drivers, Storage, Volume
from vcray.core.tables import NodeTerm, Status

if TYPE_CHECKING:
    from vcray.cache.knowledge import Knowledge
    from vcray.cache.state import State

T = TypeVar("T")

AVAILABLE: Final = "Available"
CLAIM: Final = "PersistentVolumeClaim"


def read_volume(data: JsonObject) -> Volume:
    """What is kept of a PersistentVolume. Raises QuantityError."""
    labels, claim = dig_strings(data, "metadata", "labels"), dig_object(data, "spec", "claimRef")
    annotations = dig_strings(data, "metadata", "annotations")
    spec = dig_object(data, "spec")
    return Volume(
        name=dig_str(data, "metadata", "name"),
        size=_size(dig(spec, "capacity", "storage")) or 0,
        access_modes=tuple(sorted(map(str, dig_list(spec, "accessModes")))),
        mode=dig_str(spec, "volumeMode") or "Filesystem",
        storage_class=annotations.get(names.BETA_STORAGE_CLASS) or dig_str(spec, "storageClassName"),
        attributes_class=dig_str(spec, "volumeAttributesClassName"),
        nodes=_required(dig(spec, "nodeAffinity", "required")),
        labels=labels_of(labels),
        zones=tuple(
            (label, tuple(sorted(labels[label].split("__"))))
            for label in names.ZONE_LABELS
            if label in labels
        ),
        claim=f"{dig_str(claim, 'namespace')}/{dig_str(claim, 'name')}" if claim else "",
        claim_uid=dig_str(claim, "uid"),
        available=dig_str(data, "status", "phase") == AVAILABLE,
        deleting=bool(dig_str(data, "metadata", "deletionTimestamp")),
        driver=dig_str(spec, "csi", "driver"),
    )


def _size(quantity: JsonValue) -> int | None:
    return value(quantity) if isinstance(quantity, str | int | float) else None


def _required(selector: JsonValue) -> tuple[NodeTerm, ...] | None:
    if not isinstance(selector, dict):
        return None
    return tuple(node_term(term) for term in msgspec.convert(selector, NodeSelector).node_selector_terms)


def read_drivers(data: JsonObject) -> Drivers:
    """What is kept of a CSINode: a driver that states no count can attach any number."""
    drivers: dict[str, int | None] = {}
    for item in dig_objects(data, "spec", "drivers"):
        count = dig(item, "allocatable", "count")
        drivers[dig_str(item, "name")] = count if isinstance(count, int) else None
    return Drivers(dig_str(data, "metadata", "name"), tuple(sorted(drivers.items())))


def read_driver(data: JsonObject) -> Driver:
    """What is kept of a CSIDriver."""
    return Driver(dig_str(data, "metadata", "name"), dig(data, "spec", "storageCapacity") is True)


def read_capacity(data: JsonObject) -> Capacity:
    """What is kept of a CSIStorageCapacity. Raises QuantityError, msgspec.ValidationError."""
    largest = _size(data.get("maximumVolumeSize"))
    topology = data.get("nodeTopology")
    return Capacity(
        key=f"{dig_str(data, 'metadata', 'namespace')}/{dig_str(data, 'metadata', 'name')}",
        storage_class=dig_str(data, "storageClassName"),
        largest=_size(data.get("capacity")) if largest is None else largest,
        topology=None
        if not isinstance(topology, dict)
        else requirements_of(msgspec.convert(topology, Selector)),
    )


def build(state: State) -> Storage | None:
    """The table; None where there is no claim."""
    return table(state.knowledge, _promised(state))


def table(knowledge: Knowledge, promised: dict[str, str]) -> Storage | None:
    """The table of what is known, with volumes given away; all in name order."""
    if not knowledge.claims:
        return None
    capacities: dict[str, list[Capacity]] = {}
    for _, capacity in sorted(_rows(knowledge, "CSIStorageCapacity", Capacity).items()):
        capacities.setdefault(capacity.storage_class, []).append(capacity)
    drivers = _rows(knowledge, "CSIDriver", Driver).values()
    return Storage(
        claims=dict(sorted(knowledge.claims.items())),
        volumes=dict(sorted(_rows(knowledge, "PersistentVolume", Volume).items())),
        classes=dict(sorted(knowledge.storage_classes.items())),
        capacities={name: tuple(found) for name, found in sorted(capacities.items())},
        publishing=tuple(sorted(row.name for row in drivers if row.publishes)),
        promised=dict(sorted(promised.items())),
    )


def _rows(knowledge: Knowledge, kind: str, row: type[T]) -> dict[str, T]:
    kept = knowledge.details.get(kind, {})
    return {key: item for key, item in kept.items() if isinstance(item, row)}


def users(state: State) -> dict[str, int] | None:
    """Pods on nodes by ReadWriteOncePod claim; None where there is no such claim."""
    single = {key for key, claim in state.knowledge.claims.items() if ONE_POD in claim.access_modes}
    if not single:
        return None
    used: dict[str, int] = {}
    over = (Status.PENDING, Status.SUCCEEDED, Status.FAILED)
    for table in state.tables.values():
        numbers = table.used(Field.CLAIMS)[~np.isin(table.used(Field.STATUS), over)]
        for number, count in zip(*np.unique(numbers, return_counts=True), strict=True):
            namespace, claims, _ = state.resolver.claims.values[int(number)]
            for key in {f"{namespace}/{name}" for name, _ in claims} & single:
                used[key] = used.get(key, 0) + int(count)
    return dict(sorted(used.items()))


def _promised(state: State) -> dict[str, str]:
    """Volumes given away that do not show their claim yet."""
    knowledge = state.knowledge
    state.promises.keep(partial(owed, knowledge))
    return {
        volume: claim
        for _, before in state.promises
        for claim, uid, volume in before.volumes
        if owed_volume(knowledge, claim, uid, volume)
    }


SOURCE: Final = Source(
    field="storage",
    kinds={
        "PersistentVolume": Kept(Volume, read_volume),
        "CSINode": Kept(Drivers, read_drivers),
        "CSIDriver": Kept(Driver, read_driver),
        "CSIStorageCapacity": Kept(Capacity, read_capacity),
    },
    build=build,
    looks_at=(PROMISES, CLAIM, "StorageClass"),
)

USERS: Final = Source(field="claim_users", kinds={}, build=users, looks_at=(PODS, CLAIM))

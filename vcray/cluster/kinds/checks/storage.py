"""Checks of claims, volumes and storage classes."""

from __future__ import annotations

from collections.abc import Iterator

from vcray.api.formats import dns_subdomain, invalid, required, unsupported
from vcray.api.jsonview import dig, dig_list, dig_object, dig_str
from vcray.api.meta import JsonObject, JsonValue
from vcray.api.quantity import parse_quantity
from vcray.cluster.kinds.checks.labels import selector_faults
from vcray.cluster.kinds.checks.volumes import source_faults
from vcray.cluster.kinds.checks.words import named, one_of

_MODES = ("ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod")
_NOT_SOURCES = frozenset({"capacity", "claimRef", "nodeAffinity"})


def _access_faults(modes: list[JsonValue], path: str, told: str) -> Iterator[str]:
    if not modes:
        yield required(path, told)
    for mode in modes:
        if mode not in _MODES:
            yield unsupported(path, mode, _MODES)


def claim_faults(obj: JsonObject) -> Iterator[str]:
    """A PersistentVolumeClaim."""
    yield from claim_spec_faults(dig_object(obj, "spec"), "spec")


def claim_spec_faults(spec: JsonObject, path: str) -> Iterator[str]:
    """The spec of a claim."""
    yield from _access_faults(
        dig_list(spec, "accessModes"), f"{path}.accessModes", "at least 1 access mode is required"
    )
    yield from selector_faults(spec.get("selector"), f"{path}.selector")
    amount = dig(spec, "resources", "requests", "storage")
    if amount is None:
        yield required(f"{path}.resources[storage]")
    elif parse_quantity(str(amount)) <= 0:
        yield invalid(f"{path}.resources[storage]", amount, "must be greater than zero")
    if dig_str(spec, "storageClassName"):
        yield from named(dig_str(spec, "storageClassName"), f"{path}.storageClassName", dns_subdomain)
    yield from one_of(spec, path, "volumeMode", ("Block", "Filesystem"))


def volume_object_faults(obj: JsonObject) -> Iterator[str]:
    """A PersistentVolume."""
    spec = dig_object(obj, "spec")
    yield from _access_faults(dig_list(spec, "accessModes"), "spec.accessModes", "")
    capacity = spec.get("capacity")
    if not capacity:
        yield required("spec.capacity")
    if not isinstance(capacity, dict) or set(capacity) != {"storage"}:
        yield unsupported("spec.capacity", capacity, ("storage",))
    yield from one_of(spec, "spec", "persistentVolumeReclaimPolicy", ("Delete", "Recycle", "Retain"))
    sources: JsonObject = {
        key: part for key, part in spec.items() if isinstance(part, dict) and key not in _NOT_SOURCES
    }
    if sources:
        yield from source_faults(sources, "spec")
    else:
        yield required("spec", "must specify a volume type")
    if dig_str(spec, "storageClassName"):
        yield from named(dig_str(spec, "storageClassName"), "spec.storageClassName", dns_subdomain)
    yield from one_of(spec, "spec", "volumeMode", ("Block", "Filesystem"))


def storage_class_faults(obj: JsonObject) -> Iterator[str]:
    """A StorageClass."""
    if not dig_str(obj, "provisioner"):
        yield required("provisioner")
    for field, known in (
        ("reclaimPolicy", ("Delete", "Retain")),
        ("volumeBindingMode", ("Immediate", "WaitForFirstConsumer")),
    ):
        if obj.get(field) is not None and obj[field] not in known:
            yield unsupported(field, obj[field], known)

"""Checks of the volumes of a pod and of a PersistentVolume's source: exactly one source, and what each source needs."""

from __future__ import annotations

from collections.abc import Iterator

from vcray.api.formats import dns_label, duplicate, forbidden, invalid, required, unsupported
from vcray.api.jsonview import dig_int, dig_object, dig_objects, dig_str
from vcray.api.meta import JsonObject
from vcray.api.quantity import parse_quantity
from vcray.cluster.kinds.checks.containers import field_path_faults
from vcray.cluster.kinds.checks.words import named

_PATH_TYPES = (
    "",
    "BlockDevice",
    "CharDevice",
    "Directory",
    "DirectoryOrCreate",
    "File",
    "FileOrCreate",
    "Socket",
)
_MODE = "must be a number between 0 and 0777 (octal), both inclusive"
_NEEDED = {
    "secret": ("secretName",),
    "configMap": ("name",),
    "persistentVolumeClaim": ("claimName",),
    "iscsi": ("targetPortal", "iqn"),
    "csi": ("driver",),
    "cephfs": ("monitors",),
    "rbd": ("monitors", "image"),
    "glusterfs": ("endpoints", "path"),
    "gitRepo": ("repository",),
    "flexVolume": ("driver",),
    "image": ("reference",),
}
"""What a source cannot do without."""


def volume_faults(volumes: list[JsonObject], path: str) -> Iterator[str]:
    """All volumes of a pod."""
    taken: set[str] = set()
    for index, volume in enumerate(volumes):
        here = f"{path}[{index}]"
        name = dig_str(volume, "name")
        yield from source_faults(volume, here)
        if not name:
            yield required(f"{here}.name")
            continue
        yield from named(name, f"{here}.name", dns_label)
        if name in taken:
            yield duplicate(f"{here}.name", name)
        taken.add(name)


def source_faults(volume: JsonObject, path: str) -> Iterator[str]:
    """The one source of a volume."""
    given = [part for part, told in volume.items() if part != "name" and isinstance(told, dict)]
    for place, part in enumerate(given):
        here = f"{path}.{part}"
        if place:
            yield forbidden(here, "may not specify more than 1 volume type")
        else:
            yield from _one_source(part, dig_object(volume, part), here)
    if not given:
        yield required(path, "must specify a volume type")


def _one_source(part: str, source: JsonObject, path: str) -> Iterator[str]:
    for field in _NEEDED.get(part, ()):
        if not source.get(field):
            yield required(f"{path}.{field}")
    match part:
        case "hostPath":
            yield from host_path_faults(source, path)
        case "nfs":
            yield from _nfs_faults(source, path)
        case "emptyDir":
            limit = source.get("sizeLimit")
            if limit is not None and parse_quantity(str(limit)) < 0:
                yield forbidden(f"{path}.sizeLimit", "SizeLimit field must be a valid resource quantity")
        case "secret" | "configMap":
            yield from _mode_faults(source, path, "defaultMode")
            yield from _item_faults(dig_objects(source, "items"), f"{path}.items")
        case "downwardAPI":
            yield from _mode_faults(source, path, "defaultMode")
            yield from _downward_faults(dig_objects(source, "items"), path)
        case "projected":
            yield from _mode_faults(source, path, "defaultMode")
            yield from _projection_faults(dig_objects(source, "sources"), f"{path}.sources")


def host_path_faults(source: JsonObject, path: str) -> Iterator[str]:
    """A folder of the node."""
    place = dig_str(source, "path")
    if not place:
        yield required(f"{path}.path")
    elif ".." in place.split("/"):
        yield invalid(f"{path}.path", place, "must not contain '..'")
    kind = source.get("type")
    if kind is not None and kind not in _PATH_TYPES:
        yield unsupported(f"{path}.type", kind, _PATH_TYPES)


def _nfs_faults(source: JsonObject, path: str) -> Iterator[str]:
    place = dig_str(source, "path")
    if not source.get("server"):
        yield required(f"{path}.server")
    if not place:
        yield required(f"{path}.path")
    if not place.startswith("/"):
        yield invalid(f"{path}.path", place, "must be an absolute path")


def _mode_faults(source: JsonObject, path: str, name: str) -> Iterator[str]:
    if source.get(name) is not None and not 0 <= dig_int(source, name) <= 0o777:
        yield invalid(f"{path}.{name}", source[name], _MODE)


def _item_faults(items: list[JsonObject], path: str) -> Iterator[str]:
    for index, item in enumerate(items):
        here = f"{path}[{index}]"
        if not item.get("key"):
            yield required(f"{here}.key")
        yield from _local_path_faults(item, here)
        yield from _mode_faults(item, here, "mode")


def _local_path_faults(item: JsonObject, path: str) -> Iterator[str]:
    place = dig_str(item, "path")
    if not place:
        yield required(f"{path}.path")
    elif place.startswith("/"):
        yield invalid(f"{path}.path", place, "must be a relative path")
    elif ".." in place.split("/"):
        yield invalid(f"{path}.path", place, "must not contain '..'")


def _downward_faults(items: list[JsonObject], path: str) -> Iterator[str]:
    for item in items:
        yield from _local_path_faults(item, path)
        if isinstance(item.get("fieldRef"), dict):
            yield from field_path_faults(dig_object(item, "fieldRef"), f"{path}.fieldRef")
        elif not isinstance(item.get("resourceFieldRef"), dict):
            yield required(path, "one of fieldRef and resourceFieldRef is required")


def _projection_faults(sources: list[JsonObject], path: str) -> Iterator[str]:
    for index, source in enumerate(sources):
        here = f"{path}[{index}]"
        given = list(source)
        if len(given) > 1:
            yield forbidden(f"{here}.{given[1]}", "may not specify more than 1 volume type")
        for part in ("secret", "configMap"):
            told = source.get(part)
            if isinstance(told, dict):
                if not told.get("name"):
                    yield required(f"{here}.{part}.name")
                yield from _item_faults(dig_objects(told, "items"), f"{here}.{part}.items")
        token = source.get("serviceAccountToken")
        if isinstance(token, dict):
            if not token.get("path"):
                yield required(f"{here}.serviceAccountToken.path")
            if dig_int(token, "expirationSeconds", default=3600) < 600:
                yield invalid(
                    f"{here}.serviceAccountToken.expirationSeconds",
                    token["expirationSeconds"],
                    "may not specify a duration less than 10 minutes",
                )

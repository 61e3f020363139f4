"""Who owns which field of an object: `metadata.managedFields`, kept up to date by every write.

An ordinary write takes over what it adds or changes, and everybody loses what it removes. An apply takes exactly the
fields of its document; where it would change a field that another manager owns, that is a conflict.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from vcray.api.meta import JsonObject, JsonValue
from vcray.cluster.changes.fields import FieldSet, Leaves, Path, decode, encode, in_order, spoken
from vcray.cluster.objects.record import dig, entries, section, text
from vcray.kube.errors import Conflict

APPLY, UPDATE = "Apply", "Update"
BEFORE_FIRST_APPLY = "before-first-apply"


class Manager(NamedTuple):
    """One writer: its name, how it wrote, through which version and subresource."""

    name: str
    operation: str
    api_version: str
    subresource: str = ""

    def __str__(self) -> str:
        shown = f'"{self.name}"'
        if self.subresource:
            shown += f' with subresource "{self.subresource}"'
        return f"{shown} using {self.api_version}" if self.operation == UPDATE else shown


@dataclass(frozen=True, slots=True)
class Owned:
    """The fields of one manager and the time of its last change."""

    paths: FieldSet
    time: str


Owners = dict[Manager, Owned]


def read_owners(obj: JsonObject) -> Owners:
    """The managers of an object."""
    owners: Owners = {}
    for entry in entries(dig(obj, "metadata", "managedFields")):
        manager = Manager(
            text(entry.get("manager")),
            text(entry.get("operation")),
            text(entry.get("apiVersion")),
            text(entry.get("subresource")),
        )
        owners[manager] = Owned(decode(entry.get("fieldsV1")), text(entry.get("time")))
    return owners


def write_owners(obj: JsonObject, owners: Owners) -> None:
    """Set `metadata.managedFields`; managers that own nothing are left out."""
    metadata = section(obj, "metadata")
    listed: list[JsonValue] = []
    order = sorted(owners, key=lambda manager: (manager.operation, owners[manager].time, manager))
    for manager in order:
        owned = owners[manager]
        if not owned.paths:
            continue
        entry: JsonObject = {
            "manager": manager.name,
            "operation": manager.operation,
            "apiVersion": manager.api_version,
            "time": owned.time,
            "fieldsType": "FieldsV1",
            "fieldsV1": encode(owned.paths),
        }
        if manager.subresource:
            entry["subresource"] = manager.subresource
        listed.append(entry)
    metadata.pop("managedFields", None)
    if listed:
        metadata["managedFields"] = listed


class Difference(NamedTuple):
    """Paths by what a write did to them."""

    changed: FieldSet
    removed: FieldSet


def difference(old: Leaves, new: Leaves) -> Difference:
    """What was added or got another value, and what went. A map that fills or empties neither comes nor goes itself."""
    inside_old, inside_new = _inner(old), _inner(new)
    changed = frozenset(
        path for path, value in new.items() if old.get(path) != value and path not in inside_old
    )
    removed = frozenset(path for path in old if path not in new and path not in inside_new)
    return Difference(changed, removed)


def _inner(paths: Iterable[Path]) -> set[Path]:
    """All paths that lead to others."""
    return {path[:end] for path in paths for end in range(1, len(path))}


def after_update(owners: Owners, manager: Manager, old: Leaves, new: Leaves, now: str) -> Owners:
    """The owners after an ordinary write by `manager`."""
    changed, removed = difference(old, new)
    if not changed and not removed:
        return owners
    result: Owners = {}
    for other, owned in owners.items():
        paths = owned.paths - removed
        if other != manager:
            paths -= changed
        result[other] = Owned(paths, owned.time)
    if changed:
        before = result[manager].paths if manager in result else frozenset()
        result[manager] = Owned(before | changed, now)
    return result


def after_apply(
    owners: Owners, manager: Manager, document: FieldSet, old: Leaves, new: Leaves, now: str, force: bool
) -> Owners:
    """The owners after an apply. Raises Conflict where it changes another's field, unless forced."""
    changed, removed = difference(old, new)
    conflicts = {other: owned.paths & changed for other, owned in owners.items() if other != manager}
    conflicts = {other: paths for other, paths in conflicts.items() if paths}
    if conflicts and not force:
        raise apply_conflict(conflicts)
    result: Owners = {}
    for other, owned in owners.items():
        if other != manager:
            result[other] = Owned(owned.paths - removed - conflicts.get(other, frozenset()), owned.time)
    before = owners.get(manager)
    same = before is not None and before.paths == document and not changed and not removed
    result[manager] = before if same and before is not None else Owned(document, now)
    return result


def apply_conflict(conflicts: dict[Manager, FieldSet]) -> Conflict:
    """409 with one cause for each field."""
    found: list[tuple[Manager, Path]] = [
        (manager, path) for manager in sorted(conflicts) for path in in_order(conflicts[manager])
    ]
    if len(found) == 1:
        manager, path = found[0]
        message = f"Apply failed with 1 conflict: conflict with {manager}: {spoken(path)}"
    else:
        lines = []
        for manager in sorted(conflicts):
            lines.append(f"conflicts with {manager}:")
            lines += [f"- {spoken(path)}" for path in in_order(conflicts[manager])]
        message = f"Apply failed with {len(found)} conflicts: " + "\n".join(lines)
    causes: list[JsonValue] = [
        {"reason": "FieldManagerConflict", "message": f"conflict with {manager}", "field": spoken(path)}
        for manager, path in found
    ]
    return Conflict(message, details={"causes": causes})

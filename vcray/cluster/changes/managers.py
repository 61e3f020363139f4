"""Who owns which field of an object: `metadata.managedFields`, read, written, and what conflicts say of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, TypeAlias, cast

from vcray.api.jsonview import dig_object, dig_objects, dig_str
from vcray.api.meta import JsonObject, JsonValue
from vcray.cluster.changes.sets import Node, Path, Set, at_root, paths, spoken, union
from vcray.cluster.objects.record import section
from vcray.kube.errors import Conflict

APPLY, UPDATE = "Apply", "Update"
BEFORE_FIRST_APPLY = "before-first-apply"
ANCIENT = "ancient-changes"
MOST_UPDATERS = 10
"""How many managers by ordinary writes are kept apart; the oldest of more are joined into one."""


class Manager(NamedTuple):
    """One writer: its name, how it wrote, through which subresource, and, unless it applied, in which version."""

    name: str
    operation: str
    api_version: str = ""
    subresource: str = ""


@dataclass(frozen=True, slots=True)
class Owned:
    """The fields of one manager in the version they are named in, and the time of its last change.

    `in_order` says that the steps stand in the order of a server already, as in what was stored.
    """

    fields: Set
    api_version: str
    time: str
    in_order: bool = False


Owners: TypeAlias = dict[Manager, Owned]


def applier(name: str, subresource: str = "") -> Manager:
    """The identity under which an apply owns fields, whatever the version."""
    return Manager(name, APPLY, "", subresource)


def updater(name: str, api_version: str, subresource: str = "") -> Manager:
    """The identity under which an ordinary write owns fields."""
    return Manager(name, UPDATE, api_version, subresource)


def read_owners(obj: JsonObject, stored: bool = True) -> Owners:
    """The managers of an object; `stored` says that they were written by `write_owners` and need no second look."""
    owners: Owners = {}
    for entry in dig_objects(obj, "metadata", "managedFields"):
        operation, version = dig_str(entry, "operation"), dig_str(entry, "apiVersion")
        fields = at_root(entry.get("fieldsV1"), copied=not stored)
        if not operation or fields is None:
            continue
        identity = "" if operation == APPLY else version
        manager = Manager(dig_str(entry, "manager"), operation, identity, dig_str(entry, "subresource"))
        owners[manager] = Owned(fields, version, dig_str(entry, "time"), in_order=stored)
    return owners


def write_owners(obj: JsonObject, owners: Owners) -> None:
    """Set `metadata.managedFields`; managers that own nothing are left out."""
    metadata = section(obj, "metadata")
    listed: list[JsonValue] = []
    for manager in sorted(owners, key=lambda one: (one.operation, owners[one].time, one)):
        owned = owners[manager]
        if owned.fields is None:
            continue
        fields = cast("JsonValue", owned.fields) if owned.in_order else _in_order(owned.fields)
        entry: JsonObject = {
            "manager": manager.name,
            "operation": manager.operation,
            "apiVersion": owned.api_version,
            "time": owned.time,
            "fieldsType": "FieldsV1",
            "fieldsV1": fields,
        }
        if not owned.time:
            del entry["time"]
        if manager.subresource:
            entry["subresource"] = manager.subresource
        listed.append(entry)
    metadata.pop("managedFields", None)
    if listed:
        metadata["managedFields"] = listed


def _in_order(node: Node) -> JsonObject:
    """A set of fields as a server writes it: the steps of each level in order."""
    return {step: _in_order(node[step]) if node[step] else {} for step in sorted(node)}


def is_reset(obj: JsonObject) -> bool:
    """True if a client clears the managers, which it does by a list that is empty or has one empty entry."""
    listed = dig_object(obj, "metadata").get("managedFields")
    return listed == [] or listed == [{}]


def capped(owners: Owners) -> Owners:
    """The owners with the oldest managers by ordinary writes joined, if there are too many of them."""
    updaters = [one for one in owners if one.operation == UPDATE]
    if len(updaters) <= MOST_UPDATERS:
        return owners
    result = dict(owners)
    count, first = len(updaters), dict[str, Manager]()
    for manager in sorted(updaters, key=lambda one: (owners[one].time, one)):
        if count <= MOST_UPDATERS:
            break
        owned = result[manager]
        bucket = updater(ANCIENT, owned.api_version)
        known = first.setdefault(owned.api_version, manager)
        if known is manager:
            continue
        kept = result.pop(known) if bucket not in result else result[bucket]
        del result[manager]
        joined = union(owned.fields, kept.fields)
        result[bucket] = Owned(joined, owned.api_version, owned.time)
        count -= 1
    return result


def _shown(manager: Manager, owned: Owned) -> str:
    text = f'"{manager.name}"'
    if manager.subresource:
        text += f' with subresource "{manager.subresource}"'
    return f"{text} using {owned.api_version}" if manager.operation == UPDATE else text


class ApplyConflict(Conflict):
    """An apply would change fields of others; `conflicts` says whose and which."""

    def __init__(self, conflicts: dict[str, list[Path]]) -> None:
        self.conflicts = conflicts
        found = [(shown, path) for shown in sorted(conflicts) for path in conflicts[shown]]
        causes: list[JsonValue] = [
            {
                "reason": "FieldManagerConflict",
                "message": f"conflict with {shown}",
                "field": spoken(path),
            }
            for shown, path in found
        ]
        super().__init__(_message(conflicts, found), details={"causes": causes})


def apply_conflict(owners: Owners, conflicts: dict[Manager, Set]) -> ApplyConflict:
    """409 with one cause for each field."""
    return ApplyConflict(
        {_shown(manager, owners[manager]): list(paths(found)) for manager, found in conflicts.items()}
    )


def _message(conflicts: dict[str, list[Path]], found: list[tuple[str, Path]]) -> str:
    if len(found) == 1:
        shown, path = found[0]
        return f"Apply failed with 1 conflict: conflict with {shown}: {spoken(path)}"
    lines = []
    for shown in sorted(conflicts):
        lines.append(f"conflicts with {shown}:")
        lines += [f"- {spoken(path)}" for path in conflicts[shown]]
    return f"Apply failed with {len(found)} conflicts: " + "\n".join(lines)

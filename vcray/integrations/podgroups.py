"""The PodGroup of a gang: what it says, and what of one that exists has to change."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from vcray.api import names
from vcray.api.meta import JsonObject, JsonValue
from vcray.api.quantity import QuantityError, parse_quantity
from vcray.api.resources import PODGROUPS, Resource
from vcray.controllers import raw
from vcray.controllers.podusage import Usage, add_usage, effective, usage_json
from vcray.integrations.base import Gang, Part, SubGroups

_FOLLOWED: Final[Mapping[str, JsonValue]] = {
    "minMember": 0,
    "minTaskMember": {},
    "minResources": {},
    "subGroupPolicy": [],
}
"""Fields that follow the object, each with what a field left out means."""
_FIRST_CHOSEN: Final[Mapping[str, JsonValue]] = {
    "queue": names.DEFAULT_QUEUE,
    "priorityClassName": "",
    "networkTopology": {},
}
"""Fields that follow it only while the group waits."""


def podgroup(
    gang: Gang, spec: JsonObject, namespace: str, owner: JsonObject, resource: Resource, manager: str
) -> JsonObject:
    """A new PodGroup, controlled by `owner`, which is a `resource`."""
    return {
        "apiVersion": PODGROUPS.api_version,
        "kind": PODGROUPS.kind,
        "metadata": {
            "name": gang.name,
            "namespace": namespace,
            "labels": {names.MANAGED_BY: manager},
            "annotations": raw.strings(inherited(owner)),
            "ownerReferences": [raw.owner_reference(resource.api_version, resource.kind, owner)],
        },
        "spec": {name: value for name, value in spec.items() if value not in ("", [], {})},
    }


def inherited(owner: JsonObject) -> dict[str, str]:
    """Annotations of the object that the scheduler reads on groups."""
    stored = raw.annotations_of(owner)
    return {key: value for key, value in stored.items() if key in names.GROUP_NOTES}


def spec_of(gang: Gang, queue: str, priority_class: str, topology: JsonObject) -> JsonObject:
    """spec of the gang's PodGroup, every field present."""
    minima = {part.task: part.minimum for part in gang.parts}
    return {
        "minMember": sum(minima.values()) if gang.min_member is None else gang.min_member,
        "minTaskMember": _task_minima(gang, minima),
        "minResources": usage_json(_room(gang)) if gang.min_resources is None else gang.min_resources,
        "subGroupPolicy": [_policy(part, part.sub_groups) for part in gang.parts if part.sub_groups],
        "queue": queue or names.DEFAULT_QUEUE,
        "priorityClassName": priority_class,
        "networkTopology": topology,
    }


def changes(present: JsonObject, spec: JsonObject) -> list[JsonValue]:
    """A JSON patch that brings a group in line; empty when it is. What it was born with stays once it is let in."""
    old = raw.table(present, "spec")
    waits = raw.text(present, "status", "phase") in ("", "Pending")
    fields = {**_FOLLOWED, **(_FIRST_CHOSEN if waits else {})}
    return [
        {"op": "add", "path": f"/spec/{name}", "value": spec[name]}
        for name, absent in fields.items()
        if not _same(name, old.get(name, absent), spec[name])
    ]


def _task_minima(gang: Gang, minima: Mapping[str, int]) -> JsonObject:
    """The parts' minima, unless the object says a smaller minimum than their sum: then any of its pods will do."""
    if gang.min_member is not None and gang.min_member < sum(minima.values()):
        return {}
    return {task: least for task, least in minima.items() if least}


def _room(gang: Gang) -> Usage:
    total: Usage = {}
    for part in gang.parts:
        if part.reserved:
            add_usage(total, pod_room(part), part.reserved)
    return total


def pod_room(part: Part) -> Usage:
    """What one pod of a part takes."""
    usage = dict(effective(raw.table(part.template, "spec"), "requests"))
    add_usage(usage, part.beside)
    return usage


def _policy(part: Part, units: SubGroups) -> JsonObject:
    return {
        "name": part.task,
        "subGroupSize": units.size,
        "minSubGroups": units.minimum,
        "labelSelector": {"matchLabels": raw.strings(units.labels)},
        "matchLabelKeys": list(units.keys),
    }


def _same(name: str, old: JsonValue, new: JsonValue) -> bool:
    if name != "minResources" or not isinstance(old, dict) or not isinstance(new, dict):
        return old == new
    return _amounts(old) == _amounts(new)


def _amounts(resources: JsonObject) -> dict[str, JsonValue]:
    """By value: `1` and `1000m` are the same, and an amount of zero is as good as none."""
    found: dict[str, JsonValue] = {}
    for name, spelled in resources.items():
        try:
            amount = parse_quantity(spelled) if isinstance(spelled, str | int | float) else None
        except QuantityError:
            amount = None
        if amount != 0:
            found[name] = spelled if amount is None else amount
    return found

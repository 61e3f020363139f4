"""Several objects that start together or not at all: one group over all that bear the same annotation in a namespace.

`vcray.io/start-together: NAME` on each of them; `vcray.io/start-together-count: N` tells how many there are to be, so that the first
does not start before the last is there. The group is `together-NAME`; no object controls it, all own it, so it goes with the last.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from vcray.api import names
from vcray.api.meta import JsonObject, JsonValue
from vcray.api.quantity import QuantityError, parse_quantity
from vcray.api.resources import PODGROUPS, Resource
from vcray.controllers import raw
from vcray.controllers.base import Create, Effects, Patch, Seen, must
from vcray.controllers.podusage import Usage, add_usage, usage_json
from vcray.integrations.base import Gang, Member, Part
from vcray.integrations.podgroups import changes, pod_room
from vcray.integrations.writing import is_kept

MANAGER: Final = "together"
"""Value of the label `vcray.io/managed-by` of such groups."""


@dataclass(frozen=True, slots=True)
class Partner:
    """One of the objects, and its own gang."""

    resource: Resource
    owner: JsonObject
    gang: Gang


def name_of(obj: JsonObject) -> str:
    """What an object is to start together with; empty when it starts by itself."""
    return raw.annotation(obj, names.START_TOGETHER)


def group_name(name: str) -> str:
    """The group of all objects of a name."""
    return f"together-{name}"


def member_of(owner: JsonObject, member: Member | None) -> Member | None:
    """Where a pod belongs, given its place in its own object's gang."""
    name = name_of(owner)
    if member is None or not name:
        return member
    return replace(member, group=group_name(name), task=f"{member.group}.{member.task}")


def combined(name: str, partners: Sequence[Partner]) -> Gang:
    """The gang of all. A partner that is not there yet counts as one pod, which can only come when it does."""
    parts: list[Part] = []
    minimum, room = 0, Usage()
    for partner in partners:
        gang = partner.gang
        parts += [replace(part, task=f"{gang.name}.{part.task}") for part in gang.parts]
        least = sum(part.minimum for part in gang.parts)
        minimum += least if gang.min_member is None else gang.min_member
        add_usage(room, _room(gang))
    minimum += max(0, _expected(partners) - len(partners))
    return Gang(group_name(name), tuple(parts), minimum, usage_json(room))


def keep(spec: JsonObject, gang: Gang, partners: Sequence[Partner], present: JsonObject | None) -> Effects:
    """Make the group, or bring it in line. ReconcileError when a write was refused."""
    space = raw.namespace(partners[0].owner)
    owners: list[JsonValue] = [_reference(each) for each in partners]
    if present is None:
        head: JsonObject = {
            "name": gang.name,
            "namespace": space,
            "labels": {names.MANAGED_BY: MANAGER},
            "ownerReferences": owners,
        }
        given = {name: value for name, value in spec.items() if value not in ("", [], {})}
        made: JsonObject = {
            "apiVersion": PODGROUPS.api_version,
            "kind": PODGROUPS.kind,
            "metadata": head,
            "spec": given,
        }
        outcome = yield Create(PODGROUPS, made)
        if not outcome.already_exists:
            must(outcome, f"create PodGroup {space}/{gang.name}")
        return
    patch = changes(present, spec)
    if raw.at(present, "metadata", "ownerReferences") != owners:
        patch.append({"op": "add", "path": "/metadata/ownerReferences", "value": owners})
    if patch:
        outcome = yield Patch(PODGROUPS, space, gang.name, patch, "json")
        must(outcome, f"update PodGroup {space}/{gang.name}")


def is_shared(group: JsonObject) -> bool:
    """Is it a group of several objects?"""
    return is_kept(group) and raw.labels_of(group).get(names.MANAGED_BY) == MANAGER


def namesakes(
    name: str, kinds: Sequence[Resource], namespace: str, seen: Seen
) -> Iterator[tuple[Resource, JsonObject]]:
    """All objects of these kinds that bear the name, in a fixed order."""
    for kind in sorted(kinds, key=lambda each: each.full_name):
        for obj in seen.list(kind, namespace):
            if name_of(obj) == name and not raw.terminating(obj):
                yield kind, obj


def _expected(partners: Sequence[Partner]) -> int:
    counts = (raw.annotation(each.owner, names.START_TOGETHER_COUNT) for each in partners)
    return max((int(text) for text in counts if text.isdecimal()), default=0)


def _room(gang: Gang) -> Usage:
    """What a gang asks for, as its object says or as its parts add up to."""
    found: Usage = {}
    if gang.min_resources is not None:
        for name, spelled in gang.min_resources.items():
            try:
                found[name] = parse_quantity(spelled) if isinstance(spelled, str | int | float) else 0
            except QuantityError:
                continue
        return found
    for part in gang.parts:
        if part.reserved:
            add_usage(found, pod_room(part), part.reserved)
    return found


def _reference(partner: Partner) -> JsonObject:
    return {
        "apiVersion": partner.resource.api_version,
        "kind": partner.resource.kind,
        "name": raw.name(partner.owner),
        "uid": raw.uid(partner.owner),
    }

"""Two objects whose groups would have one name: a PyTorchJob and a TFJob `a`, a RayJob and a RayCluster `a` (trap T16).

Who has the group keeps it. The other's pods are no members of it, whatever their annotation says: they must not fill its minimum, nor
start under it. They get a group of their own, called after their object's kind too, and keep it when the name becomes free.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Final

from vcray.api import names
from vcray.api.meta import JsonObject
from vcray.api.resources import PODGROUPS, PODS, Resource
from vcray.controllers import raw
from vcray.controllers.base import Seen
from vcray.integrations.base import Find, Gang
from vcray.integrations.trails import Line, Trails
from vcray.integrations.writing import controls, is_kept

ENDED: Final = ("Succeeded", "Failed")


def other_name(group: str, kind: Resource) -> str:
    """What the group of an object of this kind is called when another has `group`."""
    return f"{group}-{kind.singular}"


def is_anothers(group: JsonObject, line: Line, kinds: Collection[Resource]) -> bool:
    """Is the group that of an object of these kinds that is not in the line, nor one of the name of one in it? In doubt it is not."""
    above = raw.controller(group)
    kind, name = raw.text(above, "kind"), raw.text(above, "name")
    known = any((each.api_version, each.kind) == (raw.text(above, "apiVersion"), kind) for each in kinds)
    return known and line.whole and raw.text(above, "uid") not in line.uids and (kind, name) not in line.names


def own_group(group: str, line: Line, seen: Seen, namespace: str) -> str:
    """The group that an object of the line has in place of `group`; empty when none has one."""
    for kind, obj in line.objects:
        name = other_name(group, kind)
        found = seen.get(PODGROUPS, namespace, name)
        if found is not None and is_kept(found) and controls(obj, found):
            return name
    return ""


def apart(
    gang: Gang,
    kind: Resource,
    owner: JsonObject,
    trails: Trails,
    kinds: Collection[Resource],
    seen: Seen,
    find: Find,
) -> Gang:
    """The gang under its other name, with the pods that it takes with it, where another has its group; else the gang itself."""
    space, name = raw.namespace(owner), other_name(gang.name, kind)
    present, own = seen.get(PODGROUPS, space, gang.name), seen.get(PODGROUPS, space, name)
    has_own = own is not None and is_kept(own) and controls(owner, own)
    line = trails.line(kind, owner, find)
    if not has_own and (present is None or not is_anothers(present, line, kinds)):
        return gang
    return replace(
        gang, name=name, instead=gang.name, takes=tuple(_strays(gang.name, owner, trails, seen, find))
    )


def _strays(group: str, owner: JsonObject, trails: Trails, seen: Seen, find: Find) -> Sequence[str]:
    """Names of the object's pods that should be in `group`, and are in none or in that of another."""
    found = []
    for pod in seen.list(PODS, raw.namespace(owner)):
        if raw.annotation(pod, names.GROUP_NAME) not in ("", group) or not trails.may_own(pod):
            continue
        if raw.text(pod, "status", "phase") in ENDED or raw.terminating(pod):
            continue
        owned = trails.owner(pod, find)
        member = None if owned is None else owned.integration.member(owned.owner, pod)
        theirs = member is not None and member.group == group
        if theirs and raw.uid(owner) in trails.line(PODS, pod, find).uids:
            found.append(raw.name(pod))
    return found

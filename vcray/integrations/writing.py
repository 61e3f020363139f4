"""Writes of groups, and whose a group is: what all that keeps groups has in common."""

from __future__ import annotations

from collections.abc import Sequence

from vcray.api import names
from vcray.api.meta import JsonObject
from vcray.api.resources import PODGROUPS
from vcray.controllers import raw
from vcray.controllers.base import Delete, Effects, must
from vcray.controllers.notes import annotate


def is_kept(group: JsonObject) -> bool:
    """Is it one of ours?"""
    return names.MANAGED_BY in raw.labels_of(group)


def controls(owner: JsonObject, group: JsonObject) -> bool:
    """Does the object manage the group?"""
    return raw.controlled_by(group, raw.uid(owner))


def was_of_a_namesake(owner: JsonObject, group: JsonObject) -> bool:
    """Is the group's owner one that had this name and kind before?"""
    above = raw.controller(group)
    same = (raw.text(above, "name"), raw.text(above, "kind")) == (raw.name(owner), raw.text(owner, "kind"))
    return same and raw.text(above, "uid") != raw.uid(owner)


def taken(group: JsonObject, instead: str = "") -> str:
    """Whose a group is that somebody else wants, who has `instead`, if anything."""
    above = raw.controller(group)
    who = f'{above["kind"]} "{above.get("name")}"' if above.get("kind") else "nobody"
    then = f'its own is "{instead}"' if instead else "rename one of the two"
    return f'PodGroup "{raw.name(group)}" is there already and belongs to {who}; {then}'


def release(why: str, groups: Sequence[JsonObject]) -> Effects:
    """Say on groups of others that their object rests, or that it does no more."""
    for group in groups:
        yield from annotate(PODGROUPS, group, {names.RELEASED: why})


def tell_minimum(least: int | None, group: JsonObject) -> Effects:
    """Say on a group of others how many pods start together now, if that is fewer than its spec says."""
    wanted = "" if least is None or least >= raw.number(group, "spec", "minMember") else str(least)
    yield from annotate(PODGROUPS, group, {names.MIN_MEMBER: wanted})


def delete(group: JsonObject) -> Effects:
    """Delete a group, unless it is gone or another. ReconcileError when that is refused."""
    outcome = yield Delete(PODGROUPS, raw.namespace(group), raw.name(group), uid=raw.uid(group))
    if not outcome.not_found and not outcome.conflict:
        must(outcome, f"delete PodGroup {raw.namespace(group)}/{raw.name(group)}")

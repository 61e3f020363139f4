"""Whether an object is ours, and its queue, priority class and topology: the same order for all kinds (integrations.md 5).

An object is ours when one of its pod templates names a scheduler of ours, or when it, its templates or its namespace name a
queue and no template names a scheduler of others. All else is left to whoever schedules it by default.
"""

from __future__ import annotations

from collections.abc import Collection

from vcray.api import names
from vcray.api.meta import JsonObject
from vcray.controllers import raw
from vcray.integrations.base import Asks, Member


def is_ours(asks: Asks, owner: JsonObject, namespace: JsonObject | None, schedulers: Collection[str]) -> bool:
    """Shall we make the groups of this object?"""
    if asks.manager or asks.by_pods:
        return not asks.manager
    named = {raw.text(each, "spec", "schedulerName") for each in asks.templates}
    if named & set(schedulers):
        return True
    others = named - {"", names.DEFAULT_SCHEDULER_NAME}
    return not others and bool(named_queue(asks, owner, namespace))


def named_queue(asks: Asks, owner: JsonObject, namespace: JsonObject | None) -> str:
    """The queue that somebody named: the kind's own field, the object's annotation and label, those of its templates, the
    namespace's annotation; empty when nobody did."""
    found = [asks.queue, *_marked(owner)]
    for each in asks.templates:
        found += _marked(each)
    found.append(raw.annotation(namespace, names.POD_QUEUE_NAME) if namespace is not None else "")
    return next(filter(None, found), "")


def _marked(obj: JsonObject) -> tuple[str, str]:
    return raw.annotation(obj, names.POD_QUEUE_NAME), raw.labels_of(obj).get(names.QUEUE_NAME, "")


def notes_of(member: Member | None, queue: str) -> dict[str, str]:
    """Annotations that bring a pod into its group; one that starts by itself goes into its object's queue, if that has one.

    Who leads has a task priority above all others of its group: in one that may start with few pods, they must not take its place,
    and in one that shrinks it goes last."""
    if member is None:
        return {names.POD_QUEUE_NAME: queue} if queue else {}
    notes = {names.GROUP_NAME: member.group}
    if member.task:
        notes[names.TASK_SPEC] = member.task
    return {**notes, names.TASK_PRIORITY: str(names.LEADING)} if member.leads else notes


def priority_class(asks: Asks, owner: JsonObject) -> str:
    """The kind's own field, the label of Ray's kinds, then the first template that names a class."""
    templates = (raw.text(each, "spec", "priorityClassName") for each in asks.templates)
    found = (asks.priority_class, raw.labels_of(owner).get(names.RAY_PRIORITY_CLASS, ""), *templates)
    return next(filter(None, found), "")


def network_topology(owner: JsonObject) -> JsonObject:
    """How close the pods must be, from the object's labels (as KubeRay reads them) or annotations; empty without."""
    marks = {**raw.annotations_of(owner), **raw.labels_of(owner)}
    mode = marks.get(names.NETWORK_TOPOLOGY_MODE, "")
    tier = marks.get(names.NETWORK_TOPOLOGY_HIGHEST_TIER_ALLOWED) or marks.get(
        names.NETWORK_TOPOLOGY_HIGHEST_TIER, ""
    )
    if not mode and not tier:
        return {}
    topology: JsonObject = {"mode": "soft" if mode.lower() == "soft" else "hard"}
    if tier.isdecimal():
        topology["highestTierAllowed"] = int(tier)
    return topology

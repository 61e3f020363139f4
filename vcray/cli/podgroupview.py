"""How `vcray podgroup` shows a gang: a line, or a page with its pods, its conditions and its events.

Of a group's conditions the newest counts: the scheduler leaves an old `Unschedulable` in place when the gang starts.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from vcray.api.ages import since
from vcray.api.jsontypes import JsonObject, JsonValue
from vcray.api.jsonview import dig, dig_int, dig_object, dig_objects, dig_str
from vcray.api.names import GROUP_NAME, TASK_SPEC
from vcray.api.podstate import pod_state
from vcray.api.times import seconds_of
from vcray.cli.output import plain_table

_NONE = "<none>"
_LABEL_WIDTH = 17
_COUNTS = ("running", "succeeded", "failed")


def columns(with_namespace: bool) -> list[str]:
    """Titles of the table of groups."""
    titles = ["name", "queue", "phase", "min", *_COUNTS, "age", "reason"]
    return ["namespace", *titles] if with_namespace else titles


def row(group: JsonObject, with_namespace: bool, now: float) -> list[str]:
    """A group's line, with its age at `now` (seconds since 1970); `reason` is empty unless something holds it up."""
    cells = [
        dig_str(group, "metadata", "name"),
        dig_str(group, "spec", "queue") or _NONE,
        dig_str(group, "status", "phase") or _NONE,
        str(dig_int(group, "spec", "minMember")),
        *(str(dig_int(group, "status", count)) for count in _COUNTS),
        since(dig(group, "metadata", "creationTimestamp"), now),
        dig_str(_obstacle(group), "reason"),
    ]
    return [dig_str(group, "metadata", "namespace"), *cells] if with_namespace else cells


def _obstacle(group: JsonObject) -> JsonObject:
    """The condition that keeps a group waiting: the newest, if it says that the group cannot be placed; else empty."""
    conditions = dig_objects(group, "status", "conditions")
    if not conditions:
        return {}
    newest = max(enumerate(conditions), key=lambda each: (_moment(each[1]), each[0]))[1]
    holds = (newest.get("type"), newest.get("status")) == ("Unschedulable", "True")
    return newest if holds else {}


def _moment(condition: JsonObject) -> float:
    return seconds_of(dig(condition, "lastTransitionTime")) or 0.0


def members(group: JsonObject, pods: Sequence[JsonObject]) -> list[JsonObject]:
    """The pods of the group's namespace that name it, in order of their names."""
    name = dig_str(group, "metadata", "name")
    own = [pod for pod in pods if dig_str(pod, "metadata", "annotations", GROUP_NAME) == name]
    return sorted(own, key=lambda pod: dig_str(pod, "metadata", "name"))


def plain(found: JsonObject) -> JsonObject:
    """An object without the book-keeping of who wrote which field."""
    metadata = {key: value for key, value in dig_object(found, "metadata").items() if key != "managedFields"}
    return {**found, "metadata": metadata} if metadata else found


def whole(group: JsonObject, pods: Sequence[JsonObject], events: Sequence[JsonObject]) -> JsonObject:
    """All that the page tells, as data."""
    told: list[JsonValue] = [
        dict(zip(("name", "task", "status", "node", "why"), _member(pod), strict=True)) for pod in pods
    ]
    happened: list[JsonValue] = [
        {
            "type": dig_str(each, "type"),
            "reason": dig_str(each, "reason"),
            "count": dig_int(each, "count"),
            "lastTimestamp": _last(each),
            "message": dig_str(each, "message"),
        }
        for each in _in_time(events)
    ]
    return {"podGroup": plain(group), "pods": told, "events": happened}


def group_text(
    group: JsonObject, pods: Sequence[JsonObject], events: Sequence[JsonObject], now: float
) -> str:
    """The page of a group: what it is and waits for, conditions, pods, events; ages at `now` (seconds since 1970)."""
    lines = [f"{label + ':':<{_LABEL_WIDTH}}{value}".rstrip() for label, value in _facts(group, pods, now)]
    conditions = [
        [dig_str(each, key) for key in ("type", "status", "reason")]
        + [since(dig(each, "lastTransitionTime"), now), dig_str(each, "message")]
        for each in dig_objects(group, "status", "conditions")
    ]
    happened = [
        [dig_str(each, "type"), dig_str(each, "reason"), _when(each, now), dig_str(each, "message").strip()]
        for each in _in_time(events)
    ]
    blocks = (
        ("Conditions", ["type", "status", "reason", "age", "message"], conditions),
        ("Pods", ["name", "task", "status", "node", "why"], [_member(pod) for pod in pods]),
        ("Events", ["type", "reason", "age", "message"], happened),
    )
    return "\n".join(lines) + "\n" + "".join(_block(*block) for block in blocks)


def _block(title: str, titles: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    if not rows:
        return f"{title + ':':<{_LABEL_WIDTH}}{_NONE}\n"
    table = plain_table(titles, rows)
    return f"{title}:\n" + "".join(f"  {line}\n" for line in table.splitlines())


def _facts(group: JsonObject, pods: Sequence[JsonObject], now: float) -> Iterator[tuple[str, str]]:
    """Labels and values of the upper part; what a group does not ask for is left out."""
    spec = dig_object(group, "spec")
    yield "Name", dig_str(group, "metadata", "name")
    yield "Namespace", dig_str(group, "metadata", "namespace")
    owners = [f"{dig_str(each, 'kind')} {dig_str(each, 'name')}" for each in _owners(group)]
    yield "Owner", ", ".join(owners) or _NONE
    yield "Age", since(dig(group, "metadata", "creationTimestamp"), now)
    yield "Queue", dig_str(spec, "queue") or _NONE
    if priority := dig_str(spec, "priorityClassName"):
        yield "Priority Class", priority
    yield "Phase", dig_str(group, "status", "phase") or _NONE
    yield "Min Member", str(dig_int(spec, "minMember"))
    for label, key in (("Min Task Member", "minTaskMember"), ("Min Resources", "minResources")):
        if wanted := dig_object(spec, key):
            yield label, ", ".join(f"{name}={amount}" for name, amount in sorted(wanted.items()))
    if topology := dig_object(spec, "networkTopology"):
        yield "Topology", ", ".join(f"{key}={value}" for key, value in sorted(topology.items()))
    placed = sum(bool(dig_str(pod, "spec", "nodeName")) for pod in pods)
    counts = ", ".join(f"{dig_int(group, 'status', count)} {count}" for count in _COUNTS)
    yield "Members", f"{len(pods)} pods, {placed} with a node; {counts}"
    if obstacle := _obstacle(group):
        yield "Waits Because", dig_str(obstacle, "message") or dig_str(obstacle, "reason")


def _owners(group: JsonObject) -> list[JsonObject]:
    return dig_objects(group, "metadata", "ownerReferences")


def _member(pod: JsonObject) -> list[str]:
    """Name, task, state in kubectl's word, node, and what the scheduler says of a pod without one."""
    task = (dig_str(pod, "metadata", place, TASK_SPEC) for place in ("annotations", "labels"))
    unplaced = next(
        (
            each
            for each in dig_objects(pod, "status", "conditions")
            if (each.get("type"), each.get("status")) == ("PodScheduled", "False")
        ),
        {},
    )
    return [
        dig_str(pod, "metadata", "name"),
        next(filter(None, task), _NONE),
        pod_state(pod).word,
        dig_str(pod, "spec", "nodeName") or _NONE,
        dig_str(unplaced, "message") or dig_str(unplaced, "reason"),
    ]


def _last(event: JsonObject) -> str:
    """When an event last happened; events of the newer API have a time of their own."""
    return dig_str(event, "lastTimestamp") or dig_str(event, "eventTime") or dig_str(event, "firstTimestamp")


def _in_time(events: Sequence[JsonObject]) -> list[JsonObject]:
    return sorted(
        events, key=lambda each: (seconds_of(_last(each)) or 0.0, dig_str(each, "metadata", "name"))
    )


def _when(event: JsonObject, now: float) -> str:
    count = dig_int(event, "count")
    return since(_last(event), now) + (f" (x{count})" if count > 1 else "")

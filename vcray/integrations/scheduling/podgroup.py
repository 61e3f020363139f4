"""scheduling.k8s.io PodGroup: each whose pods name a scheduler of ours gets a PodGroup of Volcano's API, `native-<name>`.

Its finalizer is Kubernetes' to take away, its condition PodGroupScheduled ours to write. Of `disruptionMode` nothing is taken over:
victims are chosen pod by pod, down to minCount.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import ClassVar, Final

from vcray.api import names
from vcray.api.jsonview import condition_of
from vcray.api.meta import JsonObject, JsonValue
from vcray.api.resources import NATIVE_PODGROUPS, NATIVE_WORKLOADS, PODS, Resource
from vcray.clock import rfc3339
from vcray.controllers import raw
from vcray.controllers.base import Change, Seen
from vcray.controllers.podusage import Usage, add_usage, effective, usage_json
from vcray.integrations.base import Asks, Gang, Integration, Malformed, Member, Ref, count

SCHEDULED: Final = "PodGroupScheduled"
_LET_IN: Final = ("Running", "Completed")
_ENDED: Final = ("Succeeded", "Failed")


class NativePodGroup(Integration):
    """A gang of `minCount`, or a basic group, whose pods start one by one."""

    name: ClassVar[str] = "podgroup"
    kinds: ClassVar[tuple[Resource, ...]] = (NATIVE_PODGROUPS,)
    reads: ClassVar[tuple[Resource, ...]] = (NATIVE_WORKLOADS,)
    pod_labels: ClassVar[tuple[str, ...]] = ()
    pod_fields: ClassVar[tuple[str, ...]] = ("schedulingGroup",)
    follows_pods: ClassVar[bool] = True

    def asks(self, owner: JsonObject) -> Asks:
        return Asks(priority_class=raw.text(owner, "spec", "priorityClassName"), by_pods=True)

    def gangs(self, owner: JsonObject, seen: Seen) -> Sequence[Gang]:
        members = _members(owner, seen)
        if not members:
            return ()
        least = _min_count(owner)
        room: Usage = {}
        for pod in [pod for pod in members if raw.text(pod, "status", "phase") not in _ENDED][:least]:
            add_usage(room, effective(raw.table(pod, "spec"), "requests"))
        return (
            Gang(
                group_name(raw.name(owner)),
                min_member=least,
                min_resources=usage_json(room),
                queue=_queue_of_workload(owner, seen),
                topology=_topology(owner),
            ),
        )

    def member(self, owner: JsonObject, pod: JsonObject) -> Member | None:
        return Member(group_name(raw.name(owner)), "")

    def named(self, pod: JsonObject) -> tuple[Ref, Member] | None:
        name = raw.text(pod, "spec", "schedulingGroup", "podGroupName")
        if not name:
            return None
        return Ref(NATIVE_PODGROUPS, raw.namespace(pod), name), Member(group_name(name), "")

    def concerned(self, change: Change, seen: Seen) -> Iterable[Ref]:
        space = raw.namespace(change.object)
        for each in seen.list(NATIVE_PODGROUPS, space):
            if _workload_of(each) == raw.name(change.object):
                yield Ref.of(NATIVE_PODGROUPS, each)

    def status(self, owner: JsonObject, group: JsonObject | None, now: float) -> JsonObject:
        stored = raw.tables(owner, "status", "conditions")
        old = condition_of(owner, SCHEDULED)
        said = _said(group) if group is not None and old.get("status") != "True" else None
        if said is None or all(old.get(key) == value for key, value in said.items()):
            return {}
        same = old.get("status") == said["status"]
        since: JsonValue = old.get("lastTransitionTime") if same else rfc3339(now)
        new: JsonObject = {
            "type": SCHEDULED,
            **said,
            "lastTransitionTime": since,
            "observedGeneration": raw.number(owner, "metadata", "generation"),
        }
        return {"conditions": [*(each for each in stored if each.get("type") != SCHEDULED), new]}


def group_name(name: str) -> str:
    """The PodGroup of Volcano's API for a native one: a name that its own users' groups are unlikely to have."""
    return f"native-{name}"


def _min_count(owner: JsonObject) -> int:
    policy = raw.table(owner, "spec", "schedulingPolicy")
    if "gang" not in policy:
        return 1
    where = "spec.schedulingPolicy.gang.minCount"
    least = count(owner, where, "spec", "schedulingPolicy", "gang", "minCount", default=0)
    if not least:
        raise Malformed(f"{where}: must be at least 1")
    return least


def _members(owner: JsonObject, seen: Seen) -> list[JsonObject]:
    """Its pods that go to a scheduler of ours: those bear our group's name."""
    group = group_name(raw.name(owner))
    return [
        pod
        for pod in seen.list(PODS, raw.namespace(owner))
        if raw.annotation(pod, names.GROUP_NAME) == group and not raw.terminating(pod)
    ]


def _workload_of(owner: JsonObject) -> str:
    return raw.text(owner, "spec", "podGroupTemplateRef", "workload", "workloadName")


def _queue_of_workload(owner: JsonObject, seen: Seen) -> str:
    found = seen.get(NATIVE_WORKLOADS, raw.namespace(owner), _workload_of(owner))
    if found is None:
        return ""
    return raw.annotation(found, names.POD_QUEUE_NAME) or raw.labels_of(found).get(names.QUEUE_NAME, "")


def _topology(owner: JsonObject) -> JsonObject:
    """All pods within one HyperNode of the level that is named by the topology key: HyperNodes know no node labels."""
    key = raw.text(owner, "spec", "schedulingConstraints", "topology", 0, "key")
    return {"mode": "hard", "highestTierName": key} if key else {}


def _said(group: JsonObject) -> JsonObject | None:
    """status, reason and message of the condition; None while there is nothing to say."""
    if raw.text(group, "status", "phase") in _LET_IN:
        return {"status": "True", "reason": "Scheduled", "message": ""}
    short = condition_of(group, "Unschedulable")
    if short.get("status") == "True":
        return {"status": "False", "reason": "Unschedulable", "message": raw.text(short, "message")}
    return None

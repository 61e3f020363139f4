"""Groups for pods that no vcjob made: plain pods, and those of ReplicaSets, StatefulSets, DaemonSets and Jobs.

A pod for our scheduler without a group gets one named after its controller (or itself), so that pods of one owner share
it, and an annotation that says so. What the group needs comes from the pod and from its owner's annotations; the first
pod decides. Of later owner changes only the replicas and the pod template of ReplicaSets and StatefulSets reach a group that exists:
it never asks for more pods than there are to be, so that the small sets of a rolling update start. One of zero replicas
loses its group. Nothing is remembered.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Final

from vcray.api import names
from vcray.api.meta import JsonObject, JsonValue
from vcray.api.resources import (
    DAEMONSETS,
    KUBERNETES_JOBS,
    PODGROUPS,
    PODS,
    REPLICASETS,
    STATEFULSETS,
    Resource,
)
from vcray.controllers import raw
from vcray.controllers.base import (
    Again,
    Change,
    Create,
    Delete,
    Effects,
    Emit,
    Patch,
    Read,
    Request,
    Seen,
    Steps,
    must,
    one_object_each,
)
from vcray.controllers.notes import annotate
from vcray.controllers.podusage import Usage, add_usage, pod_usage, usage_json
from vcray.controllers.regroup import Regroup, regroup, regroups
from vcray.controllers.reservation import Reservations, Unclaimed

_OWNERS: Final = {r.kind: r for r in (REPLICASETS, STATEFULSETS, DAEMONSETS, KUBERNETES_JOBS)}
"""Kinds whose annotations speak for their pods."""
_POD_ANNOTATIONS: Final = (names.PREEMPTABLE, names.COOLDOWN_TIME, names.REVOCABLE_ZONE)
_POD_LABELS: Final = (names.PREEMPTABLE, names.COOLDOWN_TIME)


@dataclass(frozen=True, slots=True)
class GroupPod:
    """Give a pod its group."""

    namespace: str
    pod: str
    group: str
    waited: bool = False

    @property
    def key(self) -> str:
        return f"{self.namespace}/{self.group}"


@dataclass(frozen=True, slots=True)
class _OfWorkload:
    """A workload and the group of its pods."""

    namespace: str
    workload: str
    resource: Resource
    group: str

    @property
    def key(self) -> str:
        return f"{self.namespace}/{self.group}"


class DropGroup(_OfWorkload):
    """Delete the group of a workload that was scaled to zero."""


class Refit(_OfWorkload):
    """Let the group of a workload follow its replicas and its pod template."""


@dataclass(frozen=True, slots=True)
class MissingGroup:
    """A pod names a group that is not there; told once it has not come after a while."""

    namespace: str
    pod: str
    group: str
    waited: bool = False

    @property
    def key(self) -> str:
        return f"{self.namespace}/{self.pod}"


GRACE_S: Final = 2.0
"""Pods and their group may be created in any order: seconds before a missing group is told."""
OTHERS_GRACE_S: Final = 5.0
"""How long an integration may take to let a pod of its object into a group."""


class PodGroupController:
    """Makes PodGroups for pods without one. `scheduler_names` are ours; `inherit` reads the owners' annotations.

    Pods of `others` get theirs from an integration as a rule, and here only if it does not come. One that names a group of
    Kubernetes' own never gets one here: it waits for that."""

    name: ClassVar[str] = "pg-controller"
    watches: ClassVar[tuple[Resource, ...]] = (PODS, REPLICASETS, STATEFULSETS, PODGROUPS)
    starts_anew: bool = True

    def __init__(
        self,
        scheduler_names: Sequence[str] = (names.SCHEDULER_NAME,),
        inherit: bool = True,
        max_requeue: int = 15,
        others: Callable[[JsonObject], bool] = lambda pod: False,
        reservation_timeout_s: float = 300.0,
    ) -> None:
        self.scheduler_names = frozenset(scheduler_names)
        self.inherit = inherit
        self.max_requeue = max_requeue
        self._others = others
        self._reservations = Reservations(reservation_timeout_s)

    def requests(self, change: Change, seen: Seen) -> Iterable[Request]:
        """New pods without a group, workloads that have no replicas, and groups that hold room for no pods."""
        yield from self._reservations.requests(change, seen)
        yield from regroups(change)
        yield from self._requests(change, seen)

    def _requests(self, change: Change, seen: Seen) -> Iterable[Request]:
        item = change.new
        if item is None:
            return self._left_behind(change, seen)
        if change.resource == PODS:
            if len(one_object_each(change)) > 1 or (change.old is None and self._wants_group(item)):
                return (GroupPod(raw.namespace(item), raw.name(item), group_name(item)),)
            if change.old is None and self._lacks_group(item, seen):
                group = raw.annotation(item, names.GROUP_NAME)
                if group == group_name(item):
                    return (GroupPod(raw.namespace(item), raw.name(item), group),)
                return (MissingGroup(raw.namespace(item), raw.name(item), group),)
        elif change.resource in (REPLICASETS, STATEFULSETS):
            place = raw.namespace(item), raw.name(item)
            group = f"{names.PODGROUP_PREFIX}{raw.uid(item)}"
            if _is_empty(item):
                return (DropGroup(*place, change.resource, group),)
            if change.old is not None and raw.table(change.old, "spec") != raw.table(item, "spec"):
                return (Refit(*place, change.resource, group),)
        return ()

    def _left_behind(self, change: Change, seen: Seen) -> Iterable[Request]:
        """Waiting pods whose group, made here, is gone: a workload that was scaled to zero and up again at once gets its
        group deleted late (volcano-sh/volcano#3374)."""
        group = change.old
        if change.resource != PODGROUPS or group is None:
            return
        for pod in _pods_of(group, seen):
            ours = raw.annotation(pod, names.GROUP_NAME) == raw.name(group) == group_name(pod)
            if ours and self._lacks_group(pod, seen) and not _is_unwanted(pod, seen):
                yield GroupPod(raw.namespace(pod), raw.name(pod), raw.name(group))

    def reconcile(self, request: Request, seen: Seen, now: float) -> Effects:
        """Create the group if it is missing, then annotate the pod; or delete the group."""
        if isinstance(request, Unclaimed):
            yield from self._reservations.reconcile(request, seen)
            return
        if isinstance(request, Regroup):
            yield from regroup(request, seen, self.scheduler_names)
            return
        if isinstance(request, DropGroup):
            yield from _drop(request, seen)
            return
        if isinstance(request, Refit):
            yield from self._refit(request, seen)
            return
        if isinstance(request, MissingGroup):
            yield from self._tell_missing(request, seen)
            return
        assert isinstance(request, GroupPod)
        pod = seen.get(PODS, request.namespace, request.pod)
        if pod is None or group_name(pod) != request.group:
            return
        if not self._wants_group(pod) and not self._lacks_group(pod, seen):
            return
        if not request.waited and self._others(pod):
            yield Again(OTHERS_GRACE_S, replace(request, waited=True))
            return
        if seen.get(PODGROUPS, request.namespace, request.group) is None:
            owners = (yield from _owner_annotations(pod, seen)) if self.inherit else {}
            outcome = yield Create(PODGROUPS, build_podgroup(pod, owners, _replicas_of(pod, seen)))
            if not outcome.already_exists:
                must(outcome, f"create PodGroup {request.key}")
        yield from annotate(PODS, pod, {names.GROUP_NAME: request.group})

    def gave_up(self, request: Request, seen: Seen, now: float) -> Effects:
        """Never comes: failures of this controller do not count."""
        yield from ()

    def _tell_missing(self, request: MissingGroup, seen: Seen) -> Effects:
        """Say on the pod that its group is missing (volcano-sh/volcano#604)."""
        pod = seen.get(PODS, request.namespace, request.pod)
        if pod is None or not self._lacks_group(pod, seen):
            return
        if not request.waited:
            yield Again(GRACE_S, replace(request, waited=True))
            return
        message = f'PodGroup "{request.namespace}/{request.group}" not found; the pod waits until it exists'
        yield Emit(PODS, pod, "Warning", "PodGroupNotFound", message)

    def _refit(self, request: Refit, seen: Seen) -> Effects:
        """Sizes of the group anew (trap T32, volcano-sh/volcano#4739, #4516)."""
        workload = seen.get(request.resource, request.namespace, request.workload)
        group = seen.get(PODGROUPS, request.namespace, request.group)
        if workload is None or group is None or _is_empty(workload):
            return
        owners = raw.annotations_of(workload) if self.inherit else {}
        pod_spec = raw.table(workload, "spec", "template", "spec")
        wanted = _sizes(pod_spec, owners, raw.number(workload, "spec", "replicas", default=1))
        present = raw.table(group, "spec")
        patch: list[JsonValue] = [
            {"op": "add", "path": f"/spec/{name}", "value": value}
            for name, value in wanted.items()
            if present.get(name) != value
        ]
        if patch:
            outcome = yield Patch(PODGROUPS, request.namespace, request.group, patch, "json")
            if not outcome.not_found:
                must(outcome, f"update PodGroup {request.key}")

    def _lacks_group(self, pod: JsonObject, seen: Seen) -> bool:
        ours = raw.text(pod, "spec", "schedulerName") in self.scheduler_names
        group = raw.annotation(pod, names.GROUP_NAME)
        waits = ours and bool(group) and not raw.text(pod, "spec", "nodeName")
        return waits and seen.get(PODGROUPS, raw.namespace(pod), group) is None

    def _wants_group(self, pod: JsonObject) -> bool:
        ours = raw.text(pod, "spec", "schedulerName") in self.scheduler_names
        waits_for_another = bool(raw.text(pod, "spec", "schedulingGroup", "podGroupName"))
        return ours and not waits_for_another and not raw.annotation(pod, names.GROUP_NAME)


def group_name(pod: JsonObject) -> str:
    """`podgroup-<uid>` of the pod's controller, else of the pod."""
    return names.PODGROUP_PREFIX + (raw.text(raw.controller(pod), "uid") or raw.uid(pod))


def _pods_of(group: JsonObject, seen: Seen) -> Iterator[JsonObject]:
    """Pods that a group made here may be for, found by the uid in its name: a group of others has none."""
    _, ours, uid = raw.name(group).partition(names.PODGROUP_PREFIX)
    if not ours:
        return
    yield from seen.owned(PODS, uid)
    for owner in raw.tables(group, "metadata", "ownerReferences"):
        if owner.get("kind") == PODS.kind:
            pod = seen.get(PODS, raw.namespace(group), raw.text(owner, "name"))
            if pod is not None:
                yield pod


def build_podgroup(
    pod: JsonObject, owner_annotations: dict[str, str], replicas: int | None = None
) -> JsonObject:
    """The group that a first pod asks for; `replicas` is how many of it there are to be, if that is known."""
    spec = _sizes(raw.table(pod, "spec"), owner_annotations, replicas)
    stored = raw.annotations_of(pod)
    if stored.get(names.POD_QUEUE_NAME):
        spec["queue"] = stored[names.POD_QUEUE_NAME]
    priority_class = raw.text(pod, "spec", "priorityClassName")
    if priority_class:
        spec["priorityClassName"] = priority_class
    topology = _topology(stored)
    if topology:
        spec["networkTopology"] = topology
    labels = raw.labels_of(pod)
    return {
        "apiVersion": PODGROUPS.api_version,
        "kind": PODGROUPS.kind,
        "metadata": {
            "name": group_name(pod),
            "namespace": raw.namespace(pod),
            "ownerReferences": _owners(pod),
            "annotations": raw.strings(_annotations(stored, owner_annotations)),
            "labels": {key: labels[key] for key in _POD_LABELS if key in labels},
        },
        "spec": spec,
        "status": {"phase": "Pending"},
    }


def _sizes(pod_spec: JsonObject, owner_annotations: dict[str, str], replicas: int | None) -> JsonObject:
    """minMember and minResources."""
    minimum = _min_member(owner_annotations)
    if replicas is not None:
        minimum = min(minimum, replicas)
    usage: Usage = {}
    if minimum:
        add_usage(usage, pod_usage(pod_spec), minimum)
    return {"minMember": minimum, "minResources": usage_json(usage)}


def _replicas_of(pod: JsonObject, seen: Seen) -> int | None:
    """Replicas of the ReplicaSet or StatefulSet that controls the pod; None for other pods, and while that is not seen."""
    found = raw.at(_workload_of(pod, seen), "spec", "replicas")
    return found if isinstance(found, int) else None


def _workload_of(pod: JsonObject, seen: Seen) -> JsonObject | None:
    owner = raw.controller(pod)
    resource = _OWNERS.get(raw.text(owner, "kind"))
    if resource not in (REPLICASETS, STATEFULSETS) or resource is None:
        return None
    return seen.get(resource, raw.namespace(pod), raw.text(owner, "name"))


def _owners(pod: JsonObject) -> list[JsonValue]:
    if raw.controller(pod):
        return [dict(owner) for owner in raw.tables(pod, "metadata", "ownerReferences")]
    return [raw.owner_reference(PODS.api_version, PODS.kind, pod)]


def _annotations(pod: dict[str, str], owners: dict[str, str]) -> dict[str, str]:
    annotations = {key: value for key, value in owners.items() if key.startswith(names.VOLCANO_PREFIX)}
    annotations.update({key: pod[key] for key in _POD_ANNOTATIONS if key in pod})
    for key in (names.JDB_MIN_AVAILABLE, names.JDB_MAX_UNAVAILABLE):
        if key in pod:
            annotations[key] = pod[key]
            break
    return annotations


def _min_member(owner_annotations: dict[str, str]) -> int:
    try:
        minimum = int(owner_annotations.get(names.GROUP_MIN_MEMBER, "1"))
    except ValueError:
        return 1
    return minimum if minimum >= 0 else 1


def _topology(annotations: dict[str, str]) -> JsonObject:
    mode = annotations.get(names.NETWORK_TOPOLOGY_MODE)
    tier = annotations.get(names.NETWORK_TOPOLOGY_HIGHEST_TIER)
    if mode is None and tier is None:
        return {}
    topology: JsonObject = {"mode": "soft" if (mode or "").lower() == "soft" else "hard"}
    with contextlib.suppress(ValueError):
        topology["highestTierAllowed"] = int(tier or "")
    return topology


def _owner_annotations(pod: JsonObject, seen: Seen) -> Steps[dict[str, str]]:
    """Annotations of the pod's owners; of one key the first owner's. Owners that cannot be read are passed over."""
    found: dict[str, str] = {}
    for owner in raw.tables(pod, "metadata", "ownerReferences"):
        resource = _OWNERS.get(raw.text(owner, "kind"))
        if resource is None:
            continue
        mirrored = resource in PodGroupController.watches
        stored = seen.get(resource, raw.namespace(pod), raw.text(owner, "name")) if mirrored else None
        if stored is None:
            outcome = yield Read(resource, raw.namespace(pod), raw.text(owner, "name"))
            stored = outcome.object if outcome.ok else None
        if stored is not None:
            found = {**raw.annotations_of(stored), **found}
    return found


def _is_empty(workload: JsonObject) -> bool:
    """spec.replicas is 0; absent it is 1."""
    return raw.at(workload, "spec", "replicas") == 0


def _is_unwanted(pod: JsonObject, seen: Seen) -> bool:
    """Is the pod on its way out, or its workload scaled to zero?"""
    if raw.at(pod, "metadata", "deletionTimestamp"):
        return True
    workload = _workload_of(pod, seen)
    return workload is not None and _is_empty(workload)


def _drop(request: DropGroup, seen: Seen) -> Effects:
    workload = seen.get(request.resource, request.namespace, request.workload)
    group = seen.get(PODGROUPS, request.namespace, request.group)
    if workload is None or group is None or not _is_empty(workload):
        return
    outcome = yield Delete(PODGROUPS, request.namespace, request.group, uid=raw.uid(group))
    if not outcome.not_found and not outcome.conflict:
        must(outcome, f"delete PodGroup {request.key}")

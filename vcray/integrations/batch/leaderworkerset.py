"""LeaderWorkerSet: a gang for each replica, which lives and goes with the replica's leader pod (integrations.md 4.2)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import ClassVar, Final

from vcray.api.meta import JsonObject
from vcray.api.resources import LEADERWORKERSETS, PODGROUPS, PODS, STATEFULSETS, Resource
from vcray.controllers import raw
from vcray.controllers.base import Change, Seen
from vcray.integrations.base import Asks, Gang, Integration, Malformed, Member, Part, Ref, SubGroups, count
from vcray.integrations.base import template as pod_template

NAME: Final = "leaderworkerset.sigs.k8s.io/name"
GROUP_INDEX: Final = "leaderworkerset.sigs.k8s.io/group-index"
WORKER_INDEX: Final = "leaderworkerset.sigs.k8s.io/worker-index"
REVISION: Final = "leaderworkerset.sigs.k8s.io/template-revision-hash"
SUBGROUP_INDEX: Final = "leaderworkerset.sigs.k8s.io/subgroup-index"
SIZE: Final = "leaderworkerset.sigs.k8s.io/size"
EXCLUSIVE: Final = "leaderworkerset.sigs.k8s.io/exclusive-topology"
LEADER: Final = "leader"
WORKER: Final = "worker"


class LeaderWorkerSet(Integration):
    """A replica whose workers exist only once its leader runs or has a node starts with the leader alone; its gang has room for
    all of them from the beginning."""

    name: ClassVar[str] = "leaderworkerset"
    kinds: ClassVar[tuple[Resource, ...]] = (LEADERWORKERSETS,)
    reads: ClassVar[tuple[Resource, ...]] = (STATEFULSETS, PODGROUPS)
    pod_labels: ClassVar[tuple[str, ...]] = (NAME,)
    follows_pods: ClassVar[bool] = True

    def asks(self, owner: JsonObject) -> Asks:
        return Asks(templates=_templates(owner))

    def gangs(self, owner: JsonObject, seen: Seen) -> Sequence[Gang]:
        count(owner, "spec.replicas", "spec", "replicas", default=1)
        _written_size(owner)
        _written_template(owner)
        told = [(leader, _gang(owner, leader, seen)) for leader in _leaders(owner, seen)]
        return tuple(gang for leader, gang in told if _begun(owner, leader, seen))

    def member(self, owner: JsonObject, pod: JsonObject) -> Member | None:
        group = _group(owner, pod)
        return None if group is None else _member(group, _is_leader(pod))

    def concerned(self, change: Change, seen: Seen) -> Iterable[Ref]:
        """A group that goes after a leader whose name the next one has already leaves that one without (trap T17)."""
        above = raw.controller(change.object)
        if change.resource == STATEFULSETS and above.get("kind") == PODS.kind:
            yield Ref(
                LEADERWORKERSETS, raw.namespace(change.object), raw.labels_of(change.object).get(NAME, "")
            )
        if change.resource != PODGROUPS or change.new is not None or above.get("kind") != PODS.kind:
            return
        space = raw.namespace(change.object)
        leader = seen.get(PODS, space, raw.text(above, "name"))
        named = "" if leader is None else raw.labels_of(leader).get(NAME, "")
        if named:
            yield Ref(LEADERWORKERSETS, space, named)


def _leaders(owner: JsonObject, seen: Seen) -> Iterator[JsonObject]:
    """Leader pods that stay and whose group can be told, through the StatefulSet that makes them."""
    makers = [owner, *seen.owned(STATEFULSETS, raw.uid(owner))]
    for maker in makers:
        for pod in seen.owned(PODS, raw.uid(maker)):
            made = raw.controlled_by(pod, raw.uid(maker)) and not raw.terminating(pod)
            if made and _is_leader(pod) and _group(owner, pod) is not None:
                yield pod


def _begun(owner: JsonObject, leader: JsonObject, seen: Seen) -> bool:
    """Has LWS set about a replica? Where it makes groups itself it does so before the workers' StatefulSet; a leader that comes
    before its workers cannot wait for that."""
    return _is_alone(owner) or _size(owner, leader) == 1 or bool(seen.owned(STATEFULSETS, raw.uid(leader)))


def _is_alone(owner: JsonObject) -> bool:
    """Are workers made only once their leader is ready, or has a node?"""
    return raw.text(owner, "spec", "startupPolicy") == "LeaderReady" or EXCLUSIVE in raw.annotations_of(owner)


def _gang(owner: JsonObject, leader: JsonObject, seen: Seen) -> Gang:
    """A replica as its leader was made: a rolling update has replicas of two templates and sizes."""
    size = _size(owner, leader)
    alone = _is_alone(owner)
    workers = size - 1
    parts = (
        Part(LEADER, 1, 1, {"spec": raw.table(leader, "spec")}),
        Part(
            WORKER,
            0 if alone else workers,
            workers,
            _worker_template(owner, leader, seen),
            _sub_groups(owner, leader, size, alone),
        ),
    )
    return Gang(_group(owner, leader) or "", parts, owner=(PODS, leader))


def _size(owner: JsonObject, leader: JsonObject) -> int:
    written = raw.annotation(leader, SIZE)
    if written.isdecimal() and int(written) > 0:
        return int(written)
    return _written_size(owner)


def _written_size(owner: JsonObject) -> int:
    where = "spec.leaderWorkerTemplate.size"
    size = count(owner, where, "spec", "leaderWorkerTemplate", "size", default=1)
    if size < 1:
        raise Malformed(f"{where}: must be at least 1, got {size}")
    return size


def _worker_template(owner: JsonObject, leader: JsonObject, seen: Seen) -> JsonObject:
    for made in seen.owned(STATEFULSETS, raw.uid(leader)):
        return raw.table(made, "spec", "template")
    return _written_template(owner)


def _written_template(owner: JsonObject) -> JsonObject:
    path = ("spec", "leaderWorkerTemplate", "workerTemplate")
    return pod_template(owner, ".".join(path), *path)


def _sub_groups(owner: JsonObject, leader: JsonObject, size: int, alone: bool) -> SubGroups | None:
    """Pods of a replica in units of `subGroupSize`; the leader is in the first one, or in none."""
    path = ("spec", "leaderWorkerTemplate", "subGroupPolicy")
    where = ".".join(path) + ".subGroupSize"
    of_unit = count(owner, where, *path, "subGroupSize", default=0)
    if not of_unit:
        return None
    pods = size - 1 if raw.text(owner, *path, "subGroupPolicyType") == "LeaderExcluded" else size
    if pods % of_unit and (size - 1) % of_unit:
        raise Malformed(f"{where}: {of_unit} divides neither the size {size} nor {size - 1}")
    labels = raw.labels_of(leader)
    marks = {NAME: raw.name(owner), GROUP_INDEX: _index(leader), REVISION: labels.get(REVISION, "")}
    return SubGroups(of_unit, 0 if alone else pods // of_unit, marks, (SUBGROUP_INDEX,))


def _group(owner: JsonObject, pod: JsonObject) -> str | None:
    """The PodGroup of a pod's replica, as LWS's own plugin calls it."""
    index, revision = _index(pod), raw.labels_of(pod).get(REVISION, "")
    return f"{raw.name(owner)}-{index}-{revision}" if index and revision else None


def _index(pod: JsonObject) -> str:
    """The replica's number; LWS's webhook writes it, and a leader's name ends with it."""
    written = raw.labels_of(pod).get(GROUP_INDEX, "")
    ordinal = raw.name(pod).rpartition("-")[2]
    return written or (ordinal if _is_leader(pod) and ordinal.isdecimal() else "")


def _is_leader(pod: JsonObject) -> bool:
    return raw.labels_of(pod).get(WORKER_INDEX) == "0"


def _templates(owner: JsonObject) -> tuple[JsonObject, ...]:
    both = raw.table(owner, "spec", "leaderWorkerTemplate")
    worker = raw.table(both, "workerTemplate")
    return (raw.table(both, "leaderTemplate") or worker, worker)


def _member(group: str, leads: bool) -> Member:
    return Member(group, LEADER if leads else WORKER, leads)

"""LeaderWorkerSets: for each replica a leader pod and, owned by it, a StatefulSet of its workers.

Two things differ from the real one. Leaders are bare pods of the LeaderWorkerSet, not those of a StatefulSet: a webhook tells those their
place, and there is none here. For the same reason workers get the labels that tell one from the other just after they were made.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from hashlib import sha256
from typing import ClassVar, Final

from vcray.api import names
from vcray.api.meta import JsonObject, JsonValue
from vcray.api.resources import LEADERWORKERSETS, PODGROUPS, PODS, STATEFULSETS, Resource
from vcray.cluster.operators.base import Follow, Operator, conditions, is_ready, phase
from vcray.cluster.operators.lws import gangs
from vcray.controllers import raw
from vcray.controllers.base import Change, Effects, Patch, Request, Seen, Steps, must

LABELS: Final = "leaderworkerset.sigs.k8s.io/"


class LeaderWorkerSets(Operator):
    """Volcano's scheduler is for the templates to name, here as with the real one."""

    resource: ClassVar[Resource] = LEADERWORKERSETS
    owns: ClassVar[tuple[Resource, ...]] = (PODS, STATEFULSETS, PODGROUPS)

    def requests(self, change: Change, seen: Seen) -> Iterable[Request]:
        """By the label that all its objects have."""
        named = raw.labels_of(change.object).get(LABELS + "name")
        if change.resource != self.resource and named:
            return (Follow(raw.namespace(change.object), named),)
        return super().requests(change, seen)

    def follow(self, obj: JsonObject, seen: Seen, now: float) -> Effects:
        """One turn of a LeaderWorkerSet."""
        revision = revision_of(obj)
        pods = [
            pod
            for pod in seen.list(PODS, raw.namespace(obj))
            if raw.labels_of(pod).get(LABELS + "name") == raw.name(obj)
        ]
        leaders = {_index(pod): pod for pod in pods if raw.controlled_by(pod, raw.uid(obj))}
        going = {index for index, leader in leaders.items() if raw.terminating(leader)}
        yield from self._restart(leaders, pods, going, seen)
        wanted = _wanted(obj, leaders, revision)
        extra = [leaders[index] for index in sorted(leaders) if index >= wanted and index not in going]
        yield from self.remove(PODS, extra)
        yield from self._roll(obj, leaders, pods, revision, going)
        for index in range(wanted):
            if index not in leaders:
                yield from self._lead(obj, index, revision)
            elif index not in going:
                yield from self._staff(obj, index, leaders[index], pods, seen)
        yield from self._report(obj, seen, revision, now)

    # -- replicas -------------------------------------------------------------------------------------------------------

    def _lead(self, lws: JsonObject, index: int, revision: str) -> Steps[None]:
        both = raw.table(lws, "spec", "leaderWorkerTemplate")
        template = raw.table(both, "leaderTemplate") or raw.table(both, "workerTemplate")
        labels = {**_marks(lws, index, revision), LABELS + "worker-index": "0"}
        if raw.table(both, "subGroupPolicy") and not _leader_excluded(lws):
            labels[LABELS + "subgroup-index"] = "0"
        pod = _with_marks(template, labels, self._notes(lws, index, revision))
        metadata: JsonObject = {**raw.table(pod, "metadata"), "name": f"{raw.name(lws)}-{index}"}
        yield from self.make(PODS, lws, {**pod, "metadata": metadata})

    def _staff(
        self, lws: JsonObject, index: int, leader: JsonObject, pods: Sequence[JsonObject], seen: Seen
    ) -> Steps[None]:
        """The group and the workers of a leader, made as its own revision was; what an update changes waits for a new leader."""
        revision = raw.labels_of(leader).get(LABELS + "template-revision-hash", "")
        called = f"{raw.name(lws)}-{index}"
        space = raw.namespace(lws)
        if self.gang and revision == revision_of(lws):
            name = f"{called}-{revision}"
            if seen.get(PODGROUPS, space, name) is None:
                group = gangs.podgroup(lws, name, _marks(lws, index, revision))
                yield from self.make(PODGROUPS, leader, group, PODS)
        yield from self._tell_workers_apart(lws, called, pods)
        late = raw.text(lws, "spec", "startupPolicy") == "LeaderReady" and not is_ready(leader)
        exclusive = LABELS + "exclusive-topology" in raw.annotations_of(lws)
        held = exclusive and not raw.text(leader, "spec", "nodeName")
        if size(lws) < 2 or late or held or revision != revision_of(lws):
            return
        if seen.get(STATEFULSETS, space, called) is not None:
            return
        marks = _marks(lws, index, revision)
        template = raw.table(lws, "spec", "leaderWorkerTemplate", "workerTemplate")
        spec: JsonObject = {
            "replicas": size(lws) - 1,
            "ordinals": {"start": 1},
            "podManagementPolicy": "Parallel",
            "serviceName": raw.name(lws),
            "selector": {"matchLabels": raw.strings(marks)},
            "template": _with_marks(template, marks, self._notes(lws, index, revision)),
        }
        made: JsonObject = {"metadata": {"name": called, "labels": raw.strings(marks)}, "spec": spec}
        yield from self.make(STATEFULSETS, leader, made, PODS)

    def _notes(self, lws: JsonObject, index: int, revision: str) -> Mapping[str, str]:
        notes = {LABELS + "size": str(size(lws)), LABELS + "leader-name": f"{raw.name(lws)}-{index}"}
        if self.gang:
            notes[names.GROUP_NAME] = f"{raw.name(lws)}-{index}-{revision}"
        return notes

    def _tell_workers_apart(self, lws: JsonObject, called: str, pods: Sequence[JsonObject]) -> Steps[None]:
        for pod in pods:
            place = raw.name(pod).removeprefix(f"{called}-")
            known = LABELS + "worker-index" in raw.labels_of(pod)
            if known or raw.terminating(pod) or not place.isdecimal() or place == raw.name(pod):
                continue
            labels = {LABELS + "worker-index": place}
            of_unit = raw.number(lws, "spec", "leaderWorkerTemplate", "subGroupPolicy", "subGroupSize")
            if of_unit:
                first = _leader_excluded(lws) or size(lws) % of_unit != 0
                labels[LABELS + "subgroup-index"] = str((int(place) - first) // of_unit)
            wish: JsonObject = {"metadata": {"labels": raw.strings(labels)}}
            outcome = yield Patch(PODS, raw.namespace(pod), raw.name(pod), wish)
            if not outcome.not_found:
                must(outcome, f"label pod {raw.name(pod)}")

    # -- restarts and updates -------------------------------------------------------------------------------------------

    def _restart(
        self, leaders: Mapping[int, JsonObject], pods: Sequence[JsonObject], going: set[int], seen: Seen
    ) -> Steps[None]:
        """A replica that loses a pod is made anew, with everything in it. The leader goes last."""
        for pod in pods:
            index = _index(pod)
            leader = leaders.get(index)
            lost = raw.terminating(pod) or phase(pod) in ("Failed", "Succeeded")
            if leader is not None and lost and index not in going and _belongs(pod, leader, seen):
                going.add(index)
                yield from self.remove(PODS, [leader], "Foreground")

    def _roll(
        self,
        lws: JsonObject,
        leaders: Mapping[int, JsonObject],
        pods: Sequence[JsonObject],
        revision: str,
        going: set[int],
    ) -> Steps[None]:
        """Replace leaders of an older template, the last one first, as many at once as may be away."""
        replicas = raw.number(lws, "spec", "replicas", default=1)
        rolling = raw.table(lws, "spec", "rolloutStrategy", "rollingUpdateConfiguration")
        ready = sum(
            _whole(lws, index, leader, pods) for index, leader in leaders.items() if index not in going
        )
        spare = ready - (replicas - raw.number(rolling, "maxUnavailable", default=1))
        for index in sorted(leaders, reverse=True):
            if index in going or index >= replicas or _revision(leaders[index]) == revision:
                continue
            if index < raw.number(rolling, "partition"):
                continue
            if _whole(lws, index, leaders[index], pods):
                if spare <= 0:
                    continue
                spare -= 1
            going.add(index)
            yield from self.remove(PODS, [leaders[index]])

    def _report(self, lws: JsonObject, seen: Seen, revision: str, now: float) -> Steps[None]:
        pods = [
            pod
            for pod in seen.list(PODS, raw.namespace(lws))
            if raw.labels_of(pod).get(LABELS + "name") == raw.name(lws) and not raw.terminating(pod)
        ]
        leaders = {_index(pod): pod for pod in pods if raw.controlled_by(pod, raw.uid(lws))}
        whole = [index for index, leader in leaders.items() if _whole(lws, index, leader, pods)]
        updated = [index for index, leader in leaders.items() if _revision(leader) == revision]
        wanted = raw.number(lws, "spec", "replicas", default=1)
        available = len(whole) >= wanted
        status: dict[str, JsonValue] = {
            "replicas": len(leaders),
            "readyReplicas": len(whole),
            "updatedReplicas": len(updated),
            "conditions": conditions(
                lws,
                {
                    "Available": (available, "AllGroupsReady"),
                    "Progressing": (not available, "GroupsAreProgressing"),
                    "UpdateInProgress": (len(updated) < len(leaders), "GroupsAreUpgrading"),
                },
                now,
            ),
        }
        yield from self.report(lws, status)


def size(lws: JsonObject) -> int:
    """Pods of a replica."""
    return max(1, raw.number(lws, "spec", "leaderWorkerTemplate", "size", default=1))


def revision_of(lws: JsonObject) -> str:
    """Tells templates apart."""
    template = json.dumps(raw.table(lws, "spec", "leaderWorkerTemplate"), sort_keys=True)
    return sha256(template.encode()).hexdigest()[:10]


def _wanted(lws: JsonObject, leaders: Mapping[int, JsonObject], revision: str) -> int:
    """Replicas that there should be: some more than asked for while an update is under way that may surge."""
    replicas = raw.number(lws, "spec", "replicas", default=1)
    old = sum(index < replicas and _revision(leader) != revision for index, leader in leaders.items())
    surge = raw.number(lws, "spec", "rolloutStrategy", "rollingUpdateConfiguration", "maxSurge")
    return replicas + min(surge, old)


def _whole(lws: JsonObject, index: int, leader: JsonObject, pods: Sequence[JsonObject]) -> bool:
    """Is every pod of a replica ready? Its size is the one that it was made with."""
    members = raw.annotation(leader, LABELS + "size")
    mine = [pod for pod in pods if _index(pod) == index and _revision(pod) == _revision(leader)]
    return sum(map(is_ready, mine)) >= int(members or size(lws))


def _belongs(pod: JsonObject, leader: JsonObject, seen: Seen) -> bool:
    """Is a pod this leader, or one of its workers? Those of a leader before it may still be there."""
    made = seen.get(STATEFULSETS, raw.namespace(leader), raw.name(leader))
    ours = made is not None and raw.controlled_by(made, raw.uid(leader))
    return pod is leader or (made is not None and ours and raw.controlled_by(pod, raw.uid(made)))


def _marks(lws: JsonObject, index: int, revision: str) -> dict[str, str]:
    key = sha256(f"{raw.namespace(lws)}/{raw.name(lws)}-{index}".encode()).hexdigest()[:40]
    return {
        LABELS + "name": raw.name(lws),
        LABELS + "group-index": str(index),
        LABELS + "group-key": key,
        LABELS + "template-revision-hash": revision,
    }


def _with_marks(template: JsonObject, labels: Mapping[str, str], notes: Mapping[str, str]) -> JsonObject:
    metadata: JsonObject = {
        "labels": raw.strings({**raw.labels_of(template), **labels}),
        "annotations": raw.strings({**raw.annotations_of(template), **notes}),
    }
    return {"metadata": metadata, "spec": raw.table(template, "spec")}


def _index(pod: JsonObject) -> int:
    found = raw.labels_of(pod).get(LABELS + "group-index", "")
    return int(found) if found.isdecimal() else -1


def _revision(pod: JsonObject) -> str:
    return raw.labels_of(pod).get(LABELS + "template-revision-hash", "")


def _leader_excluded(lws: JsonObject) -> bool:
    path = ("spec", "leaderWorkerTemplate", "subGroupPolicy", "subGroupPolicyType")
    return raw.text(lws, *path) == "LeaderExcluded"

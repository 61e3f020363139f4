"""ReplicaSets and ReplicationControllers: as many pods of one template as the spec says."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import ClassVar

from vcray.api.jsonview import dig, dig_int, dig_object, dig_objects, dig_str
from vcray.api.meta import JsonObject, JsonValue
from vcray.api.resources import REPLICASETS, REPLICATIONCONTROLLERS, Resource
from vcray.cluster.objects.selectors import selector_matches
from vcray.cluster.workloads.base import Controller, Shared, key_of, set_condition
from vcray.cluster.workloads.podcontrol import (
    BURST,
    by_expendability,
    create_pod,
    delete_pod,
    in_batches,
    pod_from,
)
from vcray.cluster.workloads.podview import PodView
from vcray.cluster.workloads.selection import Selects, claim, concerned, selects
from vcray.errors import VcrayError
from vcray.kube.errors import ApiError

FAILURE = "ReplicaFailure"


class ReplicaController(Controller):
    """What both kinds have in common; they differ in how their selector is written."""

    resource: ClassVar[Resource]

    def __init__(self, shared: Shared) -> None:
        super().__init__(shared)
        self.sets = shared.objects(self.resource)
        self.sets.on_change(self._set_changed)
        shared.pods.on_change(self._pod_changed)

    def selector(self, replica_set: JsonObject) -> Selects:
        """The test of a pod's labels."""
        return selects(dig(replica_set, "spec", "selector"))

    def _set_changed(self, old: JsonObject | None, new: JsonObject | None) -> None:
        found = new or old
        if found is not None:
            self.queue.add(key_of(found))

    def _pod_changed(self, old: PodView | None, new: PodView | None) -> None:
        for key in concerned(old, new, self.resource, self.sets, self.selector):
            self.queue.add(key)

    async def reconcile(self, key: str) -> float | None:
        replica_set = self.sets.objects.get(key)
        if replica_set is None:
            self.queue.forget(key)
            return None
        pods = await claim(self.shared, self.resource, replica_set, self.selector(replica_set))
        active = [pod for pod in pods if pod.active]
        refused: VcrayError | None = None
        wanted = dig_int(replica_set, "spec", "replicas", default=1)
        if not dig_str(replica_set, "metadata", "deletionTimestamp"):
            refused = await self._scale(replica_set, active, wanted)
        again = await self._report(key, wanted, refused)
        if refused is not None:
            raise refused
        return again

    async def _scale(self, replica_set: JsonObject, active: list[PodView], wanted: int) -> VcrayError | None:
        missing = wanted - len(active)
        if missing > 0:
            pod = pod_from(self.resource, replica_set, dig_object(replica_set, "spec", "template"))
            return await in_batches([partial(create_pod, self, replica_set, pod)] * min(missing, BURST))
        spare = by_expendability(active)[: min(-missing, BURST)] if missing < 0 else []
        return await in_batches([partial(delete_pod, self, replica_set, each) for each in spare])

    # -- status -----------------------------------------------------------------------------------------------

    async def _report(self, key: str, wanted: int, refused: VcrayError | None) -> float | None:
        replica_set = self.sets.objects.get(key)
        if replica_set is None:
            return None
        test, uid = self.selector(replica_set), dig_str(replica_set, "metadata", "uid")
        pods = [pod for pod in self.shared.pods.owned(uid) if test(pod.labels)]
        min_ready = dig_int(replica_set, "spec", "minReadySeconds")
        status, again = self._counted(replica_set, pods, min_ready)
        conditions = dig_objects(replica_set, "status", "conditions")
        short = wanted - int(str(status["replicas"]))
        if refused is not None and short:
            reason = "FailedCreate" if short > 0 else "FailedDelete"
            message = refused.message if isinstance(refused, ApiError) else str(refused)
            told = any(each.get("type") == FAILURE and each.get("reason") == reason for each in conditions)
            if not told:  # a message names a pod; written anew it would bring the next turn at once
                conditions = set_condition(conditions, FAILURE, "True", reason, message, self.shared.now())
        elif refused is None:
            conditions = [each for each in conditions if each.get("type") != FAILURE]
        listed: list[JsonValue] = [*conditions]
        status["conditions"] = listed or None
        await self.patch_status(self.resource, self.sets, replica_set, status)
        return again

    def _counted(
        self, replica_set: JsonObject, pods: Sequence[PodView], min_ready: int
    ) -> tuple[JsonObject, float | None]:
        template = dig_object(replica_set, "spec", "template", "metadata", "labels")
        now, again = self.time.now(), None
        active = [pod for pod in pods if pod.active]
        full = ready = available = 0
        for pod in active:
            full += all(pod.labels.get(name) == value for name, value in template.items())
            ready += pod.ready
            at = pod.available_at(min_ready)
            if at is not None and at <= now:
                available += 1
            elif at is not None:
                again = min(again or at - now, at - now)
        status: JsonObject = {
            "replicas": len(active),
            "fullyLabeledReplicas": full or None,
            "readyReplicas": ready or None,
            "availableReplicas": available or None,
            "observedGeneration": dig_int(replica_set, "metadata", "generation") or None,
        }
        if self.resource is REPLICASETS:
            status["terminatingReplicas"] = sum(pod.deleting and not pod.finished for pod in pods)
        return status, again


class ReplicaSetController(ReplicaController):
    """ReplicaSets."""

    name = "replicaset-controller"
    resource = REPLICASETS


class ReplicationControllerController(ReplicaController):
    """ReplicationControllers: a plain map of labels, by default those of the template."""

    name = "replication-controller"
    resource = REPLICATIONCONTROLLERS

    def selector(self, replica_set: JsonObject) -> Selects:
        """The test of a pod's labels."""
        labels = dig_object(replica_set, "spec", "selector") or dig_object(
            replica_set, "spec", "template", "metadata", "labels"
        )
        if not labels:
            return lambda _: False
        return lambda found: selector_matches({"matchLabels": labels}, found)

"""Pods that may not stay where they are: on a node with a taint that they do not tolerate, or on one that is gone.

Both get the condition DisruptionTarget before they are deleted, so that a job can tell such an end from a failure of its own.
"""

from __future__ import annotations

from contextlib import suppress

from vcray.api.jsonview import dig, dig_objects, dig_str
from vcray.api.meta import JsonObject, seconds_of
from vcray.api.resources import NODES, PODS
from vcray.cluster.workloads.base import Controller, Shared, split
from vcray.cluster.workloads.podview import PodView
from vcray.kube.client import PatchType
from vcray.kube.errors import Conflict, NotFound
from vcray.kube.events import NORMAL

QUARANTINE_S = 40.0
"""How long a node may be away before its pods are given up."""


class PodEviction(Controller):
    """Looks after the pods of nodes in trouble; the keys are the nodes' names."""

    name = "taint-eviction-controller"

    def __init__(self, shared: Shared) -> None:
        super().__init__(shared)
        self.nodes = shared.objects(NODES)
        self._pods: dict[str, set[str]] = {}
        self._missing: dict[str, float] = {}
        self.nodes.on_change(self._node_changed)
        shared.pods.on_change(self._pod_changed)

    def _node_changed(self, old: JsonObject | None, new: JsonObject | None) -> None:
        found = new or old
        if found is None:
            return
        name = dig_str(found, "metadata", "name")
        if new is None or _expelling(new) or (old is not None and _expelling(old)):
            self.queue.add(name)

    def _pod_changed(self, old: PodView | None, new: PodView | None) -> None:
        before, after = (each.spec.node_name if each else "" for each in (old, new))
        pod = new or old
        if before == after or pod is None:
            return
        key = f"{pod.metadata.namespace}/{pod.metadata.name}"
        if before:
            self._pods.get(before, set()).discard(key)
        if after:
            self._pods.setdefault(after, set()).add(key)
            node = self.nodes.objects.get(after)
            if node is None or _expelling(node):
                self.queue.add(after)

    async def reconcile(self, key: str) -> float | None:
        node = self.nodes.objects.get(key)
        if node is None:
            return await self._give_up(key)
        self._missing.pop(key, None)
        taints = _expelling(node)
        if not taints:
            return None
        again: list[float] = []
        for pod in sorted(self._pods.get(key, ())):
            due = await self._expel(pod, taints)
            if due is not None:
                again.append(due)
        return min(again) if again else None

    async def _give_up(self, node: str) -> float | None:
        """The node is gone: after a while its pods go too."""
        if not self._pods.get(node):
            self._missing.pop(node, None)
            self._pods.pop(node, None)
            return None
        since = self._missing.setdefault(node, self.time.now())
        left = since + QUARANTINE_S - self.time.now()
        if left > 0:
            return left
        with suppress(NotFound):
            await self.client.get(NODES, None, node)
            return None
        for key in sorted(self._pods.get(node, ())):
            view = self.shared.pods.objects.get(key)
            if view is not None:
                await self._mark(
                    view, "DeletionByPodGC", "PodGC: node no longer exists", failed=not view.finished
                )
                await self._delete(view, 0)
        return None

    async def _expel(self, key: str, taints: list[JsonObject]) -> float | None:
        """Delete a pod that does not tolerate the taints, or say when it no longer will."""
        view = self.shared.pods.objects.get(key)
        if view is None or view.deleting or view.finished:
            return None
        namespace, name = split(key)
        try:
            pod = await self.client.get(PODS, namespace, name)
        except NotFound:
            return None
        due = _tolerated_until(pod, taints)
        if due is None:
            return None
        left = due - self.time.now()
        if left > 0:
            return left
        await self._mark(view, "DeletionByTaintManager", "Taint manager: deleting due to NoExecute taint")
        about: JsonObject = {"apiVersion": "v1", **pod}
        await self.tell(about, NORMAL, "TaintManagerEviction", f"Marking for deletion Pod {key}")
        await self._delete(view, None)
        return None

    async def _mark(self, pod: PodView, reason: str, message: str, failed: bool = False) -> None:
        condition: JsonObject = {
            "type": "DisruptionTarget",
            "status": "True",
            "reason": reason,
            "message": message,
            "lastTransitionTime": self.shared.now(),
        }
        status: JsonObject = {"conditions": [condition], **({"phase": "Failed"} if failed else {})}
        patch: JsonObject = {"metadata": {"uid": pod.metadata.uid}, "status": status}
        with suppress(NotFound, Conflict):
            await self.client.patch(
                PODS, pod.metadata.namespace, pod.metadata.name, patch, PatchType.STRATEGIC, "status"
            )

    async def _delete(self, pod: PodView, grace_s: int | None) -> None:
        head = pod.metadata
        with suppress(NotFound, Conflict):
            await self.client.delete(PODS, head.namespace, head.name, grace_seconds=grace_s, uid=head.uid)


def _expelling(node: JsonObject) -> list[JsonObject]:
    """The taints of a node that drive pods away."""
    return [each for each in dig_objects(node, "spec", "taints") if each.get("effect") == "NoExecute"]


def _tolerated_until(pod: JsonObject, taints: list[JsonObject]) -> float | None:
    """When the first toleration of a taint ends; 0 without one, None if all are tolerated for ever."""
    ends: list[float] = []
    for taint in taints:
        matching = [each for each in dig_objects(pod, "spec", "tolerations") if _tolerates(each, taint)]
        if not matching:
            return 0.0
        limits = [dig(each, "tolerationSeconds") for each in matching]
        seconds = [float(each) for each in limits if isinstance(each, int)]
        if len(seconds) == len(matching):
            ends.append((seconds_of(taint.get("timeAdded")) or 0.0) + max(0.0, min(seconds)))
    return min(ends) if ends else None


def _tolerates(toleration: JsonObject, taint: JsonObject) -> bool:
    """Whether a toleration covers a taint, for however long."""
    key, effect = dig_str(toleration, "key"), dig_str(toleration, "effect")
    if effect not in ("", taint.get("effect")) or key not in ("", taint.get("key")):
        return False
    if dig_str(toleration, "operator") == "Exists":
        return True
    return bool(key) and dig_str(toleration, "value") == dig_str(taint, "value")

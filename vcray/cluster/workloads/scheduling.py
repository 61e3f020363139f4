"""A stand-in for kube-scheduler: pods of `default-scheduler` go to the emptiest node that can take them.

It knows node selectors, taints, cordons and what pods ask for, whoever bound them, nothing more. Gangs, queues and everything
else are the business of the scheduler that pods name.
"""

from __future__ import annotations

from vcray.api.jsonview import dig, dig_object, dig_objects, dig_str, dig_strings
from vcray.api.meta import JsonObject
from vcray.api.quantity import parse_quantity
from vcray.api.resources import NODES, PODS
from vcray.cluster.workloads.base import Controller, Shared, split
from vcray.cluster.workloads.podview import PodView
from vcray.kube.client import PatchType
from vcray.kube.errors import Conflict, NotFound
from vcray.kube.events import NORMAL, WARNING

SCHEDULER = "default-scheduler"
Amounts = dict[str, int]


class DefaultScheduler(Controller):
    """Binds pods that name `default-scheduler`; the keys are pods'."""

    name = SCHEDULER

    def __init__(self, shared: Shared) -> None:
        super().__init__(shared, workers=1)
        self.nodes = shared.objects(NODES)
        self._there: dict[str, set[str]] = {}
        self._asked: dict[str, Amounts] = {}
        self._waiting: set[str] = set()
        self.nodes.on_change(lambda old, new: self._again())
        shared.pods.on_change(self._pod_changed)

    def _again(self) -> None:
        for key in self._waiting:
            self.queue.add(key)

    def _pod_changed(self, old: PodView | None, new: PodView | None) -> None:
        pod = new or old
        if pod is None:
            return
        key = f"{pod.metadata.namespace}/{pod.metadata.name}"
        if new is None or new.finished:
            self._waiting.discard(key)
            self._asked.pop(key, None)
            self._there.get(pod.spec.node_name, set()).discard(key)
            if pod.spec.node_name:
                self._again()
        elif new.spec.node_name:
            self._there.setdefault(new.spec.node_name, set()).add(key)
        elif new.spec.scheduler_name == SCHEDULER:
            self.queue.add(key)

    async def reconcile(self, key: str) -> float | None:
        view = self.shared.pods.objects.get(key)
        if view is None or view.spec.node_name or view.deleting:
            self._waiting.discard(key)
            return None
        namespace, name = split(key)
        try:
            pod = await self.client.get(PODS, namespace, name)
            if dig(pod, "spec", "schedulingGates"):
                return None
            node = await self._choose(pod)
            if node is None:
                await self._wait(key, pod)
                return None
            await self.client.bind(namespace, name, node, view.metadata.uid)
        except (NotFound, Conflict):
            return None
        self._waiting.discard(key)
        self._there.setdefault(node, set()).add(key)
        await self.tell(pod, NORMAL, "Scheduled", f"Successfully assigned {key} to {node}")
        return None

    async def _wait(self, key: str, pod: JsonObject) -> None:
        if key in self._waiting:
            return
        self._waiting.add(key)
        message = f"0/{len(self.nodes.objects)} nodes are available"
        condition: JsonObject = {
            "type": "PodScheduled",
            "status": "False",
            "reason": "Unschedulable",
            "message": message,
            "lastTransitionTime": self.shared.now(),
        }
        patch: JsonObject = {"status": {"conditions": [condition]}}
        await self.client.patch(PODS, *split(key), patch, PatchType.STRATEGIC, "status")
        await self.tell(pod, WARNING, "FailedScheduling", message)

    async def _choose(self, pod: JsonObject) -> str | None:
        """The node with the fewest pods of those that can take this one."""
        asked = _requests(pod)
        crowds = sorted((len(self._there.get(name, ())), name) for name in self.nodes.objects)
        for _, name in crowds:
            node = self.nodes.objects.get(name)
            if node is None or not _takes(node, pod) or not _has_room(node, asked, {}):
                continue
            if _has_room(node, asked, await self._taken(name)):
                return name
        return None

    async def _taken(self, node: str) -> Amounts:
        """What the pods of a node ask for; each is read once."""
        total: Amounts = {}
        for key in list(self._there.get(node, ())):
            if key not in self._asked:
                try:
                    self._asked[key] = _requests(await self.client.get(PODS, *split(key)))
                except NotFound:
                    continue
            for resource, amount in self._asked[key].items():
                total[resource] = total.get(resource, 0) + amount
        return total


def _requests(pod: JsonObject) -> Amounts:
    """What a pod asks for, in billionths of each resource's unit."""
    total: Amounts = {"pods": 10**9}
    for container in dig_objects(pod, "spec", "containers"):
        for resource, quantity in dig_object(container, "resources", "requests").items():
            total[resource] = total.get(resource, 0) + parse_quantity(str(quantity))
    return total


def _has_room(node: JsonObject, asked: Amounts, taken: Amounts) -> bool:
    offered = dig_object(node, "status", "allocatable")
    for resource, amount in asked.items():
        there = parse_quantity(str(offered[resource])) if resource in offered else 0
        if amount and taken.get(resource, 0) + amount > there:
            return False
    return True


def _takes(node: JsonObject, pod: JsonObject) -> bool:
    """Whether selector, cordon and taints let the pod on the node."""
    labels = dig_strings(node, "metadata", "labels")
    wanted = dig_strings(pod, "spec", "nodeSelector")
    if dig(node, "spec", "unschedulable") is True or any(labels.get(k) != v for k, v in wanted.items()):
        return False
    tolerations = dig_objects(pod, "spec", "tolerations")
    for taint in dig_objects(node, "spec", "taints"):
        if taint.get("effect") != "PreferNoSchedule" and not any(
            _tolerates(each, taint) for each in tolerations
        ):
            return False
    return True


def _tolerates(toleration: JsonObject, taint: JsonObject) -> bool:
    if dig_str(toleration, "effect") not in ("", taint.get("effect")):
        return False
    if dig_str(toleration, "key") not in ("", taint.get("key")):
        return False
    if dig_str(toleration, "operator") == "Exists":
        return True
    return bool(dig_str(toleration, "key")) and dig_str(toleration, "value") == dig_str(taint, "value")

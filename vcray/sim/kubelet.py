"""The kubelet of scenarios: a bound pod becomes Running after one cycle and ends by a step.

It stands in for the owner of bare pods too: one that was evicted comes back Pending, by its old name, when it is gone.

It sees what a kubelet sees, pods with a node, and writes what a kubelet writes, their status. Time plays no part; `cycle` is
its only clock, so the same file gives the same result on every back end.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from vcray.api.jsonview import dig
from vcray.api.meta import JsonObject, JsonValue
from vcray.api.resources import PODS
from vcray.clock import rfc3339
from vcray.kube.client import KubeClient
from vcray.kube.errors import Conflict, NotFound
from vcray.sim.observed import matches, text
from vcray.sim.scenario import Kubelet

DEFAULT_RULE = Kubelet(pods="*")


class ScenarioKubelet:
    """Starts, stops and finishes pods of all nodes, and replaces evicted ones that nobody owns."""

    def __init__(self, client: KubeClient, now: Callable[[], float]) -> None:
        self._client = client
        self._rules: list[Kubelet] = []
        self._stopping: dict[str, int] = {}
        self._now = now

    def rule(self, rule: Kubelet) -> None:
        """Add a rule; the last one that matches a pod holds."""
        self._rules.append(rule)

    async def cycle(self) -> None:
        """Act once on every pod that has a node."""
        pods = [pod for pod in (await self._client.list(PODS)).items if text(pod, "spec", "nodeName")]
        for pod in pods:
            try:
                await self._act(pod)
            except (NotFound, Conflict):
                continue  # somebody else changed or removed it: the next cycle sees what is left
        there = {text(pod, "metadata", "uid") for pod in pods}
        self._stopping = {uid: count for uid, count in self._stopping.items() if uid in there}

    async def _act(self, pod: JsonObject) -> None:
        rule = self._rule_of(pod)
        uid, phase = text(pod, "metadata", "uid"), text(pod, "status", "phase")
        if text(pod, "metadata", "deletionTimestamp"):
            passed = self._stopping.get(uid, 0)
            self._stopping[uid] = passed + 1
            if passed + 1 >= rule.stop_cycles:
                await self._client.delete(PODS, *_names(pod), grace_seconds=0, uid=uid)
                if rule.replace and _evicted(pod) and not dig(pod, "metadata", "ownerReferences"):
                    await self._client.create(PODS, text(pod, "metadata", "namespace"), _anew(pod))
            elif rule.on_stop == "succeed" and phase == "Running":
                await self._end(pod, 0)
        elif phase in ("", "Pending") and rule.start:
            await self._status(pod, {"phase": "Running", **self._running(pod)})

    async def finish(self, namespace: str, name: str, code: int) -> None:
        """End a pod's containers with an exit code."""
        await self._end(await self._client.get(PODS, namespace, name), code)

    async def _end(self, pod: JsonObject, code: int) -> None:
        ended: JsonObject = {
            "exitCode": code,
            "reason": "Completed" if code == 0 else "Error",
            "finishedAt": rfc3339(self._now()),
        }
        statuses = self._container_statuses(pod, {"terminated": ended}, ready=False)
        conditions: list[JsonValue] = [
            self._condition("Ready", "False", "PodCompleted" if code == 0 else "ContainersNotReady")
        ]
        phase = "Succeeded" if code == 0 else "Failed"
        await self._status(pod, {"phase": phase, "containerStatuses": statuses, "conditions": conditions})

    def _running(self, pod: JsonObject) -> JsonObject:
        kinds = ("PodScheduled", "Initialized", "ContainersReady", "Ready")
        conditions: list[JsonValue] = [self._condition(kind, "True", "") for kind in kinds]
        return {
            "startTime": rfc3339(self._now()),
            "containerStatuses": self._container_statuses(
                pod, {"running": {"startedAt": rfc3339(self._now())}}, ready=True
            ),
            "conditions": conditions,
        }

    def _container_statuses(self, pod: JsonObject, state: JsonObject, ready: bool) -> list[JsonValue]:
        containers = dig(pod, "spec", "containers")
        return [
            {
                "name": text(each, "name"),
                "image": text(each, "image"),
                "imageID": "",
                "ready": ready,
                "started": ready,
                "restartCount": 0,
                "state": {**state},
            }
            for each in (containers if isinstance(containers, list) else [])
        ]

    def _condition(self, kind: str, status: str, reason: str) -> JsonObject:
        condition: JsonObject = {"type": kind, "status": status, "lastTransitionTime": rfc3339(self._now())}
        return {**condition, **({"reason": reason} if reason else {})}

    async def _status(self, pod: JsonObject, status: JsonObject) -> None:
        merged = {
            **status,
            "conditions": _merge(dig(pod, "status", "conditions"), status.get("conditions")),
        }
        patch: JsonObject = {"metadata": {"uid": text(pod, "metadata", "uid")}, "status": merged}
        await self._client.patch(PODS, *_names(pod), patch, subresource="status")

    def _rule_of(self, pod: JsonObject) -> Kubelet:
        return next((rule for rule in reversed(self._rules) if matches(pod, rule.pods)), DEFAULT_RULE)


def _evicted(pod: JsonObject) -> bool:
    """Did the scheduler ask for its end?"""
    return any(
        text(each, "type") == "DisruptionTarget" for each in _conditions(dig(pod, "status", "conditions"))
    )


def _anew(pod: JsonObject) -> JsonObject:
    """The same pod before it had a node."""
    metadata, spec = dig(pod, "metadata"), dig(pod, "spec")
    assert isinstance(metadata, dict)
    assert isinstance(spec, dict)
    kept: JsonObject = {
        key: metadata[key] for key in ("name", "namespace", "labels", "annotations") if key in metadata
    }
    return {
        "apiVersion": PODS.api_version,
        "kind": PODS.kind,
        "metadata": kept,
        "spec": {key: value for key, value in spec.items() if key not in ("nodeName", "priority")},
    }


def _names(pod: JsonObject) -> tuple[str, str]:
    return text(pod, "metadata", "namespace"), text(pod, "metadata", "name")


def _merge(old: JsonValue, new: JsonValue) -> list[JsonValue]:
    """Conditions by type, the new ones in place of the old."""
    made: dict[str, JsonValue] = {}
    for each in _conditions(old, new):
        made[text(each, "type")] = each
    return list(made.values())


def _conditions(*lists: JsonValue) -> Iterable[JsonValue]:
    for each in lists:
        yield from each if isinstance(each, list) else []

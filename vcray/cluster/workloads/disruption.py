"""Disruption budgets: how many pods of a selection are healthy, how many must be, and how many may be evicted now.

Pods are asked for by selector when something in a namespace with budgets has changed, so nothing is kept of pods that no
budget speaks of.
"""

from __future__ import annotations

from collections.abc import Sequence

from vcray.api.jsonview import dig, dig_int, dig_object, dig_objects, dig_str, dig_strings, holds
from vcray.api.meta import JsonObject, JsonValue, seconds_of
from vcray.api.resources import (
    DEPLOYMENTS,
    PODDISRUPTIONBUDGETS,
    PODS,
    REPLICASETS,
    REPLICATIONCONTROLLERS,
    STATEFULSETS,
)
from vcray.cluster.objects.selectors import selector_matches
from vcray.cluster.workloads.base import Controller, Shared, key_of
from vcray.cluster.workloads.deployment.sizes import replicas, scaled
from vcray.cluster.workloads.informers import controller_of
from vcray.cluster.workloads.podview import PodView
from vcray.kube.errors import NotFound

_TOGETHER_S = 0.1
"""Changes within this time are looked at together."""
_EXPECTED_GONE_S = 120.0
"""How long an evicted pod is waited for before it counts again."""


class DisruptionController(Controller):
    """PodDisruptionBudgets."""

    name = "disruption-controller"

    def __init__(self, shared: Shared) -> None:
        super().__init__(shared, workers=1)
        self.budgets = shared.objects(PODDISRUPTIONBUDGETS)
        self._scaled = {
            each.kind: shared.objects(each)
            for each in (REPLICASETS, REPLICATIONCONTROLLERS, STATEFULSETS, DEPLOYMENTS)
        }
        self.budgets.on_change(self._budget_changed)
        shared.pods.on_change(self._pod_changed)

    def _budget_changed(self, old: JsonObject | None, new: JsonObject | None) -> None:
        found = new or old
        if found is not None:
            self.queue.add(key_of(found))

    def _pod_changed(self, old: PodView | None, new: PodView | None) -> None:
        pod = new or old
        if pod is not None:
            for budget in self.budgets.in_namespace(pod.metadata.namespace):
                self.queue.add_after(key_of(budget), _TOGETHER_S)

    async def reconcile(self, key: str) -> float | None:
        budget = self.budgets.objects.get(key)
        if budget is None:
            self.queue.forget(key)
            return None
        selector = dig(budget, "spec", "selector")
        listed = (await self.client.list(PODS, dig_str(budget, "metadata", "namespace"))).items
        pods = [
            pod
            for pod in listed
            if selector is not None and selector_matches(selector, dig_strings(pod, "metadata", "labels"))
        ]
        expected, desired = self._counts(budget, pods)
        disrupted, again = self._disrupted(budget, pods)
        healthy = sum(_is_healthy(pod) and dig_str(pod, "metadata", "name") not in disrupted for pod in pods)
        allowed = max(0, healthy - desired) if expected > 0 else 0
        await self._write(budget, expected, desired, healthy, allowed, disrupted)
        return again

    def _counts(self, budget: JsonObject, pods: Sequence[JsonObject]) -> tuple[int, int]:
        """How many pods there should be, and how many of them must be healthy."""
        most, least = dig(budget, "spec", "maxUnavailable"), dig(budget, "spec", "minAvailable")
        if most is not None:
            expected = self._scale(pods)
            return expected, max(0, expected - scaled(most, expected, up=True))
        if isinstance(least, int):
            return len(pods), least
        expected = self._scale(pods)
        return expected, scaled(least, expected, up=True)

    def _scale(self, pods: Sequence[JsonObject]) -> int:
        """What the controllers of these pods want; a controller without a scale wants the pods that it has."""
        wanted: dict[str, int] = {}
        for pod in pods:
            owner = controller_of(pod)
            if owner is None:
                continue
            namespace, uid = dig_str(pod, "metadata", "namespace"), dig_str(owner, "uid")
            found = self._owner(namespace, owner)
            above = controller_of(found) if found is not None else None
            top = self._owner(namespace, above) if above is not None else None
            if top is not None:
                wanted[dig_str(above, "uid")] = replicas(top)
            elif found is not None:
                wanted[uid] = replicas(found)
            else:
                wanted[uid] = wanted.get(uid, 0) + 1
        return sum(wanted.values())

    def _owner(self, namespace: str, owner: JsonObject) -> JsonObject | None:
        informer = self._scaled.get(dig_str(owner, "kind"))
        found = informer.get(namespace, dig_str(owner, "name")) if informer is not None else None
        return found if found is not None and dig_str(found, "metadata", "uid") == owner.get("uid") else None

    def _disrupted(self, budget: JsonObject, pods: Sequence[JsonObject]) -> tuple[JsonObject, float | None]:
        """Pods that were evicted and are still there, and when the first of them counts again."""
        now = self.time.now()
        present = {
            dig_str(p, "metadata", "name") for p in pods if not dig_str(p, "metadata", "deletionTimestamp")
        }
        kept: JsonObject = {}
        again: float | None = None
        for name, moment in dig_object(budget, "status", "disruptedPods").items():
            left = (seconds_of(moment) or 0.0) + _EXPECTED_GONE_S - now
            if name in present and left > 0:
                kept[name] = moment
                again = left if again is None else min(again, left)
        return kept, again

    async def _write(
        self,
        budget: JsonObject,
        expected: int,
        desired: int,
        healthy: int,
        allowed: int,
        disrupted: JsonObject,
    ) -> None:
        before = dig_object(budget, "status")
        generation = dig_int(budget, "metadata", "generation")
        status: JsonObject = {
            "expectedPods": expected,
            "desiredHealthy": desired,
            "currentHealthy": healthy,
            "disruptionsAllowed": allowed,
            "observedGeneration": generation,
            "conditions": [_condition(budget, allowed, generation, self.shared.now())],
        }
        if disrupted:
            status["disruptedPods"] = disrupted
        if status == before:
            return
        try:
            answer = await self.client.update_status(PODDISRUPTIONBUDGETS, {**budget, "status": status})
        except NotFound:
            return
        self.budgets.put(answer)


def _condition(budget: JsonObject, allowed: int, generation: int, now: str) -> JsonValue:
    value, reason = ("True", "SufficientPods") if allowed else ("False", "InsufficientPods")
    old = next((each for each in dig_objects(budget, "status", "conditions")), {})
    since = old.get("lastTransitionTime") if old.get("status") == value else now
    return {
        "type": "DisruptionAllowed",
        "status": value,
        "observedGeneration": generation,
        "lastTransitionTime": since,
        "reason": reason,
        "message": "",
    }


def _is_healthy(pod: JsonObject) -> bool:
    if dig_str(pod, "metadata", "deletionTimestamp"):
        return False
    return holds(pod, "Ready")

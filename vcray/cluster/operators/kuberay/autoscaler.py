"""Ray's autoscaler beside the head: every few seconds it writes as many replicas as an annotation says are needed.

It asks again for as long as there are fewer. Of replicas that are needed no more it names the workers that go, as KubeRay takes none
by itself, and names none further before those are gone.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar, Final

from vcray.api.meta import JsonObject, JsonValue
from vcray.api.resources import PODS, RAYCLUSTERS, Resource
from vcray.cluster.operators.base import Operator, is_ready, phase
from vcray.cluster.operators.kuberay import gangs, words
from vcray.controllers import raw
from vcray.controllers.base import Again, Change, Effects, Patch, Request, Seen, must

EVERY_S: Final = 5.0
"""AUTOSCALER_UPDATE_INTERVAL_S of Ray."""


@dataclass(frozen=True, slots=True)
class Look:
    """Look at the demand of a cluster."""

    namespace: str
    name: str

    @property
    def key(self) -> str:
        return f"{self.namespace}/{self.name}"


class RayAutoscalers(Operator):
    """One for each cluster that scales itself and whose demand is told. Remembers when each looks next; anew after a restart."""

    resource: ClassVar[Resource] = RAYCLUSTERS
    owns: ClassVar[tuple[Resource, ...]] = (PODS,)

    def __init__(self, gang: str = "") -> None:
        super().__init__(gang)
        self._due: dict[Look, float] = {}

    @property
    def name(self) -> str:
        return "raycluster-autoscaler"

    def requests(self, change: Change, seen: Seen) -> Iterable[Request]:
        """Clusters that have one."""
        if change.resource == RAYCLUSTERS and change.new is not None and _scales(change.new):
            yield Look(raw.namespace(change.new), raw.name(change.new))

    def reconcile(self, request: Request, seen: Seen, now: float) -> Effects:
        """One look, and the promise of the next."""
        assert isinstance(request, Look)
        if now < self._due.get(request, 0.0):
            return
        self._due.pop(request, None)
        cluster = seen.get(RAYCLUSTERS, request.namespace, request.name)
        if cluster is None or raw.terminating(cluster) or not _scales(cluster):
            return
        self._due[request] = now + EVERY_S
        yield Again(EVERY_S, request)
        yield from self.follow(cluster, seen, now)

    def follow(self, obj: JsonObject, seen: Seen, now: float) -> Effects:
        """Write what is needed, once the head is there to tell."""
        pods = self.owned(PODS, obj, seen)
        if raw.at(obj, "spec", "suspend") is True or not any(
            is_ready(pod) and raw.labels_of(pod).get(words.NODE_TYPE) == "head" for pod in pods
        ):
            return
        needed = _needed(obj)
        operations: list[JsonValue] = [
            {"op": "add", "path": f"/spec/workerGroupSpecs/{index}/{field}", "value": value}
            for index, group in enumerate(raw.tables(obj, "spec", "workerGroupSpecs"))
            for field, value in _changes(group, needed.get(raw.text(group, "groupName"), 0), pods)
        ]
        if operations:
            outcome = yield Patch(RAYCLUSTERS, raw.namespace(obj), raw.name(obj), operations, "json")
            if not outcome.not_found:
                must(outcome, "write replicas")


def _changes(group: JsonObject, needed: int, pods: Sequence[JsonObject]) -> Iterator[tuple[str, JsonValue]]:
    """Fields of a worker group that are to be others."""
    units: dict[int, list[JsonObject]] = {}
    for pod in pods:
        labels = raw.labels_of(pod)
        if (labels.get(words.GROUP), labels.get(words.NODE_TYPE)) == (raw.text(group, "groupName"), "worker"):
            units.setdefault(int(labels[words.REPLICA_INDEX]), []).append(pod)
    leaving = raw.at(group, "scaleStrategy", "workersToDelete")
    if isinstance(leaving, list) and leaving:
        if not any(raw.name(pod) in leaving for unit in units.values() for pod in unit):
            yield "scaleStrategy", {"workersToDelete": []}
        return
    wanted = gangs.wanted({**group, "replicas": needed})
    present = max(raw.number(group, "replicas"), raw.number(group, "minReplicas"))
    idle = sorted(units, key=lambda index: (all(map(_runs, units[index])), -index))[: len(units) - wanted]
    if len(units) > wanted:
        yield "scaleStrategy", {"workersToDelete": [raw.name(units[index][0]) for index in idle]}
    if wanted != present:
        yield "replicas", wanted


def _runs(pod: JsonObject) -> bool:
    return phase(pod) == "Running"


def _scales(cluster: JsonObject) -> bool:
    told = words.DEMAND in raw.annotations_of(cluster)
    return told and raw.at(cluster, "spec", "enableInTreeAutoscaling") is True


def _needed(cluster: JsonObject) -> dict[str, int]:
    """Replicas by worker group, as the annotation says; what cannot be read is no demand."""
    parts = (each.partition("=") for each in raw.annotation(cluster, words.DEMAND).split(","))
    return {name.strip(): int(count) for name, _, count in parts if count.strip().isdecimal()}

"""DaskClusters and their worker groups: a Deployment for the scheduler, and one of its own for each worker."""

from __future__ import annotations

from typing import ClassVar

from vcray.api.meta import JsonObject
from vcray.api.resources import DASKCLUSTERS, DASKWORKERGROUPS, DEPLOYMENTS, Resource
from vcray.cluster.operators.base import Operator
from vcray.controllers import raw
from vcray.controllers.base import Effects, Seen, Steps

CLUSTER = "dask.org/cluster-name"
GROUP = "dask.org/workergroup-name"
COMPONENT = "dask.org/component"


class DaskClusters(Operator):
    """A cluster: its scheduler and its default worker group, which nobody changes again after."""

    resource: ClassVar[Resource] = DASKCLUSTERS
    owns: ClassVar[tuple[Resource, ...]] = (DEPLOYMENTS, DASKWORKERGROUPS)

    def follow(self, obj: JsonObject, seen: Seen, now: float) -> Effects:
        """One turn of a cluster."""
        name, spec = raw.name(obj), raw.table(obj, "spec")
        labels = {CLUSTER: name}
        if seen.get(DEPLOYMENTS, raw.namespace(obj), f"{name}-scheduler") is None:
            marks = {**labels, COMPONENT: "scheduler"}
            made = deployment(obj, f"{name}-scheduler", raw.table(spec, "scheduler"), marks)
            yield from self.make(DEPLOYMENTS, obj, made)
        if seen.get(DASKWORKERGROUPS, raw.namespace(obj), f"{name}-default") is None:
            metadata: JsonObject = {
                "name": f"{name}-default",
                "labels": {**raw.labels_of(obj), **labels, COMPONENT: "workergroup"},
                "annotations": raw.strings(raw.annotations_of(obj)),
            }
            group: JsonObject = {
                "metadata": metadata,
                "spec": {"cluster": name, "worker": raw.table(spec, "worker")},
            }
            yield from self.make(DASKWORKERGROUPS, obj, group)
        yield from self.report(obj, {"phase": "Running"})


class DaskWorkerGroups(Operator):
    """A group of workers; the last go first when it shrinks."""

    resource: ClassVar[Resource] = DASKWORKERGROUPS
    owns: ClassVar[tuple[Resource, ...]] = (DEPLOYMENTS,)

    def follow(self, obj: JsonObject, seen: Seen, now: float) -> Effects:
        """One turn of a group."""
        worker = raw.table(obj, "spec", "worker")
        wanted = raw.number(worker, "replicas")
        prefix = f"{raw.name(obj)}-worker-"
        mine = {raw.name(each): each for each in self.owned(DEPLOYMENTS, obj, seen)}
        labels = {CLUSTER: raw.text(obj, "spec", "cluster"), GROUP: raw.name(obj), COMPONENT: "worker"}
        for index in range(wanted):
            if f"{prefix}{index}" not in mine:
                yield from self._make(obj, f"{prefix}{index}", worker, labels)
        spare = [each for name, each in mine.items() if int(name.removeprefix(prefix)) >= wanted]
        yield from self.remove(DEPLOYMENTS, spare)

    def _make(self, obj: JsonObject, name: str, worker: JsonObject, labels: dict[str, str]) -> Steps[None]:
        yield from self.make(DEPLOYMENTS, obj, deployment(obj, name, worker, {**labels, "worker": name}))


def deployment(owner: JsonObject, name: str, part: JsonObject, labels: dict[str, str]) -> JsonObject:
    """A Deployment of one pod, with the owner's annotations and labels on all of it, the part's over them."""
    metadata: JsonObject = {
        "labels": {**raw.labels_of(owner), **raw.texts(part, "metadata", "labels"), **labels},
        "annotations": {**raw.annotations_of(owner), **raw.texts(part, "metadata", "annotations")},
    }
    spec: JsonObject = {
        "replicas": 1,
        "selector": {"matchLabels": raw.strings(labels)},
        "template": {"metadata": metadata, "spec": raw.table(part, "spec")},
    }
    return {"metadata": {"name": name, **metadata}, "spec": spec}

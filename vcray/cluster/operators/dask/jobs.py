"""DaskJobs: a cluster and a runner pod at once; the cluster goes when the runner has ended."""

from __future__ import annotations

from typing import ClassVar, Final

from vcray.api.meta import JsonObject
from vcray.api.resources import DASKCLUSTERS, DASKJOBS, PODS, Resource
from vcray.cluster.operators.base import Operator, phase, pod_of
from vcray.cluster.operators.dask.clusters import CLUSTER, COMPONENT
from vcray.controllers import raw
from vcray.controllers.base import Effects, Seen

_SPOKEN: Final = {"Running": "Running", "Succeeded": "Successful", "Failed": "Failed"}


class DaskJobs(Operator):
    """A job, its cluster of the same name, and its runner."""

    resource: ClassVar[Resource] = DASKJOBS
    owns: ClassVar[tuple[Resource, ...]] = (DASKCLUSTERS, PODS)

    def follow(self, obj: JsonObject, seen: Seen, now: float) -> Effects:
        """One turn of a job."""
        name, space = raw.name(obj), raw.namespace(obj)
        runner = seen.get(PODS, space, f"{name}-runner")
        if runner is not None and phase(runner) in ("Succeeded", "Failed"):
            yield from self.remove(DASKCLUSTERS, self.owned(DASKCLUSTERS, obj, seen))
        elif seen.get(DASKCLUSTERS, space, name) is None:
            spec = raw.table(obj, "spec", "cluster", "spec")
            metadata: JsonObject = {
                "name": name,
                "labels": {**raw.labels_of(obj), CLUSTER: name},
                "annotations": raw.strings(raw.annotations_of(obj)),
            }
            yield from self.make(DASKCLUSTERS, obj, {"metadata": metadata, "spec": spec})
        if runner is None:
            labels = {**raw.labels_of(obj), CLUSTER: name, COMPONENT: "job-runner"}
            pod = pod_of(raw.table(obj, "spec", "job"), labels, name=f"{name}-runner")
            yield from self.make(PODS, obj, pod)
        status = _SPOKEN.get(phase(runner) if runner is not None else "", "ClusterCreated")
        yield from self.report(obj, {"clusterName": name, "jobStatus": status})

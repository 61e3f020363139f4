"""DaskCluster: the scheduler and the least number of workers start together, with the runner where a DaskJob has one.

More worker groups, and workers above the least number, join one by one.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import ClassVar, Final

from vcray.api.meta import JsonObject
from vcray.api.resources import DASKAUTOSCALERS, DASKCLUSTERS, DASKJOBS, DASKWORKERGROUPS, Resource
from vcray.controllers import raw
from vcray.controllers.base import Change, Seen
from vcray.integrations.base import Asks, Gang, Integration, Member, Part, Ref, count, template

CLUSTER: Final = "dask.org/cluster-name"
COMPONENT: Final = "dask.org/component"
RUNNER: Final = "job-runner"


class DaskCluster(Integration):
    """Those of DaskJobs as well."""

    name: ClassVar[str] = "daskcluster"
    kinds: ClassVar[tuple[Resource, ...]] = (DASKCLUSTERS,)
    reads: ClassVar[tuple[Resource, ...]] = (DASKWORKERGROUPS, DASKAUTOSCALERS, DASKJOBS)
    pod_labels: ClassVar[tuple[str, ...]] = (CLUSTER,)

    def asks(self, owner: JsonObject) -> Asks:
        spec = raw.table(owner, "spec")
        return Asks(templates=(raw.table(spec, "scheduler"), raw.table(spec, "worker")))

    def gangs(self, owner: JsonObject, seen: Seen) -> Sequence[Gang]:
        spec = raw.table(owner, "spec")
        workers = _least_workers(owner, seen)
        scheduler = template(spec, "spec.scheduler", "scheduler")
        worker = template(spec, "spec.worker", "worker")
        parts = [Part("scheduler", 1, 1, scheduler), Part("worker", workers, workers, worker)]
        job = _job_of(owner, seen)
        if job is not None:
            parts.append(Part(RUNNER, 1, 1, template(job, "spec.job", "spec", "job")))
        return (Gang(group_name(raw.name(owner)), tuple(parts)),)

    def member(self, owner: JsonObject, pod: JsonObject) -> Member | None:
        component = raw.labels_of(pod).get(COMPONENT, "")
        return Member(group_name(raw.name(owner)), component, component == "scheduler")

    def concerned(self, change: Change, seen: Seen) -> Iterable[Ref]:
        obj = change.object
        name = raw.name(obj) if change.resource == DASKJOBS else raw.text(obj, "spec", "cluster")
        return (Ref(DASKCLUSTERS, raw.namespace(obj), name),) if name else ()


def group_name(cluster: str) -> str:
    """The PodGroup of a cluster. Dask's operator makes none, so the name is ours."""
    return f"dask-{cluster}-pg"


def _least_workers(owner: JsonObject, seen: Seen) -> int:
    """Workers of the default group: as many as an autoscaler lets it shrink to, else as the cluster began with, or fewer where
    the group was scaled down since. Raises Malformed."""
    space, name = raw.namespace(owner), raw.name(owner)
    started = count(owner, "spec.worker.replicas", "spec", "worker", "replicas", default=0)
    for each in seen.list(DASKAUTOSCALERS, space):
        if raw.text(each, "spec", "cluster") == name:
            return count(each, f"DaskAutoscaler {raw.name(each)}: spec.minimum", "spec", "minimum", default=0)
    group = seen.get(DASKWORKERGROUPS, space, f"{name}-default")
    return min(started, raw.number(group or {}, "spec", "worker", "replicas", default=started))


def _job_of(owner: JsonObject, seen: Seen) -> JsonObject | None:
    above = raw.controller(owner)
    if raw.text(above, "kind") != DASKJOBS.kind:
        return None
    job = seen.get(DASKJOBS, raw.namespace(owner), raw.text(above, "name"))
    return job if job is not None and raw.uid(job) == raw.text(above, "uid") else None

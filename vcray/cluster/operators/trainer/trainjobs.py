"""TrainJobs: a JobSet of the same name, from the runtime with what the TrainJob says over it.

The PodGroup comes where the runtime's podGroupPolicy names Volcano; with the gang support on, every runtime counts as if it did.
Nobody sets schedulerName: that is up to the runtime's templates.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar, Final

from vcray.api.meta import JsonObject
from vcray.api.resources import (
    CLUSTERTRAININGRUNTIMES,
    JOBSETS,
    PODGROUPS,
    TRAININGRUNTIMES,
    TRAINJOBS,
    Resource,
)
from vcray.cluster.operators.base import Follow, Operator, conditions
from vcray.cluster.operators.trainer import gangs
from vcray.cluster.operators.trainer.jobsets import jobset_of
from vcray.controllers import raw
from vcray.controllers.base import Change, Effects, Patch, Request, Seen, Steps, must

_RUNTIMES: Final = {each.kind: each for each in (TRAININGRUNTIMES, CLUSTERTRAININGRUNTIMES)}


class TrainJobs(Operator):
    """No plugins of frameworks beside the counts that an MPI policy makes: no environment, no secrets."""

    resource: ClassVar[Resource] = TRAINJOBS
    owns: ClassVar[tuple[Resource, ...]] = (JOBSETS, PODGROUPS)

    @property
    def watches(self) -> tuple[Resource, ...]:
        """Runtimes too."""
        return (*super().watches, *_RUNTIMES.values())

    def requests(self, change: Change, seen: Seen) -> Iterable[Request]:
        """TrainJobs that may wait for a runtime, beside the usual ones."""
        if change.resource not in _RUNTIMES.values():
            return super().requests(change, seen)
        space = raw.namespace(change.object) or None
        return [Follow(raw.namespace(each), raw.name(each)) for each in seen.list(TRAINJOBS, space)]

    def follow(self, obj: JsonObject, seen: Seen, now: float) -> Effects:
        """One turn of a TrainJob."""
        if raw.text(obj, "spec", "managedBy") not in ("", "trainer.kubeflow.org/trainjob-controller"):
            return
        jobset = seen.get(JOBSETS, raw.namespace(obj), raw.name(obj))
        suspended = raw.at(obj, "spec", "suspend") is True
        if jobset is None or suspended:
            runtime = self._runtime(obj, seen)
            if runtime is None:
                return
            made = jobset_of(obj, runtime)
            policy = raw.at(runtime, "spec", "podGroupPolicy", "volcano")
            if self.gang or isinstance(policy, dict):
                made = gangs.marked(made, raw.name(obj))
                group = gangs.spec_of(raw.table(runtime, "spec"), made, obj)
                fields = ("minMember", "minResources") if suspended else ()
                yield from self.keep_group(obj, raw.name(obj), group, fields, seen)
            if jobset is None:
                yield from self.make(JOBSETS, obj, made)
        if jobset is not None and (raw.at(jobset, "spec", "suspend") is True) != suspended:
            wish: JsonObject = {"spec": {"suspend": suspended}}
            outcome = yield Patch(JOBSETS, raw.namespace(obj), raw.name(obj), wish)
            must(outcome, f"suspend or resume JobSet {raw.name(obj)}")
        yield from self._report(obj, jobset or {}, suspended, now)

    def _runtime(self, job: JsonObject, seen: Seen) -> JsonObject | None:
        kind = raw.text(job, "spec", "runtimeRef", "kind") or CLUSTERTRAININGRUNTIMES.kind
        resource = _RUNTIMES.get(kind, CLUSTERTRAININGRUNTIMES)
        space = raw.namespace(job) if resource.namespaced else ""
        return seen.get(resource, space, raw.text(job, "spec", "runtimeRef", "name"))

    def _report(self, job: JsonObject, jobset: JsonObject, suspended: bool, now: float) -> Steps[None]:
        wanted: dict[str, tuple[bool, str]] = {}
        known = {raw.text(each, "type") for each in raw.tables(job, "status", "conditions")}
        if suspended or "Suspended" in known:
            wanted["Suspended"] = (suspended, "Suspended" if suspended else "Resumed")
        for each in raw.tables(jobset, "status", "conditions"):
            if each.get("status") == "True" and each.get("type") in ("Completed", "Failed"):
                done = "Complete" if each.get("type") == "Completed" else "Failed"
                wanted[done] = (True, raw.text(each, "reason"))
        if wanted:
            yield from self.report(job, {"conditions": conditions(job, wanted, now)})

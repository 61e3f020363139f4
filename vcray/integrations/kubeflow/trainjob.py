"""TrainJob: the gang of the JobSet that Trainer makes of it and its runtime; before there is one, of the two together."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import ClassVar, Final

from vcray.api.meta import JsonObject
from vcray.api.resources import (
    CLUSTERTRAININGRUNTIMES,
    JOBSETS,
    KUBERNETES_JOBS,
    PODS,
    TRAININGRUNTIMES,
    TRAINJOBS,
    Resource,
)
from vcray.controllers import raw
from vcray.controllers.base import Change, Seen
from vcray.integrations.base import Asks, Find, Gang, Integration, Malformed, Member, Ref
from vcray.integrations.batch import _jobsets as sets
from vcray.integrations.kubeflow import _runtimes as runtimes

OPERATOR: Final = "trainer.kubeflow.org/trainjob-controller"
FINISHED: Final = ("Complete", "Failed")


class TrainJob(Integration):
    """Its pods' JobSet is passed over on the way up: what the TrainJob says counts."""

    name: ClassVar[str] = "trainjob"
    kinds: ClassVar[tuple[Resource, ...]] = (TRAINJOBS,)
    reads: ClassVar[tuple[Resource, ...]] = (
        JOBSETS,
        KUBERNETES_JOBS,
        TRAININGRUNTIMES,
        CLUSTERTRAININGRUNTIMES,
    )
    pod_labels: ClassVar[tuple[str, ...]] = (sets.NAME,)
    follows_pods: ClassVar[bool] = True

    def asks(self, owner: JsonObject) -> Asks:
        manager = raw.text(owner, "spec", "managedBy")
        return Asks(
            templates=runtimes.patched({}, owner), manager="" if manager in ("", OPERATOR) else manager
        )

    def asked(self, owner: JsonObject, find: Find) -> Asks:
        runtime = runtimes.of(owner, find) or {}
        return Asks(templates=runtimes.patched(runtime, owner), manager=self.asks(owner).manager)

    def gangs(self, owner: JsonObject, seen: Seen) -> Sequence[Gang]:
        runtime = runtimes.of(owner, seen.get)
        if runtime is not None and isinstance(raw.at(runtime, "spec", "podGroupPolicy", "volcano"), dict):
            return ()  # Trainer makes the group
        return (_gang(owner, runtime, seen),)

    def starts_with(self, owner: JsonObject, group: JsonObject, seen: Seen) -> int | None:
        """Trainer counts the pods of all stages. Those of a stage that is over are still there, and the scheduler counts them."""
        try:
            gang = _gang(owner, runtimes.of(owner, seen.get), seen)
        except Malformed:
            return None
        least = {part.task: part.minimum for part in gang.parts}
        over = [
            pod
            for pod in _pods(owner, seen)
            if raw.text(pod, "status", "phase") == "Succeeded"
            and not least.get(raw.labels_of(pod).get(sets.REPLICATED_JOB, ""))
        ]
        return sum(least.values()) + len(over) if least else None

    def member(self, owner: JsonObject, pod: JsonObject) -> Member | None:
        return Member(raw.name(owner), raw.labels_of(pod).get(sets.REPLICATED_JOB, ""))

    def concerned(self, change: Change, seen: Seen) -> Iterable[Ref]:
        obj, space = change.object, raw.namespace(change.object)
        if change.resource in (TRAININGRUNTIMES, CLUSTERTRAININGRUNTIMES):
            for each in seen.list(TRAINJOBS, space or None):
                if runtimes.reference(each) == (change.resource, raw.name(obj)):
                    yield Ref.of(TRAINJOBS, each)
            return
        if change.resource == KUBERNETES_JOBS:
            obj = seen.get(JOBSETS, space, raw.text(raw.controller(obj), "name")) or {}
        if raw.text(raw.controller(obj), "kind") == TRAINJOBS.kind:
            yield Ref(TRAINJOBS, space, raw.text(raw.controller(obj), "name"))

    def rests(self, owner: JsonObject, seen: Seen) -> str:
        suspended = raw.at(owner, "spec", "suspend") is True
        if (not suspended and not sets.is_finished(owner, FINISHED)) or _has_pods(owner, seen):
            return ""
        return "suspended" if suspended else "finished"


def _gang(owner: JsonObject, runtime: JsonObject | None, seen: Seen) -> Gang:
    """The current stage. Raises Malformed."""
    name = raw.name(owner)
    if raw.at(owner, "spec", "suspend") is True or sets.is_finished(owner, FINISHED):
        return Gang(name)
    jobset = _jobset(owner, seen)
    if jobset is not None and sets.is_finished(jobset):
        return Gang(name)
    if jobset is not None:
        steps = sets.steps_of(jobset, raw.table(jobset, "spec"), "spec")
        jobs = seen.owned(KUBERNETES_JOBS, raw.uid(jobset))
        return sets.gang_of(jobset, steps, jobs, name)
    if runtime is None:
        kind, named = runtimes.reference(owner)
        raise Malformed(f"spec.runtimeRef: {kind.kind} '{named}' is not there; create it or name another")
    spec = runtimes.jobset_spec(runtime, owner)
    steps = sets.steps_of(
        raw.table(runtime, "spec", "template"), spec, f"{raw.name(runtime)}.spec.template.spec"
    )
    return sets.gang_of({}, steps, (), name)


def _jobset(owner: JsonObject, seen: Seen) -> JsonObject | None:
    found = seen.get(JOBSETS, raw.namespace(owner), raw.name(owner))
    return found if found is not None and raw.controlled_by(found, raw.uid(owner)) else None


def _pods(owner: JsonObject, seen: Seen) -> list[JsonObject]:
    jobset = _jobset(owner, seen)
    jobs = [] if jobset is None else seen.owned(KUBERNETES_JOBS, raw.uid(jobset))
    return [pod for job in jobs for pod in seen.owned(PODS, raw.uid(job))]


def _has_pods(owner: JsonObject, seen: Seen) -> bool:
    """Has the job pods that have not ended?"""
    return any(raw.text(pod, "status", "phase") not in ("Succeeded", "Failed") for pod in _pods(owner, seen))

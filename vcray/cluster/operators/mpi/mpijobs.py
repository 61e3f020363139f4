"""MPIJobs of kubeflow.org/v2beta1: workers are pods of the job, the launcher is a batch Job that Kubernetes' own controller runs.

Pods are made at once, whatever a PodGroup's phase. The group goes when the job is suspended, and at its end only where cleanPodPolicy
is Running or All.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar, Final

from vcray.api import names
from vcray.api.jsonview import holds
from vcray.api.meta import JsonObject, JsonValue
from vcray.api.resources import KUBERNETES_JOBS, MPIJOBS, PODGROUPS, PODS, PRIORITYCLASSES, Resource
from vcray.clock import rfc3339
from vcray.cluster.operators.base import Follow, Operator, conditions, is_ready, phase, pod_of
from vcray.cluster.operators.mpi import gangs
from vcray.controllers import raw
from vcray.controllers.base import (
    Change,
    Effects,
    Emit,
    Patch,
    ReconcileError,
    Request,
    Seen,
    Steps,
    Update,
    must,
)

PREFIX: Final = "training.kubeflow.org/"
OPERATOR_NAME: Final = "mpi-operator"
FINISHED: Final = ("Succeeded", "Failed")


class MPIJobs(Operator):
    """Nothing of what happens within MPI: a worker that is ready can be reached."""

    resource: ClassVar[Resource] = MPIJOBS
    owns: ClassVar[tuple[Resource, ...]] = (PODS, PODGROUPS, KUBERNETES_JOBS, PRIORITYCLASSES)

    def requests(self, change: Change, seen: Seen) -> Iterable[Request]:
        """The launcher's pods are its Job's, and tell of the MPIJob by their labels."""
        labels = raw.labels_of(change.object)
        if change.resource == PODS and labels.get(f"{PREFIX}operator-name") == OPERATOR_NAME:
            return (Follow(raw.namespace(change.object), labels.get(f"{PREFIX}job-name", "")),)
        return super().requests(change, seen)

    def follow(self, obj: JsonObject, seen: Seen, now: float) -> Effects:
        """One turn of a job. One that cannot be read has no pods."""
        policy = raw.table(obj, "spec", "runPolicy")
        if raw.text(policy, "managedBy") not in ("", "kubeflow.org/mpi-operator") or not _is_valid(obj):
            return
        if any(holds(obj, kind) for kind in FINISHED):
            yield from self._clean(obj, policy, seen)
            return
        if raw.at(policy, "suspend") is True:
            yield from self._suspend(obj, policy, seen, now)
            return
        if not raw.text(obj, "status", "startTime"):
            begun = {"Created": (True, "MPIJobCreated")}
            if holds(obj, "Suspended"):
                begun["Suspended"] = (False, "MPIJobResumed")
            yield from self.report(
                obj, {"startTime": rfc3339(now), "conditions": conditions(obj, begun, now)}
            )
            return
        if self.gang and not (yield from self._group(obj, seen)):
            return
        yield from self._size(obj, seen)
        yield from self._launch(obj, seen, suspended=False)
        yield from self._judge(obj, seen, now)

    # -- pods -----------------------------------------------------------------------------------------------------------

    def _size(self, job: JsonObject, seen: Seen) -> Steps[None]:
        wanted = {_worker_name(job, index): index for index in range(gangs.workers_of(job))}
        present = {raw.name(pod): pod for pod in self.owned(PODS, job, seen)}
        yield from self.remove(PODS, [pod for name, pod in present.items() if name not in wanted])
        first = 1 if raw.at(job, "spec", "runLauncherAsWorker") is True else 0
        for name, index in wanted.items():
            if name not in present:
                labels = {**_labels(job, "worker"), f"{PREFIX}replica-index": str(index + first)}
                yield from self.make(PODS, job, self._pod(job, "Worker", labels, name=name))

    def _pod(self, job: JsonObject, kind: str, labels: dict[str, str], **metadata: JsonValue) -> JsonObject:
        replica_spec = raw.table(job, "spec", "mpiReplicaSpecs", kind)
        marks = {names.GROUP_NAME: raw.name(job)} if self.gang else None
        pod = pod_of(raw.table(replica_spec, "template"), labels, marks, **metadata)
        given = raw.text(replica_spec, "restartPolicy")
        policy = given or ("OnFailure" if kind == "Launcher" else "Never")
        return {**pod, "spec": {**raw.table(pod, "spec"), "restartPolicy": policy}}

    def _launch(self, job: JsonObject, seen: Seen, suspended: bool) -> Steps[None]:
        """Make the launcher's Job, or let one that waits go on."""
        present = self._launcher(job, seen)
        if present is not None:
            if not suspended and raw.at(present, "spec", "suspend") is True:
                yield from self._set_suspend(present, False)
            return
        workers = self.owned(PODS, job, seen)
        waits = raw.text(job, "spec", "launcherCreationPolicy") == "WaitForWorkersReady"
        if waits and not suspended and sum(map(is_ready, workers)) < gangs.workers_of(job):
            return
        labels = _labels(job, "launcher")
        if raw.at(job, "spec", "runLauncherAsWorker") is True:
            labels[f"{PREFIX}replica-index"] = "0"
        policy = raw.table(job, "spec", "runPolicy")
        passed = ("backoffLimit", "activeDeadlineSeconds", "ttlSecondsAfterFinished")
        spec: JsonObject = {name: policy[name] for name in passed if name in policy}
        spec["template"] = self._pod(job, "Launcher", labels)
        if suspended:
            spec["suspend"] = True
        name = _launcher_name(job)
        yield from self.make(
            KUBERNETES_JOBS, job, {"metadata": {"name": name, "labels": raw.strings(labels)}, "spec": spec}
        )

    def _launcher(self, job: JsonObject, seen: Seen) -> JsonObject | None:
        return next(iter(self.owned(KUBERNETES_JOBS, job, seen)), None)

    def _set_suspend(self, launcher: JsonObject, value: bool) -> Steps[None]:
        patch: JsonObject = {"spec": {"suspend": value}}
        outcome = yield Patch(KUBERNETES_JOBS, raw.namespace(launcher), raw.name(launcher), patch)
        must(outcome, f"suspend Job {raw.name(launcher)}")

    # -- PodGroup -------------------------------------------------------------------------------------------------------

    def _group(self, job: JsonObject, seen: Seen) -> Steps[bool]:
        """Is the job's group as it should be? One of another owner is told, and stops the job."""
        values = {raw.name(each): raw.number(each, "value") for each in seen.list(PRIORITYCLASSES)}
        spec = gangs.spec_of(job, values)
        present = seen.get(PODGROUPS, raw.namespace(job), raw.name(job))
        if present is None:
            yield from self.make(PODGROUPS, job, {"metadata": {"name": raw.name(job)}, "spec": spec})
            return True
        if raw.terminating(present):
            raise ReconcileError(f"PodGroup {raw.name(job)} is going", counts=False)
        if not raw.controlled_by(present, raw.uid(job)):
            what = f'PodGroup "{raw.name(job)}" exists and is not controlled by the MPIJob'
            yield Emit(MPIJOBS, job, "Warning", "MPIJobResourceExists", what)
            return False
        if raw.table(present, "spec") != spec:
            must((yield Update(PODGROUPS, {**present, "spec": spec})), f"update PodGroup {raw.name(job)}")
        return True

    def _drop_group(self, job: JsonObject, seen: Seen) -> Steps[None]:
        if self.gang:
            yield from self.remove(PODGROUPS, self.owned(PODGROUPS, job, seen))

    # -- ends -----------------------------------------------------------------------------------------------------------

    def _judge(self, job: JsonObject, seen: Seen, now: float) -> Steps[None]:
        workers, launcher = self.owned(PODS, job, seen), self._launcher(job, seen)
        pods = [] if launcher is None else self._pods_of(launcher, seen)
        evicted = any(
            phase(pod) == "Failed" and raw.text(pod, "status", "reason") == "Evicted" for pod in workers
        )
        if launcher is not None and holds(launcher, "Complete"):
            yield from self._end(job, "Succeeded", "MPIJobSucceeded", now)
        elif launcher is not None and holds(launcher, "Failed"):
            yield from self._end(job, "Failed", "MPIJobFailed", now)
        elif evicted:
            yield from self._end(job, "Failed", "MPIJobEvicted", now)
        else:
            running = sum(phase(pod) == "Running" for pod in workers)
            launched = sum(phase(pod) == "Running" for pod in pods)
            numbers: JsonObject = {"Launcher": {"active": launched}, "Worker": {"active": running}}
            status: dict[str, JsonValue] = {"replicaStatuses": numbers}
            if launched and running >= gangs.workers_of(job):
                status["conditions"] = conditions(job, {"Running": (True, "MPIJobRunning")}, now)
            yield from self.report(job, status)

    def _pods_of(self, launcher: JsonObject, seen: Seen) -> list[JsonObject]:
        found = seen.owned(PODS, raw.uid(launcher))
        return [pod for pod in found if not raw.terminating(pod)]

    def _end(self, job: JsonObject, kind: str, reason: str, now: float) -> Steps[None]:
        held = {"Running": (False, reason), kind: (True, reason)}
        yield from self.report(
            job, {"completionTime": rfc3339(now), "conditions": conditions(job, held, now)}
        )

    def _clean(self, job: JsonObject, policy: JsonObject, seen: Seen) -> Steps[None]:
        which = raw.text(policy, "cleanPodPolicy") or "None"
        if which == "None":
            return
        yield from self._remove_workers(job, which == "All", seen)
        yield from self._drop_group(job, seen)

    def _suspend(self, job: JsonObject, policy: JsonObject, seen: Seen, now: float) -> Steps[None]:
        launcher = self._launcher(job, seen)
        yield from self._launch(job, seen, suspended=True)
        if launcher is not None and raw.at(launcher, "spec", "suspend") is not True:
            yield from self._set_suspend(launcher, True)
        yield from self._remove_workers(job, raw.text(policy, "cleanPodPolicy") != "Running", seen)
        yield from self._drop_group(job, seen)
        held = {"Created": (True, "MPIJobCreated"), "Suspended": (True, "MPIJobSuspended")}
        if holds(job, "Running"):
            held["Running"] = (False, "MPIJobSuspended")
        yield from self.report(
            job,
            {"startTime": None, "replicaStatuses": None, "conditions": conditions(job, held, now)},
        )

    def _remove_workers(self, job: JsonObject, ended: bool, seen: Seen) -> Steps[None]:
        pods = self.owned(PODS, job, seen)
        yield from self.remove(PODS, [pod for pod in pods if ended or phase(pod) not in FINISHED])


def _labels(job: JsonObject, role: str) -> dict[str, str]:
    return {
        f"{PREFIX}job-name": raw.name(job),
        f"{PREFIX}operator-name": OPERATOR_NAME,
        f"{PREFIX}job-role": role,
    }


def _worker_name(job: JsonObject, index: int) -> str:
    return f"{raw.name(job)}-worker-{index}"


def _launcher_name(job: JsonObject) -> str:
    return f"{raw.name(job)}-launcher"


def _is_valid(job: JsonObject) -> bool:
    specs = raw.table(job, "spec", "mpiReplicaSpecs")
    templates = [raw.tables(specs, kind, "template", "spec", "containers") for kind in specs]
    known = "Launcher" in specs and set(specs) <= {"Launcher", "Worker"}
    return known and all(templates) and gangs.workers_of(job) >= 0

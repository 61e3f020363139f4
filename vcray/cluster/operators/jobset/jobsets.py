"""JobSets: Jobs for each replica of each replicatedJob, in order where the JobSet asks for one; a failure makes all of them anew.

Kubernetes' own Job controller makes the pods. Of failure policies the actions FailJobSet and RestartJobSet (with or without counting)
are known, of restarts only the one that makes all Jobs anew.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from hashlib import sha256
from typing import ClassVar, Final

from vcray.api.jsonview import condition_of, holds
from vcray.api.meta import JsonObject, JsonValue
from vcray.api.resources import JOBSETS, KUBERNETES_JOBS, Resource
from vcray.cluster.operators.base import Operator, conditions
from vcray.controllers import raw
from vcray.controllers.base import Effects, Patch, Seen, Steps, must

LABELS: Final = "jobset.sigs.k8s.io/"


class JobSets(Operator):
    """No headless service, no exclusive placement: pods of all Jobs come at once."""

    resource: ClassVar[Resource] = JOBSETS
    owns: ClassVar[tuple[Resource, ...]] = (KUBERNETES_JOBS,)

    def follow(self, obj: JsonObject, seen: Seen, now: float) -> Effects:
        """One turn of a JobSet."""
        if raw.text(obj, "spec", "managedBy") not in ("", "jobset.sigs.k8s.io/jobset-controller"):
            return
        attempt = str(raw.number(obj, "status", "restarts"))
        jobs = self.owned(KUBERNETES_JOBS, obj, seen)
        current = [job for job in jobs if raw.labels_of(job).get(LABELS + "restart-attempt") == attempt]
        if holds(obj, "Completed") or holds(obj, "Failed"):
            yield from self._drop([job for job in current if not _has_ended(job)])
            return
        yield from self._drop([job for job in jobs if job not in current])
        failed = next((job for job in current if holds(job, "Failed")), None)
        if failed is not None:
            yield from self._failed(obj, failed, now)
            return
        if _succeeded(obj, current):
            yield from self._end(obj, "Completed", "AllJobsCompleted", now)
            return
        yield from self._advance(obj, current, seen, attempt)
        yield from self._report(obj, seen, attempt, now)

    def _drop(self, jobs: Sequence[JsonObject]) -> Steps[None]:
        yield from self.remove(KUBERNETES_JOBS, jobs)

    def _advance(
        self, jobset: JsonObject, jobs: Sequence[JsonObject], seen: Seen, attempt: str
    ) -> Steps[None]:
        """Make and resume what may start; suspend all where the JobSet is."""
        in_order = raw.text(jobset, "spec", "startupPolicy", "startupPolicyOrder") == "InOrder"
        suspended = raw.at(jobset, "spec", "suspend") is True
        states = {name: _state(jobs, name, replicated) for name, replicated in _replicated(jobset)}
        for name, replicated in _replicated(jobset):
            if not all(
                states.get(raw.text(on, "name"), {}).get(raw.text(on, "status"))
                for on in raw.tables(replicated, "dependsOn")
            ):
                continue
            yield from self._run(jobset, name, replicated, seen, suspended, attempt)
            if in_order and not suspended and not states[name]["Ready"]:
                suspended = True
                if not any(raw.at(job, "spec", "suspend") is True for job in jobs):
                    break

    def _run(
        self,
        jobset: JsonObject,
        name: str,
        replicated: JsonObject,
        seen: Seen,
        suspended: bool,
        attempt: str,
    ) -> Steps[None]:
        for index in range(raw.number(replicated, "replicas", default=1)):
            called = f"{raw.name(jobset)}-{name}-{index}"
            present = seen.get(KUBERNETES_JOBS, raw.namespace(jobset), called)
            if present is None:
                yield from self.make(
                    KUBERNETES_JOBS, jobset, _job(jobset, name, replicated, index, suspended, attempt)
                )
            elif (
                (raw.at(present, "spec", "suspend") is True) != suspended
                and not _has_ended(present)
                and not raw.terminating(present)
            ):
                wish: JsonObject = {"spec": {"suspend": suspended}}
                outcome = yield Patch(KUBERNETES_JOBS, raw.namespace(jobset), called, wish, "strategic")
                must(outcome, f"suspend or resume Job {called}")

    # -- ends -----------------------------------------------------------------------------------------------------------

    def _failed(self, jobset: JsonObject, job: JsonObject, now: float) -> Steps[None]:
        policy = raw.table(jobset, "spec", "failurePolicy")
        action = _action(policy, job)
        counted = raw.number(jobset, "status", "restartsCountTowardsMax")
        if action == "RestartJobSetAndIgnoreMaxRestarts":
            yield from self.report(jobset, {"restarts": raw.number(jobset, "status", "restarts") + 1})
        elif action == "RestartJobSet" and counted < raw.number(policy, "maxRestarts"):
            restarts: JsonObject = {
                "restarts": raw.number(jobset, "status", "restarts") + 1,
                "restartsCountTowardsMax": counted + 1,
            }
            yield from self.report(jobset, restarts)
        else:
            yield from self._end(jobset, "Failed", "FailedJobs", now)

    def _end(self, jobset: JsonObject, kind: str, reason: str, now: float) -> Steps[None]:
        yield from self.report(
            jobset,
            {"terminalState": kind, "conditions": conditions(jobset, {kind: (True, reason)}, now)},
        )

    def _report(self, jobset: JsonObject, seen: Seen, attempt: str, now: float) -> Steps[None]:
        jobs = [
            job
            for job in self.owned(KUBERNETES_JOBS, jobset, seen)
            if raw.labels_of(job).get(LABELS + "restart-attempt") == attempt
        ]
        suspended = raw.at(jobset, "spec", "suspend") is True
        wanted = {"Suspended": (suspended, "SuspendedJobs" if suspended else "ResumeJobs")}
        listed: list[JsonValue] = [
            _figures(name, [job for job in jobs if _is_of(job, name)]) for name, _ in _replicated(jobset)
        ]
        status: dict[str, JsonValue] = {"replicatedJobsStatus": listed}
        if suspended or condition_of(jobset, "Suspended"):
            status["conditions"] = conditions(jobset, wanted, now)
        if raw.at(jobset, "status", "restarts") is None:
            status["restarts"] = 0
        yield from self.report(jobset, status)


def _replicated(jobset: JsonObject) -> Iterator[tuple[str, JsonObject]]:
    for each in raw.tables(jobset, "spec", "replicatedJobs"):
        yield raw.text(each, "name"), each


def _job(
    jobset: JsonObject, name: str, replicated: JsonObject, index: int, suspended: bool, attempt: str
) -> JsonObject:
    called = f"{raw.name(jobset)}-{name}-{index}"
    key = sha256(f"{raw.namespace(jobset)}/{called}".encode()).hexdigest()[:40]
    marks = {
        LABELS + "jobset-name": raw.name(jobset),
        LABELS + "replicatedjob-name": name,
        LABELS + "replicatedjob-replicas": str(raw.number(replicated, "replicas", default=1)),
        LABELS + "job-index": str(index),
        LABELS + "job-key": key,
        LABELS + "restart-attempt": attempt,
    }
    job = raw.table(replicated, "template")
    spec = raw.table(job, "spec")
    pod = raw.table(spec, "template")
    pod_spec: JsonObject = {"restartPolicy": "OnFailure", **raw.table(pod, "spec")}
    return {
        "metadata": {
            "name": called,
            "labels": raw.strings({**raw.labels_of(job), **marks}),
            "annotations": raw.strings(raw.annotations_of(job)),
        },
        "spec": {
            "completionMode": "Indexed",
            **_counted(spec),
            "suspend": suspended,
            "template": {
                "metadata": {
                    "labels": raw.strings({**raw.labels_of(pod), **marks}),
                    "annotations": raw.strings(raw.annotations_of(pod)),
                },
                "spec": pod_spec,
            },
        },
    }


def _counted(spec: JsonObject) -> JsonObject:
    """An Indexed Job needs its completions: as many as run at once, where nobody says."""
    return {"completions": raw.number(spec, "parallelism", default=1), **spec}


def _pods(replicated: JsonObject) -> int:
    spec = _counted(raw.table(replicated, "template", "spec"))
    return min(raw.number(spec, "parallelism", default=1), raw.number(spec, "completions"))


def _state(jobs: Sequence[JsonObject], name: str, replicated: JsonObject) -> Mapping[str, bool]:
    """Whether all Jobs of a replicatedJob are Ready, and Complete."""
    mine = [job for job in jobs if _is_of(job, name)]
    wanted = raw.number(replicated, "replicas", default=1)
    ready = [
        job
        for job in mine
        if _has_ended(job)
        or raw.number(job, "status", "ready") + raw.number(job, "status", "succeeded") >= _pods(replicated)
    ]
    return {
        "Ready": len(ready) >= wanted,
        "Complete": sum(holds(job, "Complete") for job in mine) >= wanted,
    }


def _succeeded(jobset: JsonObject, jobs: Sequence[JsonObject]) -> bool:
    policy = raw.table(jobset, "spec", "successPolicy")
    found = raw.at(policy, "targetReplicatedJobs")
    targets = found if isinstance(found, list) and found else [name for name, _ in _replicated(jobset)]
    counted = [
        _state(jobs, name, replicated)["Complete"]
        for name, replicated in _replicated(jobset)
        if name in targets
    ]
    if raw.text(policy, "operator") == "Any":
        return any(holds(job, "Complete") and any(_is_of(job, str(each)) for each in targets) for job in jobs)
    return bool(counted) and all(counted)


def _action(policy: JsonObject, job: JsonObject) -> str:
    """What the first rule that fits a failed Job asks for."""
    reason = raw.text(condition_of(job, "Failed"), "reason")
    for rule in raw.tables(policy, "rules"):
        targets, reasons = raw.at(rule, "targetReplicatedJobs"), raw.at(rule, "onJobFailureReasons")
        meant = (
            not isinstance(targets, list) or not targets or any(_is_of(job, str(each)) for each in targets)
        )
        if meant and (not isinstance(reasons, list) or not reasons or reason in reasons):
            return raw.text(rule, "action")
    return "RestartJobSet"


def _figures(name: str, jobs: Sequence[JsonObject]) -> JsonObject:
    live = [job for job in jobs if not _has_ended(job)]
    suspended = sum(raw.at(job, "spec", "suspend") is True for job in live)
    ready = sum(
        raw.number(job, "status", "ready") + raw.number(job, "status", "succeeded")
        >= min(raw.number(job, "spec", "parallelism"), raw.number(job, "spec", "completions"))
        for job in live
    )
    return {
        "name": name,
        "ready": ready,
        "succeeded": sum(holds(job, "Complete") for job in jobs),
        "failed": sum(holds(job, "Failed") for job in jobs),
        "active": sum(raw.number(job, "status", "active") > 0 for job in live),
        "suspended": suspended,
    }


def _is_of(job: JsonObject, name: str) -> bool:
    return raw.labels_of(job).get(LABELS + "replicatedjob-name") == name


def _has_ended(job: JsonObject) -> bool:
    return holds(job, "Complete") or holds(job, "Failed")

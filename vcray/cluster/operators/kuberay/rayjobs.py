"""RayJobs: a cluster for each attempt, then somebody who submits; states as KubeRay names them in status.jobDeploymentStatus.

Ray's dashboard is not here: an attempt ends with its submitter, or as the annotation `words.RESULT` says."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import ClassVar, Final

from vcray.api.meta import JsonObject, JsonValue
from vcray.api.resources import KUBERNETES_JOBS, PODGROUPS, PODS, RAYCLUSTERS, RAYJOBS, Resource
from vcray.api.times import seconds_of
from vcray.clock import rfc3339
from vcray.cluster.operators.base import Follow, Operator
from vcray.cluster.operators.kuberay import gangs, submitting, words
from vcray.controllers import raw
from vcray.controllers.base import Again, Change, Effects, Patch, Request, Seen, Steps, must

TERMINAL: Final = ("Complete", "Failed")
_BEFORE_RUNNING: Final = ("", "Initializing", "Waiting")
_IMPACT: Final = ("DeleteNone", "DeleteWorkers", "DeleteCluster", "DeleteSelf")


class RayJobs(Operator):
    """`gang`: the group is written while a RayJob starts, and set to what is left when its cluster goes."""

    resource: ClassVar[Resource] = RAYJOBS
    owns: ClassVar[tuple[Resource, ...]] = (RAYCLUSTERS, KUBERNETES_JOBS, PODS, PODGROUPS)

    def requests(self, change: Change, seen: Seen) -> Iterable[Request]:
        """Also jobs that wait for a cluster which they select."""
        yield from super().requests(change, seen)
        if change.resource == RAYCLUSTERS:
            cluster = change.object
            for job in seen.list(RAYJOBS, raw.namespace(cluster)):
                if _selected(job) == raw.name(cluster):
                    yield Follow(raw.namespace(job), raw.name(job))

    def follow(self, obj: JsonObject, seen: Seen, now: float) -> Effects:
        """One turn of a RayJob."""
        if not words.is_ours(raw.table(obj, "spec")):
            return
        state = raw.text(obj, "status", "jobDeploymentStatus")
        fault = _fault(obj)
        if state == "" and fault:
            yield from self.report(obj, {"jobDeploymentStatus": "ValidationFailed", "message": fault})
        elif state in TERMINAL:
            yield from self._after(obj, seen, now)
        elif state in ("Suspending", "Retrying"):
            yield from self._tear_down(obj, seen)
        elif state == "Suspended":
            if raw.at(obj, "spec", "suspend") is not True:
                yield from self.report(obj, {"jobDeploymentStatus": ""})
        elif state != "ValidationFailed":
            yield from self._advance(obj, state, seen, now)

    # -- an attempt -----------------------------------------------------------------------------------------------------

    def _advance(self, job: JsonObject, state: str, seen: Seen, now: float) -> Steps[None]:
        if state == "":
            begun: dict[str, JsonValue] = {"jobDeploymentStatus": "Initializing", "startTime": rfc3339(now)}
            yield from self.report(job, begun)
            return
        if raw.at(job, "spec", "suspend") is True:
            yield from self.report(job, {"jobDeploymentStatus": "Suspending"})
            return
        if (yield from self._is_late(job, state, now)):
            ended: dict[str, JsonValue] = {"jobDeploymentStatus": "Failed", "reason": "DeadlineExceeded"}
            yield from self.report(job, {**ended, "endTime": rfc3339(now)})
            return
        cluster = self._cluster(job, seen)
        if state == "Initializing":
            yield from self._initialize(job, cluster, seen)
            return
        result = submitting.result(job, cluster, seen)
        if result:
            yield from self._end(job, result, now)

    def _initialize(self, job: JsonObject, cluster: JsonObject | None, seen: Seen) -> Steps[None]:
        selects = bool(raw.table(job, "spec", "clusterSelector"))
        if self.gang and selects:
            return  # the plugin has an error here, for ever: nothing of this job is made (trap T19)
        if self.gang:
            yield from self._keep(
                job, gangs.minima(raw.table(job, "spec", "rayClusterSpec"), gangs.submitter(job)), seen
            )
        if cluster is None and not selects:
            cluster = yield from self.make(RAYCLUSTERS, job, submitting.cluster_of(job, self.gang))
        if cluster is None:
            return
        mode = submitting.mode(job)
        status: dict[str, JsonValue] = {"rayClusterName": raw.name(cluster)}
        if raw.text(cluster, "status", "state") == "ready":
            if mode == "K8sJobMode" and not self.owned(KUBERNETES_JOBS, job, seen):
                yield from self.make(KUBERNETES_JOBS, job, submitting.submitter_of(job, self.gang))
            status["jobDeploymentStatus"] = "Waiting" if mode == "InteractiveMode" else "Running"
        yield from self.report(job, status)

    def _is_late(self, job: JsonObject, state: str, now: float) -> Steps[bool]:
        limits = [raw.at(job, "spec", "activeDeadlineSeconds")]
        if state in _BEFORE_RUNNING:
            limits.append(raw.at(job, "spec", "preRunningDeadlineSeconds"))
        given = [each for each in limits if isinstance(each, int)]
        began = seconds_of(raw.at(job, "status", "startTime"))
        if not given or began is None:
            return False
        left = began + min(given) - now
        if left > 0:
            yield Again(left, Follow(raw.namespace(job), raw.name(job)))
        return left <= 0

    def _end(self, job: JsonObject, result: str, now: float) -> Steps[None]:
        failed = raw.number(job, "status", "failed")
        status: dict[str, JsonValue] = {"jobStatus": result}
        if result == submitting.FAILED:
            status["failed"] = failed + 1
            again = failed < raw.number(job, "spec", "backoffLimit")
            status["jobDeploymentStatus"] = "Retrying" if again else "Failed"
        else:
            status |= {
                "succeeded": raw.number(job, "status", "succeeded") + 1,
                "jobDeploymentStatus": "Complete",
            }
        if status["jobDeploymentStatus"] in TERMINAL:
            status["endTime"] = rfc3339(now)
        yield from self.report(job, status)

    def _tear_down(self, job: JsonObject, seen: Seen) -> Steps[None]:
        """What the attempt made goes; the next state comes when all of it is gone."""
        made = {
            resource: [
                each for each in seen.owned(resource, raw.uid(job)) if raw.controlled_by(each, raw.uid(job))
            ]
            for resource in (KUBERNETES_JOBS, RAYCLUSTERS)
        }
        for resource, objects in made.items():
            yield from self.remove(resource, [each for each in objects if not raw.terminating(each)])
        left = [pod for cluster in made[RAYCLUSTERS] for pod in seen.owned(PODS, raw.uid(cluster))]
        if left or any(made.values()):
            return
        if self.gang:
            yield from self._keep(job, gangs.nothing(), seen)
        suspends = raw.text(job, "status", "jobDeploymentStatus") == "Suspending"
        state = "Suspended" if suspends else ""
        yield from self.report(job, {"jobDeploymentStatus": state, "jobStatus": None, "rayClusterName": None})

    # -- after the end --------------------------------------------------------------------------------------------------

    def _after(self, job: JsonObject, seen: Seen, now: float) -> Steps[None]:
        cluster = self._cluster(job, seen)
        if self.gang and not raw.table(job, "spec", "clusterSelector"):
            sizes = gangs.nothing() if cluster is None else gangs.minima(raw.table(cluster, "spec"))
            yield from self._keep(job, sizes, seen)
        ended = seconds_of(raw.at(job, "status", "endTime")) or now
        due: list[str] = []
        for policy, after_s in _rules(job):
            if now >= ended + after_s:
                due.append(policy)
            else:
                yield Again(ended + after_s - now, Follow(raw.namespace(job), raw.name(job)))
        if due:
            yield from self._delete(max(due, key=_IMPACT.index), job, cluster)

    def _delete(self, policy: str, job: JsonObject, cluster: JsonObject | None) -> Steps[None]:
        if policy == "DeleteSelf":
            yield from self.remove(RAYJOBS, [job])
        elif policy == "DeleteCluster" and cluster is not None:
            yield from self.remove(RAYCLUSTERS, [cluster])
        elif policy == "DeleteWorkers" and cluster is not None:
            groups: list[JsonValue] = [
                {**each, "suspend": True} for each in raw.tables(cluster, "spec", "workerGroupSpecs")
            ]
            if groups != raw.tables(cluster, "spec", "workerGroupSpecs"):
                patch: JsonObject = {"spec": {"workerGroupSpecs": groups}}
                outcome = yield Patch(RAYCLUSTERS, raw.namespace(cluster), raw.name(cluster), patch)
                must(outcome, "suspend worker groups")

    # -- both -----------------------------------------------------------------------------------------------------------

    def _cluster(self, job: JsonObject, seen: Seen) -> JsonObject | None:
        """The live cluster of the present attempt, or the one that the job selects."""
        selected = _selected(job)
        if selected:
            return seen.get(RAYCLUSTERS, raw.namespace(job), selected)
        return next(iter(self.owned(RAYCLUSTERS, job, seen)), None)

    def _keep(self, job: JsonObject, sizes: JsonObject, seen: Seen) -> Steps[None]:
        spec, annotations = gangs.spec_of(job, sizes), gangs.copied_annotations(job)
        name = gangs.group_name(raw.name(job))
        yield from self.keep_group(job, name, spec, gangs.GROUP_FIELDS, seen, annotations=annotations)


def _selected(job: JsonObject) -> str:
    return raw.text(job, "spec", "clusterSelector", words.CLUSTER)


def _fault(job: JsonObject) -> str:
    spec = raw.table(job, "spec")
    suspends = raw.at(spec, "suspend") is True
    selects = bool(raw.table(spec, "clusterSelector"))
    if not selects and not raw.table(spec, "rayClusterSpec"):
        return "one of rayClusterSpec and clusterSelector must be given"
    if suspends and (selects or raw.at(spec, "shutdownAfterJobFinishes") is not True):
        return "suspend needs shutdownAfterJobFinishes, and a cluster of the job's own"
    return ""


def _rules(job: JsonObject) -> Iterator[tuple[str, float]]:
    """What is to be deleted, and how many seconds after the end."""
    spec, state = raw.table(job, "spec"), raw.text(job, "status", "jobDeploymentStatus")
    ttl = raw.number(spec, "ttlSecondsAfterFinished")
    strategy = raw.table(spec, "deletionStrategy")
    for rule in raw.tables(strategy, "deletionRules"):
        wanted = raw.table(rule, "condition")
        there = (raw.text(job, "status", "jobStatus"), state)
        if any(
            raw.text(wanted, field) == value
            for field, value in zip(("jobStatus", "jobDeploymentStatus"), there, strict=True)
            if raw.text(wanted, field)
        ):
            yield raw.text(rule, "policy"), raw.number(wanted, "ttlSeconds")
    ending = "onSuccess" if state == "Complete" else "onFailure"
    if raw.text(strategy, ending, "policy"):
        yield raw.text(strategy, ending, "policy"), ttl
    elif raw.at(spec, "shutdownAfterJobFinishes") is True and not raw.tables(strategy, "deletionRules"):
        yield "DeleteCluster", ttl

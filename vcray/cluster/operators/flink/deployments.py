"""FlinkDeployments in native mode: a Deployment for the JobManager, and TaskManager pods once that runs."""

from __future__ import annotations

from typing import ClassVar

from vcray.api.meta import JsonObject
from vcray.api.resources import DEPLOYMENTS, FLINKDEPLOYMENTS, PODS, Resource
from vcray.cluster.operators.base import Follow, Operator, phase, pod_of
from vcray.controllers import raw
from vcray.controllers.base import Change, Create, Effects, Request, Seen, Steps, must
from vcray.integrations.flink.flinkdeployment import FINISHED


class FlinkDeployments(Operator):
    """Operator and JobManager in one. The amounts are Flink's: memory `2048m` is 2 GiB.

    No job runs: write `status.jobStatus.state` to let it end."""

    resource: ClassVar[Resource] = FLINKDEPLOYMENTS
    owns: ClassVar[tuple[Resource, ...]] = (DEPLOYMENTS, PODS)

    def requests(self, change: Change, seen: Seen) -> tuple[Request, ...]:
        """The object itself, or the one that the label `app` names."""
        obj = change.object
        if change.resource == self.resource:
            return (Follow(raw.namespace(obj), raw.name(obj)),)
        app = raw.labels_of(obj).get("app", "")
        return (Follow(raw.namespace(obj), app),) if app else ()

    def follow(self, obj: JsonObject, seen: Seen, now: float) -> Effects:
        """One turn of a cluster."""
        name, space = raw.name(obj), raw.namespace(obj)
        deployment = seen.get(DEPLOYMENTS, space, name)
        if raw.text(obj, "spec", "job", "state") == "suspended":
            yield from self.remove(DEPLOYMENTS, [] if deployment is None else [deployment])
            state = "MISSING" if deployment is None else "DEPLOYING"
            yield from self.report(obj, {"jobManagerDeploymentStatus": state})
            return
        if deployment is None:
            yield from self._job_manager(obj)
            return
        pods = [each for each in seen.list(PODS, space) if raw.labels_of(each).get("app") == name]
        masters = [each for each in pods if raw.labels_of(each).get("component") == "jobmanager"]
        runs = any(phase(each) == "Running" for each in masters)
        if runs:
            yield from self._task_managers(obj, deployment, pods)
        yield from self.report(obj, {"jobManagerDeploymentStatus": "READY" if runs else "DEPLOYING"})

    def _job_manager(self, obj: JsonObject) -> Steps[None]:
        labels = _labels(obj, "jobmanager")
        pod = pod_of(_template(obj, "jobManager"), labels)
        spec: JsonObject = {"replicas": 1, "selector": {"matchLabels": raw.strings(labels)}, "template": pod}
        owner = raw.owner_reference(self.resource.api_version, self.resource.kind, obj) | {
            "controller": False
        }
        metadata: JsonObject = {
            "name": raw.name(obj),
            "namespace": raw.namespace(obj),
            "labels": raw.strings(labels),
            "ownerReferences": [owner],
        }
        made: JsonObject = {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": metadata,
            "spec": spec,
        }
        outcome = yield Create(DEPLOYMENTS, made)
        if not outcome.already_exists:
            must(outcome, "create Deployment")

    def _task_managers(self, obj: JsonObject, deployment: JsonObject, pods: list[JsonObject]) -> Steps[None]:
        workers = [each for each in pods if raw.labels_of(each).get("component") == "taskmanager"]
        there = set(map(raw.name, workers))
        over = raw.text(obj, "status", "jobStatus", "state") in FINISHED
        wanted = 0 if over else raw.number(obj, "spec", "job", "parallelism")
        spare = [each for each in workers if int(raw.name(each).rpartition("-")[2]) > wanted]
        yield from self.remove(PODS, [each for each in spare if not raw.terminating(each)])
        reference = raw.owner_reference("apps/v1", "Deployment", deployment)
        for number in range(1, wanted + 1):
            name = f"{raw.name(obj)}-taskmanager-1-{number}"
            if name in there:
                continue
            pod = pod_of(_template(obj, "taskManager"), _labels(obj, "taskmanager"), name=name)
            metadata = {**raw.table(pod, "metadata"), "namespace": raw.namespace(obj)}
            metadata["ownerReferences"] = [reference]
            outcome = yield Create(PODS, {"apiVersion": "v1", "kind": "Pod", **pod, "metadata": metadata})
            if not outcome.already_exists:
                must(outcome, "create Pod")


def _labels(obj: JsonObject, component: str) -> dict[str, str]:
    return {"app": raw.name(obj), "type": "flink-native-kubernetes", "component": component}


def _template(obj: JsonObject, part: str) -> JsonObject:
    given = raw.table(obj, "spec", part, "podTemplate") or raw.table(obj, "spec", "podTemplate")
    cpu = raw.at(obj, "spec", part, "resource", "cpu")
    mebibytes = raw.text(obj, "spec", part, "resource", "memory").removesuffix("m") or "1600"
    resources: JsonObject = {"requests": {"cpu": str(cpu or 1), "memory": f"{mebibytes}Mi"}}
    main: JsonObject = {"name": "flink-main-container", "image": "flink", "resources": resources}
    beside = [
        each for each in raw.tables(given, "spec", "containers") if raw.text(each, "name") != main["name"]
    ]
    return {**given, "spec": {**raw.table(given, "spec"), "containers": [main, *beside]}}

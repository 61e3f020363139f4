"""How a RayJob is handed to its cluster: by a Job of its own, by a container beside the head, or by nobody that is seen here.

There is no Ray to hand it to: who submits runs the entrypoint itself, or the job's own script for it (`base.SCRIPT`), and ends as that
ends."""

from __future__ import annotations

from typing import Final

from vcray.api import names
from vcray.api.jsonview import holds
from vcray.api.meta import JsonObject, JsonValue
from vcray.api.resources import KUBERNETES_JOBS, PODS
from vcray.cluster.operators.base import SCRIPT, pod_of
from vcray.cluster.operators.kuberay import gangs, templates, words
from vcray.controllers import raw
from vcray.controllers.base import Seen

CONTAINER: Final = "ray-job-submitter"
SUCCEEDED: Final = "SUCCEEDED"
FAILED: Final = "FAILED"


def mode(job: JsonObject) -> str:
    """spec.submissionMode."""
    return raw.text(job, "spec", "submissionMode") or "K8sJobMode"


def cluster_of(job: JsonObject, gang: bool) -> JsonObject:
    """The RayCluster of one attempt. `gang`: the volcano plugin marks it too, with an empty task (integrations.md 1.1)."""
    spec = raw.table(job, "spec", "rayClusterSpec")
    metadata = words.child_metadata(job, "RayJob", **{words.SUBMISSION_MODE: mode(job)})
    annotations = raw.table(metadata, "annotations")
    if mode(job) == "SidecarMode":
        head = raw.table(spec, "headGroupSpec")
        template = _with_submitter(raw.table(head, "template"), job)
        spec = {**spec, "headGroupSpec": {**head, "template": template}}
        annotations = {**annotations, words.KEEP_HEAD: "true"}
    if gang and mode(job) == "K8sJobMode":
        marks: JsonObject = {names.GROUP_NAME: gangs.group_name(raw.name(job)), names.TASK_SPEC: ""}
        annotations = {**annotations, **marks}
    return {"metadata": {**metadata, "annotations": annotations}, "spec": spec}


def submitter_of(job: JsonObject, gang: bool) -> JsonObject:
    """The Job whose pod runs `ray job submit`."""
    labels = {
        words.ORIGIN_KIND: "RayJob",
        words.ORIGIN_NAME: raw.name(job),
        "app.kubernetes.io/created-by": "kuberay-operator",
    }
    marks = {names.GROUP_NAME: gangs.group_name(raw.name(job)), names.TASK_SPEC: words.SUBMITTER}
    template = raw.table(job, "spec", "submitterPodTemplate") or _default(job)
    pod = pod_of(template, labels, marks if gang else None)
    first, *others = raw.tables(pod, "spec", "containers") or [{}]
    containers: list[JsonValue] = [{"command": _command(job), **first}, *others]
    pod["spec"] = {"restartPolicy": "Never", **raw.table(pod, "spec"), "containers": containers}
    return {
        "metadata": {"name": raw.name(job), "labels": raw.strings(labels)},
        "spec": {
            "backoffLimit": raw.number(job, "spec", "submitterConfig", "backoffLimit", default=2),
            "template": pod,
        },
    }


def result(job: JsonObject, cluster: JsonObject | None, seen: Seen) -> str:
    """How the present attempt ended, empty while it goes on: by what the annotation says of it, else by who submitted it."""
    told = raw.annotation(job, words.RESULT).split(",")
    attempt = raw.number(job, "status", "failed")
    said = told[attempt].strip().upper() if attempt < len(told) else ""
    if said:
        return said
    if mode(job) == "K8sJobMode":
        return _of_submitter(job, seen)
    if mode(job) == "SidecarMode" and cluster is not None:
        return _of_sidecar(cluster, seen)
    return ""


def _with_submitter(head: JsonObject, job: JsonObject) -> JsonObject:
    """The head's template with the container that submits; it is not started again, lest it submit twice."""
    submitter: JsonObject = {
        "name": CONTAINER,
        "image": templates.image(head),
        "command": _command(job),
        "resources": templates.SUBMITTER_RESOURCES,
    }
    template = templates.with_container(head, submitter)
    return {**template, "spec": {**raw.table(template, "spec"), "restartPolicy": "Never"}}


def _of_submitter(job: JsonObject, seen: Seen) -> str:
    for each in seen.owned(KUBERNETES_JOBS, raw.uid(job)):
        if holds(each, "Complete"):
            return SUCCEEDED
        if holds(each, "Failed"):
            return FAILED
    return ""


def _of_sidecar(cluster: JsonObject, seen: Seen) -> str:
    for pod in seen.owned(PODS, raw.uid(cluster)):
        for each in raw.tables(pod, "status", "containerStatuses"):
            ended = raw.table(each, "state", "terminated")
            if raw.text(each, "name") == CONTAINER and ended:
                return SUCCEEDED if raw.number(ended, "exitCode") == 0 else FAILED
    return ""


def _command(job: JsonObject) -> list[JsonValue]:
    return ["sh", "-c", raw.annotation(job, SCRIPT) or raw.text(job, "spec", "entrypoint") or "true"]


def _default(job: JsonObject) -> JsonObject:
    head = raw.table(job, "spec", "rayClusterSpec", "headGroupSpec", "template")
    container: JsonObject = {
        "name": CONTAINER,
        "image": templates.image(head) or "ray",
        "resources": templates.SUBMITTER_RESOURCES,
    }
    return {"spec": {"containers": [container]}}

"""The pods of a training job: names, labels and restart policies as the training-operator gives them (integrations.md 2.1)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from vcray.api import names
from vcray.api.meta import JsonObject, JsonValue
from vcray.cluster.operators.base import pod_of
from vcray.cluster.operators.training.kinds import INDEX, Kind, Role, Roles
from vcray.cluster.operators.training.rendezvous import variables
from vcray.controllers import raw

JOB_NAME: Final = "training.kubeflow.org/job-name"
REPLICA_TYPE: Final = "training.kubeflow.org/replica-type"
_RETRYABLE: Final = range(128, 256)
"""Exit codes after which ExitCode starts a pod again: it was ended by a signal."""


def roles_of(kind: Kind, job: JsonObject, pods: list[JsonObject]) -> Roles:
    """The job's replica types with their pods, keys in any case."""
    specs = raw.table(job, "spec", kind.field)
    by_lower = {each.lower(): each for each in kind.types}
    roles: dict[str, Role] = {}
    for key in specs:
        name = by_lower.get(key.lower(), "")
        if name:
            spec = raw.table(specs, key)
            mine = [pod for pod in pods if raw.labels_of(pod).get(REPLICA_TYPE) == name.lower()]
            roles[name] = Role(name, spec, raw.number(spec, "replicas", default=1), mine)
    return roles


def make_pod(kind: Kind, job: JsonObject, roles: Roles, role: Role, index: int, gang: bool) -> JsonObject:
    """One pod. With `gang` it names its group; a scheduler that its template names is kept."""
    name, task = raw.name(job), role.type.lower()
    labels = {
        JOB_NAME: name,
        "training.kubeflow.org/operator-name": kind.operator_name,
        REPLICA_TYPE: task,
    }
    if role.type != "Launcher":
        labels[INDEX] = str(index)
    if role.type == kind.leader(roles) and (index == 0 or role.type != "Worker"):
        labels["training.kubeflow.org/job-role"] = "master"
    template = raw.table(role.spec, "template")
    marks: Mapping[str, str] | None = {names.GROUP_NAME: name, names.TASK_SPEC: task} if gang else None
    called = f"{name}-launcher" if role.type == "Launcher" else f"{name}-{task}-{index}"
    pod = pod_of(template, labels, marks, name=called)
    spec: JsonObject = {**raw.table(pod, "spec")}
    if raw.text(template, "spec", "schedulerName"):
        spec["schedulerName"] = raw.text(template, "spec", "schedulerName")
    policy = raw.text(role.spec, "restartPolicy") or kind.restart
    spec["restartPolicy"] = "Never" if policy == "ExitCode" else policy
    meeting: list[JsonValue] = list(variables(kind, job, roles))
    if meeting:
        spec["containers"] = [
            {**each, "env": [*raw.tables(each, "env"), *meeting]} for each in raw.tables(spec, "containers")
        ]
    return {**pod, "spec": spec}


def starts_again(kind: Kind, role: Role, pod: JsonObject) -> bool:
    """Does its restart policy replace this failed pod? Launchers and workers of MPI are not."""
    policy = raw.text(role.spec, "restartPolicy") or kind.restart
    if kind.container and policy == "ExitCode":
        return exit_code(kind, pod) in _RETRYABLE
    return bool(kind.container) and policy in ("OnFailure", "Always")


def exit_code(kind: Kind, pod: JsonObject) -> int:
    """The exit code of the container that tells; 0 while there is none."""
    for each in raw.tables(pod, "status", "containerStatuses"):
        if each.get("name") == kind.container:
            return raw.number(each, "state", "terminated", "exitCode")
    return 0

"""Short forms of scenario files -> plain Kubernetes objects.

Amounts: `8c/32Gi/4g` is cpu 8, memory 32Gi, nvidia.com/gpu 4, in any order and any subset; `500m` is cpu in milli. A pod that
names no memory asks for 16Mi, so that "a little memory" is true; a node that names none has 1Ti of it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from vcray.api.meta import JsonObject, JsonValue
from vcray.errors import InputError, Problem, did_you_mean

GPU = "nvidia.com/gpu"
NAMESPACE = "default"

_AMOUNT = re.compile(r"^(?P<number>\d+(?:\.\d+)?)(?P<unit>c|m|g|Ki|Mi|Gi|Ti)$")
_COUNTED = re.compile(r"^(?:(?P<count>\d+)\s*x\s*)?(?P<amounts>\S+)(?:\s*\(min (?P<min>\d+)\))?$")


def amounts(text: str, where: str) -> dict[str, str]:
    """Quantities by resource of a short form. InputError VC0302 for anything else."""
    found: dict[str, str] = {}
    for part in text.split("/"):
        match = _AMOUNT.match(part.strip())
        if match is None:
            raise InputError(
                Problem("VC0302", where, f"'{text}' is not an amount such as '8c/32Gi/4g' or '500m'")
            )
        number, unit = match["number"], match["unit"]
        name = {"c": "cpu", "m": "cpu", "g": GPU}.get(unit, "memory")
        if name in found:
            raise InputError(Problem("VC0302", where, f"'{text}' names {name} twice"))
        found[name] = number if unit in "cg" else number + unit
    return found


def counted(text: str, where: str) -> tuple[int, dict[str, str], int | None]:
    """`4 x 1c (min 2)` -> count, quantities, minimum; count 1 and no minimum when not said."""
    match = _COUNTED.match(text.strip())
    if match is None:
        raise InputError(Problem("VC0302", where, f"'{text}' is not of the form '4 x 1c (min 2)'"))
    minimum = match["min"]
    return int(match["count"] or 1), amounts(match["amounts"], where), int(minimum) if minimum else None


def node(name: str, spec: str | Mapping[str, JsonValue], where: str) -> JsonObject:
    """A Node from `8c/32Gi` or a map with `size` and any of labels, taints, pods, ready, cordoned, resources."""
    given = {"size": spec} if isinstance(spec, str) else dict(spec)
    known = {"size", "labels", "annotations", "taints", "pods", "ready", "cordoned", "resources"}
    _only(given, known, where)
    allocatable: JsonObject = {"cpu": "1k", "memory": "1Ti", "pods": str(given.get("pods", 110))}
    if size := given.get("size"):
        allocatable.update(amounts(str(size), f"{where}.size"))
    allocatable.update({key: str(value) for key, value in _map(given, "resources").items()})
    ready = given.get("ready", True)
    taints = [*_list(given, "taints", where), *([] if ready else [NOT_READY])]
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": name,
            "labels": {"kubernetes.io/hostname": name, **_strings(given, "labels")},
            **({"annotations": _strings(given, "annotations")} if "annotations" in given else {}),
        },
        "spec": {
            **({"unschedulable": True} if given.get("cordoned") else {}),
            **({"taints": taints} if taints else {}),
        },
        "status": {
            "allocatable": allocatable,
            "capacity": {**allocatable},
            "conditions": [{"type": "Ready", "status": "True" if ready else "False", "reason": "Simulated"}],
        },
    }


_POD_KEYS = {
    "size", "count", "group", "node", "nodeSelector", "priority", "ports", "claims", "role", "labels",
    "annotations", "scheduler", "queue", "affinity", "tolerations", "gates", "init", "limits", "spread",
    "namespace", "grace", "overhead", "resources", "initContainers", "env", "spec",
}  # fmt: skip

NOT_READY: JsonObject = {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}
"""The taint that Kubernetes' node lifecycle controller puts on a node that is not Ready."""


def pods(name: str, spec: str | Mapping[str, JsonValue] | None, where: str) -> Iterator[JsonObject]:
    """Pods from `1c/1g`, `4 x 1c`, nothing (no requests) or a map; several are named NAME-0, NAME-1, ..."""
    given: dict[str, JsonValue] = {"size": spec} if isinstance(spec, str) else dict(spec or {})
    _only(given, _POD_KEYS, where)
    count = given.get("count")
    if isinstance(size := given.get("size"), str) and "x" in size:
        count, _, least = counted(size, f"{where}.size")
        if least is not None or "count" in given:
            raise InputError(
                Problem("VC0302", where, "pods have one count and no minimum; a group has `min`")
            )
        given["size"] = size.split("x", 1)[1].strip()
    for index in range(number(count, f"{where}.count") if count is not None else 1):
        yield _pod(name if count is None else f"{name}-{index}", given, where)


def _pod(name: str, given: Mapping[str, JsonValue], where: str) -> JsonObject:
    annotations: JsonObject = _strings(given, "annotations")
    if "group" in given:
        annotations["scheduling.k8s.io/group-name"] = str(given["group"])
    if "role" in given:
        annotations["volcano.sh/task-spec"] = str(given["role"])
    if "queue" in given:
        annotations["scheduling.volcano.sh/queue-name"] = str(given["queue"])
    labels = _strings(given, "labels")
    metadata: JsonObject = {
        "name": name,
        "namespace": str(given.get("namespace", NAMESPACE)),
        "labels": labels,
        "annotations": annotations,
    }
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": pod_spec(given, where)}


def pod_spec(given: Mapping[str, JsonValue], where: str) -> JsonObject:
    """The spec of a pod from a map of short forms."""
    container: JsonObject = {"name": "main", "image": "busybox", "resources": _resources(given, where)}
    if "ports" in given:
        container["ports"] = [
            {"containerPort": port, "hostPort": port} for port in _list(given, "ports", where)
        ]
    if "env" in given:
        container["env"] = [{"name": name, "value": value} for name, value in _strings(given, "env").items()]
    spec: JsonObject = {
        "schedulerName": str(given.get("scheduler", "volcano")),
        "restartPolicy": "Never",
        "containers": [container],
    }
    if "init" in given:
        init = amounts(str(given["init"]), f"{where}.init")
        spec["initContainers"] = [{"name": "init", "image": "busybox", "resources": {"requests": dict(init)}}]
    if "priority" in given:
        spec["priorityClassName"] = priority_class_name(given["priority"])
    if "node" in given:
        spec["nodeName"] = given["node"]
    if "gates" in given:
        spec["schedulingGates"] = [{"name": gate} for gate in _list(given, "gates", where)]
    if "claims" in given:
        spec["volumes"] = [
            {"name": f"claim-{index}", "persistentVolumeClaim": {"claimName": claim}}
            for index, claim in enumerate(_list(given, "claims", where))
        ]
    for key, field in (("grace", "terminationGracePeriodSeconds"), ("spread", "topologySpreadConstraints")):
        if key in given:
            spec[field] = given[key]
    for key in ("nodeSelector", "affinity", "tolerations", "initContainers", "overhead"):
        if key in given:
            spec[key] = given[key]
    return _merged(_of_runtime(spec), _map(given, "spec"))


def _of_runtime(spec: JsonObject) -> JsonObject:
    overhead = spec.get("overhead")
    return {**spec, "runtimeClassName": runtime_class(overhead)} if overhead else spec


def runtime_class(overhead: JsonValue) -> str:
    """The name of the RuntimeClass that asks for an overhead: an API server takes overhead from there alone."""
    amounts = overhead if isinstance(overhead, dict) else {}
    words = [f"{key}-{value}" for key, value in sorted(amounts.items())]
    return re.sub(r"[^a-z0-9]+", "-", "-".join(["overhead", *words]).lower()).strip("-")


def _resources(given: Mapping[str, JsonValue], where: str) -> JsonObject:
    requests: JsonObject = {}
    if size := given.get("size"):
        requests = {"memory": "16Mi", **amounts(str(size), f"{where}.size")}
    requests.update({key: str(value) for key, value in _map(given, "resources").items()})
    limits = {name: value for name, value in requests.items() if "/" in name}
    if "limits" in given:
        limits.update(amounts(str(given["limits"]), f"{where}.limits"))
    return {**({"requests": requests} if requests else {}), **({"limits": limits} if limits else {})}


_JOB_KEYS = {
    "min", "queue", "priority", "tasks", "policies", "plugins", "maxRetry", "minSuccess", "ttl", "annotations",
    "labels", "namespace", "spec",
}  # fmt: skip


def job(name: str, spec: str | Mapping[str, JsonValue], where: str) -> JsonObject:
    """A vcjob from `4 x 1c`, or a map: min, queue, priority, tasks {name: `3 x 1c (min 2)` or a map of pod keys with
    `replicas` and `min`}, policies, plugins, maxRetry, ttl; `spec` is merged over the result."""
    given: dict[str, JsonValue] = {"tasks": {"t": spec}} if isinstance(spec, str) else dict(spec)
    _only(given, _JOB_KEYS, where)
    body: JsonObject = {
        "schedulerName": "volcano",
        "tasks": [_task(task, each, f"{where}.tasks.{task}") for task, each in _map(given, "tasks").items()],
    }
    names = {"min": "minAvailable", "ttl": "ttlSecondsAfterFinished"}
    for key in ("min", "queue", "policies", "plugins", "maxRetry", "minSuccess", "ttl"):
        if key in given:
            body[names.get(key, key)] = given[key]
    if "priority" in given:
        body["priorityClassName"] = priority_class_name(given["priority"])
    body = _merged(body, _map(given, "spec"))
    return {
        "apiVersion": "batch.volcano.sh/v1alpha1",
        "kind": "Job",
        "metadata": {
            "name": name,
            "namespace": str(given.get("namespace", NAMESPACE)),
            "annotations": _strings(given, "annotations"),
            "labels": _strings(given, "labels"),
        },
        "spec": body,
    }


def _task(name: str, spec: JsonValue, where: str) -> JsonObject:
    given: dict[str, JsonValue] = {"size": spec} if isinstance(spec, str) else dict(_as_map(spec, where))
    minimum: JsonValue = given.pop("min", None)
    replicas: JsonValue = given.pop("replicas", 1)
    policies, depends = given.pop("policies", None), given.pop("dependsOn", None)
    partitions = given.pop("partitions", None)
    if isinstance(size := given.get("size"), str) and (" x " in size or "(min" in size):
        replicas, _, least = counted(size, f"{where}.size")
        minimum = least if least is not None else minimum
        given["size"] = size.split(" x ", 1)[-1].split("(", 1)[0].strip()
    _only(given, _POD_KEYS, where)
    metadata: JsonObject = {
        "labels": _strings(given, "labels"),
        "annotations": _strings(given, "annotations"),
    }
    return {
        "name": name,
        "replicas": replicas,
        **({"minAvailable": minimum} if minimum is not None else {}),
        **({"policies": policies} if policies is not None else {}),
        **({"dependsOn": depends} if depends is not None else {}),
        **({"partitionPolicy": partitions} if partitions is not None else {}),
        "template": {"metadata": metadata, "spec": pod_spec({"scheduler": "", **given}, where)},
    }


def group(name: str, spec: int | Mapping[str, JsonValue], where: str) -> JsonObject:
    """A PodGroup from its minMember, or a map: min, queue, roles, resources, priority, phase, annotations."""
    given: dict[str, JsonValue] = {"min": spec} if isinstance(spec, int) else dict(spec)
    keys = {"min", "queue", "roles", "resources", "priority", "phase", "annotations", "namespace", "spec"}
    _only(given, keys, where)
    body: JsonObject = {"minMember": given.get("min", 1)}
    if "queue" in given:
        body["queue"] = given["queue"]
    if "roles" in given:
        body["minTaskMember"] = given["roles"]
    if "resources" in given:
        body["minResources"] = _amounts_or_map(given, "resources", where)
    if "priority" in given:
        body["priorityClassName"] = priority_class_name(given["priority"])
    body = _merged(body, _map(given, "spec"))
    return {
        "apiVersion": "scheduling.volcano.sh/v1beta1",
        "kind": "PodGroup",
        "metadata": {
            "name": name,
            "namespace": str(given.get("namespace", NAMESPACE)),
            "annotations": _strings(given, "annotations"),
        },
        "spec": body,
        **({"status": {"phase": given["phase"]}} if "phase" in given else {}),
    }


def queue(name: str, spec: Mapping[str, JsonValue] | None, where: str) -> JsonObject:
    """A Queue from a map: weight, priority, parent, reclaimable; capability, deserved, guarantee as amounts or maps."""
    given = dict(spec or {})
    amounts_keys = {"capability", "deserved", "guarantee"}
    _only(
        given,
        {"weight", "priority", "parent", "reclaimable", "annotations", "state", "spec", *amounts_keys},
        where,
    )
    body: JsonObject = {
        key: given[key] for key in ("weight", "priority", "parent", "reclaimable") if key in given
    }
    for key in sorted(amounts_keys & set(given)):
        listed = _amounts_or_map(given, key, where)
        body[key] = {"resource": listed} if key == "guarantee" else listed
    body = _merged(body, _map(given, "spec"))
    return {
        "apiVersion": "scheduling.volcano.sh/v1beta1",
        "kind": "Queue",
        "metadata": {"name": name, "annotations": _strings(given, "annotations")},
        "spec": body,
        **({"status": {"state": given["state"]}} if "state" in given else {}),
    }


def priority_class_name(priority: JsonValue) -> str:
    """The PriorityClass of a scenario's `priority`: a number has one of its own (`priority-100`), a name is taken."""
    if isinstance(priority, bool) or not isinstance(priority, int | str):
        raise InputError(Problem("VC0302", "priority", f"expected a number or a name, got {priority!r}"))
    return f"priority-{priority}" if isinstance(priority, int) else str(priority)


def priority_class(name: str, value: int, **more: JsonValue) -> JsonObject:
    """A PriorityClass."""
    return {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": name},
        "value": value,
        **more,
    }


def _only(given: Mapping[str, JsonValue], known: set[str], where: str) -> None:
    for key in given:
        if key not in known:
            raise InputError(
                Problem("VC0302", f"{where}.{key}", f"unknown key '{key}'{did_you_mean(key, known)}")
            )


def number(value: JsonValue, where: str) -> int:
    """A whole number. InputError VC0302 for anything else."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise InputError(Problem("VC0302", where, f"expected a number, got {value!r}"))
    return value


def _amounts_or_map(given: Mapping[str, JsonValue], key: str, where: str) -> JsonObject:
    value = given[key]
    return dict(amounts(value, f"{where}.{key}")) if isinstance(value, str) else _map(given, key)


def _merged(old: JsonObject, more: JsonObject) -> JsonObject:
    """`more` over `old`: maps key by key, all else whole."""
    made = dict(old)
    for key, value in more.items():
        below = made.get(key)
        made[key] = _merged(below, value) if isinstance(below, dict) and isinstance(value, dict) else value
    return made


def _list(given: Mapping[str, JsonValue], key: str, where: str) -> list[JsonValue]:
    value = given.get(key)
    if value is None or isinstance(value, list):
        return value or []
    raise InputError(Problem("VC0302", f"{where}.{key}", f"expected a list, got {value!r}"))


def _map(given: Mapping[str, JsonValue], key: str) -> JsonObject:
    return _as_map(given.get(key) or {}, key)


def _as_map(value: JsonValue, where: str) -> JsonObject:
    if not isinstance(value, dict):
        raise InputError(Problem("VC0302", where, f"expected a map, got {value!r}"))
    return dict(value)


def _strings(given: Mapping[str, JsonValue], key: str) -> JsonObject:
    return {name: str(value) for name, value in _map(given, key).items()}

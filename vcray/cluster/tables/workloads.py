"""The cells of what makes pods: controllers, jobs, templates, autoscalers."""

from __future__ import annotations

from vcray.api.ages import UNKNOWN, duration, since
from vcray.api.jsonview import dig, dig_int, dig_object, dig_objects, dig_str, holds
from vcray.api.meta import JsonObject, JsonValue, seconds_of
from vcray.cluster.kinds.conversion import AUTOSCALERS_V1, AUTOSCALERS_V2, converted
from vcray.cluster.tables.cells import (
    NONE,
    UNSET,
    Cells,
    Printer,
    age,
    containers,
    labels,
    printer,
    selector,
)


def _template(obj: JsonObject) -> JsonValue:
    return dig(obj, "spec", "template")


def _template_cells(obj: JsonObject, now: float) -> Cells:
    del now
    return [*containers(obj.get("template")), labels(dig(obj, "template", "metadata", "labels"))]


def _replicas(obj: JsonObject) -> Cells:
    return [
        dig_int(obj, "spec", "replicas"),
        dig_int(obj, "status", "replicas"),
        dig_int(obj, "status", "readyReplicas"),
    ]


def _controller(obj: JsonObject, now: float) -> Cells:
    return [*_replicas(obj), age(obj, now), *containers(_template(obj)), labels(dig(obj, "spec", "selector"))]


def _replica_set(obj: JsonObject, now: float) -> Cells:
    chosen = selector(dig(obj, "spec", "selector"))
    return [*_replicas(obj), age(obj, now), *containers(_template(obj)), chosen]


def _ready(obj: JsonObject) -> str:
    return f"{dig_int(obj, 'status', 'readyReplicas')}/{dig_int(obj, 'spec', 'replicas')}"


def _deployment(obj: JsonObject, now: float) -> Cells:
    return [
        _ready(obj),
        dig_int(obj, "status", "updatedReplicas"),
        dig_int(obj, "status", "availableReplicas"),
        age(obj, now),
        *containers(_template(obj)),
        selector(dig(obj, "spec", "selector"), ""),
    ]


def _stateful_set(obj: JsonObject, now: float) -> Cells:
    return [_ready(obj), age(obj, now), *containers(_template(obj))]


def _daemon_set(obj: JsonObject, now: float) -> Cells:
    counts = (
        "desiredNumberScheduled",
        "currentNumberScheduled",
        "numberReady",
        "updatedNumberScheduled",
        "numberAvailable",
    )
    return [
        *(dig_int(obj, "status", count) for count in counts),
        labels(dig(obj, "spec", "template", "spec", "nodeSelector")),
        age(obj, now),
        *containers(_template(obj)),
        selector(dig(obj, "spec", "selector")),
    ]


def _job_state(obj: JsonObject) -> str:
    for kind, word in (("Complete", "Complete"), ("Failed", "Failed")):
        if holds(obj, kind):
            return word
    if dig(obj, "metadata", "deletionTimestamp"):
        return "Terminating"
    for kind in ("Suspended", "FailureTarget", "SuccessCriteriaMet"):
        if holds(obj, kind):
            return kind
    return "Running"


def _job(obj: JsonObject, now: float) -> Cells:
    wanted, done = dig(obj, "spec", "completions"), dig_int(obj, "status", "succeeded")
    parallel = dig_int(obj, "spec", "parallelism")
    completions = f"{done}/1 of {parallel}" if parallel > 1 else f"{done}/1"
    if isinstance(wanted, int):
        completions = f"{done}/{wanted}"
    started = seconds_of(dig(obj, "status", "startTime"))
    ended = seconds_of(dig(obj, "status", "completionTime"))
    took = "" if started is None else duration((now if ended is None else ended) - started)
    chosen = selector(dig(obj, "spec", "selector"))
    return [_job_state(obj), completions, took, age(obj, now), *containers(_template(obj)), chosen]


def _cron_job(obj: JsonObject, now: float) -> Cells:
    last, suspended = dig(obj, "status", "lastScheduleTime"), dig(obj, "spec", "suspend")
    inner = dig(obj, "spec", "jobTemplate", "spec")
    return [
        dig_str(obj, "spec", "schedule"),
        dig_str(obj, "spec", "timeZone") or NONE,
        UNSET if suspended is None else str(bool(suspended)),
        len(dig_objects(obj, "status", "active")),
        since(last, now) if last else NONE,
        age(obj, now),
        *containers(dig(inner, "template")),
        selector(dig(inner, "selector")),
    ]


def _revision(obj: JsonObject, now: float) -> Cells:
    owners = dig_objects(obj, "metadata", "ownerReferences")
    owner = next((each for each in owners if each.get("controller")), None)
    told = NONE
    if owner is not None:
        group = dig_str(owner, "apiVersion").rpartition("/")[0]
        kind = dig_str(owner, "kind").lower()
        told = f"{kind}.{group}/{dig_str(owner, 'name')}" if group else f"{kind}/{dig_str(owner, 'name')}"
    return [told, dig_int(obj, "revision"), age(obj, now)]


def _scale(obj: JsonObject, now: float) -> Cells:
    return [dig_int(obj, "spec", "replicas"), dig_int(obj, "status", "replicas"), age(obj, now)]


_METRICS = {
    "External": "external",
    "Pods": "pods",
    "Object": "object",
    "Resource": "resource",
    "ContainerResource": "containerResource",
}


def _autoscaler(obj: JsonObject, now: float) -> Cells:
    target = dig_object(obj, "spec", "scaleTargetRef")
    fewest = dig(obj, "spec", "minReplicas")
    return [
        f"{dig_str(target, 'kind')}/{dig_str(target, 'name')}",
        _metrics(obj),
        UNSET if fewest is None else str(fewest),
        dig_int(obj, "spec", "maxReplicas"),
        dig_int(obj, "status", "currentReplicas"),
        age(obj, now),
    ]


def _metrics(obj: JsonObject) -> str:
    if obj.get("apiVersion") == AUTOSCALERS_V1.api_version:
        obj = converted(obj, AUTOSCALERS_V1, AUTOSCALERS_V2)
    wanted = dig_objects(obj, "spec", "metrics")
    if not wanted:
        return NONE
    told = dig_objects(obj, "status", "currentMetrics")
    parts = [_metric(each, told[index] if index < len(told) else {}) for index, each in enumerate(wanted)]
    shown = ", ".join(parts[:2])
    return f"{shown} + {len(parts) - 2} more..." if len(parts) > 2 else shown


def _metric(wanted: JsonObject, told: JsonObject) -> str:
    key = _METRICS.get(dig_str(wanted, "type"))
    if key is None:
        return "<unknown type>"
    source, current = dig_object(wanted, key), dig_object(told, key, "current")
    average = dig(source, "target", "averageValue") or source.get("targetAverageValue")
    used = dig(source, "target", "averageUtilization")
    opening = f"{dig_str(source, 'name')}: " if key in ("resource", "containerResource") else ""
    if average is not None:
        suffix = " (avg)" if key in ("external", "object") else ""
        return f"{opening}{current.get('averageValue', UNKNOWN)}/{average}{suffix}"
    if opening:
        now_used = current.get("averageUtilization")
        shown = UNKNOWN if now_used is None else f"{now_used}%"
        return f"{opening}{shown}/{'<auto>' if used is None else f'{used}%'}"
    return f"{current.get('value', UNKNOWN)}/{dig(source, 'target', 'value')}"


_WIDE = "Age|Containers+|Images+"
PRINTERS: dict[str, Printer] = {
    "podtemplates": printer("Containers|Images|Pod Labels", _template_cells),
    "replicationcontrollers": printer(
        f"Desired:integer|Current:integer|Ready:integer|{_WIDE}|Selector+", _controller
    ),
    "replicasets.apps": printer(
        f"Desired:integer|Current:integer|Ready:integer|{_WIDE}|Selector+", _replica_set
    ),
    "deployments.apps": printer(f"Ready|Up-to-date|Available|{_WIDE}|Selector+", _deployment),
    "statefulsets.apps": printer(f"Ready|{_WIDE}", _stateful_set),
    "daemonsets.apps": printer(
        "Desired:integer|Current:integer|Ready:integer|Up-to-date:integer|Available:integer|Node Selector|"
        f"{_WIDE}|Selector+",
        _daemon_set,
    ),
    "controllerrevisions.apps": printer("Controller|Revision|Age", _revision),
    "jobs.batch": printer(f"Status|Completions|Duration|{_WIDE}|Selector+", _job),
    "cronjobs.batch": printer(
        f"Schedule|Timezone|Suspend:boolean|Active:integer|Last Schedule|{_WIDE}|Selector+", _cron_job
    ),
    "horizontalpodautoscalers.autoscaling": printer(
        "Reference|Targets|MinPods|MaxPods|Replicas|Age", _autoscaler
    ),
    "scale": printer("Desired:integer|Available:integer|Age", _scale),
}

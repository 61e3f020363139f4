"""The cells of nodes, namespaces, events, and of small objects of the core group."""

from __future__ import annotations

from vcray.api.ages import UNKNOWN, since
from vcray.api.jsonview import condition, dig, dig_int, dig_object, dig_objects, dig_str
from vcray.api.meta import JsonObject
from vcray.cluster.tables.cells import (
    NONE,
    Cells,
    Printer,
    age,
    columns,
    name,
    printer,
)

_ROLE_PREFIX, _ROLE_LABEL = "node-role.kubernetes.io/", "kubernetes.io/role"


def _roles(node: JsonObject) -> str:
    found = set()
    for key, value in dig_object(node, "metadata", "labels").items():
        role = key.removeprefix(_ROLE_PREFIX)
        if key.startswith(_ROLE_PREFIX) and role:
            found.add(role)
        elif key == _ROLE_LABEL and value:
            found.add(str(value))
    return ",".join(sorted(found)) or NONE


def _address(node: JsonObject, kind: str) -> str:
    for each in dig_objects(node, "status", "addresses"):
        if each.get("type") == kind:
            return dig_str(each, "address")
    return NONE


def _node(node: JsonObject, now: float) -> Cells:
    ready = condition(node, "Ready")
    words = ["Unknown" if not ready else "Ready" if ready == "True" else "NotReady"]
    if dig(node, "spec", "unschedulable"):
        words.append("SchedulingDisabled")
    info = dig_object(node, "status", "nodeInfo")
    kernel, architecture = dig_str(info, "kernelVersion") or UNKNOWN, dig_str(info, "architecture")
    return [
        ",".join(words),
        _roles(node),
        age(node, now),
        dig_str(info, "kubeletVersion"),
        _address(node, "InternalIP"),
        _address(node, "ExternalIP"),
        dig_str(info, "osImage") or UNKNOWN,
        f"{kernel} ({architecture})" if architecture else kernel,
        dig_str(info, "containerRuntimeVersion") or UNKNOWN,
    ]


def _event(event: JsonObject, now: float) -> Cells:
    """An event of either shape."""
    new = "regarding" in event or event.get("apiVersion") == "events.k8s.io/v1"
    about = dig_object(event, "regarding" if new else "involvedObject")
    source = dig_object(event, "deprecatedSource" if new else "source")
    first_at = event.get("deprecatedFirstTimestamp" if new else "firstTimestamp") or event.get("eventTime")
    last_at = event.get("deprecatedLastTimestamp" if new else "lastTimestamp")
    first = since(first_at, now)
    last = since(last_at, now) if last_at else first
    count = dig_int(event, "deprecatedCount" if new else "count") or 1
    series = event.get("series")
    if isinstance(series, dict):
        last, count = since(series.get("lastObservedTime"), now), dig_int(series, "count")
    kind, called = dig_str(about, "kind").lower(), dig_str(about, "name")
    component = dig_str(source, "component") or dig_str(
        event, "reportingController" if new else "reportingComponent"
    )
    host = dig_str(source, "host") or dig_str(event, "reportingInstance")
    return [
        last,
        dig_str(event, "type"),
        dig_str(event, "reason"),
        f"{kind}/{called}" if called else kind,
        dig_str(about, "fieldPath"),
        f"{component}, {host}" if host else component,
        dig_str(event, "note" if new else "message").strip(),
        first,
        count,
        name(event),
    ]


def _namespace(obj: JsonObject, now: float) -> Cells:
    return [dig_str(obj, "status", "phase"), age(obj, now)]


def _secret(obj: JsonObject, now: float) -> Cells:
    return [dig_str(obj, "type"), len(dig_object(obj, "data")), age(obj, now)]


def _config_map(obj: JsonObject, now: float) -> Cells:
    return [len(dig_object(obj, "data")) + len(dig_object(obj, "binaryData")), age(obj, now)]


def _aged(obj: JsonObject, now: float) -> Cells:
    return [age(obj, now)]


def _quota(obj: JsonObject, now: float) -> Cells:
    requests: list[str] = []
    limits: list[str] = []
    hard, used = dig_object(obj, "status", "hard"), dig_object(obj, "status", "used")
    for resource in sorted(hard):
        told = f"{resource}: {used.get(resource, '0')}/{hard[resource]}"
        (limits if resource.startswith("limits.") else requests).append(told)
    return [", ".join(requests), ", ".join(limits), age(obj, now)]


def _component(obj: JsonObject, now: float) -> Cells:
    del now
    for each in dig_objects(obj, "conditions"):
        if each.get("type") == "Healthy":
            word = "Healthy" if each.get("status") == "True" else "Unhealthy"
            return [word, dig_str(each, "message"), dig_str(each, "error")]
    return ["Unknown", "", ""]


def _lease(obj: JsonObject, now: float) -> Cells:
    return [dig_str(obj, "spec", "holderIdentity"), age(obj, now)]


def _priority_class(obj: JsonObject, now: float) -> Cells:
    default = bool(obj.get("globalDefault"))
    return [dig_int(obj, "value"), default, age(obj, now), dig_str(obj, "preemptionPolicy")]


def _runtime_class(obj: JsonObject, now: float) -> Cells:
    return [dig_str(obj, "handler"), age(obj, now)]


_EVENTS = Printer(
    columns(
        "Last Seen|Type|Reason|Object|Subobject+|Source+|Message|First Seen+|Count+|Name+",
    ),
    _event,
)
PRINTERS: dict[str, Printer] = {
    "nodes": printer(
        "Status|Roles|Age|Version|Internal-IP+|External-IP+|OS-Image+|Kernel-Version+|Container-Runtime+",
        _node,
    ),
    "events": _EVENTS,
    "events.events.k8s.io": _EVENTS,
    "namespaces": printer("Status|Age", _namespace),
    "secrets": printer("Type|Data|Age", _secret),
    "configmaps": printer("Data|Age", _config_map),
    "serviceaccounts": printer("Age", _aged),
    "resourcequotas": printer("Request|Limit|Age", _quota),
    "componentstatuses": printer("Status|Message|Error", _component),
    "leases.coordination.k8s.io": printer("Holder|Age", _lease),
    "priorityclasses.scheduling.k8s.io": printer(
        "Value:integer|Global-Default:boolean|Age|PreemptionPolicy", _priority_class
    ),
    "runtimeclasses.node.k8s.io": printer("Handler|Age", _runtime_class),
}

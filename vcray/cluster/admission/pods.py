"""What the API server itself does to a new pod beyond defaults: tolerations, priority, first status."""

from __future__ import annotations

from vcray.api.meta import JsonObject, JsonValue
from vcray.api.resources import PODS, PRIORITYCLASSES, Resource
from vcray.cluster.objects import refusals
from vcray.cluster.objects.record import dig, entries, integer, section, text
from vcray.cluster.objects.storage import Storage

SYSTEM_PRIORITIES = {"system-cluster-critical": 2_000_000_000, "system-node-critical": 2_000_001_000}

RUNTIMECLASSES = Resource("node.k8s.io", "v1", "RuntimeClass", "runtimeclasses", False)
_NODE_TROUBLES = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")
_TOLERATED_SECONDS = 300


def tolerate_node_troubles(spec: JsonObject) -> None:
    """Let the pod stay for five minutes on a node that is in trouble, unless it says otherwise, in place."""
    tolerations = spec.get("tolerations")
    present = tolerations if isinstance(tolerations, list) else []
    for key in _NODE_TROUBLES:
        if not any(_covers(item, key) for item in entries(present)):
            present.append(
                {
                    "key": key,
                    "operator": "Exists",
                    "effect": "NoExecute",
                    "tolerationSeconds": _TOLERATED_SECONDS,
                }
            )
    spec["tolerations"] = present


def _covers(toleration: JsonObject, key: str) -> bool:
    return text(toleration.get("key")) in ("", key) and text(toleration.get("effect")) in ("", "NoExecute")


def resolve_priority(pod: JsonObject, storage: Storage) -> None:
    """Set priority and preemption policy from the pod's class or the default class. Forbidden if the class is unknown."""
    spec = section(pod, "spec")
    name = text(dig(pod, "metadata", "name"))
    class_name = text(spec.get("priorityClassName"))
    found = _priority_class(class_name, storage) if class_name else _default_class(storage)
    if class_name and found is None:
        raise refusals.forbidden(PODS, name, f"no PriorityClass with name {class_name} was found")
    value, policy = 0, "PreemptLowerPriority"
    if found is not None:
        value = integer(found.get("value"))
        policy = text(found.get("preemptionPolicy")) or policy
        spec["priorityClassName"] = text(dig(found, "metadata", "name"))
    given = spec.get("priority")
    if given is not None and given != value:
        raise refusals.forbidden(
            PODS,
            name,
            f"the integer value of priority ({given}) must not be provided in pod spec; priority admission controller "
            f"computed {value} from the given PriorityClass name",
        )
    asked = spec.get("preemptionPolicy")
    if asked is not None and asked != policy:
        raise refusals.forbidden(
            PODS,
            name,
            f"the string value of PreemptionPolicy ({asked}) must not be provided in pod spec; priority admission "
            f"controller computed {policy} from the given PriorityClass name",
        )
    spec["priority"], spec["preemptionPolicy"] = value, policy


def resolve_runtime(pod: JsonObject, storage: Storage) -> None:
    """Set the overhead of the pod's runtime class. Forbidden if the class is unknown or another overhead is asked for."""
    spec = section(pod, "spec")
    name, class_name = text(dig(pod, "metadata", "name")), text(spec.get("runtimeClassName"))
    overhead: JsonValue = None
    if class_name:
        record = storage.get(RUNTIMECLASSES, "", class_name)
        if record is None:
            raise refusals.forbidden(PODS, name, f'pod rejected: RuntimeClass "{class_name}" not found')
        overhead = dig(record.decode(), "overhead", "podFixed")
    asked = spec.get("overhead")
    if asked and not overhead:
        why = "pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead"
        raise refusals.forbidden(PODS, name, why)
    if overhead and asked not in (None, overhead):
        why = "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead"
        raise refusals.forbidden(PODS, name, why)
    if overhead:
        spec["overhead"] = overhead


def _priority_class(name: str, storage: Storage) -> JsonObject | None:
    record = storage.get(PRIORITYCLASSES, "", name)
    return None if record is None else record.decode()


def _default_class(storage: Storage) -> JsonObject | None:
    """The class marked as default; of several the one with the lowest value."""
    classes = [record.decode() for record in storage.scan(PRIORITYCLASSES)]
    defaults = [item for item in classes if item.get("globalDefault")]
    return min(defaults, key=lambda item: integer(item.get("value")), default=None)


def first_status(pod: JsonObject, now: str) -> None:
    """The status of a pod that was just created."""
    status: JsonObject = {"phase": "Pending", "qosClass": quality_of_service(pod)}
    if dig(pod, "spec", "schedulingGates"):
        status["conditions"] = [
            {
                "type": "PodScheduled",
                "status": "False",
                "lastProbeTime": None,
                "lastTransitionTime": now,
                "reason": "SchedulingGated",
                "message": "Scheduling is blocked due to non-empty scheduling gates",
            }
        ]
    pod["status"] = status


def quality_of_service(pod: JsonObject) -> str:
    """BestEffort, Burstable or Guaranteed, by cpu and memory of all containers."""
    containers = [c for name in ("initContainers", "containers") for c in entries(dig(pod, "spec", name))]
    requests = [_compute(dig(container, "resources", "requests")) for container in containers]
    limits = [_compute(dig(container, "resources", "limits")) for container in containers]
    if not any(requests) and not any(limits):
        return "BestEffort"
    whole = all(len(limit) == 2 and request == limit for request, limit in zip(requests, limits, strict=True))
    return "Guaranteed" if whole else "Burstable"


def _compute(amounts: JsonValue) -> dict[str, str]:
    if not isinstance(amounts, dict):
        return {}
    return {name: str(amounts[name]) for name in ("cpu", "memory") if str(amounts.get(name) or "0") != "0"}

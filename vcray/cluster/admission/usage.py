"""How much of a quota an object uses, in the names that a ResourceQuota may limit.

Shared by the admission that charges a quota and by the controller that recounts it. Amounts are exact, in billionths, with the
family of suffixes (binary or decimal) in which they were written.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from typing import NamedTuple

from vcray.api.jsonview import dig, dig_int, dig_object, dig_objects, dig_str
from vcray.api.meta import JsonObject, JsonValue
from vcray.api.quantity import QuantityError, canonical, format_bytes, parse_quantity
from vcray.api.resources import Resource

_BILLION = 10**9
_COMPUTE = ("cpu", "memory", "ephemeral-storage")
_ALIASED = ("configmaps", "resourcequotas", "replicationcontrollers", "secrets")
_CLASS_SUFFIX = ".storageclass.storage.k8s.io/"
_CLAIM_NAMES = ("persistentvolumeclaims", "requests.storage")
_SERVICE_NAMES = ("services", "services.nodeports", "services.loadbalancers")
_DEVICES = ".deviceclass.resource.k8s.io/devices"
_MOST_DEVICES = 32
_CLASS_ANNOTATION = "volume.beta.kubernetes.io/storage-class"


class Amount(NamedTuple):
    """A quantity in billionths; `binary` says that it is written with Ki, Mi, …"""

    nanos: int
    binary: bool = False

    def __str__(self) -> str:
        if self.binary and self.nanos % _BILLION == 0:
            return format_bytes(self.nanos // _BILLION)
        return canonical(f"{self.nanos}n")


Amounts = dict[str, Amount]
ONE = Amount(_BILLION)
ZERO = Amount(0)


def amount_of(value: JsonValue) -> Amount:
    """The amount that a quantity's text says; zero for anything else."""
    if not isinstance(value, str | int | float) or isinstance(value, bool):
        return ZERO
    try:
        nanos = parse_quantity(value)
    except QuantityError:
        return ZERO
    return Amount(nanos, isinstance(value, str) and value.endswith("i"))


def amounts_of(value: JsonValue) -> Amounts:
    """A resource list as amounts."""
    return {name: amount_of(item) for name, item in value.items()} if isinstance(value, dict) else {}


def texts_of(amounts: Mapping[str, Amount]) -> JsonObject:
    """Amounts as a resource list."""
    return {name: str(amount) for name, amount in amounts.items()}


def plus(a: Amount, b: Amount, factor: int = 1) -> Amount:
    """The sum, written as the first is unless that is zero."""
    return Amount(a.nanos + factor * b.nanos, a.binary if a.nanos else b.binary)


def total(a: Mapping[str, Amount], b: Mapping[str, Amount], factor: int = 1) -> Amounts:
    """Sums by name."""
    return {
        name: plus(a.get(name, ZERO), b.get(name, ZERO), factor)
        for name in (*a, *(n for n in b if n not in a))
    }


def count_name(resource: Resource) -> str:
    """The name under which a quota limits how many objects of a resource there are."""
    return f"count/{resource.full_name}"


def limited_names(resource: Resource, names: Iterable[str]) -> list[str]:
    """Those of a quota's names that objects of this resource use."""
    test: Callable[[str], bool]
    if resource.group:
        test = _is_device_name if _is_device_claim(resource) else lambda name: False
    else:
        test = {
            "pods": _is_pod_name,
            "services": _is_service_name,
            "persistentvolumeclaims": _is_claim_name,
        }.get(resource.plural, lambda name: resource.plural in _ALIASED and name == resource.plural)
    counted = count_name(resource)
    return [name for name in names if name == counted or test(name)]


def _is_pod_name(name: str) -> bool:
    bare = name.removeprefix("requests.")
    if name == "pods" or bare in _COMPUTE or name.removeprefix("limits.") in _COMPUTE:
        return True
    if bare.startswith("hugepages-"):
        return True
    return bare != name and "/" in bare and "kubernetes.io/" not in bare


def _is_device_claim(resource: Resource) -> bool:
    return resource.group == "resource.k8s.io" and resource.plural == "resourceclaims"


def _is_device_name(name: str) -> bool:
    return name.endswith(_DEVICES)


def _is_service_name(name: str) -> bool:
    return name in _SERVICE_NAMES


def _is_claim_name(name: str) -> bool:
    return name in _CLAIM_NAMES or name.endswith(tuple(_CLASS_SUFFIX + part for part in _CLAIM_NAMES))


def usage_of(resource: Resource, obj: JsonObject, now: float) -> Amounts:
    """What one object uses; `now` in seconds since 1970 ends the charge of pods that are past their grace period."""
    used: Amounts = {count_name(resource): ONE}
    if resource.group:
        return used | (_device_usage(obj) if _is_device_claim(resource) else {})
    match resource.plural:
        case "pods":
            return used | (_pod_usage(obj) if _is_charged(obj, now) else {})
        case "services":
            return used | _service_usage(obj)
        case "persistentvolumeclaims":
            return used | _claim_usage(obj)
    return used | {resource.plural: ONE} if resource.plural in _ALIASED else used


# -- pods -------------------------------------------------------------------------------------------------------------


def _is_charged(pod: JsonObject, now: float) -> bool:
    if dig_str(pod, "status", "phase") in ("Succeeded", "Failed"):
        return False
    deleted = dig_str(pod, "metadata", "deletionTimestamp")
    if not deleted or dig(pod, "metadata", "deletionGracePeriodSeconds") is None:
        return True
    ends = datetime.fromisoformat(deleted).timestamp() + dig_int(
        pod, "metadata", "deletionGracePeriodSeconds"
    )
    return now <= ends


def _pod_usage(pod: JsonObject) -> Amounts:
    requests, limits = pod_amounts(pod, "requests"), pod_amounts(pod, "limits")
    return container_usage(requests, limits)


def container_usage(requests: Mapping[str, Amount], limits: Mapping[str, Amount]) -> Amounts:
    """Requests and limits under the names of quotas."""
    used: Amounts = {"pods": ONE}
    for name in _COMPUTE:
        if name in requests:
            used[name] = used[f"requests.{name}"] = requests[name]
        if name in limits:
            used[f"limits.{name}"] = limits[name]
    for name, amount in requests.items():
        if name.startswith("hugepages-"):
            used[name] = used[f"requests.{name}"] = amount
        elif "/" in name and "kubernetes.io/" not in name:
            used[f"requests.{name}"] = amount
    return used


def pod_amounts(pod: JsonObject, kind: str) -> Amounts:
    """The requests (or limits) of a whole pod: containers together, or the largest moment of its initialization."""
    running: Amounts = {}
    for container in dig_objects(pod, "spec", "containers"):
        running = total(running, amounts_of(dig(container, "resources", kind)))
    peak: Amounts = {}
    sidecars: Amounts = {}
    for container in dig_objects(pod, "spec", "initContainers"):
        own = amounts_of(dig(container, "resources", kind))
        if dig_str(container, "restartPolicy") == "Always":
            sidecars = total(sidecars, own)
            running = total(running, own)
            peak = _larger(peak, sidecars)
        else:
            peak = _larger(peak, total(own, sidecars))
    whole = _larger(running, peak)
    whole |= amounts_of(dig(pod, "spec", "resources", kind))
    overhead = amounts_of(dig(pod, "spec", "overhead"))
    if kind == "limits":
        overhead = {name: amount for name, amount in overhead.items() if name in whole}
    return total(whole, overhead)


def _larger(a: Mapping[str, Amount], b: Mapping[str, Amount]) -> Amounts:
    names = (*a, *(name for name in b if name not in a))
    return {
        name: max(a.get(name, ZERO), b.get(name, ZERO), key=lambda amount: amount.nanos) for name in names
    }


# -- services and claims ----------------------------------------------------------------------------------------------


def _service_usage(service: JsonObject) -> Amounts:
    ports = dig_objects(service, "spec", "ports")
    kind = dig_str(service, "spec", "type")
    balanced = kind == "LoadBalancer"
    if balanced and dig(service, "spec", "allocateLoadBalancerNodePorts") is False:
        ports = [port for port in ports if port.get("nodePort")]
    nodes = len(ports) if kind in ("NodePort", "LoadBalancer") else 0
    return {
        "services": ONE,
        "services.nodeports": Amount(nodes * _BILLION),
        "services.loadbalancers": ONE if balanced else ZERO,
    }


def _claim_usage(claim: JsonObject) -> Amounts:
    used: Amounts = {"persistentvolumeclaims": ONE}
    asked = amount_of(dig(claim, "spec", "resources", "requests", "storage"))
    allocated = amount_of(dig(claim, "status", "allocatedResources", "storage"))
    storage = max(asked, allocated, key=lambda amount: amount.nanos)
    storage = Amount(-(-storage.nanos // _BILLION) * _BILLION, storage.binary)
    if storage.nanos:
        used["requests.storage"] = storage
    annotations = dig_object(claim, "metadata", "annotations")
    storage_class = dig_str(annotations, _CLASS_ANNOTATION) or dig_str(claim, "spec", "storageClassName")
    if storage_class:
        used |= {f"{storage_class}{_CLASS_SUFFIX}{name}": used[name] for name in _CLAIM_NAMES if name in used}
    return used


def _device_usage(claim: JsonObject) -> Amounts:
    """Devices by class; of alternatives each class counts what it would need at most."""
    used: Amounts = {}
    for request in dig_objects(claim, "spec", "devices", "requests"):
        exact = dig_object(request, "exactly") or request
        most: Amounts = {}
        for choice in dig_objects(request, "firstAvailable") or [exact]:
            name = dig_str(choice, "deviceClassName")
            every = dig_str(choice, "allocationMode") == "All"
            count = _MOST_DEVICES if every else dig_int(choice, "count", default=1)
            if name:
                most = _larger(most, {f"{name}{_DEVICES}": Amount(count * _BILLION)})
        used = total(used, most)
    return used

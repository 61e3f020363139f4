"""What a pod asks for and what a node offers, in the scheduler's units.

Units: cpu in thousandths; memory, ephemeral-storage and hugepages-* in bytes; `pods` in whole pods; every other scalar
resource in thousandths (one GPU is 1000). Names that are no scalar resource in Kubernetes' sense (`storage`,
`requests.cpu`, `limits.memory`, `count/...`) are dropped, so quota-style keys in a PodGroup's minResources do not count.
Volcano keeps ephemeral-storage and hugepages in thousandths too; bytes do not overflow on large clusters.

The pod rule is Kubernetes' (`resource.PodRequests` of component-helpers): containers and sidecars summed, or the
largest moment of initialisation, whichever is more; pod-level requests override; overhead on top; a container being
resized in place counts the most of what it asks for, has and was promised.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Final

from vcray.api import names
from vcray.api.quantity import Quantity, format_bytes, format_milli, format_value, thousandths
from vcray.api.wire import Container, ContainerStatus, Pod, ResourceList

COUNTED_OBJECTS: Final = (
    "pods",
    "resourcequotas",
    "services",
    "replicationcontrollers",
    "secrets",
    "configmaps",
    "persistentvolumeclaims",
    "services.nodeports",
    "services.loadbalancers",
)
"""Names of quotas that count objects: whole numbers only."""
MILLI: Final = 1
BYTES: Final = 1000
DEFAULT_CPU_MILLI: Final = 100
"""What scoring counts for a container that asks for no cpu."""
DEFAULT_MEMORY_BYTES: Final = 200 * 2**20
"""What scoring counts for a container that asks for no memory."""

_NAME = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?")
_DOMAIN = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_DEFAULTS = {names.CPU: DEFAULT_CPU_MILLI, names.MEMORY: DEFAULT_MEMORY_BYTES * 1000}


@lru_cache(maxsize=4096)
def thousandths_per_unit(name: str) -> int:
    """How many thousandths make one scheduler unit of a resource: 1 (MILLI), 1000 (BYTES), or 0 if it is dropped."""
    if name == names.CPU:
        return MILLI
    if name in (names.MEMORY, names.EPHEMERAL_STORAGE, names.PODS) or name.startswith(names.HUGEPAGES_PREFIX):
        return BYTES
    if name.startswith("count/"):
        return 0
    if name.startswith(names.ATTACHABLE_VOLUMES_PREFIX) or "kubernetes.io/" in name:
        return MILLI
    return MILLI if _is_extended(name) else 0


def _is_extended(name: str) -> bool:
    """Whether a name is an extended resource: `domain/name`, not a quota key, and a valid quota key could be made."""
    domain, slash, bare = name.partition("/")
    if not slash or name.startswith("requests."):
        return False
    quota_domain = f"requests.{domain}"
    return (
        len(quota_domain) <= 253
        and _DOMAIN.fullmatch(quota_domain) is not None
        and _NAME.fullmatch(bare) is not None
    )


def resource_amounts(resources: Mapping[str, Quantity]) -> dict[str, int]:
    """A ResourceList in scheduler units, rounded up, without the names that do not count. Raises QuantityError."""
    return _in_units({name: thousandths(quantity) for name, quantity in resources.items()})


def resource_list(amounts: Mapping[str, int]) -> dict[str, str]:
    """Scheduler units back as canonical quantities, as Volcano writes them into a queue's status."""
    return {name: format_amount(name, amount) for name, amount in amounts.items()}


def format_amount(name: str, amount: int) -> str:
    """One amount in scheduler units as a canonical quantity: bytes in binary, the rest in decimal form."""
    if name == names.PODS:
        return format_value(amount)
    return format_bytes(amount) if thousandths_per_unit(name) == BYTES else format_milli(amount)


def pod_requests(pod: Pod) -> dict[str, int]:
    """What the pod occupies on a node, in scheduler units, with `pods` 1.

    Resources asked for with 0 are kept as 0. Claims count nothing here: attachable volumes need the claim objects.
    Raises QuantityError.
    """
    requests = _in_units(_pod_thousandths(pod, {}))
    requests[names.PODS] = 1
    return requests


def nonzero_requests(pod: Pod) -> tuple[int, int]:
    """(milli-cpu, memory bytes) as scoring counts them: a container without a request counts 100m and 200Mi."""
    totals = _in_units(_pod_thousandths(pod, _DEFAULTS))
    return totals.get(names.CPU, 0), totals.get(names.MEMORY, 0)


def _in_units(counted: Mapping[str, int]) -> dict[str, int]:
    amounts = {}
    for name, amount in counted.items():
        divisor = thousandths_per_unit(name)
        if divisor == MILLI:
            amounts[name] = amount
        elif divisor:
            amounts[name] = -(-amount // divisor)
    return amounts


def _pod_thousandths(pod: Pod, defaults: Mapping[str, int]) -> dict[str, int]:
    spec = pod.spec
    infeasible = _resize_infeasible(pod)
    statuses = {status.name: status for status in pod.status.container_statuses if status.resources}
    total: dict[str, int] = {}
    for container in spec.containers:
        _add(total, _container(container, statuses.get(container.name), infeasible, defaults))
    if spec.init_containers:
        _initialise(pod, total, infeasible, defaults)
    if spec.resources is not None:
        for name, quantity in spec.resources.requests.items():
            if name in (names.CPU, names.MEMORY) or name.startswith(names.HUGEPAGES_PREFIX):
                total[name] = thousandths(quantity)
    if spec.overhead:
        _add(total, _thousandths(spec.overhead))
    return total


def _initialise(pod: Pod, total: dict[str, int], infeasible: bool, defaults: Mapping[str, int]) -> None:
    """Add the sidecars to the total and raise it to the largest moment of initialisation, in order."""
    statuses = {status.name: status for status in pod.status.init_container_statuses if status.resources}
    sidecars: dict[str, int] = {}
    peak: dict[str, int] = {}
    for container in pod.spec.init_containers:
        if container.restart_policy == "Always":
            asked = _container(container, statuses.get(container.name), infeasible, defaults)
            _add(total, asked)
            _add(sidecars, asked)
            _raise_to(peak, sidecars)
        else:
            moment = dict(sidecars)
            _add(moment, _container(container, None, infeasible, defaults))
            _raise_to(peak, moment)
    _raise_to(total, peak)


def _container(
    container: Container, status: ContainerStatus | None, infeasible: bool, defaults: Mapping[str, int]
) -> dict[str, int]:
    """One container's request in thousandths; a request left out is the limit, as the API server fills it in."""
    requests, limits = container.resources.requests, container.resources.limits
    asked = _thousandths({**limits, **requests} if limits and limits.keys() - requests.keys() else requests)
    if status is not None:
        asked = {} if infeasible else asked
        for known in _known(status):
            _raise_to(asked, _thousandths(known))
    return {**defaults, **asked} if defaults else asked


def _known(status: ContainerStatus) -> Iterator[ResourceList]:
    if status.resources is not None:
        yield status.resources.requests
    yield status.allocated_resources


def _thousandths(resources: ResourceList) -> dict[str, int]:
    return {name: thousandths(quantity) for name, quantity in resources.items()}


def _resize_infeasible(pod: Pod) -> bool:
    return any(
        condition.type == "PodResizePending" and condition.reason == "Infeasible"
        for condition in pod.status.conditions
    )


def _add(total: dict[str, int], amounts: Mapping[str, int]) -> None:
    for name, amount in amounts.items():
        total[name] = total.get(name, 0) + amount


def _raise_to(total: dict[str, int], amounts: Mapping[str, int]) -> None:
    for name, amount in amounts.items():
        if name not in total or total[name] < amount:
            total[name] = amount


def qos_class(pod: Pod) -> str:
    """Guaranteed, Burstable or BestEffort, as Kubernetes has it: cpu and memory of all containers, init containers too.

    Raises QuantityError."""
    if pod.spec.resources is not None and (pod.spec.resources.requests or pod.spec.resources.limits):
        parts = [pod.spec.resources]
    else:
        parts = [container.resources for container in (*pod.spec.containers, *pod.spec.init_containers)]
    asked = limited = False
    guaranteed = bool(parts)
    for part in parts:
        for name in (names.CPU, names.MEMORY):
            limit = thousandths(part.limits[name]) if name in part.limits else 0
            request = thousandths(part.requests[name]) if name in part.requests else limit
            asked, limited = asked or bool(request), limited or bool(limit)
            guaranteed = guaranteed and bool(limit) and request == limit
    if not asked and not limited:
        return "BestEffort"
    return "Guaranteed" if guaranteed else "Burstable"

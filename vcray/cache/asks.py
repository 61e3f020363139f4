"""What each container of a pod asks for of devices and of whole cpus: placement on cards and NUMA nodes goes container by
container, where all else of a pod is one sum."""

from __future__ import annotations

from vcray.api import names
from vcray.api.podresources import MILLI, qos_class, thousandths_per_unit
from vcray.api.quantity import thousandths, value
from vcray.api.wire import Container, Pod
from vcray.core.tables import ContainerAsk


def asks_of(pod: Pod) -> tuple[ContainerAsk, ...]:
    """Extended resources of each container that asks for any: init containers and sidecars first, in their order.

    Raises QuantityError."""
    found = [
        _ask(container, "sidecar" if container.restart_policy == "Always" else "init")
        for container in pod.spec.init_containers
    ]
    found += [_ask(container, "main") for container in pod.spec.containers]
    return tuple(ask for ask in found if ask.amounts)


def _ask(container: Container, kind: str) -> ContainerAsk:
    """Limits decide, requests stand in where there is none; whole units, rounded up."""
    resources = container.resources
    named = {**resources.requests, **resources.limits}
    amounts = [
        (name, value(quantity)) for name, quantity in named.items() if "/" in name and _is_device(name)
    ]
    return ContainerAsk(kind, tuple(sorted(amounts)))


def _is_device(name: str) -> bool:
    return thousandths_per_unit(name) == MILLI and "kubernetes.io/" not in name


def pinned_of(pod: Pod) -> tuple[int, ...]:
    """Milli-cpu of each container of a Guaranteed pod that asks for whole cpus anywhere, or has a NUMA policy; empty for
    others. Raises QuantityError."""
    asked = [container.resources.limits.get(names.CPU) for container in pod.spec.containers]
    if None in asked or qos_class(pod) != "Guaranteed":
        return ()
    milli = tuple(thousandths(quantity) for quantity in asked if quantity is not None)
    whole = any(amount and amount % 1000 == 0 for amount in milli)
    return milli if whole or names.NUMA_TOPOLOGY_POLICY in pod.metadata.annotations else ()

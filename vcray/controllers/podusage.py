"""What a pod counts in a ResourceQuota, which is also the unit of a PodGroup's minResources.

The rule is Kubernetes' quota evaluator for pods: `pods` and `count/pods`; requests of cpu, memory, ephemeral-storage
and hugepages under their bare name and with `requests.`, their limits with `limits.`; extended resources as
`requests.<name>`, to which Volcano adds the bare name. A request that is left out is the limit, as the API server
fills it in when the pod is created. Amounts are nano-units until they are written, so sums are exact.
"""

from __future__ import annotations

from collections.abc import Mapping

from vcray.api import names
from vcray.api.meta import JsonObject
from vcray.api.quantity import QuantityError, format_bytes, format_milli, format_value, parse_quantity
from vcray.controllers import raw

NANO = 10**9
_BARE = (names.CPU, names.MEMORY, names.EPHEMERAL_STORAGE)
_LIMITED = (names.CPU, names.MEMORY, names.EPHEMERAL_STORAGE)
_POD_LEVEL = (names.CPU, names.MEMORY)

Usage = dict[str, int]
"""Quota key -> amount in nano-units."""


def pod_usage(spec: JsonObject) -> Usage:
    """What one pod of this pod spec counts. Quantities that cannot be read count nothing."""
    usage: Usage = {"count/pods": NANO, names.PODS: NANO}
    for name, amount in effective(spec, "requests").items():
        if name in _BARE or name.startswith(names.HUGEPAGES_PREFIX) or _is_extended(name):
            usage[name] = usage[f"requests.{name}"] = amount
    for name, amount in effective(spec, "limits").items():
        if name in _LIMITED:
            usage[f"limits.{name}"] = amount
    return usage


def add_usage(total: Usage, usage: Mapping[str, int], times: int = 1) -> None:
    """Add a usage some times over."""
    for name, amount in usage.items():
        total[name] = total.get(name, 0) + amount * times


def usage_json(usage: Mapping[str, int]) -> JsonObject:
    """A ResourceList with canonical quantities, keys sorted."""
    return {name: _format(name, usage[name]) for name in sorted(usage)}


def _format(name: str, nanos: int) -> str:
    if name.endswith((names.MEMORY, names.EPHEMERAL_STORAGE)) or names.HUGEPAGES_PREFIX in name:
        return format_bytes(-(-nanos // NANO))
    return format_milli(-(-nanos // 10**6)) if nanos % NANO else format_value(nanos // NANO)


def _is_extended(name: str) -> bool:
    return "/" in name and "kubernetes.io/" not in name and not name.startswith("requests.")


def effective(spec: JsonObject, side: str) -> Usage:
    """Requests or limits of a pod: containers and sidecars, or the largest moment of its start; then overhead."""
    total: Usage = {}
    for container in raw.tables(spec, "containers"):
        add_usage(total, _amounts(container, side))
    sidecars: Usage = {}
    peak: Usage = {}
    for container in raw.tables(spec, "initContainers"):
        moment = dict(sidecars)
        add_usage(moment, _amounts(container, side))
        _raise_to(peak, moment)
        if raw.text(container, "restartPolicy") == "Always":
            sidecars = moment
    add_usage(total, sidecars)
    _raise_to(total, peak)
    for name, amount in _amounts(spec, side).items():
        if name in _POD_LEVEL or name.startswith(names.HUGEPAGES_PREFIX):
            total[name] = amount
    for name, amount in _quantities(raw.table(spec, "overhead")).items():
        if side == "requests" or name in total:
            total[name] = total.get(name, 0) + amount
    return total


def _amounts(holder: JsonObject, side: str) -> Usage:
    limits = _quantities(raw.table(holder, "resources", "limits"))
    if side == "limits":
        return limits
    return {**limits, **_quantities(raw.table(holder, "resources", "requests"))}


def _quantities(resources: JsonObject) -> Usage:
    amounts: Usage = {}
    for name, quantity in resources.items():
        if isinstance(quantity, str | int | float):
            try:
                amounts[name] = parse_quantity(quantity)
            except QuantityError:
                continue
    return amounts


def _raise_to(total: Usage, usage: Mapping[str, int]) -> None:
    for name, amount in usage.items():
        total[name] = max(total.get(name, 0), amount)

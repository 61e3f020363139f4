"""Amounts of queues as Volcano adds, compares and prints them.

Units: cpu and scalar resources in thousandths, memory in bytes, pods in whole pods. Names that the scheduler does not count
(quota keys) are left out.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

from vcray.api import names
from vcray.api.meta import JsonValue
from vcray.api.podresources import COUNTED_OBJECTS, MILLI, thousandths_per_unit
from vcray.api.quantity import QuantityError, format_bytes, format_milli, milli, parse_quantity, value

Amounts: TypeAlias = dict[str, int]


def is_counted_in_wholes(resource: str) -> bool:
    """Objects and extended resources (devices) have no fractions."""
    extended = "/" in resource and "kubernetes.io/" not in resource
    return resource in COUNTED_OBJECTS or (extended and thousandths_per_unit(resource) == MILLI)


def amounts(resources: Mapping[str, JsonValue]) -> Amounts:
    """A ResourceList in Volcano's units."""
    found: Amounts = {}
    for resource, quantity in resources.items():
        if not isinstance(quantity, str | int | float) or not thousandths_per_unit(resource):
            continue
        try:
            whole = resource in (names.MEMORY, names.PODS)
            found[resource] = value(quantity) if whole else milli(quantity)
        except QuantityError:
            continue
    return found


def falls_short(limit: Amounts, wanted: Amounts) -> bool:
    """Is the limit below what is wanted, in any resource? A device that the limit does not name is short even of none."""
    for resource, amount in wanted.items():
        if resource not in limit and resource not in (names.CPU, names.MEMORY):
            return True
        if limit.get(resource, 0) < amount:
            return True
    return False


def same_amounts(one: Mapping[str, JsonValue], other: Mapping[str, JsonValue]) -> bool:
    """Equal by value, however the quantities are written."""
    return _exact(one) == _exact(other)


def printed(amounts: Amounts) -> str:
    """All amounts, `cpu 1000.00, memory 2048.00, nvidia.com/gpu 1000.00`: cpu, memory, then the rest by name."""
    rest = sorted(amounts.keys() - {names.CPU, names.MEMORY})
    return ", ".join(f"{each} {amounts.get(each, 0):.2f}" for each in (names.CPU, names.MEMORY, *rest))


def printed_one(resource: str, amount: int) -> str:
    """One amount: cpu and memory as quantities, all else as a number with two places."""
    if resource == names.CPU:
        return format_milli(amount)
    return format_bytes(amount) if resource == names.MEMORY else f"{amount:.2f}"


def _exact(resources: Mapping[str, JsonValue]) -> dict[str, object]:
    return {resource: _exact_one(quantity) for resource, quantity in resources.items()}


def _exact_one(quantity: JsonValue) -> object:
    if isinstance(quantity, str | int | float):
        try:
            return parse_quantity(quantity)
        except QuantityError:
            pass
    return quantity

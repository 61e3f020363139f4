"""CEL selectors of devices: does an expression hold for a device? Answers are kept, since devices live long and look alike."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Final

from vcray.api.quantity import format_milli
from vcray.cel.program import CompileError, EvaluationError, compiled
from vcray.core.claims_dra import Device

LITERAL: Final = re.compile(r"""\[\s*(?:"([^"]*)"|'([^']*)')\s*\]""")
"""What an expression looks up by name: a domain that a device lacks is an empty map, as in Kubernetes."""


@lru_cache(maxsize=262_144)
def matches(expression: str, driver: str, device: Device) -> bool:
    """True when the expression is true of the device. One that cannot be compiled, or has no value for it, is not."""
    try:
        return (
            compiled(expression, ("device",)).evaluate({"device": _seen(expression, driver, device)}) is True
        )
    except (CompileError, EvaluationError):
        return False


def _seen(expression: str, driver: str, device: Device) -> Mapping[str, object]:
    """The device as expressions see it."""
    domains = [double or single for double, single in LITERAL.findall(expression)]
    attributes: dict[str, dict[str, object]] = {domain: {} for domain in domains}
    capacity: dict[str, dict[str, object]] = {domain: {} for domain in domains}
    for name, _, value in device.attributes:
        domain, _, plain = name.rpartition("/")
        attributes.setdefault(domain, {})[plain] = value
    for name, amount, _ in device.capacity:
        domain, _, plain = name.rpartition("/")
        capacity.setdefault(domain or driver, {})[plain] = format_milli(amount)
    return {
        "driver": driver,
        "attributes": attributes,
        "capacity": capacity,
        "allowMultipleAllocations": device.shared,
    }

"""The PodGroups of the Spark operator's volcano scheduler, with its own arithmetic (integrations.md 3): amounts of memory are read as
Kubernetes' quantities, one that is none counts nothing, and neither overhead factors nor GPUs are known (trap T9)."""

from __future__ import annotations

from typing import Final

from vcray.api import names
from vcray.api.meta import JsonObject
from vcray.api.quantity import QuantityError, format_milli, parse_quantity
from vcray.controllers import raw

GROUP_FIELDS: Final = ("minMember",)
"""What the scheduler keeps in step when an application runs again: all else stays as it was (trap T31)."""
_NANO: Final = 10**9


def group_name(name: str) -> str:
    """The PodGroup of an application."""
    return f"spark-{name}-pg"


def spec_of(app: JsonObject) -> JsonObject:
    """spec of a new PodGroup."""
    options = raw.table(app, "spec", "batchSchedulerOptions")
    spec: JsonObject = {"minMember": 1, "minResources": raw.table(options, "resources") or _room(app)}
    for field, key in (("queue", "queue"), ("priorityClassName", "priorityClassName")):
        if raw.text(options, key):
            spec[field] = raw.text(options, key)
    return spec


def executors(app: JsonObject) -> int:
    """How many the scheduler counts."""
    instances = raw.number(app, "spec", "executor", "instances", default=2)
    dynamic = raw.table(app, "spec", "dynamicAllocation")
    if dynamic.get("enabled") is not True:
        return instances
    return max(instances, raw.number(dynamic, "initialExecutors"), raw.number(dynamic, "minExecutors"))


def _room(app: JsonObject) -> JsonObject:
    spec = raw.table(app, "spec")
    driver, executor = raw.table(spec, "driver"), raw.table(spec, "executor")
    cpu = memory = 0
    if raw.text(spec, "mode") != "client":
        cpu += _first(driver, ("cores", "coreLimit"))
        memory += _memory(driver)
    number = executors(app)
    cpu += number * _first(executor, ("coreRequest", "cores", "coreLimit"))
    memory += number * _memory(executor)
    amounts = {names.CPU: cpu, names.MEMORY: memory}
    return {name: _spelled(nanos) for name, nanos in amounts.items() if nanos}


def _first(part: JsonObject, fields: tuple[str, ...]) -> int:
    return next((_nanos(part[each]) for each in fields if part.get(each) is not None), 0)


def _memory(part: JsonObject) -> int:
    return _nanos(part.get("memory")) + _nanos(part.get("memoryOverhead"))


def _nanos(spelled: object) -> int:
    if not isinstance(spelled, str | int | float):
        return 0
    try:
        return parse_quantity(spelled)
    except QuantityError:
        return 0


def _spelled(nanos: int) -> str:
    return str(nanos // _NANO) if nanos % _NANO == 0 else format_milli(-(-nanos // 10**6))

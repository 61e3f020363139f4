"""What Spark's pods have in common, whoever starts them, and what a driver and an executor take (integrations.md 3)."""

from __future__ import annotations

from typing import Final

from vcray.api import names
from vcray.api.meta import JsonObject, JsonValue
from vcray.api.quantity import QuantityError, parse_quantity
from vcray.controllers import raw
from vcray.integrations.base import Malformed
from vcray.integrations.binarysizes import MEBIBYTE, memory_bytes

APP_ID: Final = "spark-app-selector"
ROLE: Final = "spark-role"
OPERATOR_APP: Final = "sparkoperator.k8s.io/app-name"
DRIVER: Final = "driver"
EXECUTOR: Final = "executor"

_LEAST_OVERHEAD: Final = 384 * MEBIBYTE
_JVM_OVERHEAD: Final = 0.1
_OTHER_OVERHEAD: Final = 0.4


def role(pod: JsonObject) -> str:
    """driver, executor, or what else the pod says that it is."""
    return raw.labels_of(pod).get(ROLE, "")


def pod_template(app: JsonObject, part: str) -> JsonObject:
    """The pod that the Spark operator lets Spark make of `spec.driver` or `spec.executor`. Raises Malformed."""
    given = raw.table(app, "spec", part)
    container: JsonObject = {"name": part, "resources": _resources(app, part, given)}
    spec: JsonObject = {
        "containers": [container, *raw.tables(given, "sidecars")],
        "initContainers": [*raw.tables(given, "initContainers")],
        "schedulerName": scheduler_name(app, part),
        "priorityClassName": raw.text(given, "priorityClassName"),
    }
    return {**_marks(given), "spec": spec}


def bare_template(app: JsonObject, part: str) -> JsonObject:
    """The same without its containers: what can be read of any application."""
    given = raw.table(app, "spec", part)
    spec: JsonObject = {
        "schedulerName": scheduler_name(app, part),
        "priorityClassName": raw.text(given, "priorityClassName"),
    }
    return {**_marks(given), "spec": spec}


def scheduler_name(app: JsonObject, part: str) -> str:
    """The operator's webhook writes `spec.batchScheduler` over the part's own."""
    return raw.text(app, "spec", "batchScheduler") or raw.text(app, "spec", part, "schedulerName")


def _marks(given: JsonObject) -> JsonObject:
    return {
        "metadata": {"labels": raw.table(given, "labels"), "annotations": raw.table(given, "annotations")}
    }


def _resources(app: JsonObject, part: str, given: JsonObject) -> JsonObject:
    where = f"spec.{part}"
    requests: JsonObject = {names.CPU: _cores(given, where), names.MEMORY: str(_memory(app, given, where))}
    limits: JsonObject = {}
    gpu = raw.table(given, "gpu")
    if raw.text(gpu, "name"):
        limits[raw.text(gpu, "name")] = str(raw.number(gpu, "quantity"))
    return {"requests": requests, "limits": limits}


def _cores(given: JsonObject, where: str) -> str:
    named = raw.text(given, "coreRequest")
    if not named:
        return str(raw.number(given, "cores", default=1))
    try:
        parse_quantity(named)
    except QuantityError as error:
        raise Malformed(f"{where}.coreRequest: {named!r} is no quantity") from error
    return named


def _memory(app: JsonObject, given: JsonObject, where: str) -> int:
    """Bytes: the heap, and above it a fixed amount or a part of the heap, at least 384 MiB."""
    heap = memory_bytes(given.get("memory", "1g"), f"{where}.memory", "m")
    above = given.get("memoryOverhead")
    if above is not None:
        return heap + memory_bytes(above, f"{where}.memoryOverhead", "m")
    part = int(heap // MEBIBYTE * _overhead_factor(app)) * MEBIBYTE  # Spark goes by whole MiB
    return heap + max(_LEAST_OVERHEAD, part)


def _overhead_factor(app: JsonObject) -> float:
    spelled: JsonValue = raw.at(app, "spec", "memoryOverheadFactor")
    if spelled in (None, ""):
        return _OTHER_OVERHEAD if raw.text(app, "spec", "type") in ("Python", "R") else _JVM_OVERHEAD
    try:
        factor = float(str(spelled))
    except ValueError:
        factor = -1.0
    if not 0 <= factor < 100:
        raise Malformed(f"spec.memoryOverheadFactor: must be a number such as 0.1, got {spelled!r}")
    return factor

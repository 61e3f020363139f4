"""FlinkDeployment: JobManagers start with room kept for their TaskManagers, which native ones ask for once they run.

In mode `standalone` the operator makes both at once, and they start together.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Final

from vcray.api import names
from vcray.api.meta import JsonObject, JsonValue
from vcray.api.quantity import QuantityError, parse_quantity
from vcray.api.resources import FLINKDEPLOYMENTS, Resource
from vcray.controllers import raw
from vcray.controllers.base import Seen
from vcray.integrations.base import Asks, Gang, Integration, Malformed, Member, Part, count
from vcray.integrations.binarysizes import memory_bytes
from vcray.integrations.flink import _clusters as flink

FINISHED: Final = ("FINISHED", "FAILED", "CANCELED")
"""States of a job that has ended. Its JobManager stays to be asked about it, native TaskManagers go."""
_SLOTS: Final = "taskmanager.numberOfTaskSlots"
_MAIN_CONTAINER: Final = "flink-main-container"
_MEMORY: Final = {"jobManager": "1600m", "taskManager": "1728m"}
"""Flink's own defaults."""


class FlinkDeployment(Integration):
    """Application clusters and session clusters."""

    name: ClassVar[str] = "flinkdeployment"
    kinds: ClassVar[tuple[Resource, ...]] = (FLINKDEPLOYMENTS,)
    pod_labels: ClassVar[tuple[str, ...]] = flink.POD_LABELS

    def asks(self, owner: JsonObject) -> Asks:
        spec = raw.table(owner, "spec")
        paths = (("jobManager", "podTemplate"), ("podTemplate",), ("taskManager", "podTemplate"))
        return Asks(templates=tuple(raw.table(spec, *path) for path in paths))

    def gangs(self, owner: JsonObject, seen: Seen) -> Sequence[Gang]:
        spec, name = raw.table(owner, "spec"), flink.group_name(raw.name(owner))
        if raw.text(spec, "job", "state") == "suspended":
            gone = raw.text(owner, "status", "jobManagerDeploymentStatus") == "MISSING"
            return () if gone else (Gang(name),)
        masters = count(spec, "spec.jobManager.replicas", "jobManager", "replicas", default=1)
        standalone = raw.text(spec, "mode") == "standalone"
        over = raw.text(owner, "status", "jobStatus", "state") in FINISHED and not standalone
        workers = 0 if over else _task_managers(spec)
        at_once = workers if standalone else 0
        return (
            Gang(
                name,
                (
                    Part(flink.JOB_MANAGER, masters, masters, _template(spec, "jobManager")),
                    Part(flink.TASK_MANAGER, at_once, workers, _template(spec, "taskManager")),
                ),
            ),
        )

    def member(self, owner: JsonObject, pod: JsonObject) -> Member | None:
        return flink.member(raw.name(owner), pod)


def _task_managers(spec: JsonObject) -> int:
    """As many as are named, else as the parallelism needs; a session cluster begins without."""
    named = raw.at(spec, "taskManager", "replicas")
    if named is not None:
        return count(spec, "spec.taskManager.replicas", "taskManager", "replicas", default=0)
    parallel = count(spec, "spec.job.parallelism", "job", "parallelism", default=0)
    spelled = str(raw.table(spec, "flinkConfiguration").get(_SLOTS, "1"))
    if not spelled.isdecimal() or int(spelled) < 1:
        raise Malformed(f"spec.flinkConfiguration[{_SLOTS}]: must be a number of at least 1, got {spelled!r}")
    return -(-parallel // int(spelled))


def _template(spec: JsonObject, part: str) -> JsonObject:
    """The pod: Flink's container by the part's resource, and what the pod templates put beside it."""
    template = raw.table(spec, part, "podTemplate") or raw.table(spec, "podTemplate")
    beside = [
        each
        for each in raw.tables(template, "spec", "containers")
        if raw.text(each, "name") != _MAIN_CONTAINER
    ]
    requests: JsonObject = {
        names.CPU: _cpu(raw.at(spec, part, "resource", "cpu"), f"spec.{part}.resource.cpu"),
        names.MEMORY: str(_memory(spec, part)),
    }
    main: JsonObject = {"name": _MAIN_CONTAINER, "resources": {"requests": requests}}
    return {**template, "spec": {**raw.table(template, "spec"), "containers": [main, *beside]}}


def _cpu(spelled: JsonValue, where: str) -> str:
    try:
        parse_quantity(spelled if isinstance(spelled, str | int | float) else "1")
    except QuantityError as error:
        raise Malformed(f"{where}: must be a number of cores, got {spelled!r}") from error
    return "1" if spelled is None else str(spelled)


def _memory(spec: JsonObject, part: str) -> int:
    """Bytes of the process, which is all of its container."""
    spelled = raw.at(spec, part, "resource", "memory")
    return memory_bytes(_MEMORY[part] if spelled is None else spelled, f"spec.{part}.resource.memory", "b")

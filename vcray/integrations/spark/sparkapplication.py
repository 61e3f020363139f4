"""SparkApplication: the driver starts as soon as it finds room, with room kept for the executors that it will ask for.

A queue full of drivers would wait for ever (trap T10), and minMember cannot say it: executors are made once their driver runs. So
minMember is 1 and minResources counts both.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Final

from vcray.api import names
from vcray.api.meta import JsonObject
from vcray.api.resources import PODS, SPARKAPPLICATIONS, Resource
from vcray.controllers import raw
from vcray.controllers.base import Seen
from vcray.integrations.base import Asks, Gang, Integration, Member, Part, count
from vcray.integrations.spark import _pods as spark

FINISHED: Final = ("COMPLETED", "FAILED")
WAITS: Final = ("PENDING_RERUN", "SUBMISSION_FAILED")
"""States between two runs: room is asked for when the next begins."""


class SparkApplication(Integration):
    """Those of a ScheduledSparkApplication as well: it makes SparkApplications."""

    name: ClassVar[str] = "sparkapplication"
    kinds: ClassVar[tuple[Resource, ...]] = (SPARKAPPLICATIONS,)
    pod_labels: ClassVar[tuple[str, ...]] = (spark.OPERATOR_APP,)
    follows_pods: ClassVar[bool] = True

    def asks(self, owner: JsonObject) -> Asks:
        options = raw.table(owner, "spec", "batchSchedulerOptions")
        return Asks(
            queue=raw.text(options, "queue"),
            priority_class=raw.text(options, "priorityClassName"),
            templates=tuple(spark.bare_template(owner, part) for part in (spark.DRIVER, spark.EXECUTOR)),
        )

    def gangs(self, owner: JsonObject, seen: Seen) -> Sequence[Gang]:
        state = _state(owner)
        mode = raw.text(owner, "spec", "mode") or "cluster"
        grouped = raw.text(owner, "spec", "driver", "annotations", names.GROUP_NAME)
        if state in FINISHED or mode not in ("cluster", "client") or grouped:
            return ()
        alive = bool(seen.owned(PODS, raw.uid(owner)))
        if not alive and state in ("", "NEW") and raw.text(owner, "spec", "batchScheduler"):
            return ()  # the operator may be about to make the group itself
        name = group_name(owner)
        suspended = raw.at(owner, "spec", "suspend") is True
        if not alive and (suspended or state in WAITS):
            return ()  # the next run queues anew: its driver alone would slip into a group that was let in before
        if suspended:
            return (Gang(name),)
        executors = Part(spark.EXECUTOR, 0, _reserved(owner), spark.pod_template(owner, spark.EXECUTOR))
        if mode == "client":
            return (Gang(name, (executors,), min_member=1),)
        driver = Part(spark.DRIVER, 1, 1, spark.pod_template(owner, spark.DRIVER))
        return (Gang(name, (driver, executors), min_resources=_said(owner)),)

    def member(self, owner: JsonObject, pod: JsonObject) -> Member | None:
        return Member(group_name(owner), spark.role(pod))

    def rests(self, owner: JsonObject, seen: Seen) -> str:
        if seen.owned(PODS, raw.uid(owner)):
            return ""
        if raw.at(owner, "spec", "suspend") is True:
            return "suspended"
        return "waits for its next run" if _state(owner) in WAITS else ""


def group_name(app: JsonObject) -> str:
    """The PodGroup of an application, as the Spark operator's own plugin calls it."""
    return f"spark-{raw.name(app)}-pg"


def wanted(app: JsonObject) -> int:
    """Executors that the driver asks for first. Raises Malformed."""
    instances = raw.at(app, "spec", "executor", "instances")
    fixed = count(app, "spec.executor.instances", "spec", "executor", "instances", default=2)
    if not _is_elastic(app):
        return fixed
    least, first = (
        count(app, f"spec.dynamicAllocation.{each}", "spec", "dynamicAllocation", each, default=0)
        for each in ("minExecutors", "initialExecutors")
    )
    return max(least, first, 0 if instances is None else fixed)


def _reserved(app: JsonObject) -> int:
    """Executors that room is kept for. Those that the driver let go again are not, once it has had its first ones."""
    first = wanted(app)
    had = raw.table(app, "status", "executorState")
    if not _is_elastic(app) or len(had) < first:
        return first
    return count(
        app, "spec.dynamicAllocation.minExecutors", "spec", "dynamicAllocation", "minExecutors", default=0
    )


def _is_elastic(app: JsonObject) -> bool:
    return raw.at(app, "spec", "dynamicAllocation", "enabled") is True


def _state(app: JsonObject) -> str:
    return raw.text(app, "status", "applicationState", "state")


def _said(app: JsonObject) -> JsonObject | None:
    return raw.table(app, "spec", "batchSchedulerOptions", "resources") or None

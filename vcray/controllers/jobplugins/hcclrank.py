"""The rank by which Ascend's collective library (HCCL) orders the pods of a job, as an annotation.

It comes last, so that it takes over the rank that another plugin or the user has put into the pod's environment, whatever
their names; upstream runs plugins in no order.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from vcray.api.meta import JsonObject
from vcray.controllers import raw
from vcray.controllers.job.view import JobView, TaskView
from vcray.controllers.jobplugins.base import JobPlugin

RANK_ANNOTATION = "hccl/rankIndex"
RANK_VARIABLE = "RANK"


class HcclrankPlugin(JobPlugin):
    """Annotation hccl/rankIndex: kept where the template has one, else RANK of the pod's containers, else masters first
    and workers after them. Pods of other tasks without RANK get none."""

    flags: ClassVar[Mapping[str, str | int | bool]] = {"master": "master", "worker": "worker"}
    leaves_mark: ClassVar[bool] = False
    dresses_last: ClassVar[bool] = True

    def on_pod(self, job: JobView, task: TaskView, index: int, pod: JsonObject) -> JsonObject:
        if not raw.annotation(pod, RANK_ANNOTATION):
            rank = rank_variable(pod) or self._place(job, task, index)
            if rank:
                annotations = raw.strings({**raw.annotations_of(pod), RANK_ANNOTATION: rank})
                raw.table(pod, "metadata")["annotations"] = annotations
        return pod

    def _place(self, job: JobView, task: TaskView, index: int) -> str:
        if task.name == self.options["master"]:
            return str(index)
        if task.name == self.options["worker"]:
            masters = job.task(str(self.options["master"]))
            return str(index + (masters.replicas if masters else 0))
        return ""


def rank_variable(pod: JsonObject) -> str:
    """RANK of the first container that has it, "" when none has a literal one; of several in one the last counts."""
    for container in raw.tables(pod, "spec", "containers"):
        ranks = [item for item in raw.tables(container, "env") if item.get("name") == RANK_VARIABLE]
        if ranks:
            return raw.text(ranks[-1], "value")
    return ""

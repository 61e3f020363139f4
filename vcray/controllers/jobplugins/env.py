"""The index of a pod within its task, as environment variables of every container.

They stand before the user's variables, so that `$(VC_TASK_INDEX)` in one of those is expanded
(volcano-sh/volcano#611).
"""

from __future__ import annotations

from vcray.api.meta import JsonObject
from vcray.controllers import raw
from vcray.controllers.job.view import JobView, TaskView
from vcray.controllers.jobplugins.base import JobPlugin, add_variables, containers_of

TASK_INDEX_VARIABLES = ("VK_TASK_INDEX", "VC_TASK_INDEX")


class EnvPlugin(JobPlugin):
    """Adds VK_TASK_INDEX and VC_TASK_INDEX: the last dash-separated part of the pod's name."""

    def on_pod(self, job: JobView, task: TaskView, index: int, pod: JsonObject) -> JsonObject:
        value = raw.name(pod).rpartition("-")[2]
        for container in containers_of(pod):
            add_variables(container, [(name, value) for name in TASK_INDEX_VARIABLES])
        return pod

"""TF_CONFIG, by which TensorFlow's cluster resolver knows all servers of a job and which one it is.

A job of a single pod gets none: it is no cluster. Every replica has an entry, even where the template fixes one host name
for all of them, since the position in the list is the task's index.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import ClassVar

from vcray.api.meta import JsonObject
from vcray.controllers import raw
from vcray.controllers.job.view import JobView, TaskView
from vcray.controllers.jobplugins.base import JobPlugin, add_variables, host

ROLES = ("ps", "worker", "chief", "evaluator")
"""Arguments that name a role's task, in the order in which TF_CONFIG lists the roles."""


class TensorflowPlugin(JobPlugin):
    """Adds TF_CONFIG to the containers; a pod of no role is of the type of its task's name."""

    flags: ClassVar[Mapping[str, str | int | bool]] = {**{role: role for role in ROLES}, "port": 2222}

    def on_pod(self, job: JobView, task: TaskView, index: int, pod: JsonObject) -> JsonObject:
        if len(job.tasks) == 1 and job.tasks[0].replicas == 1:
            return pod
        config = {
            "cluster": self._cluster(job),
            "task": {"type": self._role(task) or task.name, "index": index},
        }
        text = json.dumps(config, separators=(",", ":"))
        for container in raw.tables(pod, "spec", "containers"):
            add_variables(container, [("TF_CONFIG", text)])
        return pod

    def _role(self, task: TaskView) -> str:
        return next((role for role in ROLES if self.options[role] == task.name), "")

    def _cluster(self, job: JobView) -> dict[str, list[str]]:
        port = self.options["port"]
        servers = {
            self._role(task): [f"{host(job, task, index).address}:{port}" for index in range(task.replicas)]
            for task in job.tasks
        }
        return {role: servers[role] for role in ROLES if servers.get(role)}

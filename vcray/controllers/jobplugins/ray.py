"""A Ray cluster out of a job: one task is the head, another the workers, and their containers run `ray start`.

A Service `<job>-head-svc` leads to the head's GCS, dashboard and client server. The command of the container is replaced;
its arguments and variables stay as they are.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from vcray.api import names
from vcray.api.meta import JsonObject, JsonValue
from vcray.api.resources import SERVICES
from vcray.controllers import raw
from vcray.controllers.base import ReconcileError, Steps
from vcray.controllers.job.view import JobView, TaskView
from vcray.controllers.jobplugins.base import (
    JobPlugin,
    drop_objects,
    host,
    job_selector,
    keep_object,
    open_port,
    own_object,
)

PORTS = {"gcs": "port", "dashboard": "dashboardPort", "client-server": "clientPort"}
"""Names of the head's ports, each with the argument that says its number."""


class RayPlugin(JobPlugin):
    """Commands of head and workers, ports of the head, and its Service.

    No pod is made for a job without the head's task: ReconcileError."""

    flags: ClassVar[Mapping[str, str | int | bool]] = {
        "head": "head",
        "headContainer": "head",
        "worker": "worker",
        "workerContainer": "worker",
        "port": 6379,
        "dashboardPort": 8265,
        "clientPort": 10001,
    }

    def on_pod(self, job: JobView, task: TaskView, index: int, pod: JsonObject) -> JsonObject:
        name = str(self.options["head"])
        head = job.task(name)
        if head is None:
            raise ReconcileError(f"job {job.name} doesn't have head task {name}")
        for container in raw.tables(pod, "spec", "containers"):
            if (task.name, container.get("name")) == (name, self.options["headContainer"]):
                self._lead(container)
            if (task.name, container.get("name")) == (
                self.options["worker"],
                self.options["workerContainer"],
            ):
                address = f"{host(job, head, 0).address}:{self.options['port']}"
                container["command"] = ["sh", "-c", f"ray start --block --address={address}"]
        return pod

    def on_job_add(self, job: JobView) -> Steps[None]:
        yield from keep_object(job, SERVICES, self._service(job))

    def on_job_delete(self, job: JobView) -> Steps[None]:
        yield from drop_objects(job, [(SERVICES, _service_name(job))])

    def _lead(self, container: JsonObject) -> None:
        for name, flag in PORTS.items():
            open_port(container, name, int(self.options[flag]))
        command = (
            "ray start --head --block --dashboard-host=0.0.0.0"
            f" --port={self.options['port']}"
            f" --dashboard-port={self.options['dashboardPort']}"
            f" --ray-client-server-port={self.options['clientPort']}"
        )
        container["command"] = ["sh", "-c", command]

    def _service(self, job: JobView) -> JsonObject:
        ports: list[JsonValue] = [
            {"name": name, "port": self.options[flag], "targetPort": name, "protocol": "TCP"}
            for name, flag in PORTS.items()
        ]
        return {
            **own_object(job, SERVICES, _service_name(job)),
            "spec": {
                "type": "ClusterIP",
                "selector": {**job_selector(job), names.TASK_SPEC: self.options["head"]},
                "ports": ports,
            },
        }


def _service_name(job: JobView) -> str:
    return f"{job.name}-head-svc"

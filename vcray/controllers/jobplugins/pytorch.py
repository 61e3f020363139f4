"""What `torch.distributed` reads from its environment: where rank 0 is, how many there are, and which one this is.

Every master has rank 0, as upstream; a job has one. Pods of tasks that are neither master nor worker learn where the master
is, but have no rank.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from vcray.api.meta import JsonObject
from vcray.controllers import raw
from vcray.controllers.job.view import JobView, TaskView
from vcray.controllers.jobplugins.base import JobPlugin, add_variables, host, open_port

PORT_NAME = "pytorchjob-port"
WAITING_CONTAINER = "wait-for-master"


class PytorchPlugin(JobPlugin):
    """MASTER_ADDR, MASTER_PORT, WORLD_SIZE and RANK, and on demand workers that start only once the master listens.

    A job without the master's task is left as it is."""

    flags: ClassVar[Mapping[str, str | int | bool]] = {
        "master": "master",
        "worker": "worker",
        "port": 23456,
        "wait-master-enabled": False,
        "wait-master-timeout": 300,
        "wait-master-image": "busybox:1.36.1",
    }

    def on_pod(self, job: JobView, task: TaskView, index: int, pod: JsonObject) -> JsonObject:
        master = job.task(str(self.options["master"]))
        if master is None:
            return pod
        address, port = host(job, master, 0).address, int(self.options["port"])
        variables = [
            ("MASTER_ADDR", address),
            ("MASTER_PORT", str(port)),
            ("WORLD_SIZE", str(self._world_size(job))),
            *self._rank(task, index),
        ]
        for container in raw.tables(pod, "spec", "containers"):
            open_port(container, PORT_NAME, port)
            add_variables(container, variables)
        if task.name == self.options["worker"] and self.options["wait-master-enabled"]:
            self._wait(raw.table(pod, "spec"), address, port)
        return pod

    def _world_size(self, job: JobView) -> int:
        roles = (self.options["master"], self.options["worker"])
        return sum(task.replicas for task in job.tasks if task.name in roles)

    def _rank(self, task: TaskView, index: int) -> list[tuple[str, str]]:
        if task.name == self.options["worker"]:
            return [("RANK", str(index + 1))]
        return [("RANK", "0")] if task.name == self.options["master"] else []

    def _wait(self, spec: JsonObject, address: str, port: int) -> None:
        present = raw.tables(spec, "initContainers")
        if any(container.get("name") == WAITING_CONTAINER for container in present):
            return
        script = waiting_script(address, port, int(self.options["wait-master-timeout"]))
        container: JsonObject = {
            "name": WAITING_CONTAINER,
            "image": self.options["wait-master-image"],
            "command": ["sh", "-c", script],
        }
        raw.append(spec, "initContainers", container)


def waiting_script(address: str, port: int, timeout_s: int) -> str:
    """Asks every two seconds whether the port accepts a connection, by nc or by the shell itself; exits 1 when the time
    is over."""
    return (
        f"end=$(( $(date +%s) + {timeout_s} ))\n"
        f"until nc -z -w 2 {address} {port} 2>/dev/null || (: 3<>/dev/tcp/{address}/{port}) 2>/dev/null; do\n"
        f'  if [ "$(date +%s)" -ge "$end" ]; then\n'
        f'    echo "{address}:{port} does not answer after {timeout_s} s" >&2\n'
        f"    exit 1\n"
        f"  fi\n"
        f"  sleep 2\n"
        f"done\n"
    )

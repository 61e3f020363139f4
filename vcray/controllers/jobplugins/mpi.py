"""Where `mpiexec` on the master finds its workers: MPI_HOST, and a port for the ssh servers.

Keys come from the ssh plugin and names from svc; admission adds both to a job with mpi.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from vcray.api.meta import JsonObject
from vcray.controllers.job.view import JobView, TaskView
from vcray.controllers.jobplugins.base import JobPlugin, add_variables, containers_of, hosts, open_port

PORT_NAME = "mpijob-port"
HOSTS_VARIABLE = "MPI_HOST"


class MpiPlugin(JobPlugin):
    """Opens the ssh port in all containers and gives the master's the hosts of all workers, commas between.

    A master whose job has no workers' task is left as it is."""

    flags: ClassVar[Mapping[str, str | int | bool]] = {"master": "master", "worker": "worker", "port": 22}

    def on_pod(self, job: JobView, task: TaskView, index: int, pod: JsonObject) -> JsonObject:
        variables: list[tuple[str, str]] = []
        if task.name == self.options["master"]:
            workers = job.task(str(self.options["worker"]))
            if workers is None:
                return pod
            variables = [(HOSTS_VARIABLE, ",".join(each.address for each in hosts(job, workers)))]
        for container in containers_of(pod):
            open_port(container, PORT_NAME, int(self.options["port"]))
            if variables:
                add_variables(container, variables)
        return pod

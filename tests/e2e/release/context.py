"""One test's namespace and queues on a release, and what such a test does: jobs with commands, waits, configurations."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from tests.conformance.harness.base import wait_until
from tests.conformance.harness.client import ApiError
from tests.e2e.arena import GROUPS, Arena
from tests.e2e.release.cluster import WORKERS, Release

Object = dict[str, Any]

SERVER = "nginx"
"""An image that runs until it is stopped, and stops at once when asked to."""
PRIORITIES = "/apis/scheduling.k8s.io/v1/priorityclasses"


class Context(Arena):
    """A namespace on the whole cluster. Pods are run by the simulated kubelets; tests of one release take turns."""

    def __init__(self, release: Release) -> None:
        super().__init__(release.server)
        self.release = release
        self._priorities: list[str] = []

    # -- objects ------------------------------------------------------------------------------------------------

    def queue(self, name: str, **spec: Any) -> str:
        """Add a queue and wait until it is Open; returns its full name."""
        full = super().queue(name, **spec)
        wait_until(lambda: self.queue_state(full) == "Open", f"queue {full} to be Open")
        return full

    def queue_state(self, name: str) -> str:
        """The state of a queue; empty before it has one."""
        status: Object = self.client.get(f"{GROUPS}/queues/{name}").get("status") or {}
        return str(status.get("state", ""))

    def priority(self, name: str, value: int) -> str:
        """Add a PriorityClass; returns its full name."""
        full = f"{self.namespace}-{name}"
        self.client.create(PRIORITIES, {"metadata": {"name": full}, "value": value})
        self._priorities.append(full)
        return full

    def pod_spec(self, cpu: int | str = 1, scheduler: str = "volcano") -> Object:
        """The spec of a pod that runs a server, with a grace of three seconds."""
        container: Object = {"name": "main", "image": SERVER}
        if cpu:
            container["resources"] = {"requests": {"cpu": str(cpu)}}
        return {
            "schedulerName": scheduler,
            "restartPolicy": "OnFailure",
            "terminationGracePeriodSeconds": 3,
            "containers": [container],
        }

    def shell(
        self, script: str, name: str = "worker", replicas: int = 1, cpu: int | str = 1, **more: Any
    ) -> Object:
        """A task whose pods run a shell command: `sleep 5`, `sleep 3 && exit 3`, …; they are not restarted."""
        task = self.task(name, replicas, cpu, **more)
        spec = task["template"]["spec"]
        spec["restartPolicy"] = "Never"
        spec["containers"][0] |= {"image": "busybox", "command": ["sh", "-c", script]}
        return task

    def create(self, *jobs: Object) -> None:
        """Create jobs through the API, webhooks and all."""
        for job in jobs:
            self.client.create(self.jobs, job)

    def fill(self, cpu: int = 0, nodes: int = WORKERS) -> None:
        """Take all CPU of each worker but `cpu` of the first `nodes` with pods of another scheduler, bound beforehand."""
        for number, node in enumerate(self.release.workers()):
            left = cpu if number < nodes else 0
            spec = self.pod_spec(f"{8000 - 100 - left * 1000}m", "default-scheduler")
            spec |= {"nodeName": node, "terminationGracePeriodSeconds": 0}
            self.client.create(
                f"{self.core}/pods", {"metadata": {"name": f"{node}-placeholder"}, "spec": spec}
            )

    @contextmanager
    def configured(self, conf: str) -> Iterator[None]:
        """Another volcano-scheduler.conf while the block runs."""
        with self.release.configured(conf):
            yield

    # -- looking ------------------------------------------------------------------------------------------------

    def status(self, job: str) -> Object:
        """The status of a job."""
        found: Object = self.client.get(f"{self.jobs}/{job}").get("status") or {}
        return found

    def of(self, job: str, phase: str = "") -> list[Object]:
        """Pods of a job that are not on their way out; of one phase if it is named."""
        return [
            pod
            for pod in self.pods()
            if pod["metadata"].get("labels", {}).get("volcano.sh/job-name") == job
            and not pod["metadata"].get("deletionTimestamp")
            and phase in ("", pod["status"].get("phase"))
        ]

    def running(self, job: str, count: int, timeout_s: float = 30.0) -> None:
        """Wait until exactly so many pods of a job run."""
        self.wait(lambda: len(self.of(job, "Running")) == count, f"{count} pods of {job} to run", timeout_s)

    def refused(self, act: Callable[[], object]) -> str:
        """What the API server says when it refuses something, which it must."""
        try:
            act()
        except ApiError as error:
            return error.message
        raise AssertionError("the API server took it")

    def stays(self, condition: Callable[[], bool], what: str, seconds: float = 3.0) -> None:
        """Something must hold, and go on holding for a while."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            assert condition(), f"{what} does not hold\n{self.story()}"
            time.sleep(0.2)

    # -- the end ------------------------------------------------------------------------------------------------

    def reap(self) -> int:
        """Nothing: the simulated kubelets end pods."""
        return 0

    def clean(self) -> None:
        """Remove all; queues are closed first, as their webhook wants it."""
        for queue in self._queues:
            self._try(
                lambda queue=queue: self.client.patch(
                    f"{GROUPS}/queues/{queue}/status", {"status": {"state": "Closed"}}
                )
            )
        super().clean()
        for name in self._priorities:
            self._try(lambda name=name: self.client.delete(f"{PRIORITIES}/{name}"))
        wait_until(lambda: not self.client.get(f"{self.core}/pods")["items"], "the pods to go")

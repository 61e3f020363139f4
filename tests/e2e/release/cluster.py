"""A real cluster as Volcano's own end-to-end tests expect one: four workers of 8 CPU, 16Gi, and a release named `integration`."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.conformance.harness.base import wait_until
from tests.conformance.harness.process import Child, free_port
from tests.conformance.harness.server import ControlPlane
from tests.e2e.program import Program
from vcray.webhooks.services import PATHS

Object = dict[str, Any]

NAMESPACE, RELEASE = "volcano-system", "integration"
WORKERS = 4
CPU, MEMORY = 8, "16Gi"
CONFIGURATION = f"/api/v1/namespaces/{NAMESPACE}/configmaps/{RELEASE}-scheduler-configmap"
CONFIGURATION_KEY = "volcano-scheduler-ci.conf"
IN_FORCE = "configuration in force"
SYSTEM_CPU = "100m"
"""What a network agent asks for on each worker, so that 4 + 4 CPU do not fit on one."""

CI_CONF = """
actions: "enqueue, allocate, backfill, reclaim, preempt"
tiers:
- plugins:
  - name: priority
  - name: gang
    enablePreemptable: false
  - name: conformance
  - name: sla
- plugins:
  - name: overcommit
  - name: drf
    enablePreemptable: false
  - name: predicates
    arguments:
      predicate.DynamicResourceAllocationEnable: true
  - name: proportion
  - name: nodeorder
  - name: binpack
  - name: network-topology-aware
"""


class Release:
    """Workers and the control plane on a server; both end with `stop`."""

    def __init__(self, server: ControlPlane, folder: Path, flags: Sequence[str] = ()) -> None:
        self.server = server
        self.client = server.client
        self._folder = folder
        self._flags = flags
        self._nodes: list[Child] = []
        self.program: Program

    def start(self) -> Release:
        """Start all, and wait until workers are Ready and webhooks are served."""
        if not self.client.exists(f"/api/v1/namespaces/{NAMESPACE}"):
            self.client.create("/api/v1/namespaces", {"metadata": {"name": NAMESPACE}})
        self.client.create(
            CONFIGURATION.rpartition("/")[0],
            {
                "metadata": {"name": CONFIGURATION.rpartition("/")[2]},
                "data": {CONFIGURATION_KEY: CI_CONF},
            },
        )
        self.add_nodes("worker", WORKERS)
        self.program = self._run(*self._flags)
        wait_until(lambda: len(self.nodes()) == WORKERS, "the workers to be there")
        for node in self.nodes():
            self.client.create("/api/v1/namespaces/kube-system/pods", _agent(node))
        return self

    def _run(self, *more: str) -> Program:
        """`vcray run` with the flags of the release and more, once it says that it runs."""
        port = free_port()  # nobody routes to the release's Service here
        flags = ["--namespace", NAMESPACE, "--release", RELEASE, "--leader-elect", "--admission"]
        flags += ["--admission-port", str(port), "--admission-url", f"https://127.0.0.1:{port}"]
        flags += ["--enabled-admission", ",".join(PATHS)]
        return Program(self.server.kubeconfig, self._folder / "vcray.log", *flags, *more).ready()

    @contextmanager
    def flagged(self, *flags: str) -> Iterator[None]:
        """A control plane that was started anew with further flags, while the block runs."""
        self._anew(*self._flags, *flags)
        try:
            yield
        finally:
            self._anew(*self._flags)

    def _anew(self, *flags: str) -> None:
        assert self.program.running, self.program.output()
        self.program.stop()
        assert "Traceback" not in self.program.output(), self.program.output()
        self.program = self._run(*flags)

    @contextmanager
    def configured(self, conf: str) -> Iterator[None]:
        """Another volcano-scheduler.conf while the block runs."""
        before = self.client.get(CONFIGURATION)["data"][CONFIGURATION_KEY]
        self._configure(conf)
        try:
            yield
        finally:
            self._configure(before)

    def _configure(self, conf: str) -> None:
        """Edit the ConfigMap; the control plane must act on it within two seconds."""
        told = self.program.output().count(IN_FORCE)
        self.client.patch(CONFIGURATION, {"data": {CONFIGURATION_KEY: conf}})
        wait_until(lambda: self.program.output().count(IN_FORCE) > told, IN_FORCE, 2.0)

    def add_nodes(self, prefix: str, count: int, *flags: str) -> Child:
        """Simulated nodes PREFIX-0 … with kubelets that take a second from binding to Running; they go as it ends."""
        command = [sys.executable, "-m", "vcray.cli.main", "nodes", "--kubeconfig", self.server.kubeconfig]
        command += ["--count", count, "--prefix", prefix, "--cpu", CPU, "--memory", MEMORY, *flags]
        made = Child([str(each) for each in command], self._folder / f"{prefix}.log")
        self._nodes.append(made)
        return made

    def nodes(self) -> list[str]:
        """Names of all nodes."""
        return sorted(each["metadata"]["name"] for each in self.client.get("/api/v1/nodes")["items"])

    def workers(self) -> list[str]:
        """Names of the nodes that every pod may use."""
        return [name for name in self.nodes() if name.startswith("worker-")]

    def stop(self) -> str:
        """End all; what the control plane printed."""
        self.program.stop()
        for child in self._nodes:
            child.stop(20)
        return self.program.output()


def _agent(node: str) -> Object:
    """A pod of the system on one worker, as each real one has some."""
    amounts = {"cpu": SYSTEM_CPU, "memory": "50Mi"}
    container = {"name": "agent", "image": "nginx", "resources": {"requests": amounts, "limits": amounts}}
    spec = {"nodeName": node, "containers": [container], "tolerations": [{"operator": "Exists"}]}
    return {"metadata": {"name": f"agent-{node}"}, "spec": spec}

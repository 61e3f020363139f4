"""A real cluster as Volcano's own end-to-end tests expect one: four workers of 8 CPU, 16Gi, and a release named `integration`."""

from __future__ import annotations

import sys
from collections.abc import Sequence
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
        port = free_port()  # nobody routes to the release's Service here
        flags = ["--namespace", NAMESPACE, "--release", RELEASE, "--leader-elect", "--admission"]
        flags += ["--admission-port", str(port), "--admission-url", f"https://127.0.0.1:{port}"]
        flags += ["--enabled-admission", ",".join(PATHS)]
        log = self._folder / "vcray.log"
        self.program = Program(self.server.kubeconfig, log, *flags, *self._flags).ready()
        wait_until(lambda: len(self.nodes()) == WORKERS, "the workers to be there")
        for node in self.nodes():
            self.client.create("/api/v1/namespaces/kube-system/pods", _agent(node))
        return self

    def add_nodes(self, prefix: str, count: int, *flags: str) -> None:
        """Simulated nodes PREFIX-0 … with kubelets that take a second from binding to Running."""
        command = [sys.executable, "-m", "vcray.cli.main", "nodes", "--kubeconfig", self.server.kubeconfig]
        command += ["--count", count, "--prefix", prefix, "--cpu", CPU, "--memory", MEMORY, *flags]
        self._nodes.append(Child([str(each) for each in command], self._folder / f"{prefix}.log"))

    def nodes(self) -> list[str]:
        """Names of all nodes."""
        return sorted(each["metadata"]["name"] for each in self.client.get("/api/v1/nodes")["items"])

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

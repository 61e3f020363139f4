"""Scheduler and controllers do their work with the rights that Volcano's chart gives its own, on a real kube-apiserver."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.conformance.harness.base import STRANGER_TOKEN, Server
from tests.conformance.harness.definitions import install
from tests.conformance.harness.server import ControlPlane
from vcray.api.crds import all_crds
from vcray.sim import shorthand

HERE = Path(__file__).parent
ROLES: dict[str, dict[str, dict[str, str]]] = yaml.safe_load((HERE / "volcano_rights.yaml").read_text())
RBAC = "/apis/rbac.authorization.k8s.io/v1"


@pytest.fixture(scope="module")
def server(kubernetes_programs: Path) -> Iterator[Server]:
    """A server of its own: whole components act on all that other tests have left on one."""
    with ControlPlane(kubernetes_programs) as made:
        install(made.client, all_crds())
        yield made


@contextmanager
def granted(server: Server, *roles: str) -> Iterator[None]:
    """The user `stranger` has the rights of these components."""
    rules = [
        {"apiGroups": [group], "resources": resources.split(","), "verbs": verbs.split()}
        for role in roles
        for group, table in ROLES[role].items()
        for resources, verbs in table.items()
    ]
    role = {"metadata": {"name": "volcano-rights"}, "rules": rules}
    reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "volcano-rights"}
    subject = {"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "stranger"}
    binding = {"metadata": {"name": "volcano-rights"}, "roleRef": reference, "subjects": [subject]}
    server.client.create(f"{RBAC}/clusterroles", role)
    server.client.create(f"{RBAC}/clusterrolebindings", binding)
    try:
        yield
    finally:
        server.client.delete(f"{RBAC}/clusterrolebindings/volcano-rights")
        server.client.delete(f"{RBAC}/clusterroles/volcano-rights")


def kubeconfig(server: Server, folder: Path) -> Path:
    """The server's, for the user `stranger`."""
    document = yaml.safe_load(Path(server.kubeconfig).read_text())
    for user in document["users"]:
        user["user"] = {"token": STRANGER_TOKEN}
    file = folder / "kubeconfig"
    file.write_text(yaml.safe_dump(document))
    return file


def labelled(node: dict[str, Any], name: str) -> dict[str, Any]:
    return {**node, "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name}}}


class Running:
    """`vcray run` for one component, as some user."""

    def __init__(self, component: str, kubeconfig: Path, log: Path) -> None:
        self._log = log
        command = [sys.executable, "-m", "vcray.cli.main", "run", "--only", component]
        with log.open("w") as out:
            self._process = subprocess.Popen(
                [*command, f"--kubeconfig={kubeconfig}", "--metrics-port=-1"],
                env={**os.environ, "PYTHONUNBUFFERED": "1"},
                stdout=out,
                stderr=subprocess.STDOUT,
            )

    def output(self) -> str:
        return self._log.read_text()

    def until(self, true: Callable[[], bool]) -> None:
        began = time.monotonic()
        while not true():
            assert time.monotonic() - began < 30, self.output()
            time.sleep(0.05)

    def stop(self) -> None:
        self._process.terminate()
        self._process.wait(20)


def job(name: str, queue: str, node: str) -> dict[str, Any]:
    """A gang of two pods of a core each, for one node."""
    made: dict[str, Any] = {**shorthand.job(name, "2 x 1c", name)}
    made["metadata"] = {"name": name}
    made["spec"] |= {"schedulerName": "volcano", "queue": queue}
    made["spec"]["tasks"][0]["template"]["spec"]["nodeSelector"] = {"kubernetes.io/hostname": node}
    return {**made, "apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job"}


@pytest.mark.parametrize("component", ["scheduler", "controllers"])
def test_a_component_does_its_work_with_the_rights_of_volcanos_chart(
    server: Server, component: str, tmp_path: Path
) -> None:
    ask, where = server.client, server.create_namespace()
    other = "controllers" if component == "scheduler" else "scheduler"
    volcano, name = "/apis/scheduling.volcano.sh/v1beta1", f"rights-{component}"

    def seen(path: str, *fields: str) -> Any:
        found = ask.get(path)
        for field in fields:
            found = found.get(field, {})
        return found

    def phases() -> dict[str, str]:
        groups = seen(f"{volcano}/namespaces/{where}/podgroups", "items")
        return {each["metadata"]["name"][:3]: each.get("status", {}).get("phase", "") for each in groups}

    def reasons() -> set[str]:
        pods = seen(f"/api/v1/namespaces/{where}/pods", "items")
        return {each.get("reason") for pod in pods for each in pod["status"].get("conditions", [])}

    made = ask.create("/api/v1/nodes", labelled(shorthand.node(name, "8c", name), name))
    ask.replace(
        f"/api/v1/nodes/{name}/status", {**made, "status": shorthand.node(name, "8c", name)["status"]}
    )
    queue = {"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "Queue", "metadata": {"name": name}}
    ask.create(f"{volcano}/queues", queue)
    with granted(server, component):
        ours = Running(component, kubeconfig(server, tmp_path), tmp_path / "ours")
        theirs = Running(other, Path(server.kubeconfig), tmp_path / "theirs")
        try:
            for each in (ours, theirs):
                each.until(lambda each=each: "running against" in each.output())
            for job_name, node in (("one", name), ("two", "nowhere")):
                ask.create(
                    f"/apis/batch.volcano.sh/v1alpha1/namespaces/{where}/jobs", job(job_name, name, node)
                )
            ours.until(lambda: phases() == {"one": "Running", "two": "Inqueue"})
            ours.until(lambda: "Unschedulable" in reasons())
            ours.until(lambda: seen(f"{volcano}/queues/{name}", "status", "allocated", "cpu") == "2")
            ours.until(lambda: seen(f"{volcano}/queues/{name}", "status", "state") == "Open")
        finally:
            ours.stop()
            theirs.stop()
            ask.delete(f"/api/v1/nodes/{name}")

    assert "Traceback" not in ours.output()
    assert "forbidden" not in ours.output()

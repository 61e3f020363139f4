"""The manifests of deploy/ on a real kube-apiserver: applied, and each Deployment's command run with its own rights alone.

A kubelet would start the containers; here the test does, with the command line, the ServiceAccount and the probes that the
Deployments say.
"""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.conformance.harness.base import wait_until
from tests.conformance.harness.process import free_port
from tests.conformance.harness.server import ControlPlane
from tests.e2e.arena import Arena
from tests.e2e.program import Program

Object = dict[str, Any]

DEPLOY = Path(__file__).resolve().parents[2] / "deploy"
NAMESPACE = "volcano-system"
COMPONENTS = ("scheduler", "controllers", "integrations", "admission")


def kubectl(server: ControlPlane, *arguments: str | Path, stdin: str | None = None) -> str:
    """What kubectl prints; it must succeed."""
    said = server.kubectl(*arguments, stdin=stdin)
    assert said.returncode == 0, said.stderr
    return said.stdout


def container_of(server: ControlPlane, component: str) -> Object:
    """The container of a component's Deployment, as the server has it."""
    path = f"/apis/apps/v1/namespaces/{NAMESPACE}/deployments/volcano-{component}"
    container: Object = server.client.get(path)["spec"]["template"]["spec"]["containers"][0]
    return container


def kubeconfig_of(server: ControlPlane, account: str, folder: Path) -> Path:
    """A kubeconfig with the token of a ServiceAccount."""
    text = yaml.safe_load(server.kubeconfig.read_text())
    token = kubectl(server, "create", "token", account, "--namespace", NAMESPACE).strip()
    for user in text["users"]:
        user["user"] = {"token": token}
    file = folder / f"{account}.kubeconfig"
    file.write_text(yaml.safe_dump(text))
    return file


def answers(port: int, path: str) -> bool:
    """Does a probe succeed?"""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=5) as answer:
            return bool(answer.status == 200)
    except urllib.error.URLError:
        return False


@pytest.fixture(scope="module")
def applied(server: ControlPlane) -> Iterator[str]:
    """`kubectl apply -k deploy/`; all but the definitions is taken away afterwards."""
    yield kubectl(server, "apply", "--server-side", "--force-conflicts", "-k", DEPLOY)
    for part in (*COMPONENTS, "users", "namespace.yaml"):
        flag = "-f" if part.endswith(".yaml") else "-k"
        server.kubectl("delete", "--ignore-not-found", "--wait=false", flag, DEPLOY / part)
    for kind in ("mutatingwebhookconfigurations", "validatingwebhookconfigurations"):
        server.kubectl("delete", kind, "--selector", "app.kubernetes.io/managed-by=vcray")


@pytest.fixture
def programs(server: ControlPlane, applied: str, tmp_path: Path) -> Iterator[dict[str, Program]]:
    """The processes of the Deployments, each with its ServiceAccount's token."""
    started: dict[str, Program] = {}
    for component in ("admission", "integrations", "controllers", "scheduler"):
        container = container_of(server, component)
        assert container["command"] == ["vcray", "run"]
        flags = [each for each in container["args"] if not each.startswith("--metrics-")]
        if component == "admission":  # nobody routes to a Service here
            port = free_port()
            flags = [each for each in flags if not each.startswith("--admission-port")]
            flags += [f"--admission-url=https://127.0.0.1:{port}", f"--admission-port={port}"]
        kubeconfig = kubeconfig_of(server, f"volcano-{component}", tmp_path)
        started[component] = Program(kubeconfig, tmp_path / f"{component}.log", *flags)
    try:
        for program in started.values():
            program.ready()
        yield started
    finally:
        for program in started.values():
            program.stop()


def test_manifests_are_applied_again_without_a_change(server: ControlPlane, applied: str) -> None:
    def versions() -> dict[str, str]:
        found = {}
        for kind in ("configmaps", "services", "roles", "clusterroles"):
            listed = json.loads(kubectl(server, "get", kind, "--namespace", NAMESPACE, "-o", "json"))["items"]
            found |= {
                f"{kind}/{each['metadata']['name']}": each["metadata"]["resourceVersion"]
                for each in listed
                if each["metadata"]["name"].startswith(("volcano-", "vcjob-"))
            }
        return found

    before = versions()
    assert len(before) > 10
    kubectl(server, "apply", "--server-side", "--force-conflicts", "-k", DEPLOY)
    assert versions() == before


@pytest.mark.timeout(180)
def test_deployments_run_jobs_with_the_rights_that_they_are_given(
    server: ControlPlane, programs: dict[str, Program], arena: Arena
) -> None:
    arena.node("n1", cpu=8)
    kubectl(
        server,
        *("create", "rolebinding", "researchers", "--clusterrole=vcjob-editor-role", "--user=researcher"),
        *("--namespace", arena.namespace),
    )
    job = arena.job("trains", arena.task(replicas=2), plugins={"svc": [], "ssh": [], "env": []})
    job["spec"]["volumes"] = [
        {
            "mountPath": "/data",
            "volumeClaim": {
                "accessModes": ["ReadWriteOnce"],
                "storageClassName": "",
                "resources": {"requests": {"storage": "1Gi"}},
            },
        }
    ]
    for component, program in programs.items():
        probes = container_of(server, component)
        for probe in ("readinessProbe", "livenessProbe"):
            path = probes[probe]["httpGet"]["path"]
            wait_until(lambda p=program, path=path: answers(p.metrics_port, path), f"{component}{path}")  # type: ignore[misc]
    kubectl(server, "--as=researcher", "create", "-f", "-", stdin=json.dumps(job))
    kubectl(
        server, "--as=researcher", "create", "-f", "-", stdin=json.dumps(command_to_abort(arena, "trains"))
    )
    arena.wait(lambda: phase(arena, "trains") == "Aborted", "the job to be suspended")
    job["metadata"]["name"] = "again"
    del job["spec"]["volumes"]
    kubectl(server, "--as=researcher", "create", "-f", "-", stdin=json.dumps(job))
    arena.wait_bound(2)
    arena.play("Running")
    arena.wait(lambda: phase(arena, "again") == "Running", "the job to run")
    arena.play("Succeeded")
    arena.wait(lambda: phase(arena, "again") == "Completed", "the job to complete")

    for component, program in programs.items():
        output = program.output()
        for missing in ("forbidden", "a right is missing"):
            assert missing not in output, f"{component}: {output}"
        assert "Traceback" not in output, f"{component}: {output}"


def command_to_abort(arena: Arena, job: str) -> Object:
    """What `vcctl job suspend` creates."""
    found = arena.client.get(f"{arena.jobs}/{job}")
    target = {key: found[key] for key in ("apiVersion", "kind")}
    target |= {"name": job, "uid": found["metadata"]["uid"], "controller": True}
    return {
        "apiVersion": "bus.volcano.sh/v1alpha1",
        "kind": "Command",
        "metadata": {"generateName": f"{job}-", "namespace": arena.namespace},
        "action": "AbortJob",
        "target": target,
    }


def phase(arena: Arena, job: str) -> str:
    """The phase of a job."""
    status: Object = arena.client.get(f"{arena.jobs}/{job}").get("status") or {}
    return str((status.get("state") or {}).get("phase", ""))

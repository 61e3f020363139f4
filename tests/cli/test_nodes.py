"""`vcray nodes`: what it refuses, and that it leaves nothing behind."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conformance.harness.base import wait_until
from tests.conformance.harness.embedded import EmbeddedServer
from tests.conformance.harness.process import Child
from vcray.cli.main import execute


@pytest.mark.parametrize(
    ("flags", "why"),
    [
        (["--cpu", "many"], "--cpu: must be an amount such as 8 or 16Gi, got 'many'"),
        (["--memory", "-4Gi"], "--memory: must be an amount such as 8 or 16Gi, got '-4Gi'"),
        (["--resource", "fpga"], "must be NAME=VALUE, got 'fpga'"),
        (["--label", "=x"], "must be NAME=VALUE"),
        (["--taint", "gpu=yes"], "must be NAME=VALUE:EFFECT"),
        (["--taint", "gpu=yes:Never"], "must be NAME=VALUE:EFFECT"),
    ],
)
def test_flag_that_cannot_be_used_is_one_sentence(
    flags: list[str], why: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code = execute(["nodes", *flags])

    [line] = capsys.readouterr().err.splitlines()
    assert code != 0
    assert line.startswith("VC0502")
    assert why in line


@pytest.fixture(scope="module")
def server() -> Iterator[EmbeddedServer]:
    with EmbeddedServer(Path("/nowhere")) as server:
        yield server


def names(server: EmbeddedServer) -> set[str]:
    return {each["metadata"]["name"] for each in server.client.get("/api/v1/nodes")["items"]}


def nodes(server: EmbeddedServer, *flags: str) -> Child:
    command = [
        sys.executable,
        "-m",
        "vcray.cli.main",
        "nodes",
        "--kubeconfig",
        str(server.kubeconfig),
        *flags,
    ]
    return Child(command, server.folder / "nodes.log")


@pytest.mark.embedded
def test_nodes_come_as_described_and_go_at_the_end(server: EmbeddedServer) -> None:
    flags = ("--count", "2", "--prefix", "gpu", "--gpu", "8", "--label", "pool=gpu", "--resource", "rdma=2")
    child = nodes(server, *flags, "--taint", "gpu=yes:NoSchedule")
    wait_until(lambda: names(server) == {"gpu-0", "gpu-1"}, "two nodes")
    node = server.client.get("/api/v1/nodes/gpu-1")

    child.stop()

    wait_until(lambda: names(server) == set(), "no nodes")
    assert node["status"]["allocatable"]["nvidia.com/gpu"] == "8"
    assert node["status"]["allocatable"]["rdma"] == "2"
    assert node["metadata"]["labels"]["pool"] == "gpu"
    assert {"key": "gpu", "value": "yes", "effect": "NoSchedule"} in node["spec"]["taints"]


@pytest.mark.embedded
def test_kept_nodes_stay(server: EmbeddedServer) -> None:
    child = nodes(server, "--count", "1", "--prefix", "kept", "--keep")
    log = server.folder / "nodes.log"
    wait_until(lambda: "kept-0 are Ready" in log.read_text(), "the node to be Ready")

    child.stop()

    assert names(server) == {"kept-0"}
    server.client.delete("/api/v1/nodes/kept-0")


@pytest.mark.embedded
def test_nodes_that_somebody_plays_are_not_taken_over(server: EmbeddedServer) -> None:
    child = nodes(server, "--count", "2", "--prefix", "mine")
    wait_until(lambda: names(server) == {"mine-0", "mine-1"}, "two nodes")
    leases = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/mine-1"
    wait_until(lambda: server.client.exists(leases), "their leases")

    second = [sys.executable, "-m", "vcray.cli.main", "nodes", "--kubeconfig", str(server.kubeconfig)]
    refused = subprocess.run([*second, "--count", "1", "--prefix", "mine"], capture_output=True, text=True)
    there = names(server)
    child.stop()

    assert refused.returncode == 2
    assert refused.stderr.splitlines()[-1] == (
        "VC0502 --prefix mine: somebody plays mine-0, as its lease tells; choose another --prefix, or end that one first"
    )
    assert there == {"mine-0", "mine-1"}

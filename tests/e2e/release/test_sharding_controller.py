"""Shards of nodes that the sharding controller writes (Volcano's suite `shardingcontroller`).

The controller has a process of its own here. Each period is a second, so a shard is as it should be within two.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from tests.e2e.program import Program
from tests.e2e.release.cluster import CPU, NAMESPACE, RELEASE, Release
from tests.e2e.release.context import Context

Object = dict[str, Any]

SHARDS = "/apis/shard.volcano.sh/v1alpha1/nodeshards"
CONFIGURATION = f"{RELEASE}-sharding-configmap"
PATH = f"/api/v1/namespaces/{NAMESPACE}/configmaps"
IDLE, BUSY = "volcano", "agent-scheduler"
PERIOD_S = 1


def text(most: int = 100) -> str:
    """sharding.yaml: nodes of which up to 60 per cent are asked for, at most so many, and those of which at least 70 are."""

    def scheduler(name: str, kind: str, low: float, high: float, limit: int) -> Object:
        rate = {"name": "allocation-rate", "arguments": {"minCPUUtil": low, "maxCPUUtil": high}}
        return {
            "name": name,
            "type": kind,
            "policies": [rate, {"name": "node-limit", "arguments": {"minNodes": 1, "maxNodes": limit}}],
        }

    schedulers = [scheduler(IDLE, "volcano", 0.0, 0.6, most), scheduler(BUSY, "agent", 0.7, 1.0, 100)]
    return yaml.safe_dump({"schedulerConfigs": schedulers, "shardSyncPeriod": f"{PERIOD_S}s"})


@pytest.fixture(scope="module", autouse=True)
def sharded(release: Release, tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """The controller beside the release, with two schedulers to share the nodes; no shard is left behind."""
    body = {"metadata": {"name": CONFIGURATION}, "data": {"sharding.yaml": text()}}
    release.client.create(PATH, body)
    flags = ["--only", "controllers", "--controllers", "sharding-controller"]
    flags += ["--sharding-configmap", CONFIGURATION, "--sharding-configmap-namespace", NAMESPACE]
    log = tmp_path_factory.mktemp("sharding") / "vcray.log"
    program = Program(release.server.kubeconfig, log, *flags).ready()
    yield
    still = program.running
    program.stop()
    release.client.delete(f"{PATH}/{CONFIGURATION}")
    release.client.request("DELETE", SHARDS)
    assert still, program.output()
    assert "Traceback" not in program.output(), program.output()


def workers(context: Context) -> list[str]:
    """Names of all workers."""
    return [name for name in context.release.nodes() if name.startswith("worker-")]


def shards(context: Context) -> dict[str, list[str]]:
    """Shard -> the nodes that it is to have."""
    return {
        each["metadata"]["name"]: sorted(each["spec"]["nodesDesired"])
        for each in context.client.get(SHARDS)["items"]
    }


def wait_shared(context: Context, idle: list[str], busy: list[str]) -> None:
    """Wait until there are the two shards of the configuration, with exactly these nodes."""
    wanted = {IDLE: idle, BUSY: busy}
    context.wait(lambda: shards(context) == wanted, f"the shards to be {wanted}")


def stay(context: Context) -> None:
    """The shards go on as they are for more than two periods."""
    before = shards(context)
    context.stays(lambda: shards(context) == before, f"shards {before}", 2.5 * PERIOD_S)


def load(context: Context, node: str, part: float) -> str:
    """Ask for a part of a node's CPU with a pod of another scheduler that is bound to it; its path."""
    spec = context.pod_spec(f"{int(part * CPU * 1000)}m", "default-scheduler") | {"nodeName": node}
    body = {"metadata": {"name": "load"}, "spec": spec | {"terminationGracePeriodSeconds": 0}}
    context.client.create(f"{context.core}/pods", body)
    return f"{context.core}/pods/load"


def test_a_node_goes_to_the_other_shard_with_its_load_and_comes_back(context: Context) -> None:
    """Each worker is in exactly one shard, at every stage."""
    first, *others = workers(context)
    wait_shared(context, [first, *others], [])

    pod = load(context, first, 0.8)
    wait_shared(context, others, [first])
    context.client.delete(pod)
    wait_shared(context, [first, *others], [])


@pytest.mark.full
def test_a_node_between_two_ranges_is_in_no_shard(context: Context) -> None:
    first, *others = workers(context)

    load(context, first, 0.64)

    wait_shared(context, others, [])
    stay(context)


@pytest.mark.full
def test_a_shard_that_somebody_deleted_or_changed_comes_back(context: Context) -> None:
    nodes = workers(context)
    wait_shared(context, nodes, [])

    context.client.delete(f"{SHARDS}/{IDLE}")
    wait_shared(context, nodes, [])
    context.client.patch(f"{SHARDS}/{BUSY}", {"spec": {"nodesDesired": nodes}})
    wait_shared(context, nodes, [])


@pytest.mark.full
def test_a_changed_configuration_limits_a_shard_until_it_is_taken_back(context: Context) -> None:
    nodes = workers(context)
    wait_shared(context, nodes, [])

    context.client.patch(f"{PATH}/{CONFIGURATION}", {"data": {"sharding.yaml": text(most=1)}})
    try:
        wait_shared(context, nodes[:1], [])
        stay(context)
    finally:
        context.client.patch(f"{PATH}/{CONFIGURATION}", {"data": {"sharding.yaml": text()}})
    wait_shared(context, nodes, [])


@pytest.mark.full
def test_a_node_that_comes_is_given_to_a_shard_until_it_goes(context: Context) -> None:
    nodes = workers(context)

    node = context.node("joins")
    wait_shared(context, sorted([*nodes, node]), [])
    context.client.delete(f"/api/v1/nodes/{node}")
    wait_shared(context, nodes, [])


@pytest.mark.full
def test_shards_stay_while_nothing_changes(context: Context) -> None:
    wait_shared(context, workers(context), [])
    written = [each["metadata"]["generation"] for each in context.client.get(SHARDS)["items"]]

    stay(context)

    assert [each["metadata"]["generation"] for each in context.client.get(SHARDS)["items"]] == written

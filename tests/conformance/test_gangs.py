"""The scheduler on a real kube-apiserver, without controllers: PodGroups and pods made by hand.

What a test wants to be decided together is made while the scheduler is away; it then comes and finds all of it.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from tests.conformance.harness.server import ControlPlane
from tests.e2e.arena import ARENA, GROUPS, Arena
from tests.e2e.auditor import Auditor
from tests.e2e.hosting import Hosted
from tests.e2e.refusing import binding_refused
from vcray.app import SCHEDULER
from vcray.config.settings import Settings

Object = dict[str, Any]


@pytest.fixture(scope="module", params=[1, 3], ids=["1 pool", "3 pools"])
def hosted(volcano_cluster: ControlPlane, request: pytest.FixtureRequest) -> Iterator[Hosted]:
    """The scheduler with one cache shard, then with three; no actor may have failed at the end."""
    settings = Settings(pools=request.param)
    with Hosted(volcano_cluster.kubeconfig, SCHEDULER, settings=settings) as made:
        yield made
        assert made.failures() == {}


@pytest.fixture
def arena(volcano_cluster: ControlPlane, hosted: Hosted) -> Iterator[Arena]:
    """This test's namespace and nodes, audited from beginning to end."""
    made = Arena(volcano_cluster)
    with Auditor(volcano_cluster.client) as auditor:
        yield made
        auditor.require_content()
    made.clean()


@contextmanager
def away(hosted: Hosted) -> Iterator[None]:
    """No scheduler for a while."""
    hosted.stop(SCHEDULER)
    yield
    hosted.start(SCHEDULER)


def gang(arena: Arena, name: str, size: int, least: int | None = None, cpu: int = 1, **of_pod: Any) -> None:
    """A PodGroup and its pods."""
    arena.group(name, size if least is None else least)
    for index in range(size):
        arena.pod(f"{name}-{index}", name, cpu, **of_pod)


def waits(arena: Arena, name: str) -> Object:
    """Until the PodGroup says that it cannot be placed; the condition."""
    arena.wait(
        lambda: arena.conditions(name).get("Unschedulable", {}).get("status") == "True",
        f"{name} to be Unschedulable",
    )
    return arena.conditions(name)["Unschedulable"]


def why(arena: Arena, pod: str) -> str:
    """The message of a pod's PodScheduled condition, once there is one."""

    def message() -> str:
        found = arena.client.get(f"{arena.core}/pods/{pod}")["status"].get("conditions") or []
        return next((str(each.get("message") or "") for each in found if each["type"] == "PodScheduled"), "")

    arena.wait(lambda: bool(message()), f"{pod} to say why it waits")
    return message()


def phase(arena: Arena, group: str) -> str:
    return str((arena.client.get(f"{arena.groups}/{group}").get("status") or {}).get("phase") or "")


def test_a_gang_goes_from_pending_to_running(arena: Arena) -> None:
    arena.node("n1")
    gang(arena, "g", 3)

    arena.wait_bound(3)
    arena.play("Running")

    arena.wait(lambda: phase(arena, "g") == "Running", "the phase Running")
    arena.wait(lambda: arena.client.get(f"{arena.groups}/g")["status"].get("running") == 3, "three running")
    assert arena.conditions("g")["Scheduled"]["reason"] == "tasks in gang are ready to be scheduled"
    said = {(kind, type_, reason) for kind, type_, reason, _ in arena.events("g")}
    assert ("Pod", "Normal", "Scheduled") in said


def test_an_elastic_gang_takes_what_fits_above_its_minimum(arena: Arena) -> None:
    arena.node("n1", cpu=3)
    gang(arena, "elastic", 4, least=2)

    arena.wait_bound(3)
    arena.node("n2", cpu=1)

    arena.wait_bound(4)


def test_a_gang_whose_role_cannot_reach_its_minimum_waits(arena: Arena) -> None:
    arena.node("n1", cpu=3)
    arena.group("roles", 3, minTaskMember={"ps": 1, "worker": 2})
    for name in ("worker-0", "worker-1", "worker-2", "ps-0"):
        spec = arena.pod_spec()
        if name == "ps-0":
            spec["containers"][0]["resources"]["limits"] = {"nvidia.com/gpu": "1"}
            spec["containers"][0]["resources"]["requests"]["nvidia.com/gpu"] = "1"
        pod = arena.client.create(
            f"{arena.core}/pods",
            {
                "apiVersion": "v1",
                "kind": "Pod",
                "metadata": {
                    "name": name,
                    "annotations": {
                        "scheduling.k8s.io/group-name": "roles",
                        "volcano.sh/task-spec": name.split("-")[0],
                    },
                },
                "spec": spec,
            },
        )
        assert pod["metadata"]["uid"]

    waits(arena, "roles")
    arena.never_bound(0.5)
    arena.node("n2", cpu=8, **{"nvidia.com/gpu": "1"})

    arena.wait(lambda: "ps-0" in arena.bound() and len(arena.bound()) == 4, "all four")


def test_the_gang_of_higher_priority_goes_first(arena: Arena, hosted: Hosted) -> None:
    arena.node("n1", cpu=2)
    with away(hosted):
        gang(arena, "low", 2)
        arena.group("high", 2, priorityClassName="system-cluster-critical")
        for index in range(2):
            arena.pod(f"high-{index}", "high", priorityClassName="system-cluster-critical")

    assert sorted(arena.wait_bound(2)) == ["high-0", "high-1"]
    waits(arena, "low")


def test_nodes_that_are_cordoned_tainted_or_not_selected_are_not_used(arena: Arena) -> None:
    cordoned, tainted = arena.node("cordoned"), arena.node("tainted")
    arena.client.patch(f"/api/v1/nodes/{cordoned}", {"spec": {"unschedulable": True}})
    arena.client.patch(
        f"/api/v1/nodes/{tainted}",
        {"spec": {"taints": [{"key": "gpu", "value": "yes", "effect": "NoSchedule"}]}},
    )
    time.sleep(0.2)
    gang(arena, "g", 2)
    arena.wait(lambda: "2 nodes are unavailable" in why(arena, "g-0"), "the reason")
    arena.never_bound(0.5)

    arena.client.patch(f"/api/v1/nodes/{cordoned}", {"spec": {"unschedulable": None}})

    assert set(arena.wait_bound(2).values()) == {cordoned}


def test_a_gated_pod_holds_its_gang_until_the_gate_is_lifted(arena: Arena) -> None:
    arena.node("n1")
    arena.group("gated", 2)
    arena.pod("gated-0", "gated")
    arena.pod("gated-1", "gated", schedulingGates=[{"name": "example.com/wait"}])
    waits(arena, "gated")
    arena.never_bound(0.5)

    arena.client.patch(f"{arena.core}/pods/gated-1", {"spec": {"schedulingGates": []}})

    arena.wait_bound(2)


def test_a_pod_whose_claim_is_missing_waits_with_the_reason(arena: Arena) -> None:
    arena.node("n1")
    volume = {"name": "data", "persistentVolumeClaim": {"claimName": "data"}}
    gang(arena, "claims", 1, volumes=[volume])

    message = why(arena, "claims-0")

    assert 'persistentvolumeclaim "data" not found' in message
    assert not arena.bound()


def test_pods_of_other_schedulers_and_pods_being_deleted_hold_their_room(arena: Arena) -> None:
    node = arena.node("n1", cpu=3)
    arena.pod("theirs", schedulerName="default-scheduler")
    arena.bind("theirs", node)
    arena.pod("leaving", schedulerName="default-scheduler")
    arena.bind("leaving", node)
    arena.client.delete(f"{arena.core}/pods/leaving")
    gang(arena, "g", 2)
    deadline = time.monotonic() + 10
    while not arena.conditions("g").get("Unschedulable") and time.monotonic() < deadline:
        time.sleep(0.05)  # not arena.wait: it would end the pod that is being deleted
    assert [name for name in arena.bound() if name.startswith("g")] == []

    arena.reap()

    arena.wait(lambda: sorted(arena.bound()) == ["g-0", "g-1", "theirs"], "the gang in the freed room")


def test_a_queue_never_holds_more_than_its_capability(arena: Arena) -> None:
    arena.node("n1", cpu=8)
    queue = arena.queue("small", capability={"cpu": "3"})
    for name in ("one", "two"):
        arena.group(name, 2, queue=queue, minResources={"cpu": "2"})
        for index in range(2):
            arena.pod(f"{name}-{index}", name)

    bound = arena.wait_bound(2)
    time.sleep(0.2)

    assert len({name.split("-")[0] for name in bound}) == 1
    assert len(arena.bound()) == 2
    for name in bound:
        arena.client.delete(f"{arena.core}/pods/{name}", grace_s=0)
    arena.wait(lambda: len(arena.bound()) == 2 and not set(arena.bound()) & set(bound), "the other gang")


def test_a_queues_usage_is_written_and_taken_back(arena: Arena) -> None:
    arena.node("n1")
    queue = arena.queue("usage")
    arena.group("g", 2, queue=queue)
    for index in range(2):
        arena.pod(f"g-{index}", "g")
    arena.wait_bound(2)

    def used() -> object:
        status = arena.client.get(f"{GROUPS}/queues/{queue}").get("status") or {}
        return (status.get("allocated") or {}).get("cpu")

    arena.wait(lambda: used() == "2", "2 cpus in use")
    for index in range(2):
        arena.client.delete(f"{arena.core}/pods/g-{index}", grace_s=0)
    arena.wait(lambda: used() == "0", "nothing in use")


def test_a_gang_with_a_binding_that_the_server_refuses_does_not_stay_half_bound(arena: Arena) -> None:
    node = arena.node("n1")
    with binding_refused(arena, "cursed-3", node):
        gang(arena, "cursed", 4)
        arena.wait(
            lambda: (
                any("this pod is cursed" in each[3] for each in arena.events("cursed"))
                or any("Evict" in each[2] for each in arena.events("cursed"))
            ),
            "the refusal to be dealt with",
        )
        arena.wait(lambda: not arena.bound(), "what was bound to be taken back")
    assert arena.client.exists(f"{arena.core}/pods/cursed-3")


def test_a_scheduler_that_comes_back_knows_all_and_repeats_nothing(arena: Arena, hosted: Hosted) -> None:
    arena.node("n1", cpu=4)
    gang(arena, "first", 2)
    arena.wait_bound(2)
    with away(hosted):
        gang(arena, "second", 2)
        gang(arena, "third", 2)

    arena.wait_bound(4)
    time.sleep(0.2)

    assert len(arena.bound()) == 4
    assert {"first"} < {name.split("-")[0] for name in arena.bound()}
    scheduled = [each for each in arena.events("first") if each[0] == "Pod" and each[2] == "Scheduled"]
    assert len(scheduled) == 2


def test_a_node_that_goes_takes_its_room_with_it(arena: Arena) -> None:
    arena.node("n1", cpu=2)
    second = arena.node("n2", cpu=2)
    arena.client.delete(f"/api/v1/nodes/{second}")
    time.sleep(0.2)

    gang(arena, "g", 3)

    waits(arena, "g")
    arena.never_bound(0.5)
    assert arena.pod_spec()["nodeSelector"] == {ARENA: arena.namespace}

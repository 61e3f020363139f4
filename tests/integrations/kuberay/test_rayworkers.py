"""Which workers of a RayCluster cost how much to lose, and whose word on that counts."""

from __future__ import annotations

import pytest

from tests.integrations.objects import ray_cluster, ray_pod
from vcray.api.meta import JsonObject, JsonValue
from vcray.controllers import raw
from vcray.integrations.rayworkers import (
    AN_ACTOR,
    ClusterWork,
    NodeWork,
    cost_of,
    dashboard_of,
    token_secret,
    workers_of,
    writes,
)

COST, OURS = "controller.kubernetes.io/pod-deletion-cost", "vcray.io/ray-work"


def worker(name: str = "p", address: str = "10.0.0.1", replica: str = "", **annotations: str) -> JsonObject:
    made = ray_pod(ray_cluster(), name)
    metadata = raw.table(made, "metadata")
    metadata["uid"], metadata["annotations"] = f"uid-{name}", dict(annotations)
    if replica:
        raw.table(metadata, "labels")["ray.io/worker-group-replica-name"] = replica
    made["status"] = {"phase": "Running", "podIP": address}
    return made


def told(*nodes: tuple[str, int, int], whole: bool = True) -> ClusterWork:
    return ClusterWork(tuple(NodeWork(*node) for node in nodes), whole)


def written(pods: list[JsonObject], work: ClusterWork | None) -> dict[str, JsonValue]:
    """Name -> the cost that a pod gets; only of pods that are written."""
    found: dict[str, JsonValue] = {}
    for pod, patch in writes(pods, work):
        annotations = raw.table(patch, "metadata", "annotations")
        assert annotations[COST] == annotations[OURS]
        assert raw.uid(patch) == raw.uid(pod), "another pod of that name is left alone"
        found[raw.name(pod)] = annotations[COST]
    return found


def test_costs_rise_with_actors_first_and_then_with_the_magnitude_of_tasks() -> None:
    order = [(0, 0), (0, 1), (0, 2), (0, 7), (0, 8), (0, 2**40), (1, 0), (1, 1), (2, 0), (2, 100)]
    costs = [cost_of(*each) for each in order]

    assert costs == [0, 1, 2, 3, 4, 41, AN_ACTOR, AN_ACTOR + 1, 2 * AN_ACTOR, 2 * AN_ACTOR + 7]
    assert cost_of(4, 5) == cost_of(4, 7), "tasks that come and go are not written each time"
    assert cost_of(10**12, 2**2000) < 2**31, "an int32"


@pytest.mark.parametrize(
    ("work", "costs"),
    [
        (told(), {}),
        (told(("10.0.0.1", 0, 0), ("10.0.0.2", 0, 0)), {}),
        (told(("10.0.0.1", 1, 0), ("10.0.0.2", 0, 3)), {"a": "1000", "b": "2"}),
        (told(("10.0.0.1", 1, 0), ("10.0.0.1", 1, 1)), {"a": "2001"}),
        (told(("10.0.0.9", 9, 9)), {}),
        (told(("no address", 9, 9), ("", 9, 9)), {}),
        (told(("10.0.0.2", 1, 0), whole=False), {"a": "1", "b": "1000"}),
        (None, {}),
    ],
    ids=[
        "no nodes",
        "idle",
        "busy",
        "a node that came again",
        "the head",
        "no IP",
        "work of unknown place",
        "unknown",
    ],
)
def test_each_worker_costs_what_the_ray_node_at_its_address_does(
    work: ClusterWork | None, costs: dict[str, str]
) -> None:
    starting = worker("c", address="")
    pods = [worker("a"), worker("b", "10.0.0.2"), *([] if work and not work.whole else [starting])]

    assert written(pods, work) == costs


def test_an_address_is_the_same_in_any_spelling_and_in_either_family() -> None:
    dual = worker("a")
    raw.table(dual, "status")["podIPs"] = [{"ip": "10.0.0.1"}, {"ip": "fd00::1"}]

    assert written([dual], told(("fd00:0:0::1", 1, 0))) == {"a": "1000"}


def test_hosts_of_one_replica_cost_what_all_of_them_do() -> None:
    pods = [
        worker("a", "10.0.0.1", "w-1"),
        worker("b", "10.0.0.2", "w-1"),
        worker("c", "10.0.0.3", "w-2"),
        worker("d", "10.0.0.4"),
    ]

    assert written(pods, told(("10.0.0.2", 1, 1), ("10.0.0.4", 0, 1))) == {"a": "1001", "b": "1001", "d": "1"}


BUSY, IDLE = told(("10.0.0.1", 1, 0)), told(("10.0.0.1", 0, 0))
BOTH = {COST: "1000", OURS: "1000"}


@pytest.mark.parametrize(
    ("present", "work", "patch"),
    [
        ({}, BUSY, BOTH),
        ({}, IDLE, {}),
        (BOTH, BUSY, {}),
        ({COST: "1", OURS: "1"}, BUSY, BOTH),
        (BOTH, IDLE, {COST: None, OURS: None}),
        (BOTH, None, {COST: None, OURS: None}),
        ({COST: "7"}, BUSY, {}),
        ({COST: "7"}, IDLE, {}),
        ({COST: "7"}, None, {}),
        ({COST: "1000"}, IDLE, {}),
        ({COST: "0"}, BUSY, {}),
        ({COST: ""}, BUSY, {}),
        ({COST: "7", OURS: "1000"}, BUSY, {OURS: None}),
        ({OURS: "1000"}, BUSY, {COST: "1000"}),
        ({OURS: "1000"}, IDLE, {OURS: None}),
    ],
)
def test_only_what_changed_is_written_and_a_users_own_value_stays(
    present: dict[str, str], work: ClusterWork | None, patch: JsonObject
) -> None:
    found = [raw.table(each, "metadata", "annotations") for _, each in writes([worker(**present)], work)]

    assert found == ([patch] if patch else [])


def test_heads_pods_that_go_and_those_of_other_schedulers_are_no_workers() -> None:
    cluster = ray_cluster()
    going, other, cleaner = worker("going"), worker("other"), worker("cleaner")
    raw.table(going, "metadata")["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    raw.table(other, "spec")["schedulerName"] = "default-scheduler"
    del raw.table(cleaner, "metadata", "labels")["ray.io/node-type"]
    pods = [worker("a"), ray_pod(cluster, "head", "headgroup"), going, other, cleaner]

    assert [raw.name(pod) for pod in workers_of(cluster, pods, {"volcano"})] == ["a"]


HEAD: JsonObject = {"podIP": "10.0.0.9", "serviceIP": "10.96.0.9"}


@pytest.mark.parametrize(
    ("status", "spec", "url"),
    [
        ({}, {}, ""),
        ({"head": {"podIP": ""}}, {}, ""),
        ({"head": HEAD}, {}, "http://10.0.0.9:8265"),
        ({"head": {"serviceIP": "10.96.0.9"}}, {}, "http://10.96.0.9:8265"),
        ({"head": {"podIP": "fd00::9"}}, {}, "http://[fd00::9]:8265"),
        ({"head": HEAD, "endpoints": {"dashboard": "8266"}}, {}, "http://10.0.0.9:8266"),
        ({"head": HEAD, "endpoints": {"dashboard": "dash"}}, {}, "http://10.0.0.9:8265"),
        ({"head": HEAD, "endpoints": {"dashboard": "99999999"}}, {}, "http://10.0.0.9:8265"),
        ({"head": HEAD, "endpoints": {"dashboard": "0"}}, {}, "http://10.0.0.9:8265"),
        ({"head": HEAD}, {"suspend": True}, ""),
        ({"head": {"podIP": "evil.example/x?", "serviceIP": "None"}}, {}, ""),
        ({"head": {"podIP": "169.254.169.254"}}, {}, ""),
    ],
)
def test_the_dashboard_is_where_the_status_says_the_head_is(
    status: JsonObject, spec: dict[str, object], url: str
) -> None:
    assert dashboard_of({**ray_cluster(**spec), "status": status}) == url  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("head", "port"),
    [
        ({"serviceType": "NodePort"}, 8265),
        ({"serviceType": "LoadBalancer"}, 8265),
        ({"serviceType": "ClusterIP"}, 30123),
        ({"serviceType": "NodePort", "ports": [{"name": "dashboard", "containerPort": 9000}]}, 9000),
        ({"ports": [{"name": "gcs", "containerPort": 9000}]}, 30123),
    ],
)
def test_a_port_of_kubernetes_nodes_is_not_taken_for_the_heads(head: JsonObject, port: int) -> None:
    container: JsonObject = {"name": "head", "ports": head.pop("ports", [])}
    group: JsonObject = {"template": {"spec": {"containers": [container]}}, **head}
    status: JsonObject = {"head": HEAD, "endpoints": {"dashboard": "30123"}}

    assert dashboard_of({**ray_cluster(headGroupSpec=group), "status": status}) == f"http://10.0.0.9:{port}"


def test_a_cluster_on_its_way_out_has_no_dashboard() -> None:
    cluster = {**ray_cluster(), "status": {"head": HEAD}}
    raw.table(cluster, "metadata")["deletionTimestamp"] = "2026-01-01T00:00:00Z"

    assert dashboard_of(cluster) == ""


@pytest.mark.parametrize(
    ("options", "secret"),
    [
        ({}, ""),
        ({"mode": "disabled", "secretName": "s"}, ""),
        ({"mode": "token"}, "r"),
        ({"secretName": "s"}, "s"),
        ({"mode": "token", "secretName": "s"}, "s"),
    ],
)
def test_the_token_is_in_the_secret_that_the_cluster_names_or_that_is_called_after_it(
    options: JsonObject, secret: str
) -> None:
    assert token_secret(ray_cluster(authOptions=options)) == secret

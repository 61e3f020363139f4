"""The auditor finds what is wrong in made-up histories, and nothing in good ones."""

from __future__ import annotations

from typing import Any

import pytest

from tests.e2e.auditor import History, State, amount, over_capability, overbooked, requests, why_half_bound

Object = dict[str, Any]


def pod(
    name: str,
    node: str = "",
    group: str = "g",
    cpu: str = "1",
    role: str = "",
    phase: str = "Pending",
    uid: str = "",
    leaving: bool = False,
) -> Object:
    notes = {"scheduling.k8s.io/group-name": group} if group else {}
    if role:
        notes["volcano.sh/task-spec"] = role
    metadata: Object = {"namespace": "ns", "name": name, "uid": uid or f"uid-{name}", "annotations": notes}
    if leaving:
        metadata["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    asked = {"resources": {"requests": {"cpu": cpu}}} if cpu else {}
    spec: Object = {"containers": [{"name": "main", **asked}]}
    if node:
        spec["nodeName"] = node
    return {"metadata": metadata, "spec": spec, "status": {"phase": phase}}


def group(least: int, roles: dict[str, int] | None = None, queue: str = "default", name: str = "g") -> Object:
    spec: Object = {"minMember": least, "queue": queue}
    if roles:
        spec["minTaskMember"] = roles
    return {"metadata": {"namespace": "ns", "name": name}, "spec": spec}


def node(name: str, cpu: str = "4", pods: str = "10") -> Object:
    return {"metadata": {"name": name}, "status": {"allocatable": {"cpu": cpu, "pods": pods}}}


def state(*pods: Object, groups: list[Object] | None = None, nodes: list[Object] | None = None) -> State:
    return State(
        pods={each["metadata"]["uid"]: each for each in pods},
        groups={f"ns/{each['metadata']['name']}": each for each in groups or []},
        nodes={each["metadata"]["name"]: each for each in nodes or []},
    )


def history(*nodes: Object, grace_s: float = 30.0) -> History:
    made = History(grace_s)
    for each in nodes or (node("n1"),):
        made.node("ADDED", each)
    return made


def test_a_gang_bound_below_its_minimum_is_found() -> None:
    found = state(pod("a", "n1"), pod("b", "n1"), pod("c"), groups=[group(3)])

    assert why_half_bound(found, "ns/g") == "ns/g: 2 bound of at least 3"


@pytest.mark.parametrize("bound", [0, 3, 4])
def test_a_gang_that_waits_or_is_whole_is_fine(bound: int) -> None:
    pods = [pod(str(n), "n1" if n < bound else "") for n in range(4)]

    assert why_half_bound(state(*pods, groups=[group(3)]), "ns/g") == ""


def test_a_role_below_its_minimum_is_found_when_the_minimums_fit_into_the_total() -> None:
    pods = [pod("w1", "n1", role="worker"), pod("w2", "n1", role="worker"), pod("m", role="master")]
    strict, loose = group(2, {"worker": 1, "master": 1}), group(1, {"worker": 1, "master": 1})

    assert why_half_bound(state(*pods, groups=[strict]), "ns/g") == "ns/g: 0 bound of at least 1 master"
    assert why_half_bound(state(*pods, groups=[loose]), "ns/g") == ""


def test_pods_that_ask_for_nothing_count_and_pods_on_their_way_out_do_not() -> None:
    light = state(pod("a", "n1"), pod("b", cpu=""), groups=[group(2)])
    leaving = state(pod("a", "n1"), pod("b", "n1", leaving=True), groups=[group(2)])

    assert why_half_bound(light, "ns/g") == ""
    assert why_half_bound(leaving, "ns/g") == "ns/g: 1 bound of at least 2"


@pytest.mark.parametrize(
    ("pods", "sentence"),
    [
        ([pod("a", "n1", cpu="3"), pod("b", "n1", cpu="1001m")], "node n1: 4.001 cpu in use of 4"),
        ([pod(str(n), "n1", cpu="") for n in range(11)], "node n1: 11 pods in use of 10"),
        ([pod("a", "n1", cpu="3", leaving=True), pod("b", "n1", cpu="2")], "node n1: 5 cpu in use of 4"),
    ],
)
def test_an_overbooked_node_is_found(pods: list[Object], sentence: str) -> None:
    assert overbooked(state(*pods, nodes=[node("n1")])) == [sentence]


def test_finished_pods_take_no_room_and_a_full_node_is_fine() -> None:
    pods = [pod("a", "n1", cpu="4"), pod("b", "n1", cpu="4", phase="Succeeded"), pod("c", cpu="9")]

    assert overbooked(state(*pods, nodes=[node("n1")])) == []


def test_a_resource_that_the_node_lacks_is_overbooked() -> None:
    asking = pod("a", "n1")
    asking["spec"]["containers"][0]["resources"]["requests"]["nvidia.com/gpu"] = "1"

    assert overbooked(state(asking, nodes=[node("n1")])) == ["node n1: 1 nvidia.com/gpu in use of 0"]


def test_requests_know_init_containers_sidecars_and_overhead() -> None:
    asking = pod("a", cpu="1")
    cpu = lambda amount: {"resources": {"requests": {"cpu": amount}}}  # noqa: E731
    asking["spec"]["initContainers"] = [cpu("500m") | {"restartPolicy": "Always"}, cpu("3")]
    asking["spec"]["overhead"] = {"cpu": "250m"}

    assert requests(asking) == {"cpu": amount("3750m")}


def test_a_queue_over_its_capability_is_found() -> None:
    found = state(pod("a", "n1", cpu="3"), groups=[group(1, queue="q")])
    found.queues["q"] = {"metadata": {"name": "q"}, "spec": {"capability": {"cpu": "2"}}}

    assert over_capability(found) == ["queue q: 3 cpu in use of 2"]


def test_half_bound_for_a_moment_is_excused_and_counted() -> None:
    seen = history()
    seen.group("ADDED", group(2), 0)
    seen.pod("ADDED", pod("a"), 0)
    seen.pod("ADDED", pod("b"), 0)

    seen.pod("MODIFIED", pod("a", "n1"), 1)
    assert list(seen.half_bound_since) == ["ns/g"]
    seen.pod("MODIFIED", pod("b", "n1"), 3)

    assert seen.judge(100) == []
    assert (seen.half_bound_moments, seen.longest_half_bound_s, seen.bindings) == (1, 2, 2)


def test_half_bound_for_too_long_is_a_violation_even_when_it_was_mended() -> None:
    seen = history(grace_s=30)
    seen.group("ADDED", group(2), 0)
    seen.pod("MODIFIED", pod("a", "n1"), 1)
    seen.pod("MODIFIED", pod("b", "n1"), 32)

    assert seen.judge(40) == ["half bound for more than 30 s: ns/g"]


def test_the_time_without_a_scheduler_is_excused() -> None:
    seen = history(grace_s=30)
    seen.group("ADDED", group(2), 0)
    seen.pod("MODIFIED", pod("a", "n1"), 1)
    seen.excuse(50)
    seen.pod("MODIFIED", pod("b", "n1"), 79)

    assert seen.judge(90) == []


def test_half_bound_at_the_end_is_a_violation() -> None:
    seen = history()
    seen.group("ADDED", group(2), 0)
    seen.pod("MODIFIED", pod("a", "n1"), 1)
    seen.overdue(2)

    assert seen.judge(2) == ["half bound at the end: ns/g: 1 bound of at least 2"]


def test_a_gang_that_was_whole_once_may_shrink() -> None:
    seen = history()
    seen.group("ADDED", group(2), 0)
    for name in ("a", "b"):
        seen.pod("ADDED", pod(name, "n1"), 0)
    seen.pod("DELETED", pod("a", "n1"), 1)

    assert seen.judge(99) == []


def test_a_gang_that_lost_all_its_pods_must_start_whole_again() -> None:
    seen = history()
    seen.group("ADDED", group(2), 0)
    for name in ("a", "b"):
        seen.pod("ADDED", pod(name, "n1"), 0)
    for name in ("a", "b"):
        seen.pod("DELETED", pod(name, "n1"), 1)
    seen.pod("ADDED", pod("a", "n1", uid="second"), 2)

    assert seen.judge(3) == ["half bound at the end: ns/g: 1 bound of at least 2"]


def test_a_taken_back_gang_is_fine() -> None:
    seen = history()
    seen.group("ADDED", group(2), 0)
    seen.pod("ADDED", pod("a", "n1"), 0)
    seen.pod("MODIFIED", pod("a", "n1", leaving=True), 5)
    seen.pod("DELETED", pod("a", "n1", leaving=True), 6)

    assert seen.judge(99) == []


def test_a_pod_whose_node_changes_is_a_violation() -> None:
    seen = history(node("n1"), node("n2"))
    seen.pod("ADDED", pod("a", "n1", group=""), 0)
    seen.pod("MODIFIED", pod("a", "n2", group=""), 1)

    assert seen.judge(1) == ["pod ns/a was bound to n1, now to n2"]


def test_a_successor_of_the_same_name_may_go_elsewhere() -> None:
    seen = history(node("n1"), node("n2"))
    seen.pod("ADDED", pod("a", "n1", group=""), 0)
    seen.pod("DELETED", pod("a", "n1", group=""), 1)
    seen.pod("ADDED", pod("a", "n2", group="", uid="other"), 2)

    assert seen.judge(2) == []


def test_a_node_overbooked_for_a_moment_is_a_violation() -> None:
    seen = history()
    seen.pod("ADDED", pod("a", "n1", group="", cpu="3"), 0)
    seen.pod("ADDED", pod("b", "n1", group="", cpu="2"), 0)
    seen.pod("DELETED", pod("b", "n1", group="", cpu="2"), 1)

    assert seen.judge(1) == ["node n1: 5 cpu in use of 4"]

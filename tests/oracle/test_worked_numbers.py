"""The oracle against numbers worked out by hand, so that it does not only agree with the kernel's errors."""

from __future__ import annotations

import pytest

from tests.oracle import configurations, filters, scores, shares
from tests.oracle.facts import Node, Object, Pod, amounts, pod_request, read_node, read_pod
from tests.oracle.scheduler import decide
from tests.oracle.shares import Share

GIB = 2**30


def node(name: str = "n1", labels: dict[str, str] | None = None, **allocatable: str) -> Node:
    return read_node(node_object(name, labels, allocatable))


def node_object(name: str, labels: dict[str, str] | None, allocatable: Object) -> Object:
    listed = {"pods": "110", **{k.replace("gpu", "nvidia.com/gpu"): v for k, v in allocatable.items()}}
    return {
        "kind": "Node",
        "metadata": {"name": name, "labels": labels or {}},
        "status": {"allocatable": listed, "conditions": [{"type": "Ready", "status": "True"}]},
    }


def pod_object(name: str, group: str = "", node_name: str = "", **requests: str) -> Object:
    listed = {k.replace("gpu", "nvidia.com/gpu"): v for k, v in requests.items()}
    spec: Object = {"schedulerName": "volcano", "containers": [{"resources": {"requests": listed}}]}
    if node_name:
        spec["nodeName"] = node_name
    return {
        "kind": "Pod",
        "metadata": {
            "name": name,
            "namespace": "ns",
            "uid": f"uid-{name}",
            "annotations": {"scheduling.k8s.io/group-name": group} if group else {},
        },
        "spec": spec,
        "status": {"phase": "Running" if node_name else "Pending"},
    }


def pod(name: str = "p", **requests: str) -> Pod:
    return read_pod(pod_object(name, **requests), {})


def group(name: str, members: int, queue: str = "default", phase: str = "Inqueue", **spec: object) -> Object:
    return {
        "kind": "PodGroup",
        "metadata": {"name": name, "namespace": "ns", "uid": f"uid-{name}"},
        "spec": {"minMember": members, "queue": queue, **spec},
        "status": {"phase": phase},
    }


def queue(name: str, **spec: object) -> Object:
    return {"kind": "Queue", "metadata": {"name": name}, "spec": spec, "status": {"state": "Open"}}


def filled(total: dict[str, float], *queues: Share) -> dict[str, dict[str, float]]:
    shares.fill({"memory": 0, "cpu": 0, **total}, list(queues))
    return {q.name: {k: v for k, v in q.deserved.items() if v} for q in queues}


def wants(
    name: str, weight: int, request: dict[str, float], guarantee: dict[str, float] | None = None
) -> Share:
    everything = dict.fromkeys(("cpu", "memory", "pods"), 10.0**12)
    return Share(name, weight, request, everything, guarantee or {})


def test_deserved_is_offered_again_when_a_queue_has_enough() -> None:
    got = filled({"cpu": 12}, wants("a", 1, {"cpu": 2}), wants("b", 2, {"cpu": 20}))
    assert got == {"a": {"cpu": 2}, "b": {"cpu": 10}}


def test_each_dimension_of_deserved_is_offered_on_its_own() -> None:
    got = filled(
        {"cpu": 10, "memory": 10},
        wants("a", 1, {"cpu": 8, "memory": 1}),
        wants("b", 1, {"cpu": 2, "memory": 8}),
    )
    assert got == {"a": {"cpu": 8, "memory": 1}, "b": {"cpu": 2, "memory": 8}}


def test_a_queue_gets_its_guarantee_above_its_request() -> None:
    a, b = wants("a", 1, {"cpu": 2}, {"cpu": 4}), wants("b", 1, {"cpu": 20})
    b.real = {"cpu": 6, "memory": 0}
    assert filled({"cpu": 10}, a, b) == {"a": {"cpu": 4}, "b": {"cpu": 6}}


def test_pods_are_shared_in_fractions() -> None:
    got = filled({"pods": 1}, wants("a", 1, {"pods": 1}), wants("b", 1, {"pods": 1}))
    assert got == {"a": {"pods": 0.5}, "b": {"pods": 0.5}}


def test_all_zero_weights_count_as_equal() -> None:
    got = filled({"cpu": 8}, wants("a", 0, {"cpu": 6}), wants("b", 0, {"cpu": 6}))
    assert got == {"a": {"cpu": 4}, "b": {"cpu": 4}}


def test_a_queue_is_not_overused_while_one_dimension_is_short() -> None:
    deserved = {"cpu": 4.0, "memory": 8.0, "pods": 3.0}
    assert not shares.at_most(deserved, {"cpu": 4, "memory": 8, "pods": 2})
    assert not shares.within({"cpu": 5}, deserved, {"cpu": 1})


def test_drf_takes_the_largest_dimension_and_pods_is_one() -> None:
    total = {"cpu": 10.0, "memory": 100.0, "pods": 110.0}
    assert shares.share_of({"cpu": 2, "memory": 30}, total) == 0.3
    assert shares.share_of({"cpu": 2, "memory": 30, "pods": 55}, total) == 0.5


def loaded() -> Node:
    place = node(cpu="8", memory="16Gi")
    place.pods.append(pod("there", cpu="2", memory="4Gi"))
    return place


def test_least_most_and_balanced_of_a_loaded_and_an_empty_node() -> None:
    task, empty = pod(cpu="1", memory="3Gi"), node(cpu="8", memory="16Gi")
    assert (*scores.least_and_most(task, loaded()), scores.balanced(task, loaded())) == (59, 40, 73)
    assert (*scores.least_and_most(task, empty), scores.balanced(task, empty)) == (84, 15, 73)


def test_a_task_without_requests_scores_by_the_defaults() -> None:
    assert (*scores.least_and_most(pod(), loaded()), scores.balanced(pod(), loaded())) == (73, 26, 0)


def test_binpack_averages_the_requested_dimensions() -> None:
    assert scores.binpack({}, pod(cpu="2", memory="4Gi"), loaded()) == 50
    half = node(cpu="8", memory="16Gi")
    arguments = {
        "binpack.cpu": 5,
        "binpack.resources": "nvidia.com/gpu",
        "binpack.resources.nvidia.com/gpu": 2,
    }
    assert scores.binpack(arguments, pod(cpu="4", memory="8Gi", gpu="1"), half) == 37.5


def test_binpack_gives_nothing_on_overflow() -> None:
    assert scores.binpack({}, pod(cpu="7", memory="1Gi"), loaded()) == 0


@pytest.mark.parametrize(
    ("scorer", "raw", "scaled"),
    [("tainttoleration", [0, 1, 3], [100, 67, 0]), ("nodeaffinity", [10, 3, 0], [100, 30, 0])],
)
def test_normalised_scores(scorer: str, raw: list[int], scaled: list[int]) -> None:
    places, task = [], pod()
    for row, count in enumerate(raw):
        places.append(node(f"n{row}", {"value": str(count)}))
        taint = {"key": "t", "effect": "PreferNoSchedule"}
        places[row].taints = [taint] * count if scorer == "tainttoleration" else []
    preferred = [
        {
            "weight": w,
            "preference": {"matchExpressions": [{"key": "value", "operator": "In", "values": [str(w)]}]},
        }
        for w in (10, 3)
    ]
    if scorer == "nodeaffinity":
        task.spec["affinity"] = {
            "nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": preferred}
        }
    world = shares.Cluster(nodes={place.name: place for place in places})
    found = {name: list(by_node.values()) for by_node, name in scores.normalised(world, task, places)}
    assert found[scorer] == scaled


def test_sidecars_add_and_init_containers_only_peak() -> None:
    def container(cpu: str, **more: str) -> Object:
        return {"resources": {"requests": {"cpu": cpu}}, **more}

    spec = {
        "containers": [container("1")],
        "initContainers": [container("1", restartPolicy="Always"), container("3")],
    }
    assert pod_request(spec, {}) == {"cpu": 4000}


def test_units_and_names_that_do_not_count() -> None:
    listed = {"cpu": "1500m", "memory": "1Gi", "nvidia.com/gpu": 2, "pods": "7", "requests.cpu": "9"}
    assert amounts(listed) == {"cpu": 1500, "memory": GIB, "nvidia.com/gpu": 2000, "pods": 7}


def test_a_zero_request_does_not_fit_an_overcommitted_node() -> None:
    assert not filters.fits({"cpu": 100}, {"cpu": 500, "memory": -1})


def test_enqueue_counts_elastic_members_for_nothing() -> None:
    running = [pod_object(f"r{i}", "run", "n1", cpu="2", memory="1Mi") for i in range(3)]
    world = [
        node_object("n1", None, {"cpu": "100", "memory": "64Gi"}),
        queue("default", weight=1, capability={"cpu": "10"}),
        group("run", 2, phase="Running", minResources={"cpu": "4", "memory": "1Gi"}),
        *running,
        group("held", 1, minResources={"cpu": "3"}),
        group("fits", 1, phase="Pending", minResources={"cpu": "3"}),
        group("over", 1, phase="Pending", minResources={"cpu": "3001m"}),
    ]
    conf = configurations.configuration("enqueue", ["priority", "gang"], ["proportion"])
    first = decide([*world[:-1]], conf, 1)
    second = decide([*world[:-2], world[-1]], conf, 1)
    assert first.phases["ns/fits"] == "Inqueue"
    assert second.phases["ns/over"] == "Pending"


def test_overcommit_admits_up_to_the_factor() -> None:
    conf = configurations.configuration("enqueue", ["gang"], ["overcommit"])
    for asked, phase in (("2", "Inqueue"), ("2001m", "Pending")):
        world = [
            node_object("n1", None, {"cpu": "10", "memory": "64Gi"}),
            queue("default"),
            pod_object("used", "", "n1", cpu="6", memory="1Mi"),
            group("held", 1, minResources={"cpu": "4"}),
            group("new", 1, phase="Pending", minResources={"cpu": asked}),
        ]
        assert decide(world, conf, 1).phases["ns/new"] == phase


def test_a_gang_that_does_not_fit_holds_nothing_and_the_next_one_is_bound() -> None:
    big = [pod_object(f"big-x-{i}", "big", cpu="30", memory="40Gi") for i in range(4)]
    small = [pod_object(f"small-x-{i}", "small", cpu="20", memory="20Gi") for i in range(4)]
    world = [node_object("n1", None, {"cpu": "100", "memory": "100Gi"}), queue("default")]
    world += [group("big", 4, phase=""), group("small", 4, phase=""), *big, *small]
    outcome = decide(world, configurations.KA, 1)
    assert sorted(outcome.bound) == [f"ns/small-x-{i}" for i in range(4)]
    assert not outcome.pipelined


def test_a_role_minimum_keeps_room_for_the_other_role() -> None:
    world = [node_object(f"n{i}", None, {"cpu": "30", "memory": "64Gi"}) for i in range(5)]
    world += [queue("default"), group("j", 5, minTaskMember={"t1": 2, "t2": 2})]
    for role, count in (("t1", 6), ("t2", 2)):
        for i in range(count):
            member = pod_object(f"j-{role}-{i}", "j", cpu="30", memory="1Gi")
            member["metadata"]["annotations"]["volcano.sh/task-spec"] = role
            world.append(member)
    bound = decide(world, configurations.KA, 1).bound
    assert sorted(bound) == ["ns/j-t1-0", "ns/j-t1-1", "ns/j-t1-2", "ns/j-t2-0", "ns/j-t2-1"]

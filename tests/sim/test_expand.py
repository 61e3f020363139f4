"""What is created, and in which order."""

from __future__ import annotations

import itertools

import pytest

from vcray.errors import InputError
from vcray.sim import expand
from vcray.sim.scenario import Objects


def names(given: Objects, order: int = 0) -> list[str]:
    return [
        f"{each['kind']}/{each['metadata']['name']}"  # type: ignore[index,call-overload]
        for each in expand.objects(given, "given", order)
    ]


def test_what_others_need_comes_first() -> None:
    claim = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "c"}}
    storage = {"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": "s"}}
    given = Objects(
        nodes={"n1..n2": "1c"},
        queues={"q": None},
        groups={"g": 1},
        jobs={"j": {"priority": 10, "namespace": "a", "tasks": {"t": "1c"}}},
        pods={"p": {"priority": -1}},
        priorities={"listed": 3},
        objects=[claim, storage],  # type: ignore[list-item]
    )

    assert names(given) == [
        "Namespace/a",
        "PriorityClass/listed",
        "PriorityClass/priority-10",
        "PriorityClass/priority--1",
        "StorageClass/s",
        "Node/n1",
        "Node/n2",
        "Queue/q",
        "PodGroup/g",
        "Job/j",
        "Pod/p",
        "PersistentVolumeClaim/c",
    ]


def test_ranges_and_counts_are_spelled_out() -> None:
    given = Objects(nodes={"a-8..a-10": "1c"}, jobs={"j": {"count": 2, "tasks": {"t": "1c"}}})

    assert names(given) == ["Node/a-8", "Node/a-9", "Node/a-10", "Job/j-0", "Job/j-1"]


def test_few_objects_come_in_all_permutations() -> None:
    orders = {tuple(expand.permuted("abc", order)) for order in range(6)}

    assert orders == set(itertools.permutations("abc"))
    assert expand.permuted("abc", 0) == ["a", "b", "c"]


def test_many_objects_are_shuffled_by_the_order_alone() -> None:
    letters = "abcdefgh"

    assert expand.permuted(letters, 3) == expand.permuted(letters, 3)
    assert expand.permuted(letters, 3) != expand.permuted(letters, 4)
    assert sorted(expand.permuted(letters, 3)) == list(letters)


def test_nodes_are_permuted_too() -> None:
    given = Objects(nodes={"n1..n3": "1c"})

    assert len({tuple(names(given, order)) for order in range(6)}) == 6


def test_namespace_moves_all_that_can_be_in_one() -> None:
    given = Objects(nodes={"n1": "1c"}, pods={"p": "1c"}, namespace="team")

    moved = expand.objects(given, "given")

    assert names(given) == ["Namespace/team", "Node/n1", "Pod/p"]
    assert moved[2]["metadata"]["namespace"] == "team"  # type: ignore[index,call-overload]


@pytest.mark.parametrize(
    ("given", "what"),
    [
        (
            {"objects": [{"apiVersion": "v1", "kind": "Podd", "metadata": {"name": "p"}}]},
            "VC0302 x.objects[0]: unknown kind 'v1 Podd'",
        ),
        (
            {"objects": [{"apiVersion": "v1", "kind": "Pod"}]},
            "VC0302 x.objects[0].metadata: the object has no name",
        ),
        ({"nodes": {"n1": 8}}, "VC0302 x.nodes.n1: expected an amount or a map, got 8"),
        ({"groups": {"g": "4"}}, "VC0302 x.groups.g: expected a number or a map, got '4'"),
        ({"queues": {"q": 1}}, "VC0302 x.queues.q: expected a map, got 1"),
        ({"pods": {"p": [1]}}, "VC0302 x.pods.p: expected an amount or a map, got [1]"),
        ({"jobs": {"j": None}}, "VC0302 x.jobs.j: expected an amount or a map, got None"),
        (
            {"jobs": {"j": {"count": "x", "tasks": {}}}},
            "VC0302 x.jobs.j.count: expected a number, got 'x'",
        ),
        ({"priorities": {"p": "high"}}, "VC0302 x.priorities.p: expected a number or a map, got 'high'"),
    ],
)
def test_faults_are_found_before_anything_is_created(given: dict[str, object], what: str) -> None:
    with pytest.raises(InputError) as told:
        expand.checked(Objects.model_validate(given), "x")

    assert str(told.value) == what

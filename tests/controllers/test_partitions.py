"""A vcjob's networkTopology and partitionPolicy: what its PodGroup and its pods say of them."""

from __future__ import annotations

import pytest

from tests.controllers.world import World, a_task
from vcray.api.meta import JsonObject
from vcray.api.resources import JOBS, PODGROUPS, PODS
from vcray.controllers import raw
from vcray.controllers.job.controller import JobController


def submitted(**spec: object) -> World:
    w = World([JobController()])
    w.submit(**spec)  # type: ignore[arg-type]
    return w


def group_spec(w: World) -> JsonObject:
    (group,) = w.list(PODGROUPS)
    return raw.table(group, "spec")


def partitions(total: int, size: int, least: int | None = None, **topology: object) -> JsonObject:
    policy: JsonObject = {"totalPartitions": total, "partitionSize": size}
    if least is not None:
        policy["minPartitions"] = least
    if topology:
        policy["networkTopology"] = dict(topology)  # type: ignore[arg-type]
    return policy


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({}, {"mode": "hard"}),
        ({"mode": "soft"}, {"mode": "soft"}),
        ({"mode": "hard", "highestTierAllowed": 0}, {"mode": "hard", "highestTierAllowed": 0}),
        ({"highestTierName": "rack"}, {"mode": "hard", "highestTierName": "rack"}),
        (
            {"highestTierAllowed": 2, "highestTierName": "rack"},
            {"mode": "hard", "highestTierAllowed": 2},
        ),
    ],
    ids=["hard by default", "soft", "tier 0", "by name", "the number wins"],
)
def test_the_topology_of_the_job_is_that_of_its_podgroup(given: JsonObject, expected: JsonObject) -> None:
    assert group_spec(submitted(networkTopology=given))["networkTopology"] == expected


def test_a_job_without_a_topology_states_none() -> None:
    assert "networkTopology" not in group_spec(submitted())


def test_each_task_with_partitions_is_a_sub_group_policy_of_its_pods() -> None:
    w = submitted(
        tasks=[
            a_task("a", 4, partitionPolicy=partitions(2, 2, 1, mode="hard", highestTierName="rack")),
            a_task("plain", 1),
            a_task("b", 3, partitionPolicy=partitions(1, 3)),
        ]
    )
    assert group_spec(w)["subGroupPolicy"] == [
        {
            "name": "a",
            "subGroupSize": 2,
            "minSubGroups": 1,
            "labelSelector": {"matchLabels": {"volcano.sh/task-spec": "a"}},
            "matchLabelKeys": ["volcano.sh/partition-id"],
            "networkTopology": {"mode": "hard", "highestTierName": "rack"},
        },
        {
            "name": "b",
            "subGroupSize": 3,
            "minSubGroups": 0,
            "labelSelector": {"matchLabels": {"volcano.sh/task-spec": "b"}},
            "matchLabelKeys": ["volcano.sh/partition-id"],
        },
    ]


@pytest.mark.parametrize(
    ("least", "minimum", "expected"),
    [(None, 1, 2), (3, 1, 3), (None, 0, 4), (None, None, 4)],
    ids=["least partitions", "stated", "no least partitions", "none stated"],
)
def test_a_tasks_minimum_is_its_own_else_its_least_partitions_else_all(
    least: int | None, minimum: int | None, expected: int
) -> None:
    w = submitted(tasks=[a_task("a", 4, least, partitionPolicy=partitions(2, 2, minimum))])
    assert group_spec(w)["minTaskMember"] == {"a": expected}


def test_pods_carry_the_number_of_their_partition() -> None:
    """api-controllers.md 10.59."""
    w = submitted(tasks=[a_task("a", 5, partitionPolicy=partitions(3, 2)), a_task("plain", 1)])
    w.admit()
    found = {raw.name(pod): raw.labels_of(pod).get("volcano.sh/partition-id") for pod in w.list(PODS)}
    assert found == {"j-a-0": "0", "j-a-1": "0", "j-a-2": "1", "j-a-3": "1", "j-a-4": "2", "j-plain-0": None}


def test_partitions_follow_the_job_and_the_topology_does_not() -> None:
    w = submitted(
        networkTopology={"highestTierAllowed": 1}, tasks=[a_task("a", 4, partitionPolicy=partitions(2, 2))]
    )
    tasks = [
        {**task, "partitionPolicy": partitions(2, 2, 2)} for task in raw.tables(w.job(), "spec", "tasks")
    ]
    w.change(JOBS, "ns", "j", spec__tasks=tasks, spec__networkTopology={"highestTierAllowed": 3})
    w.settle()

    assert group_spec(w)["networkTopology"] == {"mode": "hard", "highestTierAllowed": 1}
    assert raw.tables(group_spec(w), "subGroupPolicy")[0]["minSubGroups"] == 2

"""Jobs and partitions of jobs within HyperNodes (Volcano's suite `hypernode`, what is about scheduling).

Eight nodes of 8 CPUs in three tiers (racks.py). Other pods hold some CPUs of some nodes; then a job comes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import pytest

from tests.e2e.release.cluster import Release
from tests.e2e.release.context import Context
from tests.e2e.release.racks import leaves, rack_task, racks, topology
from tests.e2e.release.scheduling import expect_waiting, nodes_of

Object = dict[str, Any]
SOFT = None
"""In place of the highest tier that is allowed."""
EVEN = dict.fromkeys((0, 2, 4, 6), 7)
ALL = range(8)

pytestmark = pytest.mark.usefixtures("tree")


@pytest.fixture(scope="module")
def tree(release: Release) -> Iterator[None]:
    """Eight racks in three tiers."""
    with racks(release, 8):
        yield


class Case(NamedTuple):
    """What is held of nodes, the job (`tier` and `parts` its topology and partitions), and where its pods end."""

    held: Mapping[int, int]
    pods: tuple[int, int]
    """How many, and of how many CPUs."""
    job: Object
    parts: Object
    where: Mapping[str, int]
    """HyperNode -> pods there; empty if the job waits."""


def tier(highest: int | None) -> Object:
    """The networkTopology of a job or of its partitions."""
    return {"networkTopology": topology(highest)}


def parts(count: int, size: int, highest: int | None, least: int = 0) -> Object:
    """A partitionPolicy."""
    made = {"totalPartitions": count, "partitionSize": size, **tier(highest)}
    return made | ({"minPartitions": least} if least else {})


def two_free(low: int, high: int) -> Mapping[int, int]:
    """Room for three pods of 3 CPUs in two HyperNodes of tier 1, which begin at these nodes; none in others."""
    full = {node: 6 for node in ALL if node // 2 not in (low // 2, high // 2)}
    return full | {low: 4, high: 4}


S1 = {2: 1, 3: 1}  # the second HyperNode of tier 1 is a little busier than all others
JOBS = {
    "the busiest that fits": Case(S1, (2, 2), tier(1), {}, {"s1": 2}),
    "the next busiest if that one is full": Case({2: 4, 3: 5, 4: 1}, (2, 4), tier(1), {}, {"s2": 2}),
    "none of tier 1 has room": Case(EVEN, (2, 5), tier(1), {}, {}),
    "tier 2 if none of tier 1 has room": Case(EVEN | {5: 1}, (2, 5), tier(2), {}, {"s5": 2}),
    "none of tier 2 has room": Case(EVEN | {1: 7, 5: 7}, (2, 5), tier(2), {}, {}),
    "soft: as near as they fit": Case(
        {0: 6, 2: 6, 4: 6, 6: 6, 1: 4, 3: 4, 5: 5, 7: 4}, (2, 3), tier(SOFT), {}, {"s5": 2}
    ),
    "soft: the whole tree": Case(EVEN | {1: 7, 5: 7}, (2, 5), tier(SOFT), {}, {"s1": 1, "s3": 1}),
}
PARTITIONS = {
    "all in one": Case(S1, (4, 2), tier(1), parts(2, 2, 1), {"s1": 4}),
    "no room": Case(dict.fromkeys(ALL, 6), (2, 4), tier(1), parts(2, 1, 1), {}),
    "room, but not in one": Case(
        dict.fromkeys(ALL, 2) | {0: 6, 2: 6, 4: 6, 6: 6}, (2, 4), tier(1), parts(2, 1, 1), {}
    ),
    "in one, though two may be used": Case(S1, (4, 2), tier(2), parts(2, 2, 1), {"s1": 4}),
    "one partition in each": Case(
        {0: 3, 2: 3} | dict.fromkeys((4, 5, 6, 7), 6), (4, 3), tier(2), parts(2, 2, 1), {"s0": 2, "s1": 2}
    ),
    "the busiest that fits": Case(S1 | {0: 6, 1: 6}, (4, 2), tier(2), parts(2, 2, 1), {"s1": 4}),
    "no room in tier 2": Case(dict.fromkeys(ALL, 6), (2, 4), tier(2), parts(2, 1, 1), {}),
    "room in tier 2, but in none for a partition": Case(EVEN, (2, 5), tier(2), parts(1, 2, 1), {}),
    "soft partitions in one": Case(S1, (4, 2), tier(2), parts(2, 2, SOFT), {"s1": 4}),
    "soft partitions where the job fits": Case(
        {0: 3, 1: 3, 2: 3, 3: 5, 4: 2, 6: 2}, (4, 4), tier(2), parts(2, 2, SOFT), {"s5": 4}
    ),
    "soft partitions, and no room for the job": Case(
        dict.fromkeys(ALL, 2) | {0: 6, 4: 6}, (4, 4), tier(2), parts(2, 2, SOFT), {}
    ),
    "a soft job of hard partitions": Case(
        two_free(0, 4), (4, 3), tier(SOFT), parts(2, 2, 1), {"s0": 2, "s2": 2}
    ),
    "a soft job of partitions that fit nowhere": Case(EVEN, (2, 5), tier(SOFT), parts(1, 2, 1), {}),
    "partitions alone": Case(two_free(0, 4), (4, 3), {}, parts(2, 2, 1), {"s0": 2, "s2": 2}),
    "just what must be there": Case(S1, (4, 3), tier(1) | {"minAvailable": 4}, parts(2, 2, 1, 2), {"s1": 4}),
    "more than must be there": Case(
        S1, (8, 3), tier(2) | {"minAvailable": 4}, parts(4, 2, 1, 4), {"s0": 4, "s1": 4}
    ),
    "enough partitions, not enough pods": Case(
        {}, (12, 3), tier(1) | {"minAvailable": 6}, parts(6, 2, 1, 2), {}
    ),
    "enough pods, not enough partitions": Case(
        {}, (12, 3), tier(1) | {"minAvailable": 4}, parts(6, 2, 1, 4), {}
    ),
}
AGAIN = {
    "a pod of a job": (Case({0: 1}, (2, 2), tier(1), {}, {"s0": 2}), 1),
    "a pod of a partition": (Case({6: 1, 7: 1}, (4, 2), tier(2), parts(2, 2, 1), {"s3": 4}), 1),
    "a pod of a partition that must be there": (
        Case({6: 1, 7: 1}, (4, 3), tier(2), parts(2, 2, 1, 2), {"s3": 4}),
        1,
    ),
    "a partition": (
        Case({6: 1, 7: 1}, (8, 3), tier(1) | {"minAvailable": 4}, parts(4, 2, 1, 2), {"s3": 4}),
        2,
    ),
}


def start(context: Context, case: Case) -> None:
    """The pods that hold CPUs, and once they run the job."""
    for number, cpu in case.held.items():
        spec = context.pod_spec(cpu, "default-scheduler")
        spec |= {"nodeName": f"rack-{number}", "terminationGracePeriodSeconds": 0}
        context.client.create(f"{context.core}/pods", {"metadata": {"name": f"held-{number}"}, "spec": spec})
    context.wait_bound(len(case.held))
    made = rack_task(context, *case.pods, policy=case.parts)
    context.create(context.job("job", made, **case.job))


def settled(context: Context, case: Case) -> None:
    """All pods that can run do, and they are where they belong."""
    context.running("job", sum(case.where.values()))
    nodes = nodes_of(context, "job")
    counted = {name: sum(node in leaves(name) for node in nodes) for name in case.where}
    assert counted == case.where, nodes


@pytest.mark.parametrize(
    "case",
    [
        pytest.param(
            case, id=name, marks=() if name == "tier 2 if none of tier 1 has room" else pytest.mark.full
        )
        for name, case in JOBS.items()
    ],
)
def test_a_job_is_placed_in_one_hypernode_or_waits(context: Context, case: Case) -> None:
    start(context, case)

    if case.where:
        settled(context, case)
    else:
        expect_waiting(context, "job")


@pytest.mark.parametrize(
    "case",
    [
        pytest.param(case, id=name, marks=() if name == "one partition in each" else pytest.mark.full)
        for name, case in PARTITIONS.items()
    ],
)
def test_each_partition_is_placed_in_one_hypernode_or_the_job_waits(context: Context, case: Case) -> None:
    start(context, case)

    if case.where:
        settled(context, case)
        partitions: dict[str, set[str]] = {}
        for pod in context.of("job", "Running"):
            part = pod["metadata"]["labels"]["volcano.sh/partition-id"]
            number = int(pod["spec"]["nodeName"].removeprefix("rack-"))
            partitions.setdefault(part, set()).add(f"s{number // 2}")
        if case.parts["networkTopology"]["mode"] == "hard":
            assert all(len(each) == 1 for each in partitions.values()), partitions
    else:
        expect_waiting(context, "job")


@pytest.mark.full
@pytest.mark.parametrize(("case", "count"), AGAIN.values(), ids=list(AGAIN))
def test_what_is_killed_comes_back_to_its_hypernode(context: Context, case: Case, count: int) -> None:
    start(context, case)
    settled(context, case)
    running = context.of("job", "Running")
    part = "volcano.sh/partition-id"
    of_one = [
        pod["metadata"]
        for pod in running
        if pod["metadata"]["labels"].get(part) == running[0]["metadata"]["labels"].get(part)
    ]
    killed = {pod["uid"] for pod in of_one[:count]}
    for pod in of_one[:count]:
        context.client.request("DELETE", f"{context.core}/pods/{pod['name']}")
    context.wait(
        lambda: not killed & {pod["metadata"]["uid"] for pod in context.pods()}, "the killed pods to go"
    )

    settled(context, case)

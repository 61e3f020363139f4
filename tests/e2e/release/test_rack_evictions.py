"""Gangs with a network topology that make room for gangs with one (Volcano's suite `gangevict`, the rest).

Four nodes in two HyperNodes of tier 1, s0 and s1, with one of tier 2 above; a victim fills all four.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.e2e.release.cluster import Release
from tests.e2e.release.context import Context
from tests.e2e.release.racks import in_one_of, leaves, rack_task, racks, topology
from tests.e2e.release.scheduling import (
    WHOLE,
    evicted,
    expect_running,
    expect_untouched,
    expect_waiting,
    nodes_of,
)
from tests.e2e.release.test_gang_evictions import CONF, PREEMPT, RECLAIM, Sides

pytestmark = [pytest.mark.full, pytest.mark.usefixtures("evicting")]
both = pytest.mark.parametrize("kind", [PREEMPT, RECLAIM])


@pytest.fixture(scope="module")
def evicting(release: Release) -> Iterator[None]:
    """Four racks, and a configuration with the actions for gangs and plugin capacity."""
    with racks(release, 4), release.configured(CONF):
        yield


def claim(sides: Sides, replicas: int, tier: int, cpu: int = WHOLE) -> None:
    """A gang within a HyperNode of a tier."""
    spec = {"queue": sides.mine, "priorityClassName": sides.high, "networkTopology": topology(tier)}
    sides.context.create(sides.context.job("claimant", rack_task(sides.context, replicas, cpu), **spec))


@both
def test_room_is_made_in_one_hypernode(context: Context, kind: str) -> None:
    sides = Sides(context, kind)
    sides.victims("victim", 2, rack_task(context, 4, WHOLE), networkTopology=topology(2))
    claim(sides, 2, tier=1)

    expect_running(context, claimant=2)
    assert in_one_of(context, "claimant")
    context.running("victim", 2)


@both
def test_nobody_goes_for_a_gang_larger_than_every_hypernode(context: Context, kind: str) -> None:
    sides = Sides(context, kind, victims=1, claimants=4)
    sides.victims("victim", 4, rack_task(context, 4, WHOLE), networkTopology=topology(2))
    claim(sides, 3, tier=1)

    expect_waiting(context, "claimant", 3.0)
    expect_untouched(context, victim=4)


@both
def test_room_is_made_in_a_hypernode_of_a_higher_tier(context: Context, kind: str) -> None:
    sides = Sides(context, kind, victims=1, claimants=3)
    sides.victims("victim", 1, rack_task(context, 4, WHOLE), networkTopology=topology(2))
    claim(sides, 3, tier=2)

    expect_running(context, claimant=3)
    assert set(nodes_of(context, "claimant")) < set(leaves("s4"))
    context.running("victim", 1)


@both
def test_the_lowest_tier_is_taken_where_there_is_room(context: Context, kind: str) -> None:
    sides = Sides(context, kind)
    sides.victims("victim", 2, rack_task(context, 4, 1), networkTopology=topology(2))
    claim(sides, 2, tier=2, cpu=1)

    expect_running(context, claimant=2)
    assert in_one_of(context, "claimant")
    assert not evicted(context)


@both
def test_one_partition_goes_where_one_must_stay(context: Context, kind: str) -> None:
    policy = {"totalPartitions": 2, "partitionSize": 2, "minPartitions": 1}
    sides = Sides(context, kind)
    parts = rack_task(context, 4, WHOLE, policy=policy)
    sides.victims("victim", 2, parts, networkTopology=topology(2))
    claim(sides, 2, tier=2)

    expect_running(context, claimant=2, victim=2)
    left = {pod["metadata"]["labels"]["volcano.sh/partition-id"] for pod in context.of("victim", "Running")}
    assert len(left) == 1

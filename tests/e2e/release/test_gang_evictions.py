"""Gangs that make room for gangs, in a queue and among queues (Volcano's suite `gangevict`).

Each test fills the cluster (four slots) with gangs of low priority, and then a gang comes that is to have room, or is not.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.e2e.release.cluster import Release
from tests.e2e.release.context import Context
from tests.e2e.release.scheduling import (
    WHOLE,
    expect_running,
    expect_untouched,
    expect_waiting,
    set_queue,
    task,
)

Object = dict[str, Any]
CONF = """
actions: "allocate, backfill, gangreclaim, gangpreempt"
tiers:
- plugins:
  - name: priority
  - name: gang
    enablePreemptable: false
  - name: conformance
  - name: sla
  - name: capacity
    enableHierarchy: false
- plugins:
  - name: overcommit
  - name: drf
    enablePreemptable: false
  - name: predicates
  - name: nodeorder
  - name: binpack
  - name: network-topology-aware
"""
PREEMPT, RECLAIM = "within a queue", "among queues"
pytestmark = pytest.mark.usefixtures("evicting")


@pytest.fixture(scope="module")
def evicting(release: Release) -> Iterator[None]:
    """A configuration with the actions for gangs and plugin capacity."""
    with release.configured(CONF):
        yield


class Sides:
    """The queues and classes of victims and claimants: one queue and two classes, or two queues and one class."""

    def __init__(self, context: Context, kind: str, victims: int = 2, claimants: int = 2) -> None:
        """`victims` and `claimants` say how many slots the queues of the two deserve."""
        self.context = context
        self.low = context.priority("low", 10)
        self.high = context.priority("high", 100) if kind == PREEMPT else self.low
        if kind == PREEMPT:
            self.theirs = self.mine = slots(context, "only", victims + claimants)
        else:
            self.theirs, self.mine = (
                slots(context, "theirs", victims),
                slots(context, "mine", claimants),
            )

    def victim(self, name: str, replicas: int, least: int) -> None:
        """A gang that may go, once it runs."""
        self.victims(name, least, task(self.context, replicas))

    def victims(self, name: str, least: int, *tasks: Object, **spec: Any) -> None:
        """A gang of some tasks that may go, once it runs."""
        spec |= {"minAvailable": least, "queue": self.theirs, "priorityClassName": self.low}
        self.context.create(self.context.job(name, *tasks, **spec))
        self.context.running(name, sum(each["replicas"] for each in tasks))

    def claim(self, replicas: int, name: str = "claimant") -> None:
        """The gang that comes last; nobody may evict it."""
        made = task(self.context, replicas, labels={})
        spec = {"queue": self.mine, "priorityClassName": self.high}
        self.context.create(self.context.job(name, made, **spec))


def slots(context: Context, name: str, count: int, **spec: Any) -> str:
    """A queue that deserves so many slots."""
    return context.queue(name, deserved={"cpu": count * WHOLE}, **spec)


both = pytest.mark.parametrize("kind", [PREEMPT, RECLAIM])


# -- what is taken ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [PREEMPT, pytest.param(RECLAIM, marks=pytest.mark.full)])
def test_what_a_gang_has_over_its_minimum_is_taken(context: Context, kind: str) -> None:
    sides = Sides(context, kind)
    sides.victim("victim", 4, 2)
    sides.claim(2)

    expect_running(context, claimant=2, victim=2)


@pytest.mark.full
def test_surplus_of_several_gangs_is_taken_before_one_is_broken(context: Context) -> None:
    sides = Sides(context, PREEMPT)
    sides.victim("one", 2, 1)
    sides.victim("two", 2, 1)
    sides.claim(2)

    expect_running(context, claimant=2, one=1, two=1)


@pytest.mark.full
@both
def test_just_one_gang_is_broken_where_none_has_surplus(context: Context, kind: str) -> None:
    sides = Sides(context, kind)
    sides.victim("one", 2, 2)
    sides.victim("two", 2, 2)
    sides.claim(2)
    context.running("claimant", 2)

    def left() -> list[int]:
        return sorted(len(context.of(each, "Running")) for each in ("one", "two"))

    context.wait(lambda: left() == [0, 2], "one gang to be gone")
    context.stays(lambda: left() == [0, 2], "the other one running")


@pytest.mark.full
def test_a_large_gang_breaks_two(context: Context) -> None:
    sides = Sides(context, PREEMPT)
    sides.victim("one", 2, 2)
    sides.victim("two", 2, 2)
    sides.claim(4)

    expect_running(context, claimant=4)


@pytest.mark.full
def test_a_gang_of_lower_priority_goes_as_a_whole(context: Context) -> None:
    sides = Sides(context, PREEMPT)
    sides.victim("victim", 4, 4)
    sides.claim(2)

    expect_running(context, claimant=2, victim=0)


@pytest.mark.full
@both
def test_a_role_keeps_its_minimum(context: Context, kind: str) -> None:
    """A server that must be there, and three workers of which two must be."""
    sides = Sides(context, kind, victims=3, claimants=1)
    server = task(context, 1, name="server") | {"minAvailable": 1}
    worker = task(context, 3) | {"minAvailable": 2}
    sides.victims("victim", 3, server, worker)
    sides.claim(1)

    expect_running(context, claimant=1, victim=3)
    names = [pod["metadata"]["name"] for pod in context.of("victim", "Running")]
    assert "victim-server-0" in names


# -- what is not --------------------------------------------------------------------------------------------


@pytest.mark.full
def test_priority_counts_for_nothing_in_another_queue(context: Context) -> None:
    sides = Sides(context, PREEMPT)
    sides.mine = slots(context, "mine", 2)
    set_queue(context, sides.theirs, reclaimable=False)
    sides.victim("victim", 4, 4)
    sides.claim(2)

    expect_waiting(context, "claimant", 3.0)
    expect_untouched(context, victim=4)


@pytest.mark.full
def test_equals_take_nothing_from_each_other(context: Context) -> None:
    sides = Sides(context, PREEMPT)
    sides.high = sides.low
    sides.victim("victim", 4, 4)
    sides.claim(2)

    expect_waiting(context, "claimant", 3.0)
    expect_untouched(context, victim=4)


@pytest.mark.full
def test_nobody_goes_for_a_gang_that_could_not_take_enough(context: Context) -> None:
    """One of middle priority that needs the slots of a gang of high priority, too."""
    sides = Sides(context, PREEMPT)
    sides.victim("lower", 2, 2)
    low, sides.low = sides.low, sides.high
    sides.victim("higher", 2, 2)
    sides.low, sides.high = low, context.priority("middle", 50)
    sides.claim(4)

    expect_waiting(context, "claimant", 3.0)
    expect_untouched(context, lower=2, higher=2)


@pytest.mark.full
def test_queues_within_what_they_deserve_give_nothing(context: Context) -> None:
    sides = Sides(context, RECLAIM)
    sides.victim("one", 2, 2)
    sides.theirs = slots(context, "third", 2)
    sides.victim("two", 2, 2)
    sides.claim(2)

    expect_waiting(context, "claimant", 3.0)
    expect_untouched(context, one=2, two=2)


@pytest.mark.full
def test_a_queue_that_is_not_reclaimable_gives_nothing(context: Context) -> None:
    sides = Sides(context, RECLAIM)
    sides.victim("victim", 4, 2)
    set_queue(context, sides.theirs, reclaimable=False)
    sides.claim(2)

    expect_waiting(context, "claimant", 3.0)
    expect_untouched(context, victim=4)


@pytest.mark.full
def test_a_guarantee_is_kept(context: Context) -> None:
    """Two of the four slots are guaranteed, so that a gang of four cannot have its room."""
    sides = Sides(context, RECLAIM, claimants=4)
    guarantee = {"resource": {"cpu": 2 * WHOLE}}
    sides.theirs = slots(context, "guaranteed", 2, guarantee=guarantee)
    sides.victim("victim", 4, 2)
    sides.claim(4)

    expect_waiting(context, "claimant", 3.0)
    expect_untouched(context, victim=4)


@pytest.mark.full
def test_a_queue_over_what_it_deserves_takes_nothing(context: Context) -> None:
    sides = Sides(context, RECLAIM, victims=3, claimants=1)
    sides.claim(2, name="before")
    context.running("before", 2)
    sides.victim("victim", 2, 2)
    sides.claim(2)

    expect_waiting(context, "claimant", 3.0)
    expect_untouched(context, before=2, victim=2)

"""How many pods would have a place: what holds one counts, nobody's place is taken, nobody is told of what another was told of."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from tests.builders import gang, node, pod, podgroup, priority_class, queue
from vcray.actors.policies import policy_from
from vcray.actors.room import PROMISED_S, RoomDesk
from vcray.actors.scoring import Decider
from vcray.api.meta import JsonObject
from vcray.api.wire import to_pod
from vcray.cache.cluster import ClusterCache
from vcray.cache.store import Event
from vcray.cache.supposed import Wanted
from vcray.config.scheduler import DEFAULT_CONF
from vcray.core.snapshot import Snapshot
from vcray.registry import discover

PREEMPT = """\
actions: "allocate, preempt"
tiers:
- plugins: [{name: priority}, {name: predicates}]
"""


def same(snapshot: Snapshot) -> Snapshot:
    return snapshot


class Asked:
    """A cluster, and somebody who asks about it."""

    def __init__(self, *objects: JsonObject, conf: str = DEFAULT_CONF) -> None:
        self.cache = ClusterCache()
        self.desk = RoomDesk(self.cache.merge, Decider(), same, 0)
        self.policy = policy_from(conf, discover())
        self.now = 0.0
        self.see(queue("default"), *objects)

    def see(self, *objects: JsonObject) -> None:
        self.cache.apply(Event("ADDED", str(each["kind"]), each) for each in objects)

    async def room(self, *wanted: Wanted) -> Sequence[int | None]:
        return await self.desk.answer(wanted, self.policy, self.now)


def workers(group: str, count: int, cpu: int = 1, hosts: int = 1, role: str = "w", **more: object) -> Wanted:
    shown = pod("x", group=group, role=role, cpu=cpu, **more)  # type: ignore[arg-type]
    return Wanted(to_pod(shown), count, hosts)


def running(group: str, count: int, cpu: int = 1, **more: object) -> list[JsonObject]:
    """A gang whose pods, all of task w, are on n1."""
    pods = [
        pod(f"{group}-{index}", group=group, role="w", cpu=cpu, node="n1", version=index + 1, **more)  # type: ignore[arg-type]
        for index in range(count)
    ]
    return [podgroup(group, 1, phase="Running"), *pods]


@pytest.mark.parametrize(
    ("wanted", "places"),
    [
        ([workers("g", 8)], [4]),
        ([workers("g", 3)], [3]),
        ([workers("g", 1)], [2]),  # of two that are there already
        ([workers("g", 8, cpu=3)], [2]),  # and two small ones that are there
        ([workers("g", 8, resources={"example.com/none": 1})], [2]),
        ([workers("g", 4), workers("g", 3, role="v")], [4, 0]),
        ([workers("g", 1, cpu=9, role="a"), workers("g", 3), workers("g", 2, role="z")], [0, 3, 1]),
        ([workers("nobody", 4)], [None]),
        ([workers("nobody", 4), workers("g", 3)], [None, 3]),
        ([workers("g", 3), workers("g", 9)], [3, None]),
    ],
)
async def test_places_are_those_held_and_those_that_a_round_would_give(
    wanted: list[Wanted], places: list[int | None]
) -> None:
    asked = Asked(node("n1", cpu=4), *running("g", 2))

    assert list(await asked.room(*wanted)) == places


async def test_pods_that_wait_already_are_among_those_that_are_wanted() -> None:
    waiting = pod("late", group="g", role="w", cpu=1)
    asked = Asked(node("n1", cpu=4), *running("g", 2), waiting)

    assert list(await asked.room(workers("g", 3))) == [3]
    assert list(await asked.room(workers("g", 9))) == [4]


async def test_nobody_is_given_the_place_of_one_who_waits_for_it() -> None:
    """A gang that asks first for its share would win against the one that waits, and must not."""
    asked = Asked(node("n1", cpu=6), *running("g", 1), *gang("old", 3, cpu=1), *running("more", 1))

    assert list(await asked.room(workers("g", 9))) == [2]


@pytest.mark.parametrize(("later_s", "places"), [(0.0, 1), (PROMISED_S, 3)])
async def test_room_that_somebody_was_told_of_is_his_for_a_moment(later_s: float, places: int) -> None:
    asked = Asked(node("n1", cpu=5), *running("a", 1), *running("b", 1))
    first = list(await asked.room(workers("a", 3)))
    asked.now += later_s

    assert first == [3]
    assert list(await asked.room(workers("b", 9))) == [places + 1 if later_s else 2]


async def test_pods_that_have_come_are_not_counted_twice() -> None:
    asked = Asked(node("n1", cpu=5), *running("a", 1), *running("b", 1))
    await asked.room(workers("a", 3))
    asked.see(*(pod(f"new{index}", group="a", role="w", cpu=1) for index in range(2)))

    assert list(await asked.room(workers("b", 9))) == [2]


async def test_asking_again_is_no_second_promise() -> None:
    asked = Asked(node("n1", cpu=5), *running("a", 1))

    assert [list(await asked.room(workers("a", 9))) for _ in range(3)] == [[5]] * 3


@pytest.mark.parametrize(("name", "places"), [("high", 3), ("", 1)])
async def test_what_may_be_cleared_by_the_policy_is_room(name: str, places: int) -> None:
    """The class of the template counts as the API server would write it."""
    rich = podgroup("g", 1, phase="Running", priority_class=name or None)
    asked = Asked(
        node("n1", cpu=3),
        priority_class("high", 1000),
        *running("low", 2, annotations={"volcano.sh/preemptable": "true"}),
        rich,
        pod("g-0", group="g", role="w", cpu=1, node="n1", version=9),
        conf=PREEMPT,
    )

    assert list(await asked.room(workers("g", 3, spec={"priorityClassName": name}))) == [places]


def test_pod_that_is_only_supposed_has_the_priority_of_its_class() -> None:
    asked = Asked(priority_class("usual", 7, default=True), priority_class("high", 9), podgroup("g"))
    kinds = [workers("g", 1), workers("g", 1, role="v", spec={"priorityClassName": "high"})]

    tasks = asked.cache.merge.supposing([(each, 1) for each in kinds], 5.0, 0).tasks

    assert dict(zip(tasks.names, tasks.priority.tolist(), strict=True)) == {
        "default/g~w~0": 7,
        "default/g~v~0": 9,
    }
    assert set(tasks.created.tolist()) == {5}
    assert asked.cache.snapshot().tasks.names == ()

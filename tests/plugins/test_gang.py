"""gang: when a PodGroup may start, what it still needs, and what its conditions say."""

from __future__ import annotations

from datetime import UTC, datetime

import numpy as np

from tests.builders import gang, node, pod, podgroup
from tests.plugins.worlds import World
from vcray.core.hooks import Vote
from vcray.plugins.gang import Gang


class Said:
    """A collector that keeps what close says."""

    def __init__(self, undone: int = 0) -> None:
        self.conditions: dict[int, tuple[str, str, str]] = {}
        self._undone = undone

    def fit_error(self, job: int) -> str:
        return "because"

    def undone(self, job: int) -> int:
        return self._undone

    def condition(self, job: int, type: str, reason: str, message: str) -> None:
        self.conditions[job] = (type, reason, message)


def roles(minimums: dict[str, int], least: int, *pods: tuple[str, str, str | None]) -> World:
    """A group `g` with role minimums and pods (name, role, node)."""
    group = podgroup("g", least, min_task_member=minimums)
    made = [pod(name, group="g", role=role, cpu=1, node=on) for name, role, on in pods]
    return World(node("n1"), group, made)


def test_a_gang_is_ready_once_enough_tasks_hold_a_node() -> None:
    world = World(node("n1"), gang("g", 3, min_member=2, cpu=1))
    plugin, job = world.plugin(Gang), world.job("g")
    assert not plugin.job_ready(world.view, job)
    world.place("g-worker-0", "n1")
    assert not plugin.job_ready(world.view, job)
    world.place("g-worker-1", "n1")
    assert plugin.job_ready(world.view, job)


def test_need_is_the_distance_to_ready_and_one_afterwards() -> None:
    world = World(node("n1"), gang("g", 4, min_member=3, cpu=1))
    plugin, job = world.plugin(Gang), world.job("g")
    tasks = world.view.tasks_of_job[job]
    assert plugin.gang_need(world.view, job, tasks) == 3
    world.place("g-worker-0", "n1")
    assert plugin.gang_need(world.view, job, tasks[1:]) == 2
    world.place("g-worker-1", "n1")
    world.place("g-worker-2", "n1")
    assert plugin.gang_need(world.view, job, tasks[3:]) == 1


def test_best_effort_tasks_count_as_ready_while_they_wait_for_backfill() -> None:
    world = World(node("n1"), podgroup("g", 2), pod("idle", group="g"), pod("busy", group="g", cpu=1))
    plugin, job = world.plugin(Gang), world.job("g")
    assert plugin.gang_need(world.view, job, np.array([world.task("busy")])) == 1
    world.place("busy", "n1")
    assert plugin.job_ready(world.view, job)


def test_role_minimums_hold_when_their_sum_is_within_the_minimum() -> None:
    world = roles(
        {"ps": 1, "worker": 2},
        3,
        ("w0", "worker", None),
        ("w1", "worker", None),
        ("w2", "worker", None),
        ("p0", "ps", None),
    )
    plugin, job = world.plugin(Gang), world.job("g")
    for name in ("w0", "w1", "w2"):
        world.place(name, "n1")
    assert not plugin.job_ready(world.view, job)
    assert plugin.job_order(world.view, job) == 1, "order looks at the count alone"
    world.place("p0", "n1")
    assert plugin.job_ready(world.view, job)


def test_need_with_roles_is_the_shortest_prefix_that_fills_them() -> None:
    world = roles(
        {"ps": 1, "worker": 2},
        3,
        ("w0", "worker", None),
        ("w1", "worker", None),
        ("w2", "worker", None),
        ("p0", "ps", None),
    )
    plugin, job = world.plugin(Gang), world.job("g")
    order = np.array([world.task(name) for name in ("w0", "w1", "w2", "p0")])
    assert plugin.gang_need(world.view, job, order) == 4
    assert plugin.gang_need(world.view, job, order[[3, 0, 1, 2]]) == 3
    assert plugin.gang_need(world.view, job, order[:3]) > 3, "no prefix will do"


def test_a_minimum_below_the_sum_of_roles_bypasses_them() -> None:
    world = roles({"ps": 1, "worker": 2}, 2, ("w0", "worker", None), ("w1", "worker", None))
    plugin, job = world.plugin(Gang), world.job("g")
    assert plugin.job_valid(world.view, job) is None
    world.place("w0", "n1")
    world.place("w1", "n1")
    assert plugin.job_ready(world.view, job)


def test_a_group_with_too_few_pods_is_not_valid() -> None:
    few = World(node("n1"), gang("g", 2, min_member=3, cpu=1))
    said = few.plugin(Gang).job_valid(few.view, few.job("g"))
    assert said == "Not enough valid tasks for gang-scheduling, valid: 2, min: 3"
    short = roles({"ps": 1, "worker": 1}, 2, ("w0", "worker", None), ("w1", "worker", None))
    said = short.plugin(Gang).job_valid(short.view, short.job("g"))
    assert said == "Not enough valid pods of each task for gang-scheduling"


def test_promised_tasks_permit_keeping_promises_and_fewer_reject() -> None:
    world = World(node("n1"), gang("g", 2, cpu=1))
    plugin, job = world.plugin(Gang), world.job("g")
    world.pipeline("g-worker-0", "n1")
    assert plugin.job_pipelined(world.view, job) is Vote.REJECT
    assert plugin.job_starving(world.view, job)
    world.pipeline("g-worker-1", "n1")
    assert plugin.job_pipelined(world.view, job) is Vote.PERMIT
    assert not plugin.job_starving(world.view, job)
    assert not plugin.job_ready(world.view, job)


def test_unready_jobs_come_first_and_columns_equal_single_rows() -> None:
    world = World(node("n1"), gang("a", 1, cpu=1), gang("b", 1, cpu=1), gang("c", 1))
    plugin = world.plugin(Gang)
    world.place("a-worker-0", "n1")
    jobs = np.array([world.job(name) for name in ("a", "b", "c")])
    assert plugin.job_order(world.view, jobs).tolist() == [1, 0, 1]
    assert [plugin.job_order(world.view, int(job)) for job in jobs] == [1, 0, 1]


def broken(phase: str, *conditions: tuple[str, str]) -> World:
    """A group `g` of minimum 2 with one pod on a node; conditions are (type, lastTransitionTime)."""
    group = podgroup("g", 2, phase=phase)
    group["status"] = {
        "phase": phase,
        "conditions": [{"type": kind, "status": "True", "lastTransitionTime": at} for kind, at in conditions],
    }
    return World(node("n1"), group, pod("p0", group="g", cpu=1, node="n1"), pod("p1", group="g", cpu=1))


def test_t33_a_gang_that_was_whole_once_goes_before_others_and_has_its_room_kept_from_then_on() -> None:
    fresh = broken("Inqueue")
    now = fresh.view.snapshot.now
    early, late = (f"{datetime.fromtimestamp(now - ago, UTC):%Y-%m-%dT%H:%M:%SZ}" for ago in (400, 100))
    cases = (  # what the PodGroup says, place in the order, until when room is kept, when it matters next
        (fresh, 0, None, None),
        (broken("Running"), -1, now + 300, None),
        (broken("Inqueue", ("Scheduled", early), ("Unschedulable", late)), -1, now + 200, now + 200),
        (broken("Inqueue", ("Scheduled", late), ("Unschedulable", early)), -1, now + 300, None),
        (broken("Unknown", ("Unschedulable", early)), -1, None, None),
        (broken("Inqueue", ("Unschedulable", late)), 0, None, None),
    )
    for world, place, until, next_moment in cases:
        plugin, job = world.plugin(Gang), world.job("g")
        assert plugin.job_order(world.view, job) == place
        assert plugin.job_order(world.view, np.array([job])).tolist() == [place]
        assert plugin.holes(world.view).get(job) == until
        assert plugin.wakes_at(world.view) == next_moment
        world.place("p1", "n1")
        assert plugin.job_order(world.view, job) == 1


def test_close_tells_scheduled_and_unschedulable_groups_apart() -> None:
    world = World(node("n1"), gang("done", 1, cpu=1), gang("short", 4, min_member=3, cpu=1))
    plugin, said = world.plugin(Gang), Said(undone=1)
    world.place("done-worker-0", "n1")
    plugin.close(world.view, said)
    assert said.conditions == {
        world.job("done"): ("Scheduled", "tasks in gang are ready to be scheduled", ""),
        world.job("short"): (
            "Unschedulable",
            "NotEnoughResources",
            "2/4 tasks in gang unschedulable: because",
        ),
    }


def test_close_says_nothing_of_a_gang_that_is_only_ending() -> None:
    ending = [pod(f"p{i}", group="g", cpu=1, node="n1", deleting=True) for i in range(2)]
    world = World(node("n1"), podgroup("g", 2, phase="Running"), ending)
    said = Said()
    world.plugin(Gang).close(world.view, said)
    assert said.conditions == {}


def test_close_says_nothing_of_groups_without_pods_or_queue() -> None:
    world = World(node("n1"), podgroup("empty", 1), gang("lost", 1, queue="nowhere", cpu=1))
    said = Said()
    world.plugin(Gang).close(world.view, said)
    assert said.conditions == {}

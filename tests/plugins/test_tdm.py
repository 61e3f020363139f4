"""tdm: nodes of others take revocable pods in their hours and are cleared afterwards, a few pods of a job at a time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime

import numpy as np
import pytest

from tests.builders import node, pod, podgroup
from tests.plugins.claims import chosen, claim_of
from tests.plugins.test_row_laws import random_world
from tests.plugins.worlds import World
from vcray.api import names
from vcray.api.meta import JsonObject
from vcray.core.check import check_plugin
from vcray.core.disruption import may_go
from vcray.core.hooks import Vote
from vcray.core.hours import Hours
from vcray.core.openview import open_view
from vcray.core.timing import Timing
from vcray.core.view import View
from vcray.plugins.tdm import EVICTION, Tdm, TdmArgs

ZONES = {"tdm.revocable-zone.rz1": "10:00-21:00"}
FREE = {names.PREEMPTABLE: "true"}
KEPT = {names.PREEMPTABLE: "false"}


def at(hour: int, minute: int = 0, second: int = 0) -> float:
    return datetime(2026, 3, 4, hour, minute, second, tzinfo=UTC).timestamp()


def seen(world: World, now: float, timing: Timing | None = None) -> View:
    """The world's view at another moment."""
    return open_view(replace(world.snapshot, now=now, timing=timing or Timing()))[0]


def opened(view: View, arguments: Mapping[str, object] = ZONES) -> Tdm:
    plugin = Tdm(TdmArgs.model_validate(dict(arguments)))
    plugin.open(view)
    return plugin


# ---- hours ----


@pytest.mark.parametrize(
    ("text", "moment", "holds"),
    [
        ("10:00-21:00", at(9, 59, 59), False),
        ("10:00-21:00", at(10), True),
        ("10:00-21:00", at(21), True),
        ("10:00-21:00", at(21, 0, 1), False),
        ("22:00-06:00", at(23), True),
        ("22:00-06:00", at(5, 59), True),
        ("22:00-06:00", at(6, 0, 1), False),
        ("22:00-06:00", at(21), False),
        ("08:00-08:00", at(7), True),
    ],
)
def test_hours_hold_from_start_to_end_also_over_midnight(text: str, moment: float, holds: bool) -> None:
    hours = Hours.parse(text)
    assert hours is not None
    assert hours.hold(moment, 0) is holds


@pytest.mark.parametrize(
    "text", ["", "10-21", "10:00", "25:00-26:00", "10:60-11:00", "10:00-11:00-12:00", "a:b-c:d"]
)
def test_what_is_no_span_is_refused(text: str) -> None:
    assert Hours.parse(text) is None


def test_hours_are_local() -> None:
    hours = Hours.parse("10:00-21:00")
    assert hours is not None
    assert hours.hold(at(8), 2 * 3600)
    assert not hours.hold(at(20), 2 * 3600)


@pytest.mark.parametrize(
    ("text", "moment", "change"),
    [
        ("10:00-21:00", at(9), at(10)),
        ("10:00-21:00", at(10), at(21, 0, 1)),
        ("10:00-21:00", at(22), at(10) + 86400),
        ("22:00-06:00", at(1), at(6, 0, 1)),
    ],
)
def test_the_next_change_is_told(text: str, moment: float, change: float) -> None:
    hours = Hours.parse(text)
    assert hours is not None
    assert hours.next_change(moment, 0) == change


# ---- nodes ----


def zoned(name: str, zone: str) -> JsonObject:
    return node(name, labels={names.REVOCABLE_ZONE: zone})


def two_pods(**notes: Mapping[str, str]) -> World:
    return World(
        node("plain"),
        zoned("rented", "rz1"),
        zoned("odd", "rz9"),
        [
            podgroup("p", 1),
            pod("free", group="p", annotations=FREE),
            pod("kept", group="p", annotations=KEPT),
        ],
        [pod("star", group="p", annotations={names.REVOCABLE_ZONE: "*", **KEPT})],
        [pod("named", group="p", annotations={names.REVOCABLE_ZONE: "rz1", **FREE})],
        [pod("silent", group="p")],
    )


def accepted(world: World, view: View, name: str) -> list[str]:
    """Nodes that take a pod, as filter and reasons tell."""
    plugin, shape = opened(view), world.shape(name)
    mask = plugin.node_filter(view, world.all_rows(), shape)
    rejects = list(plugin.why(view, shape))
    assert not any(reject.curable for reject in rejects)
    refused = np.logical_or.reduce([reject.where for reject in rejects]) if rejects else np.zeros(3, bool)
    assert (refused == ~np.asarray(mask)).all()
    return [name for name, fits in world.by_node(mask).items() if fits]


@pytest.mark.parametrize(
    ("name", "rented"), [("free", True), ("star", True), ("kept", False), ("named", False), ("silent", False)]
)
def test_in_its_hours_a_zone_takes_revocable_pods_only(name: str, rented: bool) -> None:
    world = two_pods()
    assert accepted(world, seen(world, at(12)), name) == ["plain", "rented"] if rented else ["plain"]
    assert accepted(world, seen(world, at(22)), name) == ["plain"], "out of hours it takes nobody"


def test_reasons_name_the_zone_and_its_hours() -> None:
    world = two_pods()
    view = seen(world, at(22))
    assert [reject.reason for reject in opened(view).why(view, world.shape("kept"))] == [
        "plugin tdm predicates current time beyond revocable zone rz1:10:00-21:00",
        "plugin tdm predicates revocable zone rz9 not support",
    ]
    view = seen(world, at(12))
    assert [reject.reason for reject in opened(view).why(view, world.shape("kept"))] == [
        "plugin tdm predicates revocable zone rz9 not support",
        "plugin tdm predicates task is not allow to dispatch to revocable node",
    ]


def test_revocable_pods_prefer_the_zone_in_its_hours() -> None:
    world = two_pods()
    view = seen(world, at(12))
    plugin = opened(view)
    scores = plugin.node_score(view, world.all_rows(), world.shape("free"))
    assert world.by_node(scores) == {"plain": 0, "rented": 100, "odd": 0}
    assert plugin.node_score(view, world.all_rows(), world.shape("kept")) is None


# ---- victims ----


def job_of(
    running: int, finished: int = 0, pending: int = 0, on: str = "plain", **notes: str
) -> list[JsonObject]:
    """A job `old` with pods r0.., f0.., w0.. that may be evicted."""
    made = [podgroup("old", 0, annotations=notes)]
    made += [pod(f"r{i}", group="old", node=on, annotations=FREE) for i in range(running)]
    made += [pod(f"f{i}", group="old", node=on, phase="Succeeded") for i in range(finished)]
    made += [pod(f"w{i}", group="old") for i in range(pending)]
    return made


@pytest.mark.parametrize(
    ("notes", "number"),
    [
        ({}, 1),
        ({names.JDB_MAX_UNAVAILABLE: "30%"}, 1),
        ({names.JDB_MAX_UNAVAILABLE: "25%"}, 1),
        ({names.JDB_MAX_UNAVAILABLE: "4"}, 2),
        ({names.JDB_MAX_UNAVAILABLE: "1"}, 0),
        ({names.JDB_MAX_UNAVAILABLE: "many"}, 0),
        ({names.JDB_MIN_AVAILABLE: "5"}, 2),
        ({names.JDB_MIN_AVAILABLE: "8"}, 1),
        ({names.JDB_MIN_AVAILABLE: "7"}, 0),
        ({names.JDB_MIN_AVAILABLE: "5", names.JDB_MAX_UNAVAILABLE: "9"}, 2),
    ],
)
def test_a_jobs_own_budget_says_how_many_go(notes: dict[str, str], number: int) -> None:
    """Ten tasks, seven run, one has finished."""
    world = World(node("plain"), job_of(7, 1, 2, **notes))
    assert may_go(world.view, world.job("old")) == number


def preempted(world: World, claimant: str, *groups: Sequence[str]) -> list[str] | None:
    plugin = opened(world.view)
    return chosen(world, plugin.preemptable, claim_of(world, claimant), *groups)


def with_claimants(*objects: JsonObject | list[JsonObject]) -> World:
    new = [podgroup("new", 1), pod("strong", group="new", annotations=KEPT), pod("weak", group="new")]
    star = pod("star", group="new", annotations={names.REVOCABLE_ZONE: "*", **KEPT})
    return World(node("plain"), zoned("rented", "rz1"), new, star, *objects)


def test_only_a_pod_that_may_not_be_evicted_preempts() -> None:
    world = with_claimants(job_of(3, **{names.JDB_MIN_AVAILABLE: "1"}))
    assert preempted(world, "strong", ["r2", "r0", "r1"]) == ["r2", "r0"]
    assert preempted(world, "weak", ["r0"]) == []
    assert preempted(world, "star", ["r0"]) == []


def test_pods_on_rented_nodes_and_pods_that_may_not_be_evicted_stay() -> None:
    others = [
        pod("firm", group="old", node="plain", annotations=KEPT),
        pod("bound", group="old", node="plain", phase="Pending"),
    ]
    rented = pod("guest", group="old", node="rented", annotations=FREE)
    world = with_claimants(job_of(1, **{names.JDB_MAX_UNAVAILABLE: "9"}), others, rented)
    assert preempted(world, "strong", ["guest", "firm", "bound", "r0"]) == ["r0"]


def named(world: World, view: View, arguments: Mapping[str, object] = ZONES) -> tuple[list[str], Tdm]:
    plugin = opened(view, arguments)
    rows = np.flatnonzero(view.status >= 0)
    mask = plugin.victim_tasks(view, rows)
    return [world.snapshot.tasks.names[row].removeprefix("default/") for row in rows[mask].tolist()], plugin


def test_a_zone_out_of_hours_is_cleared_a_few_pods_of_a_job_each_period() -> None:
    world = World(
        node("plain"), zoned("rented", "rz1"), job_of(4, on="rented", **{names.JDB_MIN_AVAILABLE: "2"})
    )
    assert named(world, seen(world, at(12)))[0] == []
    gone, plugin = named(world, seen(world, at(22)))
    assert gone == ["r0", "r1"]
    assert list(plugin.ran(world.view)) == [EVICTION]
    early = Timing(ran=((EVICTION, at(22)),))
    view = seen(world, at(22, 0, 59), early)
    gone, plugin = named(world, view)
    assert (gone, list(plugin.ran(view)), plugin.wakes_at(view)) == ([], [], at(22, 1))
    assert named(world, seen(world, at(22, 1), early))[0] == ["r0", "r1"]


def test_the_period_is_an_argument_and_a_minute_where_it_is_no_duration() -> None:
    assert TdmArgs.model_validate({"tdm.evict.period": "30s"}).seconds() == 30
    assert TdmArgs.model_validate({"tdm.evict.period": "soon"}).seconds() == 60
    args, problems = TdmArgs.read({"tdm.evict.period": 5, "tdm.revocable-zone.x": 7}, "here")
    assert (args.seconds(), args.hours(), len(problems)) == (60.0, {}, 2)


def test_each_zone_has_the_limit_for_itself_and_unconfigured_zones_are_left_alone() -> None:
    zones = {**ZONES, "tdm.revocable-zone.rz2": "nonsense"}
    more = [pod(f"x{i}", group="old", node="second", annotations=FREE) for i in range(2)]
    odd = pod("odd", group="old", node="third", annotations=FREE)
    world = World(
        zoned("rented", "rz1"),
        zoned("second", "rz2"),
        zoned("third", "rz9"),
        job_of(2, on="rented"),
        more,
        odd,
    )
    assert named(world, seen(world, at(22)), zones)[0] == ["r0", "x0"]


# ---- jobs ----


def test_jobs_that_may_not_be_evicted_go_first_and_only_they_starve() -> None:
    world = World(
        node("plain"),
        [
            podgroup("free", 1, annotations=FREE),
            pod("a", group="free"),
            podgroup("firm", 1),
            pod("b", group="firm"),
        ],
        podgroup("done", 1),
    )
    plugin = opened(world.view)
    free, firm, done = (world.job(name) for name in ("free", "firm", "done"))
    assert plugin.job_order(world.view, firm) < plugin.job_order(world.view, free)
    assert plugin.job_order(world.view, np.array([free, firm])).tolist() == [1, 0]
    assert [plugin.job_starving(world.view, job) for job in (free, firm, done)] == [False, True, False]


def test_promises_are_kept_once_the_minimum_is_made_up() -> None:
    world = World(node("plain"), podgroup("p", 2), pod("a", group="p", cpu=1), pod("b", group="p", cpu=1))
    plugin = opened(world.view)
    world.pipeline("a", "plain")
    assert plugin.job_pipelined(world.view, 0) is Vote.REJECT
    world.pipeline("b", "plain")
    assert plugin.job_pipelined(world.view, 0) is Vote.PERMIT


def test_without_revocable_nodes_nothing_is_filtered_and_no_round_is_due() -> None:
    world = World(node("plain"), podgroup("p", 1), pod("a", group="p"))
    plugin = opened(world.view)
    assert plugin.node_filter(world.view, world.all_rows(), world.shape("a")) is None
    assert plugin.wakes_at(world.view) is None


@pytest.mark.parametrize("number", range(6))
def test_it_keeps_the_laws_of_row_hooks(number: int) -> None:
    worlds = (random_world(number), two_pods())
    for snapshot in (replace(world.snapshot, now=at(number * 4)) for world in worlds):
        assert check_plugin(Tdm, TdmArgs.model_validate(ZONES), snapshot) == []


def test_hours_go_by_the_schedulers_local_time() -> None:
    world = two_pods()
    east = Timing(utc_offset=2 * 3600)
    assert opened(seen(world, at(8), east)).active_ == {"rz1": True}
    assert opened(seen(world, at(20), east)).active_ == {"rz1": False}

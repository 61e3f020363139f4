"""sla: jobs with a waiting time go first, and time alone lets them in."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest

from tests.builders import node, podgroup
from tests.plugins.worlds import World
from vcray.core.hooks import Vote
from vcray.core.policy import policy_of
from vcray.core.session import decide
from vcray.plugins.sla import Sla, SlaArgs

KEY = "volcano.sh/sla-waiting-time"


def group(
    name: str, notes: Mapping[str, str] | None = None, created: int = -100, phase: str = "Pending"
) -> object:
    """A PodGroup that is `-created` seconds old."""
    return podgroup(name, 1, annotations=notes, created=created, phase=phase)


def plugin(world: World, waiting_time: str = "") -> Sla:
    return world.plugin(Sla, {"sla-waiting-time": waiting_time})


@pytest.mark.parametrize(("wait", "vote"), [("100s", Vote.PERMIT), ("101s", Vote.ABSTAIN)])
def test_it_permits_once_the_time_has_run_out_and_never_rejects(wait: str, vote: Vote) -> None:
    world = World(group("a", {KEY: wait}))
    sla = plugin(world)
    assert sla.job_enqueueable(world.view, 0).vote is vote
    assert sla.job_pipelined(world.view, 0) is vote


@pytest.mark.parametrize(
    ("notes", "late"),
    [
        ({KEY: "10s"}, True),
        ({KEY: "soon", "sla-waiting-time": "10s"}, True),
        ({KEY: "200s", "sla-waiting-time": "10s"}, False),
        ({KEY: "-1s"}, False),
        ({}, False),
    ],
)
def test_the_prefixed_annotation_goes_first_if_it_holds(notes: dict[str, str], late: bool) -> None:
    world = World(group("a", notes))
    assert plugin(world).job_pipelined(world.view, 0) is (Vote.PERMIT if late else Vote.ABSTAIN)


@pytest.mark.parametrize(("general", "late"), [("90s", True), ("0s", False), ("x", False), ("", False)])
def test_the_argument_is_for_jobs_that_name_no_time(general: str, late: bool) -> None:
    world = World(group("a"), group("b", {KEY: "1h"}))
    sla = plugin(world, general)
    assert bool(sla.late_[world.job("a")]) is late
    assert not sla.late_[world.job("b")]


def test_an_argument_that_is_no_string_is_told_and_means_none() -> None:
    args, problems = SlaArgs.read({"sla-waiting-time": 60}, "here")
    assert (args.waiting_time, [problem.code for problem in problems]) == ("", ["VC0108"])


def test_the_nearest_deadline_goes_first_and_jobs_without_go_last() -> None:
    world = World(
        group("none", created=-900),
        group("young", {KEY: "1m"}, created=-5),
        group("old", {KEY: "2m"}, created=-90),
    )
    sla = plugin(world)
    rows = np.arange(3)
    keys = sla.job_order(world.view, rows)
    assert [world.snapshot.jobs.names[row] for row in np.argsort(keys)] == [
        "default/old",
        "default/young",
        "default/none",
    ]
    assert [sla.job_order(world.view, row) for row in range(3)] == keys.tolist()


def test_a_round_is_due_at_the_next_deadline_of_a_job_that_is_not_over() -> None:
    world = World(
        node("n1"),
        group("past", {KEY: "1m"}),
        group("next", {KEY: "130s"}),
        group("far", {KEY: "1h"}),
        group("over", {KEY: "101s"}, phase="Completed"),
    )
    decisions = decide(world.snapshot, policy_of((), [[(Sla, {})]]))
    assert decisions.wakes_at == world.snapshot.now + 30
    assert decide(world.snapshot, policy_of((), [[]])).wakes_at is None

"""Who makes room for a job of high priority in its queue (Volcano's suite `schedulingaction`, preempt)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.e2e.release.cluster import Release
from tests.e2e.release.context import Context
from tests.e2e.release.scheduling import (
    PREEMPTABLE,
    WHOLE,
    conf,
    evicted,
    expect_running,
    expect_untouched,
    expect_waiting,
    near,
    nodes_of,
    task,
    ungate,
)

Object = dict[str, Any]
GATE = {"name": "example.com/approval"}


@pytest.fixture(scope="module")
def without_enqueue(release: Release) -> Iterator[None]:
    """A configuration in which room is made for jobs that would not be let in."""
    with release.configured(conf(without=["enqueue"])):
        yield


@pytest.fixture
def classes(context: Context) -> dict[str, str]:
    """Names of priority classes."""
    return {
        name: context.priority(name, value) for name, value in (("high", 100), ("middle", 50), ("low", 10))
    }


@pytest.mark.full
def test_nobody_goes_where_there_is_room(context: Context, classes: dict[str, str]) -> None:
    context.create(context.job("low", task(context, 1), priorityClassName=classes["low"]))
    context.running("low", 1)
    context.create(context.job("high", task(context, 1), priorityClassName=classes["high"]))

    expect_untouched(context, low=1, high=1)


@pytest.mark.full
def test_a_pod_whose_group_is_not_let_in_takes_nothing(context: Context, classes: dict[str, str]) -> None:
    context.create(context.job("low", task(context, 4), minAvailable=1, priorityClassName=classes["low"]))
    context.running("low", 4)
    context.group("held", 1, minResources={"cpu": "300"})
    context.pod("claimant", "held", priorityClassName=classes["high"])

    expect_untouched(context, 3.0, low=4)
    assert context.client.get(f"{context.groups}/held")["status"]["phase"] == "Pending"


@pytest.mark.usefixtures("without_enqueue")
def test_half_of_a_job_makes_room_for_one_of_high_priority(context: Context, classes: dict[str, str]) -> None:
    context.create(context.job("low", task(context, 4), minAvailable=1, priorityClassName=classes["low"]))
    context.running("low", 4)
    context.create(context.job("high", task(context, 4), minAvailable=2, priorityClassName=classes["high"]))

    expect_running(context, high=2, low=2)


@pytest.mark.full
@pytest.mark.usefixtures("without_enqueue")
def test_room_is_made_in_the_own_queue_alone(context: Context, classes: dict[str, str]) -> None:
    own, other = context.queue("own"), context.queue("other")
    low, high = classes["low"], classes["high"]
    context.create(context.job("mine", task(context, 2), queue=own, priorityClassName=low))
    context.running("mine", 2)
    context.create(context.job("theirs", task(context, 2), queue=other, priorityClassName=low))
    context.running("theirs", 2)
    context.create(context.job("urgent", task(context, 4), minAvailable=2, queue=own, priorityClassName=high))

    expect_running(context, urgent=2, mine=0, theirs=2)


@pytest.mark.full
@pytest.mark.usefixtures("without_enqueue")
def test_nobody_goes_for_a_gang_that_would_not_fit_then_either(
    context: Context, classes: dict[str, str]
) -> None:
    own, other = context.queue("own"), context.queue("other")
    low, high = classes["low"], classes["high"]
    context.create(context.job("mine", task(context, 1), queue=own, priorityClassName=low))
    context.create(context.job("theirs", task(context, 2), queue=other, priorityClassName=low))
    context.running("mine", 1)
    context.running("theirs", 2)
    context.create(context.job("urgent", task(context, 4), queue=own, priorityClassName=high))
    expect_waiting(context, "urgent", 3.0)

    expect_untouched(context, mine=1, theirs=2)


@pytest.mark.full
@pytest.mark.usefixtures("without_enqueue")
def test_a_gated_job_takes_nothing_until_its_gates_are_gone(
    context: Context, classes: dict[str, str]
) -> None:
    context.create(context.job("low", task(context, 4), minAvailable=1, priorityClassName=classes["low"]))
    context.running("low", 4)
    gated = context.task("gated", 2, WHOLE)
    gated["template"]["spec"]["schedulingGates"] = [GATE]
    gated["template"]["metadata"] = {"labels": {"gated": "yes"}}
    context.create(context.job("high", gated, priorityClassName=classes["high"]))
    context.wait(lambda: len(context.of("high", "Pending")) == 2, "the gated pods to be made")
    expect_untouched(context, 2.0, low=4)
    ungate(context, label="gated")

    expect_running(context, high=2, low=2)


@pytest.mark.full
def test_those_go_whom_the_claimant_does_not_want_beside_it(
    context: Context, classes: dict[str, str]
) -> None:
    """Not those of lower priority who are no hindrance: three of four blockers, and no bystander."""
    blocker, bystander = {"app": "blocker"}, {"app": "bystander"}
    beside = near(blocker) | near(bystander, away=True)
    topology_aware = {"name": "preempt", "arguments": {"enableTopologyAwarePreemption": True}}
    with context.configured(conf(without=["enqueue"], configurations=[topology_aware])):
        tasks = [
            ("blockers", 4, 1, blocker, near(blocker, away=True), "middle"),
            ("bystanders", 4, 1, bystander, beside, "low"),
            ("claimants", 3, 6, {"app": "claimant"}, near(blocker, away=True), "high"),
        ]
        for name, replicas, cpu, labels, affinity, priority in tasks:
            made = task(context, replicas, cpu, labels=PREEMPTABLE | labels, affinity=affinity)
            least = replicas if name == "claimants" else 1
            spec = {"minAvailable": least, "priorityClassName": classes[priority]}
            context.create(context.job(name, made, **spec))
            context.running(name, replicas)

        context.running("bystanders", 4)
        context.running("blockers", 1)
        assert len(evicted(context)) == 3
        assert not set(nodes_of(context, "blockers")) & set(nodes_of(context, "claimants"))

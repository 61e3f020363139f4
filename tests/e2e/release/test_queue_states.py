"""Queues that are closed and opened, and what is counted of the PodGroups in them (Volcano's suite `jobseq`, parts `queue`
and `queue job status`)."""

from __future__ import annotations

import pytest

from tests.e2e.arena import GROUPS
from tests.e2e.release.acts import FORCED, dismantle, group_phase, remove, shut, started, vcctl
from tests.e2e.release.context import Context

CLOSED_BY_PARENT = "volcano.sh/closed-by-parent"


def operate(context: Context, queue: str, action: str) -> None:
    """`vcctl queue operate`, which must succeed."""
    assert vcctl(context, "queue", "operate", "-n", queue, "-a", action) == (0, "")


def reach(context: Context, queue: str, state: str) -> None:
    """Wait until a queue has a state."""
    context.wait(lambda: context.queue_state(queue) == state, f"{queue} to be {state}")


def count(context: Context, queue: str, phase: str) -> float:
    """PodGroups of a queue in a phase, as the metrics say."""
    name = f'volcano_queue_pod_group_{phase}_count{{queue_name="{queue}"}}'
    return context.release.program.metrics().get(name, 0.0)


@pytest.mark.full
def test_a_closed_queue_takes_no_job_and_an_opened_one_does(context: Context) -> None:
    """While a job is in it it is closing."""
    queue = context.queue("door")
    job = context.job("inside", context.task("a", 1), queue=queue)
    started(context, job)

    operate(context, queue, "close")
    reach(context, queue, "Closing")
    said = context.refused(lambda: context.create(context.job("late", context.task("a", 1), queue=queue)))
    assert f"can only submit job to queue with state `Open`, queue `{queue}` status is `Closing`" in said
    assert len(context.of("inside", "Running")) == 1

    context.client.delete(f"{context.jobs}/inside")
    reach(context, queue, "Closed")

    operate(context, queue, "open")
    reach(context, queue, "Open")
    started(context, context.job("again", context.task("a", 1), queue=queue))


def test_queues_below_close_and_open_with_the_one_above(context: Context) -> None:
    """Whoever was closed by itself stays closed."""
    top = context.queue("top")
    low, other = context.queue("low", parent=top), context.queue("other", parent=top)
    leaf = context.queue("leaf", parent=low)
    operate(context, other, "close")
    reach(context, other, "Closed")

    operate(context, top, "close")
    for each in (top, low, leaf):
        reach(context, each, "Closed")
    noted = context.client.get(f"{GROUPS}/queues/{leaf}")["metadata"]["annotations"]
    assert noted[CLOSED_BY_PARENT] == "true"

    operate(context, top, "open")
    for each in (top, low, leaf):
        reach(context, each, "Open")
    context.stays(lambda: context.queue_state(other) == "Closed", "closed by itself", 1.0)
    dismantle(context, leaf, other, low, top)


@pytest.mark.full
def test_a_group_that_waits_runs_when_another_leaves(context: Context) -> None:
    """The queue may use two CPUs, which the first job has."""
    queue = context.queue("narrow", capability={"cpu": "2"})
    started(context, context.job("first", context.task("a", 2), queue=queue))
    context.create(context.job("second", context.task("a", 2), queue=queue))
    context.wait(lambda: count(context, queue, "running") == 1, "one running")
    context.wait(lambda: count(context, queue, "pending") == 1, "one pending")

    context.client.delete(f"{context.jobs}/first")

    context.running("second", 2)
    context.wait(lambda: count(context, queue, "pending") == 0, "none pending")
    assert count(context, queue, "running") == 1


@pytest.mark.full
def test_a_group_of_pods_that_loses_a_member_for_good_is_unknown(context: Context) -> None:
    """The member goes at once, and no node takes the one that comes instead."""
    queue = context.queue("bare")
    context.group("pair", 2, queue=queue)
    for name in ("one", "two"):
        context.pod(name, "pair")
    context.wait(lambda: group_phase(context, "pair") == "Running", "the pair to run")
    context.wait(lambda: count(context, queue, "running") == 1, "one running")

    with shut(context):
        remove(context, "one", FORCED)
        context.pod("three", "pair")
        context.wait(lambda: group_phase(context, "pair") == "Unknown", "the pair to be unknown")
        context.wait(lambda: count(context, queue, "unknown") == 1, "one unknown")
    assert count(context, queue, "running") == 0

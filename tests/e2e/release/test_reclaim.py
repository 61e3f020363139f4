"""What a queue gets back from others (Volcano's suite `schedulingaction`, reclaim).

Four slots; queues of equal weight, or with what they deserve written down where plugin capacity is on.
"""

from __future__ import annotations

from typing import Any

import pytest

from tests.e2e.release.context import Context
from tests.e2e.release.scheduling import (
    CAPACITY,
    WHOLE,
    conf,
    expect_running,
    expect_untouched,
    expect_waiting,
    phase_of_group_of,
    set_queue,
    task,
)

Object = dict[str, Any]
TREE = conf(plugins={"proportion": {"name": "capacity", "enableHierarchy": True}})


def one(context: Context, name: str, queue: str, cpu: int | str = WHOLE, **spec: Any) -> None:
    """A job of one pod that may be evicted."""
    context.create(context.job(name, task(context, 1, cpu, **spec), queue=queue))


def shared(context: Context, *names: str) -> list[str]:
    """Two queues with a job of two pods each, so that the cluster is full."""
    queues = [context.queue(each) for each in names]
    for name, queue in zip(names, queues, strict=True):
        context.create(context.job(name, task(context, 2), minAvailable=1, queue=queue))
        context.running(name, 2)
    return queues


@pytest.mark.full
def test_a_new_queue_takes_nothing_while_there_is_room(context: Context) -> None:
    for name in ("one", "two", "new"):
        one(context, name, context.queue(name))
        context.running(name, 1)

    expect_untouched(context, 1.0, one=1, two=1, new=1)


@pytest.mark.full
def test_a_job_for_a_queue_that_is_not_there_takes_nothing(context: Context) -> None:
    shared(context, "one", "two")
    refusal = context.refused(lambda: one(context, "lost", f"{context.namespace}-lost"))

    assert "lost" in refusal
    expect_untouched(context, 1.0, one=2, two=2)


def test_two_new_queues_take_one_pod_of_each_old_one(context: Context) -> None:
    shared(context, "one", "two")
    for name in ("three", "four"):
        one(context, name, context.queue(name))

    expect_running(context, three=1, four=1, one=1, two=1)


@pytest.mark.full
def test_a_queue_with_its_share_takes_nothing_more(context: Context) -> None:
    """The third queue has two of four slots, its share is less."""
    for name, replicas in (("one", 1), ("two", 1), ("three", 2)):
        context.create(context.job(name, task(context, replicas), queue=context.queue(name)))
        context.running(name, replicas)
    one(context, "more", f"{context.namespace}-three")
    context.wait(lambda: phase_of_group_of(context, "more") == "Inqueue", "the new job to be let in")

    expect_waiting(context, "more")
    expect_untouched(context, one=1, two=1, three=2)


@pytest.mark.full
@pytest.mark.parametrize(
    ("cpu", "spec"),
    [(8, {}), (WHOLE, {"nodeSelector": {"kind": "none"}}), (WHOLE, {"nodeName": "fake-node"})],
    ids=["larger than what any node could free", "of no node's kind", "bound to a node that is not there"],
)
def test_nobody_goes_for_a_pod_that_would_not_fit_then_either(
    context: Context, cpu: int, spec: Object
) -> None:
    shared(context, "one", "two")
    one(context, "claimant", context.queue("three"), cpu, **spec)
    context.wait(lambda: len(context.of("claimant", "Pending")) == 1, "its pod to be made")

    expect_untouched(context, 3.0, one=2, two=2)
    assert len(context.of("claimant", "Pending")) == 1
    assert phase_of_group_of(context, "claimant") == ("Running" if "nodeName" in spec else "Inqueue")


@pytest.mark.full
def test_queues_that_give_nothing_back_are_left_alone(context: Context) -> None:
    for queue in shared(context, "one", "two"):
        set_queue(context, queue, reclaimable=False)
    one(context, "claimant", context.queue("three"))

    expect_waiting(context, "claimant", 3.0)
    expect_untouched(context, one=2, two=2)


@pytest.mark.full
def test_queues_get_back_what_they_deserve(context: Context) -> None:
    """Eight CPUs of which two queues that deserve one each have four each; the others ask for six."""
    with context.configured(CAPACITY):
        context.fill(2)
        queues = {
            name: context.queue(name, deserved={"cpu": cpu})
            for name, cpu in (("one", 1), ("two", 1), ("three", 2), ("four", 4))
        }
        for name in ("one", "two"):
            context.create(context.job(name, task(context, 4, 1), minAvailable=1, queue=queues[name]))
            context.running(name, 4)
        for number, (name, cpu) in enumerate((("three", 2), ("four", 2), ("four", 1), ("four", 1))):
            one(context, f"claimant-{number}", queues[name], cpu)
            context.running(f"claimant-{number}", 1)

        expect_running(context, one=1, two=1)


@pytest.mark.full
def test_a_leaf_gets_back_what_another_branch_has_over(context: Context) -> None:
    """Not what its sibling has, which is just what that one deserves."""
    with context.configured(TREE):
        context.fill(2)
        branch = context.queue("branch", deserved={"cpu": 4}, parent="root")
        other = context.queue("other", deserved={"cpu": 4}, parent="root")
        first = context.queue("first", deserved={"cpu": 2}, parent=branch)
        second = context.queue("second", deserved={"cpu": 2}, parent=branch)
        one(context, "sibling", first, 2)
        context.create(context.job("over", task(context, 3, 2), minAvailable=1, queue=other))
        context.running("sibling", 1)
        context.running("over", 3)
        one(context, "claimant", second, 2)

        expect_running(context, claimant=1, over=2, sibling=1)

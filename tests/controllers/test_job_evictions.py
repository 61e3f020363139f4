"""A sync beside an eviction, or beside a failure: the policy acts first, so no phase is shown that was never meant."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.controllers.world import World, a_task
from vcray.api.meta import JsonObject
from vcray.api.resources import CONFIGMAPS, JOBS, PODS
from vcray.controllers import raw
from vcray.controllers.base import Create, Effect, Outcome, Read
from vcray.controllers.job.controller import JobController


def policy(action: str, event: str, **more: JsonObject | str) -> JsonObject:
    return {"action": action, "event": event, **more}


def world(graceful: bool = True) -> World:
    return World([JobController()], graceful=graceful)


def in_the_middle_of_a_sync(w: World, happens: Callable[[], None]) -> None:
    """A sync begins; while it reads a ConfigMap something happens."""
    left = [happens]

    def hook(effect: Effect) -> Outcome | None:
        if left and isinstance(effect, Read) and effect.resource == CONFIGMAPS:
            left.pop()()
        return None

    w.fail = hook
    w.replay(JOBS)
    w.settle()
    assert not left


def unanswered(w: World) -> list[str]:
    """Pods whose eviction the controller still keeps."""
    controller = w.controllers[0]
    assert isinstance(controller, JobController)
    return [each.pod for waiting in controller.evictions.jobs.values() for each in waiting]


def gone_before_the_job_is_known(w: World, pod: str) -> None:
    """A controller starts: it is told of the pods, then that one of them is gone, then of the jobs."""
    w.controllers = [JobController()]
    job = w.objects.pop((JOBS, "ns", "j"))
    w.replay(PODS)
    w.remove(PODS, "ns", pod)
    w.objects[JOBS, "ns", "j"] = job
    w.replay(JOBS)


@pytest.mark.parametrize("event", ["PodEvicted", "*"])
@pytest.mark.parametrize("action", ["RestartJob", "RestartTask", "RestartPod"])
def test_eviction_goes_before_a_sync_that_waited_before_it(action: str, event: str) -> None:
    w = world()
    w.running(tasks=[a_task(replicas=2)], policies=[policy(action, event)])

    w.replay(JOBS)
    w.remove(PODS, "ns", "j-t-0")
    w.settle()

    assert w.phases[:3] == ["Pending", "Running", "Restarting"]
    assert w.status()["retryCount"] == 1


@pytest.mark.parametrize("action", ["RestartJob", "RestartTask", "RestartPod", "AbortJob"])
def test_eviction_in_the_middle_of_a_sync_goes_before_its_pods(action: str) -> None:
    w = world()
    w.running(tasks=[a_task(replicas=2)], policies=[policy(action, "PodEvicted")], plugins={"svc": []})

    in_the_middle_of_a_sync(w, lambda: w.remove(PODS, "ns", "j-t-0"))

    assert w.phases[:3] == ["Pending", "Running", "Aborting" if action == "AbortJob" else "Restarting"]


def test_failure_in_the_middle_of_a_sync_does_not_end_the_job() -> None:
    w = world()
    w.running(policies=[policy("RestartJob", "PodFailed")], plugins={"svc": []})

    in_the_middle_of_a_sync(w, lambda: w.change(PODS, "ns", "j-t-0", status__phase="Failed") and None)

    assert w.phases[:3] == ["Pending", "Running", "Restarting"]


def test_eviction_that_a_sync_has_answered_acts_once() -> None:
    w = world(graceful=False)
    w.running(tasks=[a_task(replicas=2)], policies=[policy("RestartTask", "PodEvicted")])

    w.replay(JOBS)
    w.remove(PODS, "ns", "j-t-0")
    w.settle()
    w.settle()

    assert w.status()["retryCount"] == 1
    assert unanswered(w) == []


def test_eviction_whose_action_fails_is_tried_again_and_counted_once() -> None:
    w = world()
    w.running(tasks=[a_task(replicas=2)], policies=[policy("RestartTask", "PodEvicted")])
    refusals = [Outcome(ok=False, status=500, message="slow")] * 3
    w.fail = lambda effect: refusals.pop() if refusals and not isinstance(effect, Read) else None

    w.remove(PODS, "ns", "j-t-0")
    w.settle()

    assert w.status()["retryCount"] == 1
    assert w.phases[-1] == "Restarting"


def test_eviction_with_a_timeout_makes_the_pod_again_at_once_and_acts_later() -> None:
    w = world()
    w.running(tasks=[a_task(replicas=2)], policies=[policy("AbortJob", "PodEvicted", timeout="30s")])

    w.replay(JOBS)
    w.remove(PODS, "ns", "j-t-0")
    w.settle()
    assert w.pods() == ["j-t-0", "j-t-1"]
    w.advance(30)

    assert w.phases[-1] == "Aborting"
    assert [m for r, m in w.events if r == "ExecuteAction"] == ["Execute action AbortJob after 30s"]


def test_partition_of_which_no_pod_is_left_is_made_again_without_a_retry() -> None:
    w = world()
    one = {"totalPartitions": 2, "partitionSize": 1}
    tasks = [a_task(replicas=2, partitionPolicy=one)]
    w.running(minAvailable=1, tasks=tasks, policies=[policy("RestartPartition", "PodEvicted")])

    for pod in ("j-t-0", "j-t-1"):
        w.remove(PODS, "ns", pod)
    w.settle()

    assert w.pods() == ["j-t-0", "j-t-1"]
    assert "retryCount" not in w.status()


def test_evictions_of_a_job_that_is_gone_are_forgotten() -> None:
    w = world()
    w.running(tasks=[a_task(replicas=2)], policies=[policy("RestartJob", "PodEvicted")])

    w.remove(PODS, "ns", "j-t-0")
    w.remove(JOBS, "ns", "j")
    w.settle()
    w.effects.clear()
    w.submit(tasks=[a_task(replicas=2)], policies=[policy("RestartJob", "PodEvicted")])

    assert w.phase() == "Pending"
    assert "retryCount" not in w.status()
    assert w.did(Create, PODS) == []
    assert unanswered(w) == []


@pytest.mark.parametrize("again", [False, True])
def test_pods_that_go_after_their_job_leave_nothing_behind(again: bool) -> None:
    w = world()
    spec = {"tasks": [a_task(replicas=3)], "policies": [policy("RestartJob", "PodEvicted")]}
    w.running(**spec)

    w.remove(JOBS, "ns", "j")
    for pod in w.pods():
        w.remove(PODS, "ns", pod)
    if again:
        w.submit(**spec)
    w.settle()

    assert unanswered(w) == []
    assert not again or "retryCount" not in w.status()


def test_pod_that_goes_before_its_job_is_known_is_an_eviction_all_the_same() -> None:
    w = world()
    w.running(tasks=[a_task(replicas=2)], policies=[policy("RestartJob", "PodEvicted")])

    gone_before_the_job_is_known(w, "j-t-0")
    w.settle()

    assert w.phases[:3] == ["Pending", "Running", "Restarting"]
    assert unanswered(w) == []


@pytest.mark.parametrize("known", [False, True])
def test_eviction_that_nobody_asks_for_is_answered_though_another_event_goes_first(known: bool) -> None:
    w = world()
    late = policy("AbortJob", "PodPending", timeout="1h")
    w.running(tasks=[a_task(replicas=2)], policies=[policy("RestartJob", "PodFailed"), late])

    if known:
        w.remove(PODS, "ns", "j-t-0")
    else:
        gone_before_the_job_is_known(w, "j-t-0")
    w.change(PODS, "ns", "j-t-1", status__phase="Failed")
    w.settle()

    assert w.phases[:3] == ["Pending", "Running", "Restarting"]
    assert unanswered(w) == []


def lost_a_pod_that_cannot_be_made_again() -> World:
    """A job whose pod was evicted just after a sync was asked for; no write of a pod succeeds from now on."""
    w = world()
    w.running(tasks=[a_task(replicas=2)], policies=[policy("RestartJob", "PodEvicted")])
    w.fail = lambda effect: (
        Outcome(ok=False, status=500, message="boom")
        if not isinstance(effect, Read) and getattr(effect, "resource", None) == PODS
        else None
    )

    w.replay(JOBS)
    w.remove(PODS, "ns", "j-t-0")
    return w


def test_eviction_that_a_sync_took_up_in_vain_is_answered_when_the_job_is_given_up() -> None:
    w = lost_a_pod_that_cannot_be_made_again()

    while not w.gave_up:
        w.take_turn()

    assert unanswered(w) == []


def test_retry_limit_names_the_action_of_the_event_that_a_sync_took_up() -> None:
    w = lost_a_pod_that_cannot_be_made_again()

    w.settle()

    assert ("ExecuteAction", "Job failed on action RestartJob for retry limit reached") in w.events
    assert raw.text(w.job(), "metadata", "name") == "j"

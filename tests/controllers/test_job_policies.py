"""Policies: which one answers, what a watcher sees, and time-outs."""

from __future__ import annotations

import pytest

from tests.controllers.world import World, a_task
from vcray.api import names
from vcray.api.meta import JsonObject
from vcray.api.resources import JOBS, PODGROUPS, PODS
from vcray.controllers import raw
from vcray.controllers.base import Create, Delete, Effect, Outcome, Patch, UpdateStatus
from vcray.controllers.job.controller import JobController


def policy(action: str, event: str = "", **more: object) -> JsonObject:
    found: JsonObject = {"action": action, **more}  # type: ignore[dict-item]
    return {**found, "event": event} if event else found


def world(graceful: bool = True) -> World:
    return World([JobController()], graceful=graceful)


def settle_restart(w: World) -> None:
    """Old pods go, the scheduler admits the new group, new pods run."""
    w.bury()
    w.admit()
    w.pod_phase("Running")


def executed(w: World) -> list[str]:
    return [message for reason, message in w.events if reason == "ExecuteAction"]


# Sequences of phases that a watcher must see.


@pytest.mark.parametrize("graceful", [True, False])
def test_pod_failed_restart_job_goes_through_restarting(graceful: bool) -> None:
    w = world(graceful)
    w.running(policies=[policy("RestartJob", "PodFailed")])

    w.pod_phase("Failed", "j-t-0", code=127)
    settle_restart(w)

    assert w.phases == ["Pending", "Running", "Restarting", "Pending", "Running"]
    assert w.status()["retryCount"] == 1
    assert "Start to execute action RestartJob " in executed(w)


@pytest.mark.parametrize(
    ("action", "ending"),
    [
        ("TerminateJob", ["Terminating", "Terminated"]),
        ("AbortJob", ["Aborting", "Aborted"]),
        ("CompleteJob", ["Completing", "Completed"]),
    ],
)
@pytest.mark.parametrize("graceful", [True, False])
def test_pod_failed_ends_the_job_in_two_steps(action: str, ending: list[str], graceful: bool) -> None:
    w = world(graceful)
    w.running(tasks=[a_task(replicas=2)], policies=[policy(action, "PodFailed")])

    w.pod_phase("Failed", "j-t-0")
    w.bury()

    assert w.phases == ["Pending", "Running", *ending]
    assert w.pods() == ["j-t-0"]


@pytest.mark.parametrize(
    "event", [policy("RestartJob", "PodEvicted"), policy("RestartJob", "*")], ids=["PodEvicted", "any"]
)
@pytest.mark.parametrize("level", ["job", "task"])
def test_deleted_pod_restarts_the_job(event: JsonObject, level: str) -> None:
    w = world()
    if level == "job":
        w.running(tasks=[a_task(replicas=2)], policies=[event])
    else:
        w.running(tasks=[a_task(replicas=2, policies=[event])])

    w.remove(PODS, "ns", "j-t-0")
    w.settle()
    settle_restart(w)

    assert w.phases == ["Pending", "Running", "Restarting", "Pending", "Running"]
    assert w.status()["retryCount"] == 1


def test_pod_failed_restart_pod_touches_one_pod_and_no_eviction_policy_fires() -> None:
    w = world()
    late = policy("TerminateJob", "PodEvicted", timeout="5m")
    w.running(tasks=[a_task(replicas=2)], policies=[policy("RestartPod", "PodFailed"), late])
    other = raw.uid(w.get(PODS, "ns", "j-t-1") or {})

    w.pod_phase("Failed", "j-t-0")
    assert w.phases[-1] in ("Restarting", "Pending")
    w.bury()
    w.pod_phase("Running", "j-t-0")
    w.advance(600)

    assert [p for p in w.phases if p != "Pending"] == ["Running", "Restarting", "Running"]
    assert raw.uid(w.get(PODS, "ns", "j-t-1") or {}) == other
    assert w.status()["retryCount"] == 1
    assert "version" not in w.status()


def test_task_completed_completes_the_job_though_other_tasks_run() -> None:
    w = world()
    w.running(
        tasks=[a_task("m", 1, policies=[policy("CompleteJob", "TaskCompleted")]), a_task("w", 2)],
    )

    w.pod_phase("Succeeded", "j-m-0")
    w.bury()

    assert w.phases == ["Pending", "Running", "Completing", "Completed"]
    assert w.pods() == ["j-m-0"]


def test_task_failed_by_container_restarts_terminates_the_job() -> None:
    w = world()
    w.running(policies=[policy("TerminateJob", "TaskFailed")])

    def restarts(count: int) -> None:
        statuses = [{"name": "main", "restartCount": count, "ready": True}]
        w.change(PODS, "ns", "j-t-0", status__containerStatuses=statuses)
        w.settle()

    restarts(2)
    assert w.phase() == "Running"
    restarts(3)
    w.bury()

    assert w.phases == ["Pending", "Running", "Terminating", "Terminated"]


def test_unknown_group_restarts_the_job_and_pods_return_after_admission() -> None:
    w = world()
    w.running(tasks=[a_task(replicas=2)], policies=[policy("RestartJob", "Unknown")])

    w.change(PODGROUPS, "ns", raw.name(w.podgroups()[0]), status__phase="Unknown")
    w.settle()
    assert w.phase() == "Restarting"
    w.bury()
    w.admit()
    assert w.phase() == "Pending"
    w.pod_phase("Running")

    assert w.phases[2:] == ["Restarting", "Pending", "Running"]


def test_exit_code_restarts_the_job_where_the_event_has_no_policy() -> None:
    w = world()
    w.running(policies=[{"action": "RestartJob", "exitCode": 3}])

    w.pod_phase("Failed", "j-t-0", code=3)

    assert w.phases[-1] == "Restarting"


def test_other_exit_codes_do_not_match() -> None:
    w = world()
    w.running(policies=[{"action": "RestartJob", "exitCode": 3}])

    w.pod_phase("Failed", "j-t-0", code=4)

    assert w.phase() == "Failed"


def test_task_policy_goes_before_the_jobs() -> None:
    """api-controllers.md 10.13."""
    w = world()
    w.running(
        tasks=[a_task(policies=[policy("RestartJob", "PodFailed")])],
        policies=[policy("AbortJob", "PodFailed")],
    )

    w.pod_phase("Failed", "j-t-0")

    assert w.phases[-1] == "Restarting"


def test_job_policy_answers_what_the_tasks_does_not() -> None:
    """api-controllers.md 10.13."""
    w = world()
    w.running(
        tasks=[a_task(policies=[policy("RestartJob", "PodEvicted")])],
        policies=[policy("AbortJob", "PodFailed")],
    )

    w.pod_phase("Failed", "j-t-0")
    w.bury()

    assert w.phase() == "Aborted"


def test_any_event_does_not_match_a_pending_pod_without_a_timeout() -> None:
    w = world()

    w.running(policies=[policy("AbortJob", "*")])

    assert w.phase() == "Running"


# Restarts


def test_restarting_is_written_once_with_the_pods_that_end() -> None:
    w = world()
    w.running(tasks=[a_task(replicas=3)], policies=[policy("RestartJob", "PodFailed")])

    w.pod_phase("Failed", "j-t-0")

    writes = [e.object for e in w.did(UpdateStatus) if isinstance(e, UpdateStatus)]
    first = next(o for o in writes if raw.text(o, "status", "state", "phase") == "Restarting")
    assert raw.number(first, "status", "terminating") == 3
    assert raw.number(first, "status", "retryCount") == 1
    assert raw.number(first, "status", "version") == 1
    assert "running" not in raw.table(first, "status")


def test_kill_marks_pods_then_writes_the_status_and_only_then_deletes() -> None:
    """api-controllers.md 10.10."""
    w = world()
    w.running(policies=[policy("RestartJob", "PodFailed")])
    w.effects.clear()

    w.pod_phase("Failed", "j-t-0")

    kinds = [
        (type(e), e.resource)
        for e in w.effects
        if isinstance(e, Patch | Delete | UpdateStatus) and e.resource in (PODS, JOBS, PODGROUPS)
    ]
    assert kinds[:4] == [(Patch, PODS), (UpdateStatus, JOBS), (Delete, PODGROUPS), (Delete, PODS)]
    mark = w.did(Patch, PODS)[0]
    assert isinstance(mark, Patch)
    assert mark.patch == {"metadata": {"annotations": {names.CONTROLLER_OUT_OF_SYNC: "true"}}}


def test_max_retry_n_gives_one_restart_less_and_ends_failed_through_restarting() -> None:
    """api-controllers.md 10.5."""
    w = world()
    w.running(maxRetry=2, policies=[policy("RestartJob", "PodFailed")])

    w.pod_phase("Failed", "j-t-0")
    settle_restart(w)
    w.pod_phase("Failed", "j-t-0")
    w.bury()

    assert w.phases == ["Pending", "Running", "Restarting", "Pending", "Running", "Restarting", "Failed"]
    assert w.status()["retryCount"] == 2
    assert w.pods() == ["j-t-0"], "the last attempt keeps what has finished"


def test_with_one_retry_a_completing_job_completes_o_055() -> None:
    w = world()
    done = [policy("CompleteJob", "TaskCompleted")]
    w.running(maxRetry=1, tasks=[a_task("mpiworker", 2), a_task("mpimaster", 1, policies=done)])

    w.pod_phase("Succeeded", "j-mpimaster-0")
    w.bury()

    assert w.phase() == "Completed"
    assert w.pods() == ["j-mpimaster-0"]


def test_events_of_pods_from_before_a_restart_are_ignored() -> None:
    w = world()
    w.running(tasks=[a_task(replicas=2)], policies=[policy("RestartJob", "PodFailed")])
    w.pod_phase("Failed", "j-t-0")

    w.change(PODS, "ns", "j-t-1", status__phase="Failed")
    w.settle()

    assert w.status()["retryCount"] == 1


def test_restart_task_leaves_other_tasks_alone() -> None:
    w = world()
    w.running(tasks=[a_task("a", 2), a_task("b", 2)], policies=[policy("RestartTask", "PodFailed")])
    kept = [raw.uid(p) for p in w.list(PODS) if raw.name(p).startswith("j-b")]

    w.pod_phase("Failed", "j-a-1")
    w.bury()
    w.pod_phase("Running", "j-a-0", "j-a-1")

    assert [raw.uid(p) for p in w.list(PODS) if raw.name(p).startswith("j-b")] == kept
    assert w.phase() == "Running"
    assert len(w.podgroups()) == 1


def test_restart_partition_restarts_the_partition_of_the_pod() -> None:
    w = world()
    partitions = {"totalPartitions": 2, "partitionSize": 2}
    w.running(
        tasks=[a_task(replicas=4, partitionPolicy=partitions)],
        policies=[policy("RestartPartition", "PodFailed")],
    )

    w.pod_phase("Failed", "j-t-2")

    going = [raw.name(p) for p in w.list(PODS) if raw.terminating(p)]
    assert going == ["j-t-2", "j-t-3"]


def test_restart_partition_without_a_partition_does_nothing_but_an_event() -> None:
    w = world()
    w.running(minAvailable=1, tasks=[a_task(replicas=2)], policies=[policy("RestartPartition", "PodFailed")])

    w.pod_phase("Failed", "j-t-0")

    assert w.phase() == "Running"
    assert "retryCount" not in w.status()
    assert "Start to execute action RestartPartition " in executed(w)


@pytest.mark.parametrize("kind", [Patch, Delete])
def test_failed_kill_is_told_and_tried_again(kind: type[Effect]) -> None:
    w = world()
    w.running(tasks=[a_task(replicas=2)], policies=[policy("RestartJob", "PodFailed")])
    refusals = [Outcome(ok=False, status=500, message="etcd is slow")]

    def refuse_once(effect: Effect) -> Outcome | None:
        hit = isinstance(effect, Patch | Delete) and isinstance(effect, kind) and effect.resource == PODS
        return refusals.pop() if hit and refusals else None

    w.fail = refuse_once
    w.pod_phase("Failed", "j-t-0")

    assert ("FailedDelete", "Error deleting pods: [etcd is slow]") in w.events
    assert w.phases[-1] == "Restarting"
    assert [raw.terminating(pod) for pod in w.list(PODS)] == [True, True]
    assert w.status()["terminating"] == 2
    assert w.status()["retryCount"] == 1


def test_policy_still_acts_when_the_pod_failed_while_no_controller_ran_o_059() -> None:
    w = world()
    w.running(policies=[policy("RestartJob", "PodFailed")])
    w.controllers = []
    w.pod_phase("Failed", "j-t-0")
    w.controllers = [JobController()]

    w.replay(JOBS, PODS, PODGROUPS)
    w.settle()
    settle_restart(w)

    assert w.phases == ["Pending", "Running", "Restarting", "Pending", "Running"]
    assert w.status()["retryCount"] == 1


def test_task_that_completed_while_no_controller_ran_completes_the_job() -> None:
    w = world()
    done = [policy("CompleteJob", "TaskCompleted")]
    w.running(tasks=[a_task("m", 1, policies=done), a_task("w", 1)])
    w.controllers = []
    w.pod_phase("Succeeded", "j-m-0")
    w.controllers = [JobController()]

    w.replay(JOBS, PODS, PODGROUPS)
    w.settle()

    assert w.phases[-1] == "Completing"


# Time-outs


def test_pending_pods_are_restarted_again_and_again_o_058() -> None:
    w = world(graceful=False)
    w.submit(tasks=[a_task(replicas=2)], policies=[policy("RestartTask", "PodPending", timeout="10s")])
    w.admit()
    first = [raw.uid(p) for p in w.list(PODS)]

    w.change(PODS, "ns", "j-t-0", status__containerStatuses=[{"name": "main", "state": {"waiting": {}}}])
    w.advance(10)
    second = [raw.uid(p) for p in w.list(PODS)]
    w.advance(10)
    third = [raw.uid(p) for p in w.list(PODS)]

    assert len({*first, *second, *third}) == 6
    assert w.status()["retryCount"] == 2
    assert ("ExecuteAction", "Execute action RestartTask after 10s") in w.events


def test_only_the_stuck_pod_is_restarted_by_restart_pod_o_058() -> None:
    w = world(graceful=False)
    w.submit(
        tasks=[a_task(replicas=2, least=1)], policies=[policy("RestartPod", "PodPending", timeout="10s")]
    )
    w.admit()
    w.pod_phase("Running", "j-t-0")
    uids = {raw.name(p): raw.uid(p) for p in w.list(PODS)}

    w.advance(10)

    after = {raw.name(p): raw.uid(p) for p in w.list(PODS)}
    assert after["j-t-0"] == uids["j-t-0"]
    assert after["j-t-1"] != uids["j-t-1"]


def test_pod_that_runs_in_time_cancels_its_pending_timeout() -> None:
    w = world()
    w.submit(policies=[policy("AbortJob", "PodPending", timeout="10s")])
    w.admit()

    w.advance(5)
    w.pod_phase("Running")
    w.advance(60)

    assert w.phase() == "Running"
    assert "Start to execute action AbortJob " not in executed(w)


def test_delayed_eviction_policy_is_cancelled_when_the_new_pod_runs() -> None:
    w = world()
    w.running(tasks=[a_task(replicas=2)], policies=[policy("TerminateJob", "PodEvicted", timeout="30s")])
    w.remove(PODS, "ns", "j-t-0")
    w.settle()
    assert w.pods() == ["j-t-0", "j-t-1"]

    w.pod_phase("Running", "j-t-0")
    w.advance(60)

    assert w.phase() == "Running"


def test_delayed_eviction_policy_fires_when_nothing_cancels_it() -> None:
    w = world()
    w.running(tasks=[a_task(replicas=2)], policies=[policy("TerminateJob", "PodEvicted", timeout="1m30s")])

    w.remove(PODS, "ns", "j-t-0")
    w.settle()
    assert executed(w) == ["Execute action TerminateJob after 1m30s"]
    w.advance(89)
    assert w.phase() != "Terminating"
    w.advance(1)

    assert w.phase() == "Terminating"
    assert executed(w) == ["Execute action TerminateJob after 1m30s"]


@pytest.mark.parametrize("restarted", [False, True])
def test_job_does_not_end_while_a_failed_pod_waits_for_its_delayed_policy(restarted: bool) -> None:
    w = world()
    w.running(policies=[policy("RestartJob", "PodFailed", timeout="10s")])
    if restarted:
        w.controllers = []
    w.pod_phase("Failed", "j-t-0")
    if restarted:
        w.controllers = [JobController()]
    w.replay(JOBS, PODS)
    w.settle()
    assert w.phase() == "Running"

    w.advance(10)

    assert w.phase() == "Restarting"


def test_timeout_is_not_started_anew_by_the_same_event() -> None:
    w = world()
    w.submit(policies=[policy("AbortJob", "PodPending", timeout="10s")])
    w.admit()

    w.advance(6)
    w.replay(PODS)
    w.settle()
    w.advance(4)
    w.bury()

    assert w.phase() == "Aborted"


def test_timeouts_are_armed_again_after_a_restart_of_the_controller() -> None:
    """api-controllers.md 10.57."""
    w = world()
    w.submit(policies=[policy("AbortJob", "PodPending", timeout="10s")])
    w.admit()
    w.controllers = [JobController()]
    w.waiting.clear()

    w.replay(JOBS, PODS)
    w.settle()
    w.advance(10)
    w.bury()

    assert w.phase() == "Aborted"


def test_events_without_a_policy_share_one_request() -> None:
    w = world()
    w.submit(tasks=[a_task(replicas=20)])
    group = w.podgroups()[0]
    w.change(PODGROUPS, "ns", raw.name(group), status__phase="Inqueue")
    w.settle()
    before = len(w.did(UpdateStatus))

    for pod in w.pods():
        w.change(PODS, "ns", pod, status__phase="Running")

    assert len(w.queue) == 1
    w.settle()
    assert len(w.did(UpdateStatus)) - before <= 2
    assert len(w.did(Create, PODS)) == 20


def test_pod_replaced_under_its_name_in_one_change_counts_as_deleted() -> None:
    w = world()
    w.running(tasks=[a_task(replicas=2)], policies=[policy("AbortJob", "PodEvicted")])
    old = w.get(PODS, "ns", "j-t-0") or {}
    meta = {**raw.table(old, "metadata"), "uid": "another"}

    w.put(PODS, {**old, "metadata": meta, "status": {"phase": "Pending"}})
    w.settle()

    assert w.phases[-1] == "Aborting"


def test_exit_code_0_of_a_policy_is_none() -> None:
    w = world()
    w.running(tasks=[a_task(replicas=2)], policies=[{"action": "AbortJob", "exitCode": 0}])

    w.pod_phase("Failed", "j-t-0", code=0)
    w.remove(PODS, "ns", "j-t-1")
    w.settle()

    assert executed(w) == []


def test_delayed_action_that_is_but_a_sync_lets_the_job_end() -> None:
    w = world()
    w.running(policies=[policy("ResumeJob", "PodFailed", timeout="10s")])
    w.pod_phase("Failed", "j-t-0")
    assert w.phase() == "Running"

    w.advance(10)

    assert w.phase() == "Failed"

"""From a job's manifest to Completed: what is created when, and what the status says on the way."""

from __future__ import annotations

from tests.controllers.world import World, a_task
from vcray.api import names
from vcray.api.resources import JOBS, PODGROUPS, PODS, QUEUES
from vcray.controllers import raw
from vcray.controllers.base import Create, Effect, Outcome, UpdateStatus
from vcray.controllers.job.controller import JobController


def world(**more: object) -> World:
    return World([JobController()], **more)  # type: ignore[arg-type]


def test_new_job_is_pending_with_a_podgroup_and_no_pods() -> None:
    w = world()

    w.submit(tasks=[a_task("ps", 2), a_task("w", 3, 1)])

    assert w.phase() == "Pending"
    assert w.status()["minAvailable"] == 3
    assert w.pods() == []
    group = w.podgroups()[0]
    assert raw.name(group) == f"j-{raw.uid(w.job())}"
    assert raw.table(group, "spec") == {
        "minMember": 3,
        "minTaskMember": {"ps": 2, "w": 1},
        "queue": "default",
        "minResources": {"count/pods": "3", "cpu": "3", "pods": "3", "requests.cpu": "3"},
    }


def test_pods_are_made_once_the_podgroup_is_admitted() -> None:
    """api-controllers.md 10.1."""
    w = world()
    w.submit(tasks=[a_task("ps", 1), a_task("w", 2)])

    w.admit()

    assert w.pods() == ["j-ps-0", "j-w-0", "j-w-1"]
    assert w.status()["pending"] == 3
    assert w.status()["taskStatusCount"] == {"ps": {"phase": {"Pending": 1}}, "w": {"phase": {"Pending": 2}}}
    assert w.phase() == "Pending"


def test_job_runs_at_its_minimum_and_completes_when_all_pods_succeed() -> None:
    w = world()
    w.submit(tasks=[a_task(replicas=3, least=2)])
    w.admit()

    w.pod_phase("Running", "j-t-0")
    assert w.phase() == "Pending"
    w.pod_phase("Running", "j-t-1")
    assert w.phase() == "Running"
    w.pod_phase("Running", "j-t-2")
    w.pod_phase("Succeeded")

    assert w.phase() == "Completed"
    assert w.phases == ["Pending", "Running", "Completed"]


def test_completed_job_keeps_its_pods_but_neither_podgroup_nor_counters() -> None:
    """api-controllers.md 10.7."""
    w = world()
    w.running()

    w.pod_phase("Succeeded")

    assert w.podgroups() == []
    assert w.pods() == ["j-t-0"]
    assert "succeeded" not in w.status()
    assert "taskStatusCount" not in w.status()
    assert w.status()["version"] == 1
    assert w.status()["runningDuration"]


def test_first_write_of_completed_has_the_counters() -> None:
    """api-controllers.md 10.8."""
    w = world()
    w.running()
    w.pod_phase("Succeeded")

    writes = [e.object for e in w.did(UpdateStatus) if isinstance(e, UpdateStatus)]
    first = next(o for o in writes if raw.text(o, "status", "state", "phase") == "Completed")

    assert raw.number(first, "status", "succeeded") == 1


def test_conditions_hold_each_phase_once_latest_last() -> None:
    """api-controllers.md 10.21."""
    w = world()
    w.running()
    w.pod_phase("Succeeded")

    phases = [raw.text(c, "status") for c in raw.tables(w.status(), "conditions")]

    assert phases == ["Pending", "Running", "Completed"]
    assert all(set(c) == {"status", "lastTransitionTime"} for c in raw.tables(w.status(), "conditions"))


def test_failed_pod_without_a_policy_fails_the_job_when_all_ended() -> None:
    w = world()
    w.running(tasks=[a_task(replicas=2)])

    w.pod_phase("Failed", "j-t-0", code=3)
    assert w.phase() == "Running"
    w.pod_phase("Succeeded", "j-t-1")

    assert w.phase() == "Failed"


def test_enough_succeeded_pods_complete_a_job_with_a_small_minimum() -> None:
    w = world()
    w.running(minAvailable=1, tasks=[a_task(replicas=2)])

    w.pod_phase("Succeeded", "j-t-0")
    w.pod_phase("Failed", "j-t-1")

    assert w.phase() == "Completed"


def test_task_below_its_minimum_fails_the_job_though_enough_succeeded() -> None:
    w = world()
    w.running(minAvailable=2, tasks=[a_task("a", 1, 1), a_task("b", 3, 1)])

    w.pod_phase("Failed", "j-a-0")
    w.pod_phase("Succeeded", "j-b-0", "j-b-1", "j-b-2")

    assert w.phase() == "Failed"


def test_min_success_completes_the_job_and_kills_the_rest() -> None:
    w = world(graceful=True)
    w.running(minSuccess=1, tasks=[a_task(replicas=3)])

    w.pod_phase("Succeeded", "j-t-1")

    assert w.phase() == "Completed"
    assert w.status()["terminating"] == 2
    w.bury()
    assert w.pods() == ["j-t-1"]


def test_min_success_not_reached_fails_the_job() -> None:
    w = world()
    w.running(minSuccess=2, minAvailable=1, tasks=[a_task(replicas=2)])

    w.pod_phase("Succeeded", "j-t-0")
    w.pod_phase("Failed", "j-t-1")

    assert w.phase() == "Failed"


def test_running_falls_back_to_pending_when_too_many_pods_wait() -> None:
    w = world()
    w.running(tasks=[a_task(replicas=2)])

    w.remove(PODS, "ns", "j-t-0")
    w.settle()

    assert w.phases == ["Pending", "Running", "Pending"]
    assert w.pods() == ["j-t-0", "j-t-1"]


def test_deleted_pod_without_a_policy_is_made_again() -> None:
    w = world()
    w.running(minAvailable=1, tasks=[a_task(replicas=2)])

    w.remove(PODS, "ns", "j-t-1")
    w.settle()

    assert w.pods() == ["j-t-0", "j-t-1"]
    assert w.phase() == "Running"


def test_absent_minima_mean_what_the_webhook_would_fill_in() -> None:
    w = world()
    task = a_task("", 2)
    del task["name"]

    w.submit(maxRetry=0, tasks=[task])
    w.admit()

    assert w.pods() == ["j-default0-0", "j-default0-1"]
    assert raw.number(w.podgroups()[0], "spec", "minMember") == 2
    assert raw.text(w.list(PODS)[0], "spec", "schedulerName") == "volcano"


def test_job_without_replicas_keeps_running() -> None:
    w = world()

    w.submit(tasks=[a_task(replicas=0)])

    assert w.phase() == "Running"
    w.replay(JOBS)
    w.settle()
    assert w.phase() == "Running"


def test_create_error_is_told_and_tried_again_without_a_status_write() -> None:
    w = world()
    w.submit(tasks=[a_task(replicas=2)])
    refusals = [Outcome(ok=False, status=403, reason="Forbidden", message="exceeded quota")]

    def refuse_once(effect: Effect) -> Outcome | None:
        return refusals.pop() if isinstance(effect, Create) and effect.resource == PODS and refusals else None

    w.fail = refuse_once
    w.admit()

    assert ("FailedCreate", "Error creating pods: [exceeded quota]") in w.events
    assert w.pods() == ["j-t-0", "j-t-1"]
    assert w.status()["pending"] == 2


def test_job_is_terminated_when_the_retry_limit_is_reached() -> None:
    w = world()
    w.submit()
    w.fail = lambda effect: (
        Outcome(ok=False, status=500, message="boom")
        if isinstance(effect, Create) and effect.resource == PODS
        else None
    )

    w.admit()

    assert ("ExecuteAction", "Job failed on action SyncJob for retry limit reached") in w.events
    assert w.phases[-2:] == ["Terminating", "Terminated"]
    assert len([e for e in w.events if e[0] == "FailedCreate"]) == 16


def test_stale_status_write_is_tried_again() -> None:
    w = world()
    conflicts = [Outcome(ok=False, status=409, reason="Conflict", message="modified")]
    w.fail = lambda effect: conflicts.pop() if isinstance(effect, UpdateStatus) and conflicts else None

    w.submit()

    assert w.phase() == "Pending"
    assert any(reason == "JobStatusError" for reason, _ in w.events)


def test_job_with_a_missing_queue_waits_and_runs_once_the_queue_is_there_o_069() -> None:
    """api-controllers.md 10.34, decided otherwise: docs/differences.md."""
    w = world()

    w.submit(queue="ghost")
    for _ in range(20):
        w.replay(JOBS)
        w.settle()

    assert w.phase() == "Pending"
    assert w.status()["state"]["reason"] == "QueueNotFound"  # type: ignore[index,call-overload]
    warnings = [message for reason, message in w.events if reason == "QueueNotFound"]
    assert len(warnings) == 1
    assert 'queue.scheduling.volcano.sh "ghost" not found' in warnings[0]

    w.put(QUEUES, {"metadata": {"name": "ghost"}, "spec": {}})
    w.settle()
    assert "reason" not in w.status()["state"]  # type: ignore[operator]
    w.admit()
    w.pod_phase("Running")
    assert w.phase() == "Running"


def test_restart_waits_for_a_queue_that_is_gone_and_goes_on_when_it_is_back_o_069() -> None:
    """The webhook of PodGroups refuses groups for it; that must not use up the job's tries."""
    w = world()
    w.running(policies=[{"event": "PodEvicted", "action": "RestartJob"}])
    queue = w.objects[QUEUES, "", "default"]
    refusal = Outcome(ok=False, status=400, reason="BadRequest", message="unable to find queue")
    w.fail = lambda effect: refusal if isinstance(effect, Create) and effect.resource == PODGROUPS else None
    w.remove(QUEUES, "", "default")
    w.remove(PODS, "ns", "j-t-0")
    w.settle()
    for _ in range(40):
        w.bury()
        w.advance(30)

    assert w.phase() == "Pending"
    assert "terminating" not in w.status()
    assert [reason for reason, _ in w.events].count("QueueNotFound") == 1

    w.fail = lambda effect: None
    w.put(QUEUES, queue)
    w.advance(30)
    w.admit()
    w.pod_phase("Running")
    assert w.phase() == "Running"


def test_no_pod_is_made_after_the_job_is_deleted_o_061() -> None:
    for first in ("pod", "job"):
        w = world()
        w.running()
        uid = raw.uid(w.job())
        w.effects.clear()

        if first == "job":
            w.remove(JOBS, "ns", "j")
        w.change(PODS, "ns", "j-t-0", status__phase="Failed")
        if first == "pod":
            w.remove(JOBS, "ns", "j")
        w.settle()
        w.remove(PODS, "ns", "j-t-0")
        w.settle()

        assert w.did(Create) == []
        controller = w.controllers[0]
        assert isinstance(controller, JobController)
        assert uid not in controller._views
        assert controller.timers.jobs == {}


def test_job_made_again_waits_for_the_old_pods_names_o_057() -> None:
    """api-controllers.md 10.58."""
    w = world(graceful=True)
    w.running(tasks=[a_task(replicas=2)])
    old = raw.uid(w.job())
    w.remove(JOBS, "ns", "j")
    for pod in ("j-t-0", "j-t-1"):
        w.change(PODS, "ns", pod, metadata__deletionTimestamp="2027-01-15T08:00:00Z")
    for group in w.podgroups():
        w.remove(PODGROUPS, "ns", raw.name(group))
    w.settle()

    w.submit(tasks=[a_task(replicas=2)])
    w.admit()
    assert raw.controller(w.list(PODS)[0])["uid"] == old
    w.bury()

    assert [raw.controller(pod)["uid"] for pod in w.list(PODS)] == [raw.uid(w.job())] * 2
    assert w.phase() == "Pending"


def test_podgroup_that_waits_is_told_on_the_job() -> None:
    w = world()
    w.submit()
    condition = {"type": "Unschedulable", "status": "True", "message": "1/1 tasks in gang unschedulable"}

    w.change(
        PODGROUPS,
        "ns",
        raw.name(w.podgroups()[0]),
        status__phase="Inqueue",
        status__conditions=[{**condition, "lastTransitionTime": "2027-01-15T08:00:00Z"}],
    )
    w.settle()

    told = "PodGroup ns:j unschedulable, reason: 1/1 tasks in gang unschedulable"
    assert ("PodGroupPending", told) in w.events


def test_lost_podgroup_is_made_again() -> None:
    w = world()
    w.submit()

    w.remove(PODGROUPS, "ns", raw.name(w.podgroups()[0]))
    w.settle()

    assert len(w.podgroups()) == 1


def test_restart_of_the_controller_changes_nothing_of_a_job_at_rest() -> None:
    w = world()
    w.running()
    w.pod_phase("Succeeded")
    w.effects.clear()

    w.replay(QUEUES, JOBS, PODS, PODGROUPS)
    w.settle()

    assert w.effects == []


def test_pods_carry_what_plugins_and_tools_select_by() -> None:
    w = world()
    w.submit(
        labels={names.PREEMPTABLE: "true"},
        annotations={names.JDB_MIN_AVAILABLE: "1", names.JDB_MAX_UNAVAILABLE: "2"},
        priorityClassName="high",
    )
    w.admit()

    pod, job = w.list(PODS)[0], w.job()

    assert raw.labels_of(pod) == {
        "volcano.sh/task-index": "0",
        "volcano.sh/job-name": "j",
        "volcano.sh/task-spec": "t",
        "volcano.sh/job-namespace": "ns",
        "volcano.sh/queue-name": "default",
        "volcano.sh/preemptable": "true",
    }
    assert raw.annotations_of(pod) == {
        "volcano.sh/task-index": "0",
        "volcano.sh/task-spec": "t",
        "scheduling.k8s.io/group-name": f"j-{raw.uid(job)}",
        "volcano.sh/job-name": "j",
        "volcano.sh/queue-name": "default",
        "volcano.sh/job-version": "0",
        "volcano.sh/template-uid": "j-t",
        "volcano.sh/job-retry-count": "0",
        "volcano.sh/jdb-min-available": "1",
    }
    assert raw.text(pod, "spec", "priorityClassName") == "high"
    assert raw.controller(pod) == {
        "apiVersion": "batch.volcano.sh/v1alpha1",
        "kind": "Job",
        "name": "j",
        "uid": raw.uid(job),
        "controller": True,
        "blockOwnerDeletion": True,
    }


def test_minimum_of_0_that_is_stated_counts() -> None:
    """api-controllers.md 10.25."""
    w = world()
    w.running(minAvailable=2, tasks=[a_task(replicas=2, least=0)])

    w.change(JOBS, "ns", "j", spec__minAvailable=0)
    w.settle()

    assert raw.number(w.podgroups()[0], "spec", "minMember", default=-1) == 0
    w.pod_phase("Failed")
    assert w.phase() == "Completed"


def test_job_that_lost_its_podgroup_and_is_scaled_down_does_not_swing_between_phases() -> None:
    w = world()
    w.submit(minAvailable=0, tasks=[a_task("a", 1), a_task("b", 2)])
    w.admit()

    w.remove(PODGROUPS, "ns", raw.name(w.podgroups()[0]))
    w.change_tasks(b=0)

    assert w.phases == ["Pending", "Running"]
    w.admit()
    assert w.pods() == ["j-a-0"]


def test_tasks_of_one_name_do_not_take_each_others_pods() -> None:
    w = World([JobController()])
    w.submit(tasks=[a_task("t", 0), a_task("t", 2), a_task("u", 1)], minAvailable=1)

    w.admit()

    assert w.pods() == ["j-u-0"]

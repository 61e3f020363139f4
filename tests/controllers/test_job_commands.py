"""Commands on jobs, elastic scaling, dependencies between tasks, claims."""

from __future__ import annotations

from tests.controllers.world import World, a_task
from vcray.api.meta import JsonObject
from vcray.api.resources import COMMANDS, JOBS, PERSISTENTVOLUMECLAIMS, PODGROUPS, PODS
from vcray.controllers import raw
from vcray.controllers.base import Delete, Effect, Outcome
from vcray.controllers.job.controller import JobController


def world(graceful: bool = False) -> World:
    return World([JobController()], graceful=graceful)


def command(w: World, action: str, job: str = "j") -> None:
    target: JsonObject = {"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job", "name": job, "uid": "any"}
    meta: JsonObject = {"name": f"{job}-{action.lower()}", "namespace": "ns"}
    w.put(COMMANDS, {"metadata": meta, "action": action, "target": target})
    w.settle()


def test_suspend_and_resume_go_through_restarting_and_cost_no_retry_o_056() -> None:
    """api-controllers.md 10.17, decided otherwise: docs/differences.md."""
    w = world(graceful=True)
    w.running()

    for _ in range(3):
        command(w, "AbortJob")
        assert w.phase() == "Aborting"
        w.bury()
        assert w.phase() == "Aborted"
        assert w.pods() == []
        command(w, "ResumeJob")
        w.admit()
        w.pod_phase("Running")

    assert w.phase() == "Running"
    assert "retryCount" not in w.status()
    assert w.phases[:8] == [
        "Pending",
        "Running",
        "Aborting",
        "Aborted",
        "Restarting",
        "Pending",
        "Running",
        "Aborting",
    ]


def test_suspended_before_it_was_admitted_and_resumed() -> None:
    w = world()
    w.submit()

    command(w, "AbortJob")
    assert w.phase() == "Aborted"
    assert w.podgroups() == []
    command(w, "ResumeJob")
    w.admit()

    assert w.pods() == ["j-t-0"]


def test_command_is_deleted_before_it_acts_and_told() -> None:
    """api-controllers.md 10.32."""
    w = world()
    w.running()
    w.effects.clear()

    command(w, "RestartJob")

    first = w.effects[0]
    assert isinstance(first, Delete)
    assert first.resource == COMMANDS
    assert w.list(COMMANDS) == []
    told = "Start to execute command RestartJob, and clean it up to make sure executed not more than once."
    assert ("CommandIssued", told) in w.events
    assert w.status()["retryCount"] == 1


def test_command_that_somebody_else_took_does_nothing() -> None:
    w = world()
    w.running()
    gone = Outcome(ok=False, status=404, reason="NotFound")
    w.fail = lambda effect: gone if isinstance(effect, Delete) and effect.resource == COMMANDS else None

    command(w, "AbortJob")

    assert w.phase() == "Running"


def test_command_whose_deletion_fails_is_taken_later_and_acts_once() -> None:
    w = world()
    w.running()
    errors = [Outcome(ok=False, status=500, message="slow")]

    def fail_once(effect: Effect) -> Outcome | None:
        return errors.pop() if isinstance(effect, Delete) and errors else None

    w.fail = fail_once
    command(w, "RestartJob")
    w.advance(1)

    assert w.status()["retryCount"] == 1


def test_command_for_an_unknown_job_vanishes() -> None:
    """api-controllers.md 10.32."""
    w = world()

    command(w, "AbortJob", job="nobody")

    assert w.list(COMMANDS) == []
    assert w.events == []


def test_command_for_something_else_stays() -> None:
    w = world()
    target: JsonObject = {"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "u"}

    w.put(COMMANDS, {"metadata": {"name": "c", "namespace": "ns"}, "action": "AbortJob", "target": target})
    w.settle()

    assert len(w.list(COMMANDS)) == 1


def test_resume_of_a_running_or_terminated_job_does_not_move_it() -> None:
    """api-controllers.md 10.17, decided otherwise: docs/differences.md."""
    w = world()
    w.running()
    command(w, "ResumeJob")
    assert w.phase() == "Running"

    command(w, "TerminateJob")
    assert w.phase() == "Terminated"
    command(w, "ResumeJob")
    assert w.phase() == "Terminated"


# Scaling


def test_scale_up_makes_the_missing_pods_without_a_new_admission() -> None:
    w = world()
    w.running(tasks=[a_task(replicas=1)])

    w.change_tasks(t=3)

    assert w.pods() == ["j-t-0", "j-t-1", "j-t-2"]
    group = w.podgroups()[0]
    assert raw.number(group, "spec", "minMember") == 3
    assert raw.table(group, "spec", "minTaskMember") == {"t": 3}
    assert raw.text(group, "spec", "minResources", "cpu") == "3"


def test_scale_down_deletes_the_highest_and_counts_them_as_terminating() -> None:
    w = world(graceful=True)
    w.running(tasks=[a_task(replicas=3)])

    w.change_tasks(t=1)

    assert [raw.name(p) for p in w.list(PODS) if raw.terminating(p)] == ["j-t-1", "j-t-2"]
    assert (w.status()["running"], w.status()["terminating"]) == (1, 2)
    w.bury()
    assert w.pods() == ["j-t-0"]
    assert "terminating" not in w.status()
    assert w.phase() == "Running"


def test_scale_down_meets_a_policy_on_evictions() -> None:
    """api-controllers.md 10.10."""
    w = world()
    w.running(tasks=[a_task(replicas=2)], policies=[{"action": "AbortJob", "event": "PodEvicted"}])

    w.change_tasks(t=1)

    assert w.phase() == "Aborted"


def test_scale_to_zero_keeps_running() -> None:
    w = world()
    w.running(tasks=[a_task(replicas=2)])

    w.change_tasks(t=0)

    assert w.pods() == []
    assert w.phase() == "Running"


# Dependencies


def test_dependent_task_waits_for_ready_pods() -> None:
    w = world()
    w.submit(minAvailable=1, tasks=[a_task("master", 1, dependsOn={"name": ["worker"]}), a_task("worker", 2)])
    w.admit()
    assert w.pods() == ["j-worker-0", "j-worker-1"]

    w.pod_phase("Running", "j-worker-0")
    assert len(w.pods()) == 2
    w.pod_phase("Running", "j-worker-1")

    assert w.pods() == ["j-master-0", "j-worker-0", "j-worker-1"]


def test_any_of_several_tasks_is_enough_where_that_is_asked() -> None:
    w = world()
    either = {"name": ["a", "b"], "iteration": "any"}
    w.submit(minAvailable=1, tasks=[a_task("a", 1), a_task("b", 1), a_task("c", 1, dependsOn=either)])
    w.admit()
    assert w.pods() == ["j-a-0", "j-b-0"]

    w.pod_phase("Succeeded", "j-b-0")

    assert "j-c-0" in w.pods()


# Claims


def test_claim_without_a_name_is_made_and_its_name_written_back() -> None:
    w = world()
    claim: JsonObject = {"resources": {"requests": {"storage": "1Gi"}}}

    w.submit(volumes=[{"mountPath": "/data", "volumeClaim": claim}])
    w.admit()

    stored = w.list(PERSISTENTVOLUMECLAIMS)
    name = raw.name(stored[0])
    assert len(stored) == 1
    assert name.startswith("j-pvc-")
    assert len(name) == len("j-pvc-") + 12
    assert raw.table(stored[0], "spec") == claim
    assert raw.tables(w.job(), "spec", "volumes")[0]["volumeClaimName"] == name
    assert raw.table(w.status(), "controlledResources") == {f"volume-pvc-{name}": name}
    spec = raw.table(w.list(PODS)[0], "spec")
    volume = raw.tables(spec, "volumes")[0]
    assert volume["persistentVolumeClaim"] == {"claimName": name}
    mounts = raw.tables(raw.tables(spec, "containers")[0], "volumeMounts")
    assert mounts == [{"name": raw.text(volume, "name"), "mountPath": "/data"}]


def test_missing_claim_keeps_the_job_pending_until_it_is_there() -> None:
    w = world()
    w.submit(volumes=[{"mountPath": "/data", "volumeClaimName": "mine"}])
    for _ in range(20):
        w.advance(30)
    assert w.phase() == "Pending"
    told = (
        "Failed to create PVC, err: pvc mine is not found, the job will be in the Pending state "
        "until the PVC is created"
    )
    assert ("PVCError", told) in w.events

    w.put(PERSISTENTVOLUMECLAIMS, {"metadata": {"name": "mine", "namespace": "ns"}, "spec": {}})
    w.advance(30)
    w.admit()

    assert w.pods() == ["j-t-0"]


def test_job_that_is_being_deleted_is_left_to_the_garbage_collector() -> None:
    w = world()
    w.running(tasks=[a_task(replicas=2)], policies=[{"action": "RestartJob", "event": "PodFailed"}])
    w.change(JOBS, "ns", "j", metadata__deletionTimestamp="2027-01-15T08:00:00Z")
    w.settle()
    w.effects.clear()

    w.remove(PODS, "ns", "j-t-1")
    w.pod_phase("Failed", "j-t-0")
    w.remove(PODGROUPS, "ns", raw.name(w.podgroups()[0]))
    w.settle()

    assert [e for e in w.effects if type(e).__name__ != "Emit"] == []

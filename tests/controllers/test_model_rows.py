"""Every row of the state machines, walked from outside: a job (queue, flow, time of a CronJob) in that state meets the
action, and pods and state afterwards are those of the specification (api-controllers.md 2.4, 4.2, 4.3, 4.4)."""

from __future__ import annotations

import pytest

from tests.controllers.crons import CronWorld
from tests.controllers.flow_world import FlowWorld
from tests.controllers.world import World, a_job, a_task
from vcray.api import names
from vcray.api.batch import JobAction, JobPhase
from vcray.api.meta import JsonObject
from vcray.api.resources import JOBFLOWS, JOBS, PODGROUPS, PODS, QUEUES
from vcray.controllers import raw
from vcray.controllers.base import Create, Delete
from vcray.controllers.job.controller import JobController
from vcray.controllers.job.lifecycle import TABLE
from vcray.controllers.job.request import JobRequest
from vcray.controllers.queue import QueueAction, QueueController, QueueRequest

ACTIONS = (*(action.value for action in JobAction), "", "Whatever")
LEFT = {"j-t-0": "Running", "j-t-1": "Succeeded", "j-t-2": "Failed"}
ALL, SOFT, ONE, NONE = set(LEFT), {"j-t-0"}, {"j-t-1"}, set[str]()

LIVE = {
    "RestartJob": (ALL, "Restarting", 2),
    "RestartTask": (ALL, "Restarting", 2),
    "RestartPod": (ONE, "Restarting", 2),
    "AbortJob": (SOFT, "Aborting", 1),
    "TerminateJob": (SOFT, "Terminating", 1),
    "CompleteJob": (SOFT, "Completing", 1),
}
"""Action -> pods that are deleted, phase, retryCount; the other actions sync."""


def expected(phase: str, action: str) -> tuple[set[str], str, int]:
    """What the specification's table says of the job that `stored` makes (retryCount 1, two pods needed of three)."""
    if phase in ("", "Pending", "Running"):
        return LIVE.get(action, (NONE, "Running", 1))
    if phase == "Restarting":
        targeted = {"RestartTask": (ALL, "Restarting", 1), "RestartPod": (ONE, "Pending", 1)}
        syncs = action in ("SyncJob", "RestartPartition")  # of no partition
        return targeted.get(action, (NONE, "Pending", 1) if syncs else (ALL, "Restarting", 1))
    if phase in ("Aborting", "Aborted") and action == "ResumeJob":
        return SOFT, "Restarting", 1
    return SOFT, phase, 1


def stored(phase: str) -> World:
    """A job of three pods, admitted, in a phase that it has come to by itself."""
    w = World([JobController()], graceful=True)
    w.put(QUEUES, {"metadata": {"name": "default"}, "spec": {}})
    controllers, w.controllers = w.controllers, []
    body = a_job(minAvailable=2, maxRetry=5, tasks=[a_task(replicas=3, least=1)])
    state: JsonObject = {"state": {"phase": phase}} if phase else {}
    job = w.put(JOBS, {**body, "status": {**state, "minAvailable": 2, "retryCount": 1}})
    meta: JsonObject = {"name": f"j-{raw.uid(job)}", "namespace": "ns"}
    owner = raw.owner_reference(JOBS.api_version, JOBS.kind, job)
    w.put(
        PODGROUPS,
        {"metadata": {**meta, "ownerReferences": [owner]}, "spec": {}, "status": {"phase": "Running"}},
    )
    for name, pod_phase in LEFT.items():
        notes: JsonObject = {names.JOB_NAME: "j", names.TASK_SPEC: "t", names.JOB_VERSION: "0"}
        pod: JsonObject = {"name": name, "namespace": "ns", "annotations": notes, "ownerReferences": [owner]}
        w.put(PODS, {"metadata": pod, "status": {"phase": pod_phase}})
    w.controllers = controllers
    return w


def asked(w: World, action: str) -> None:
    request = JobRequest(namespace="ns", job="j", event="CommandIssued", action=action, task="t", pod="j-t-1")
    w._turn(w.controllers[0], request)


@pytest.mark.parametrize("action", ACTIONS)
@pytest.mark.parametrize("phase", TABLE)
def test_each_action_in_each_phase(phase: str, action: str) -> None:
    w = stored(phase)

    asked(w, action)

    going = {raw.name(pod) for pod in w.list(PODS) if raw.terminating(pod)}
    found = (going, w.phase(), raw.number(w.status(), "retryCount"))
    assert found == expected(phase, action or "SyncJob")
    assert w.pods() == sorted(LEFT), "nothing is made"
    assert (raw.number(w.status(), "version") > 0) is (not w.podgroups()), "a full kill: both or neither"


@pytest.mark.parametrize("phase", JobPhase)
def test_each_phase_comes_to_rest_when_its_pods_have_gone(phase: JobPhase) -> None:
    w = stored(phase.value)

    asked(w, "SyncJob")
    w.settle()
    w.bury()

    left = {
        "Restarting": "Running",
        "Aborting": "Aborted",
        "Terminating": "Terminated",
        "Completing": "Completed",
        "Pending": "Running",
    }
    assert w.phase() == left.get(phase.value, phase.value)


QUEUE_ROWS = [
    ("Open", "SyncQueue", "Open", "Open"),
    ("Open", "OpenQueue", "Open", "Open"),
    ("Open", "CloseQueue", "Closed", "Closing"),
    ("Closed", "SyncQueue", "Closed", "Closed"),
    ("Closed", "OpenQueue", "Open", "Open"),
    ("Closed", "CloseQueue", "Closed", "Closed"),
    ("Closing", "SyncQueue", "Closed", "Closing"),
    ("Closing", "OpenQueue", "Open", "Open"),
    ("Closing", "CloseQueue", "Closed", "Closing"),
    ("Unknown", "SyncQueue", "Unknown", "Unknown"),
    ("Unknown", "OpenQueue", "Open", "Open"),
    ("Unknown", "CloseQueue", "Closed", "Closing"),
]
"""State, action, state without PodGroups, state with one."""


@pytest.mark.parametrize("groups", [0, 1])
@pytest.mark.parametrize(("before", "action", "without", "with_one"), QUEUE_ROWS)
def test_each_action_in_each_state_of_a_queue(
    before: str, action: str, without: str, with_one: str, groups: int
) -> None:
    controller = QueueController()
    w = World([controller])
    w.put(QUEUES, {"metadata": {"name": "root"}, "spec": {}, "status": {"state": "Open"}})
    spec: JsonObject = {"parent": "root"}
    w.put(QUEUES, {"metadata": {"name": "q"}, "spec": spec, "status": {"state": before}})
    if groups:
        w.put(PODGROUPS, {"metadata": {"name": "g", "namespace": "ns"}, "spec": {"queue": "q"}})
    w.queue.clear()

    w._turn(controller, QueueRequest("q", QueueAction(action)))

    assert raw.text(w.get(QUEUES, "", "q"), "status", "state") == (with_one if groups else without)


FLOW_ROWS = [
    ("Pending", {}, "Pending"),
    ("Pending", {"f-a": "Running"}, "Running"),
    ("Pending", {"f-a": "Completed"}, "Succeed"),
    ("Pending", {"f-a": "Running", "f-b": "Failed"}, "Failed"),
    ("Pending", {"f-a": "Running", "f-b": "Terminated"}, "Failed"),
    ("Pending", {"f-a": "Terminated"}, "Failed"),
    ("Running", {"f-a": "Pending"}, "Running"),
    ("Running", {"f-a": "Completed", "f-b": "Running"}, "Running"),
    ("Running", {"f-a": "Completed", "f-b": "Completed"}, "Succeed"),
    ("Running", {"f-a": "Failed"}, "Failed"),
    ("Running", {"f-a": "Terminated"}, "Failed"),
    ("Succeed", {"f-a": "Failed"}, "Succeed"),
    ("Failed", {"f-a": "Completed"}, "Failed"),
    ("Terminating", {"f-a": "Completed"}, "Terminating"),
]
"""Phase of the flow, phases of its jobs, phase at rest. A flow of one job has the job f-a alone."""


@pytest.mark.parametrize(("before", "jobs", "after"), FLOW_ROWS)
def test_each_phase_of_a_flow(before: str, jobs: dict[str, str], after: str) -> None:
    w = FlowWorld("a", "b")
    flows = [name.removeprefix("f-") for name in jobs] or ["a"]
    w.begin(*flows)
    controllers, w.controllers = w.controllers, []
    for name, phase in jobs.items():
        w.change(JOBS, "ns", name, status__state__phase=phase)
    w.change(JOBFLOWS, "ns", "f", status__state__phase=before)
    w.controllers = controllers

    w.replay(JOBFLOWS)
    w.settle()

    assert w.flow_phase() == after


@pytest.mark.parametrize(
    ("policy", "made", "deleted"), [("Allow", 1, 0), ("Forbid", 0, 0), ("Replace", 1, 1), ("", 1, 0)]
)
def test_each_concurrency_policy_beside_an_active_job(policy: str, made: int, deleted: int) -> None:
    w = CronWorld()
    w.cron_job(**({"concurrencyPolicy": policy} if policy else {}))
    w.until("08:01:01")
    assert len(w.jobs()) == 1
    w.effects.clear()

    w.until("08:02:01")

    assert (len(w.did(Create, JOBS)), len(w.did(Delete, JOBS))) == (made, deleted)

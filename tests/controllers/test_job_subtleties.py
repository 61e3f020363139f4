"""What a simple job controller would get wrong (api-controllers.md 10), one test an item; test_subtleties.py lists all items."""

from __future__ import annotations

import pytest

from tests.controllers.cluster_world import ClusterWorld
from tests.controllers.world import World, a_job, a_task
from vcray.api import names
from vcray.api.meta import JsonObject
from vcray.api.resources import JOBS, NODESHARDS, PODGROUPS, PODS, SERVICES
from vcray.controllers import raw
from vcray.controllers.base import Create, Effect, Outcome, UpdateStatus
from vcray.controllers.job.controller import JobController
from vcray.controllers.job.policies import SYNC, Answer, resolve
from vcray.controllers.job.request import JobRequest
from vcray.controllers.job.view import view_job
from vcray.kube.errors import ApiError


def policy(action: str, event: str = "", **more: object) -> JsonObject:
    found: JsonObject = {"action": action, **more}  # type: ignore[dict-item]
    return {**found, "event": event} if event else found


def world(graceful: bool = True) -> World:
    return World([JobController()], graceful=graceful)


def group(w: World) -> str:
    return raw.name(w.podgroups()[0])


def executed(w: World) -> list[str]:
    return [message for reason, message in w.events if reason == "ExecuteAction"]


def restarted(w: World, phase: str = "Running") -> None:
    """Old pods go, the scheduler admits, new pods come to a phase."""
    w.bury()
    w.admit()
    w.pod_phase(phase)


async def test_10_02_podgroup_keeps_the_status_it_is_made_with_and_has_no_status_to_patch() -> None:
    w = ClusterWorld([])
    await w.start()
    made = {"metadata": {"name": "g"}, "spec": {"minMember": 1}, "status": {"phase": "Pending"}}

    stored = await w.client.create(PODGROUPS, "ns", made)

    assert raw.text(stored, "status", "phase") == "Pending"
    with pytest.raises(ApiError) as error:
        await w.client.update_status(PODGROUPS, {**stored, "status": {"phase": "Running"}})
    assert error.value.code == 404


async def test_10_04_schema_refuses_unlimited_restarts_and_0_is_3() -> None:
    w = world()
    w.running(tasks=[a_task(maxRetry=0)], policies=[policy("AbortJob", "TaskFailed")])
    for count, phase in ((2, "Running"), (3, "Aborting")):
        w.change(PODS, "ns", "j-t-0", status__containerStatuses=[{"name": "main", "restartCount": count}])
        w.settle()
        assert w.phase() == phase

    cluster = ClusterWorld([])
    await cluster.start()
    with pytest.raises(ApiError) as error:
        await cluster.client.create(JOBS, "ns", a_job(tasks=[a_task(maxRetry=-1)]))
    assert "should be greater than or equal to 0" in str(error.value)


@pytest.mark.parametrize(("retries", "kept"), [(1, ["j-t-0"]), (2, [])])
def test_10_06_on_the_last_attempt_a_restart_keeps_pods_that_ended(retries: int, kept: list[str]) -> None:
    w = world(graceful=False)
    w.running(maxRetry=retries, tasks=[a_task(replicas=2)], policies=[policy("RestartJob", "PodFailed")])

    w.pod_phase("Failed", "j-t-0")

    assert [name for name in w.pods() if raw.text(w.objects[PODS, "ns", name], "status", "phase")] == kept
    assert w.phases[2] == "Restarting"


def test_10_09_full_kills_move_the_version_targeted_ones_and_later_events_do_not() -> None:
    w = world()
    w.running(
        maxRetry=9,
        tasks=[a_task("a", 1, policies=[policy("RestartTask", "PodFailed")]), a_task("b", 1)],
        policies=[policy("RestartJob", "PodFailed")],
    )
    w.pod_phase("Failed", "j-a-0")
    w.bury()
    assert raw.number(w.status(), "version") == 0
    w.pod_phase("Running", "j-a-0")
    w.pod_phase("Failed", "j-b-0")
    assert raw.number(w.status(), "version") == 1
    restarted(w)
    assert raw.annotation(w.list(PODS)[0], names.JOB_VERSION) == "1"
    w.pod_phase("Succeeded")
    assert (w.phase(), raw.number(w.status(), "version")) == ("Completed", 2)

    w.replay(JOBS, PODS)
    w.settle()

    assert raw.number(w.status(), "version") == 2


def test_10_11_pod_that_begins_to_run_masks_the_restarts_of_its_task() -> None:
    w = world()
    w.running(minAvailable=1, tasks=[a_task(replicas=2)], policies=[policy("AbortJob", "TaskFailed")])
    w.remove(PODS, "ns", "j-t-1")
    w.settle()
    many = [{"name": "main", "ready": True, "restartCount": 3}]

    w.change(PODS, "ns", "j-t-1", status__phase="Running", status__containerStatuses=many)
    w.settle()
    assert w.phase() == "Running"
    init = [{"name": "prepare", "restartCount": 1}]
    w.change(PODS, "ns", "j-t-1", status__initContainerStatuses=init)
    w.settle()

    assert w.phase() == "Aborting"


def test_10_12_exit_code_is_the_first_containers_and_matches_beside_another_event() -> None:
    w = world()
    w.running(
        tasks=[a_task(replicas=2)],
        policies=[policy("AbortJob", "PodEvicted", exitCode=5), policy("RestartJob", exitCode=7)],
    )
    codes = [{"name": n, "state": {"terminated": {"exitCode": c}}} for n, c in (("a", 0), ("b", 7))]
    w.change(PODS, "ns", "j-t-1", status__phase="Failed", status__containerStatuses=codes)
    w.settle()
    assert w.phase() == "Running"

    w.pod_phase("Failed", "j-t-0", code=5)

    assert "Aborting" in w.phases


@pytest.mark.parametrize("event", ["PodPending", "OutOfSync", "PodRunning", "CommandIssued", ""])
def test_10_14_any_event_is_none_of_these(event: str) -> None:
    job = view_job(a_job(policies=[policy("AbortJob", "*")]))
    assert job is not None

    assert resolve(JobRequest(namespace="ns", job="j", event=event, task="t"), job) == SYNC


def test_10_14_any_event_with_a_timeout_is_also_a_pending_pod() -> None:
    job = view_job(a_job(policies=[policy("AbortJob", "*", timeout="5m")]))
    assert job is not None

    assert resolve(JobRequest(namespace="ns", job="j", event="PodPending"), job) == Answer("AbortJob", 300.0)


@pytest.mark.parametrize(
    ("action", "phase", "retries"),
    [("RestartTask", "Restarting", 1), ("RestartPod", "Restarting", 1), ("RestartPartition", "Running", 0)],
)
def test_10_15_unknown_has_no_task_so_targeted_restarts_meet_no_pod(
    action: str, phase: str, retries: int
) -> None:
    w = world()
    w.running(tasks=[a_task(policies=[policy("AbortJob", "Unknown")])], policies=[policy(action, "Unknown")])
    uid = raw.uid(w.list(PODS)[0])
    w.phases.clear()

    w.change(PODGROUPS, "ns", group(w), status__phase="Unknown")
    w.settle()

    assert [raw.uid(pod) for pod in w.list(PODS)] == [uid]
    assert w.phases[:1] == ([phase] if retries else [])
    assert raw.number(w.status(), "retryCount") == retries


def test_10_15_another_process_does_not_take_a_lasting_unknown_for_a_new_one() -> None:
    w = world()
    w.running(policies=[policy("RestartTask", "Unknown")])
    w.change(PODGROUPS, "ns", group(w), status__phase="Unknown")
    w.settle()

    for _ in range(3):
        w.controllers = [JobController()]
        w.replay(JOBS, PODS, PODGROUPS)
        w.settle()

    assert raw.number(w.status(), "retryCount") == 1


def test_10_16_delayed_action_meets_the_state_that_there_is_when_it_is_due() -> None:
    w = world()
    w.running(
        tasks=[a_task(replicas=2)],
        policies=[policy("TerminateJob", "PodEvicted", timeout="30s"), policy("AbortJob", "PodFailed")],
    )
    w.remove(PODS, "ns", "j-t-0")
    w.settle()
    w.pod_phase("Failed", "j-t-1")
    assert w.phase() == "Aborting"

    w.advance(30)
    w.bury()

    assert w.phase() == "Aborted"
    assert "Start to execute action TerminateJob " not in executed(w)


def test_10_19_any_counter_moves_the_time_of_the_last_change() -> None:
    w = world()
    w.running(minAvailable=1, tasks=[a_task(replicas=2)])
    before = raw.text(w.status(), "state", "lastTransitionTime")
    w.now += 60

    w.pod_phase("Succeeded", "j-t-1")

    assert w.phase() == "Running"
    assert raw.text(w.status(), "state", "lastTransitionTime") > before
    assert raw.tables(w.status(), "conditions")[-1] == {
        "status": "Running",
        "lastTransitionTime": raw.text(w.status(), "state", "lastTransitionTime"),
    }


def test_10_20_running_duration_comes_with_a_kill_and_goes_when_pods_are_counted_again() -> None:
    w = world()
    w.running(policies=[policy("RestartJob", "PodFailed")])
    assert "runningDuration" not in w.status()
    w.now += 90
    w.pod_phase("Failed", "j-t-0")
    assert w.status()["runningDuration"] == "1m30s"

    w.bury()
    assert w.status()["runningDuration"] == "1m30s", "its PodGroup waits: nothing is counted"
    w.admit()

    assert "runningDuration" not in w.status()


def test_10_22_restart_needs_the_scheduler_to_let_the_new_group_in() -> None:
    w = world()
    w.running(tasks=[a_task(replicas=2)], policies=[policy("RestartJob", "PodFailed")])
    w.pod_phase("Failed", "j-t-0")
    w.bury()
    assert (w.phase(), w.status()["terminating"], w.pods()) == ("Restarting", 2, [])
    assert raw.text(w.podgroups()[0], "status", "phase") == ""

    w.admit()

    assert w.phases[-1] == "Pending"
    assert w.pods() == ["j-t-0", "j-t-1"]


def test_10_23_targeted_restart_makes_the_plugins_set_up_what_is_missing_again() -> None:
    w = world()
    w.running(plugins={"svc": []}, policies=[policy("RestartPod", "PodFailed")])
    first = group(w)
    w.remove(SERVICES, "ns", "j")

    w.pod_phase("Failed", "j-t-0")
    w.bury()

    assert [raw.name(service) for service in w.list(SERVICES)] == ["j"]
    assert group(w) == first, "the PodGroup stays"


@pytest.mark.parametrize(("least", "cpu"), [(3, "3"), (2, "2")])
def test_10_24_minimum_of_the_job_decides_how_minresources_are_summed(least: int, cpu: str) -> None:
    w = world()

    w.submit(minAvailable=least, tasks=[a_task("a", 4, 1), a_task("b", 2, 2)])

    assert raw.text(w.podgroups()[0], "spec", "minResources", "cpu") == cpu


def test_10_26_job_that_fell_back_to_pending_is_set_up_again_without_harm() -> None:
    w = world()
    w.running(tasks=[a_task(replicas=2)], plugins={"svc": [], "env": []})
    w.remove(PODS, "ns", "j-t-0")
    w.settle()
    assert w.phase() == "Pending"
    w.effects.clear()

    for _ in range(3):
        w.replay(JOBS)
        w.settle()

    assert w.did(Create) == w.did(UpdateStatus) == []
    assert len(w.podgroups()) == 1


def test_10_27_dependency_that_fails_later_takes_nothing_down() -> None:
    w = world()
    after: JsonObject = {"name": ["a"]}
    w.submit(minAvailable=1, tasks=[a_task("a", 2), a_task("b", 1, dependsOn=after)])
    w.admit()
    w.pod_phase("Running", "j-a-0")
    w.pod_phase("Succeeded", "j-a-1")
    w.pod_phase("Running", "j-b-0")

    w.pod_phase("Failed", "j-a-0")

    assert raw.text(w.objects[PODS, "ns", "j-b-0"], "status", "phase") == "Running"
    assert not raw.terminating(w.objects[PODS, "ns", "j-b-0"])


def test_10_28_tasks_that_wait_for_others_count_in_the_gang() -> None:
    w = world()

    w.submit(minAvailable=3, tasks=[a_task("a", 2), a_task("b", 1, dependsOn={"name": ["a"]})])
    w.admit()

    assert w.pods() == ["j-a-0", "j-a-1"]
    assert raw.number(w.podgroups()[0], "spec", "minMember") == 3


async def test_10_48_status_that_a_nodeshard_is_made_with_is_dropped() -> None:
    w = ClusterWorld([])
    await w.start()
    body = {"metadata": {"name": "s"}, "spec": {"nodesDesired": ["n1"]}, "status": {"nodesInUse": ["n1"]}}

    stored = await w.client.create(NODESHARDS, None, body)

    assert "status" not in stored
    assert raw.table(stored, "spec") == {"nodesDesired": ["n1"]}


def test_10_53_annotations_of_the_job_go_to_its_group_once_and_all() -> None:
    w = world()
    applied = "kubectl.kubernetes.io/last-applied-configuration"
    w.submit(annotations={"a": "1", applied: "{}"}, labels={"l": "1"})

    w.change(JOBS, "ns", "j", metadata__annotations={"a": "2"})
    w.replay(JOBS)
    w.settle()

    assert raw.annotations_of(w.podgroups()[0]) == {"a": "1", applied: "{}"}
    assert raw.labels_of(w.podgroups()[0]) == {"l": "1"}


def test_10_54_priority_of_the_job_goes_to_pods_that_state_none_and_alone_to_the_group() -> None:
    w = world()
    own = a_task("own", 1)
    raw.table(own, "template", "spec")["priorityClassName"] = "low"

    w.submit(priorityClassName="high", tasks=[own, a_task("none", 1)])
    w.admit()

    assert [raw.text(pod, "spec", "priorityClassName") for pod in w.list(PODS)] == ["high", "low"]
    assert raw.text(w.podgroups()[0], "spec", "priorityClassName") == "high"


def test_10_58_events_of_pods_of_an_older_job_of_the_name_only_sync() -> None:
    w = world()
    w.running(policies=[policy("AbortJob", "PodFailed")])
    old = w.objects[PODS, "ns", "j-t-0"]
    w.remove(JOBS, "ns", "j")
    w.remove(PODGROUPS, "ns", group(w))
    w.settle()
    w.submit(policies=[policy("AbortJob", "PodFailed")])

    w.change(PODS, "ns", raw.name(old), status__phase="Failed")
    w.settle()

    assert w.phase() == "Pending"


def test_10_58b_unknown_counts_only_before_the_first_full_kill() -> None:
    w = world()
    w.running(policies=[policy("RestartJob", "PodFailed"), policy("AbortJob", "Unknown")])
    w.pod_phase("Failed", "j-t-0")
    restarted(w)
    assert raw.number(w.status(), "version") == 1

    w.change(PODGROUPS, "ns", group(w), status__phase="Unknown")
    w.settle()

    assert w.phase() == "Running"


def test_10_58_pod_name_that_is_taken_is_no_error() -> None:
    w = world()
    w.submit()
    taken = Outcome(ok=False, status=409, reason="AlreadyExists", message="taken")

    def refuse(effect: Effect) -> Outcome | None:
        return taken if isinstance(effect, Create) and effect.resource == PODS else None

    w.fail = refuse
    w.admit()

    assert w.errors == []
    assert (w.phase(), raw.number(w.status(), "pending")) == ("Pending", 0)

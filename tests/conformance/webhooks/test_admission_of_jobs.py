"""Jobs through an API server and our webhooks."""

from __future__ import annotations

from typing import Any

import pytest

from tests.conformance.harness.client import ApiError
from tests.conformance.webhooks.conftest import Admitted, denial, task

Object = dict[str, Any]
MUTATE, VALIDATE = "mutatejob.volcano.sh", "validatejob.volcano.sh"


def refused(admitted: Admitted, queue: str, *tasks: Object, **spec: Any) -> str:
    """What the webhook says of a job that must not be stored."""
    with pytest.raises(ApiError) as error:
        admitted.job(queue, *tasks, **spec)
    assert not admitted.client.exists(f"{admitted.jobs}/{spec.get('name', 'j')}")
    return denial(VALIDATE, error.value)


# -- defaults -------------------------------------------------------------------------------------------------------


def test_new_job_is_stored_with_all_its_defaults(admitted: Admitted) -> None:
    tasks = [task("", 2), task("worker", 3, minAvailable=1)]

    spec = admitted.job(admitted.queue(), *tasks, maxRetry=0)["spec"]

    assert (spec["schedulerName"], spec["maxRetry"], spec["minAvailable"]) == ("volcano", 3, 3)
    assert [(each["name"], each["minAvailable"], each["maxRetry"]) for each in spec["tasks"]] == [
        ("default0", 2, 3),
        ("worker", 1, 3),
    ]


@pytest.mark.parametrize(
    ("given", "stored"),
    [
        ({"tensorflow": []}, {"tensorflow": [], "svc": []}),
        ({"pytorch": ["--port=1"]}, {"pytorch": ["--port=1"], "svc": []}),
        ({"mpi": ["--master=t"]}, {"mpi": ["--master=t"], "svc": [], "ssh": []}),
        ({"svc": ["--publish-not-ready-addresses"], "tensorflow": []}, None),
    ],
)
def test_plugins_bring_what_they_need(admitted: Admitted, given: Object, stored: Object | None) -> None:
    spec = admitted.job(admitted.queue(), plugins=given)["spec"]

    assert spec["plugins"] == (given if stored is None else stored)


def test_host_network_brings_its_dns_policy(admitted: Admitted) -> None:
    on_host = task()
    on_host["template"]["spec"]["hostNetwork"] = True

    spec = admitted.job(admitted.queue(), on_host)["spec"]

    assert spec["tasks"][0]["template"]["spec"]["dnsPolicy"] == "ClusterFirstWithHostNet"


def test_what_a_user_chose_is_kept(admitted: Admitted) -> None:
    chosen = task("mine", 3, minAvailable=2, maxRetry=7)

    spec = admitted.job(admitted.queue(), chosen, schedulerName="mine", minAvailable=1, maxRetry=5)["spec"]

    assert (spec["schedulerName"], spec["minAvailable"], spec["maxRetry"]) == ("mine", 1, 5)
    assert (spec["tasks"][0]["minAvailable"], spec["tasks"][0]["maxRetry"]) == (2, 7)


def test_dry_run_shows_the_defaults_and_stores_nothing(admitted: Admitted) -> None:
    body = {
        "apiVersion": "batch.volcano.sh/v1alpha1",
        "kind": "Job",
        "metadata": {"name": "dry"},
        "spec": {"queue": admitted.queue(), "tasks": [task()]},
    }

    answer = admitted.client.create(f"{admitted.jobs}?dryRun=All", body)

    assert answer["spec"]["schedulerName"] == "volcano"
    assert not admitted.client.exists(f"{admitted.jobs}/dry")


def test_namespaces_of_the_system_are_passed_over(admitted: Admitted) -> None:
    path = "/apis/batch.volcano.sh/v1alpha1/namespaces/kube-system/jobs"
    body = {
        "apiVersion": "batch.volcano.sh/v1alpha1",
        "kind": "Job",
        "metadata": {"name": "passed-over"},
        "spec": {"queue": "nowhere", "tasks": [task("a"), task("a")]},
    }

    made = admitted.client.create(path, body)
    admitted.client.delete(f"{path}/passed-over")

    assert "schedulerName" not in made["spec"]


# -- refusals -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("tasks", "spec", "told"),
    [
        ([], {"tasks": []}, None),
        ([task("a"), task("a")], {}, "duplicated task name a;"),
        (
            [task(minAvailable=2)],
            {"minAvailable": 1},
            "'minAvailable' is greater than 'replicas' in task: t, job: j;",
        ),
        (
            [task()],
            {"minAvailable": 2},
            "job 'minAvailable' should not be greater than total replicas in tasks;",
        ),
        ([task()], {"plugins": {"big_plugin": []}}, "unable to find job plugin: big_plugin;"),
        (
            [task(container={"resources": {"requests": {"cpu": "-1"}}})],
            {},
            "spec.task[0].template.spec.containers[0].resources.requests[cpu]: "
            'Invalid value: "-1": must be greater than or equal to 0.',
        ),
        (
            [task()],
            {"volumes": [{"mountPath": "/a"}]},
            "either VolumeClaim or VolumeClaimName must be specified;",
        ),
        (
            [task()],
            {"volumes": [{"mountPath": "/a", "volumeClaimName": "c"}] * 2},
            "duplicated mountPath: /a;",
        ),
        (
            [task("a", dependsOn={"name": ["b"]}), task("b", dependsOn={"name": ["a"]})],
            {},
            "job has dependencies between tasks, but doesn't form a directed acyclic graph(DAG);",
        ),
    ],
)
def test_wrong_job_is_refused(
    admitted: Admitted, tasks: list[Object], spec: Object, told: str | None
) -> None:
    if told is None:
        with pytest.raises(ApiError) as error:
            admitted.job(admitted.queue(), **spec)
        assert "spec.tasks" in error.value.message
        return

    assert refused(admitted, admitted.queue(), *tasks, **spec) == told


@pytest.mark.parametrize(
    ("policies", "fault"),
    [
        (
            [{"event": "PodFailed", "action": "AbortJob"}] * 2,
            "duplicate event PodFailed  across different policy",
        ),
        (
            [{"event": "PodFailed", "action": "AbortJob", "exitCode": 1}],
            "must not specify event and exitCode",
        ),
        ([{"action": "AbortJob"}], "either event and exitCode should be specified"),
        ([{"event": "PodRunning", "action": "AbortJob"}], '"PodRunning": invalid policy event'),
        (
            [{"event": "PodFailed", "action": "Fly"}],
            'spec.policies: Invalid value: "Fly": invalid policy action',
        ),
        ([{"exitCode": 0, "action": "AbortJob"}], "0 is not a valid error code"),
        ([{"exitCode": 3, "action": "AbortJob"}] * 2, "duplicate exitCode 3"),
        (
            [{"event": "*", "action": "AbortJob"}, {"event": "PodFailed", "action": "AbortJob"}],
            "if there's * here, no other policy should be here",
        ),
    ],
)
def test_wrong_policy_is_refused_with_the_choices(
    admitted: Admitted, policies: list[Object], fault: str
) -> None:
    told = refused(admitted, admitted.queue(), policies=policies)

    assert told.startswith("1 error occurred:\n\t* ")
    assert fault in told
    assert "\n\n valid events are [" in told


def test_queue_must_exist_be_open_and_be_a_leaf(admitted: Admitted) -> None:
    parent, closed = admitted.queue(), admitted.queue("Closed")
    admitted.queue(parent=parent)

    assert refused(admitted, "nowhere") == (
        'unable to find job queue: queue.scheduling.volcano.sh "nowhere" not found;'
    )
    assert refused(admitted, closed) == (
        f"can only submit job to queue with state `Open`, queue `{closed}` status is `Closed`;"
    )
    assert refused(admitted, parent) == (
        f"can only submit job to leaf queue, queue `{parent}` has 1 child queues;"
    )


def test_root_queue_takes_no_job(admitted: Admitted) -> None:
    assert "can not submit job to root queue;" in refused(admitted, "root")


def test_name_too_long_for_its_pods_is_refused(admitted: Admitted) -> None:
    told = refused(admitted, admitted.queue(), name="j" * 60)

    assert told == (
        f"create pod with name {'j' * 60}-t-0 validate failed [name part must be no more than 63 bytes];"
    )


# -- updates ------------------------------------------------------------------------------------------------------------


def test_replicas_minima_and_priority_may_change(admitted: Admitted) -> None:
    job = admitted.job(admitted.queue(), task("t", 2))
    job["spec"]["tasks"][0] |= {"replicas": 5, "minAvailable": 3}
    job["spec"] |= {"minAvailable": 3, "priorityClassName": "high"}

    stored = admitted.client.replace(f"{admitted.jobs}/j", job)

    assert stored["spec"]["tasks"][0]["replicas"] == 5


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"minAvailable": 9}, "job 'minAvailable' must not be greater than total replicas"),
        (
            {"queue": "other"},
            "job updates may not change fields other than `minAvailable`, "
            "`tasks[*].replicas under spec` and `PriorityClassName`",
        ),
        ({"tasks": [task("t"), task("u")]}, "job updates may not add or remove tasks"),
    ],
)
def test_all_else_stays(admitted: Admitted, change: Object, told: str) -> None:
    admitted.job(admitted.queue(), task("t", 2))

    with pytest.raises(ApiError) as error:
        admitted.client.patch(f"{admitted.jobs}/j", {"spec": change})

    assert denial(VALIDATE, error.value) == told


def test_name_that_the_server_makes_is_checked(admitted: Admitted) -> None:
    body = {
        "apiVersion": "batch.volcano.sh/v1alpha1",
        "kind": "Job",
        "metadata": {"generateName": "made-"},
        "spec": {"queue": admitted.queue(), "tasks": [task()]},
    }

    made = admitted.client.create(admitted.jobs, body)

    assert made["metadata"]["name"].startswith("made-")


def test_o_066_framework_plugin_without_its_lead_task_is_refused_by_the_tasks_name(
    admitted: Admitted,
) -> None:
    queue = admitted.queue()

    assert refused(admitted, queue, task("worker"), plugins={"ray": ["--head=head"]}) == (
        "The specified ray head task was not found: head"
    )
    assert refused(admitted, queue, task("worker"), plugins={"mpi": ["--master=chief"]}) == (
        "The specified mpi master task was not found: chief"
    )


def test_o_069_job_for_a_queue_that_does_not_exist_is_refused(admitted: Admitted) -> None:
    assert refused(admitted, "ghost") == (
        'unable to find job queue: queue.scheduling.volcano.sh "ghost" not found;'
    )

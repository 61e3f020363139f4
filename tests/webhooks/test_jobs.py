"""Admission of Jobs: the patch of a new one, and what is told of a wrong one."""

from __future__ import annotations

from copy import deepcopy

import jsonpatch
import pytest

from tests.webhooks.seen import Seen, ask, queue
from vcray.api.meta import JsonObject, JsonValue
from vcray.webhooks.jobs import PLUGINS, mutate, validate
from vcray.webhooks.jobs_defaults import default_job

OPEN = Seen([queue("default")])
TIERS = "must not specify 'highestTierAllowed' and 'highestTierName' in networkTopology simultaneously"
BOTH: JsonObject = {"highestTierAllowed": 1, "highestTierName": "rack"}


def template(**container: JsonValue) -> JsonObject:
    return {"spec": {"containers": [{"name": "c", "image": "i", **container}]}}


def task(name: str = "t", replicas: int = 1, **fields: JsonValue) -> JsonObject:
    return {"name": name, "replicas": replicas, "template": template(), **fields}


def job(*tasks: JsonValue, name: str = "j", **spec: JsonValue) -> JsonObject:
    listed = list(tasks) or [task()]
    return {
        "metadata": {"name": name, "namespace": "ns"},
        "spec": {"queue": "default", "minAvailable": 1, "tasks": listed, **spec},
    }


def problem_of(new: JsonObject, seen: Seen = OPEN) -> str:
    return validate(ask("CREATE", new, seen=seen)).problem


# -- mutate -------------------------------------------------------------------------------------------------------


def test_patch_has_volcanos_order() -> None:
    bare: JsonObject = {"spec": {"tasks": [{"replicas": 2, "template": template()}], "plugins": {"mpi": []}}}
    before = deepcopy(bare)

    answer = mutate(ask("CREATE", bare))

    assert [(step["op"], step["path"]) for step in answer.patch or ()] == [
        ("add", "/spec/queue"),
        ("add", "/spec/schedulerName"),
        ("add", "/spec/maxRetry"),
        ("replace", "/spec/tasks"),
        ("add", "/spec/minAvailable"),
        ("replace", "/spec/plugins"),
    ]
    assert bare == before
    assert jsonpatch.apply_patch(bare, answer.patch) == default_job(bare)


def test_complete_job_gets_an_empty_patch() -> None:
    complete = default_job(job())

    assert mutate(ask("CREATE", complete)).patch == ()


def test_plugins_are_sent_whenever_there_are_any() -> None:
    complete = default_job(job(plugins={"env": ["--x"]}))

    assert mutate(ask("CREATE", complete)).patch == (
        {"op": "replace", "path": "/spec/plugins", "value": {"env": ["--x"]}},
    )


def test_scheduler_is_the_first_that_is_served() -> None:
    answer = mutate(ask("CREATE", job(), scheduler_name="mine"))

    assert {"op": "add", "path": "/spec/schedulerName", "value": "mine"} in (answer.patch or ())


def test_job_without_a_spec_is_left_to_validation() -> None:
    empty: JsonObject = {"metadata": {"name": "j"}}

    assert mutate(ask("CREATE", empty)).patch == ()
    assert problem_of(empty) == "No task specified in job spec"


@pytest.mark.parametrize("operation", ["UPDATE", "DELETE"])
def test_mutate_answers_only_creations(operation: str) -> None:
    assert mutate(ask(operation, job())).problem == "expect operation to be 'CREATE' "


# -- validate on CREATE -------------------------------------------------------------------------------------------------


def test_good_job_passes() -> None:
    assert problem_of(job()) == ""


def test_no_task_and_no_lead_are_told_alone() -> None:
    assert problem_of(job(queue="gone", tasks=[])) == "No task specified in job spec"
    assert problem_of(job(queue="gone", plugins={"mpi": []})) == (
        "The specified mpi master task was not found: master"
    )


@pytest.mark.parametrize(
    ("plugin", "arguments", "lead"),
    [
        ("mpi", [], "master"),
        ("mpi", ["--master=chief", "--worker=w"], "chief"),
        ("mpi", ["-master", "chief"], "chief"),
        ("ray", ["--head=head"], "head"),
        ("ray", ["--worker=head", "--head=h"], "h"),
    ],
)
def test_framework_needs_its_lead_task(plugin: str, arguments: list[JsonValue], lead: str) -> None:
    plugins: JsonObject = {plugin: arguments}
    flag = "master" if plugin == "mpi" else "head"

    assert problem_of(job(task("worker"), plugins=plugins)) == (
        f"The specified {plugin} {flag} task was not found: {lead}"
    )
    assert problem_of(job(task("worker"), task(lead), plugins=plugins)) == ""


@pytest.mark.parametrize(
    ("wrong", "problem"),
    [
        (job(networkTopology=BOTH), TIERS),
        (job(task(minAvailable=2)), "'minAvailable' is greater than 'replicas' in task: t, job: j;"),
        (job(task(), task()), "duplicated task name t;"),
        (job(minAvailable=2), "job 'minAvailable' should not be greater than total replicas in tasks;"),
        (job(plugins={"typo": []}), "unable to find job plugin: typo;"),
        (
            job(name="j" * 60),
            f"create pod with name {'j' * 60}-t-0 validate failed [name part must be no more than 63 bytes];",
        ),
    ],
)
def test_single_problem_is_told(wrong: JsonObject, problem: str) -> None:
    assert problem_of(wrong) == problem


def test_job_name_must_be_a_qualified_name() -> None:
    problem = problem_of(job(name="j" * 64))

    told = f"create job with name {'j' * 64} validate failed [name part must be no more than 63 bytes]"
    assert told in problem
    assert not problem.endswith(";")


def test_problems_are_told_in_order_and_together() -> None:
    """api-controllers.md 10.51."""
    wrong = job(
        task("a", minAvailable=2),
        task("b", template=template(image="")),
        minAvailable=9,
        plugins={"typo": []},
        queue="gone",
    )

    assert problem_of(wrong) == (
        "'minAvailable' is greater than 'replicas' in task: a, job: j;"
        "spec.task[1].template.spec.containers[0].image: Required value. "
        " job 'minAvailable' should not be greater than total replicas in tasks;"
        " unable to find job plugin: typo;"
        ' unable to find job queue: queue.scheduling.volcano.sh "gone" not found;'
    )


def test_tasks_after_a_duplicate_are_not_looked_at() -> None:
    wrong = job(task("a"), task("a"), task("c", 5, template={}), minAvailable=3)

    assert problem_of(wrong) == (
        "duplicated task name a; job 'minAvailable' should not be greater than total replicas in tasks;"
    )


@pytest.mark.parametrize("plugin", PLUGINS)
def test_every_plugin_of_volcano_is_known(plugin: str) -> None:
    assert problem_of(job(task("master"), task("head"), plugins={plugin: []})) == ""


@pytest.mark.parametrize(
    ("volumes", "problem"),
    [
        ([{"volumeClaimName": "c"}], "mountPath is required;"),
        (
            [{"mountPath": "/a", "volumeClaimName": "c"}, {"mountPath": "/a", "volumeClaimName": "d"}],
            "duplicated mountPath: /a;",
        ),
        ([{"mountPath": "/a"}], "either VolumeClaim or VolumeClaimName must be specified;"),
        (
            [{"mountPath": "/a", "volumeClaimName": "c", "volumeClaim": {}}],
            "conflict: If you want to use an existing PVC, just specify VolumeClaimName."
            "If you want to create a new PVC, you do not need to specify VolumeClaimName",
        ),
    ],
)
def test_first_wrong_volume_is_told(volumes: list[JsonValue], problem: str) -> None:
    assert problem_of(job(volumes=[*volumes, {"mountPath": ""}])) == problem


def test_name_of_a_claim_must_be_a_subdomain() -> None:
    problem = problem_of(job(volumes=[{"mountPath": "/a", "volumeClaimName": "No_Name"}]))

    assert problem.startswith(
        "invalid VolumeClaimName No_Name : [a lowercase RFC 1123 subdomain must consist of"
    )


def test_volumes_with_a_claim_of_either_kind_pass() -> None:
    volumes: list[JsonValue] = [
        {"mountPath": "/a", "volumeClaim": {}},
        {"mountPath": "/b", "volumeClaimName": "c"},
    ]

    assert problem_of(job(volumes=volumes)) == ""


@pytest.mark.parametrize("state", ["", "Closed", "Closing"])
def test_queue_must_be_open(state: str) -> None:
    assert problem_of(job(queue="q"), Seen([queue("q", state)])) == (
        f"can only submit job to queue with state `Open`, queue `q` status is `{state}`;"
    )


def test_queue_must_be_a_leaf_and_not_the_root() -> None:
    seen = Seen([queue("root"), queue("q", parent="root"), queue("c", parent="q"), queue("d", parent="q")])

    assert problem_of(job(queue="root"), seen) == "can not submit job to root queue;"
    assert problem_of(job(queue="q"), seen) == (
        "can only submit job to leaf queue, queue `q` has 2 child queues;"
    )
    assert problem_of(job(queue="c"), seen) == ""


@pytest.mark.parametrize(
    "tasks",
    [
        [task("a", dependsOn={"name": ["a"]})],
        [task("a", dependsOn={"name": ["b"]}), task("b", dependsOn={"name": ["a"]})],
        [task("a"), task("b", dependsOn={"name": ["c"]})],
        [task("a"), task("b", dependsOn={"name": ["a", "a"]})],
    ],
)
def test_dependencies_form_a_dag(tasks: list[JsonValue]) -> None:
    assert problem_of(job(*tasks)) == (
        "job has dependencies between tasks, but doesn't form a directed acyclic graph(DAG);"
    )


def test_diamond_of_dependencies_is_a_dag() -> None:
    diamond = [
        task("d", dependsOn={"name": ["b", "c"]}),
        task("b", dependsOn={"name": ["a"]}),
        task("c", dependsOn={"name": ["a"]}),
        task("a"),
    ]

    assert problem_of(job(*diamond)) == ""


def test_validate_answers_no_deletion() -> None:
    assert validate(ask("DELETE", job())).problem == "expect operation to be 'CREATE' or 'UPDATE'"


# -- size ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("tasks", "asked"),
    [
        ([task("a", 2**31 - 1)], 2**31 - 1),
        ([task("a", 150_000), task("b", 1)], 150_001),
        ([task("a", 400_000, partitionPolicy={"totalPartitions": 4, "partitionSize": 100_000})], 400_000),
    ],
)
def test_a_job_of_more_pods_than_a_cluster_holds_is_refused(tasks: list[JsonValue], asked: int) -> None:
    assert problem_of(job(*tasks)) == (
        f"'replicas' of all tasks add up to {asked}, more than the 150000 pods that a job may have, in job: j; "
        "lower them or divide the job;"
    )


def test_a_job_of_as_many_pods_as_a_cluster_holds_passes() -> None:
    assert problem_of(job(task("a", 149_999), task("b", 1))) == ""

"""Rules of single tasks: templates, whole cpus, partitions."""

from __future__ import annotations

import pytest

from vcray.api.meta import JsonObject, JsonValue
from vcray.webhooks.job_tasks import partition_problem, task_problems, template_problem


def task(*containers: JsonObject, **fields: JsonValue) -> JsonObject:
    listed: list[JsonValue] = [
        {"name": f"c{index}", "image": "i", **each} for index, each in enumerate(containers)
    ]
    return {"name": "t", "replicas": 4, "template": {"spec": {"containers": listed}}, **fields}


def asking(where: str, cpu: str) -> JsonObject:
    return {"resources": {where: {"cpu": cpu}}}


# -- templates --------------------------------------------------------------------------------------------------------


def test_field_errors_of_a_template_are_told_one_after_the_other() -> None:
    wrong = task({"image": ""}, asking("requests", "-1"))

    assert template_problem(wrong, 2) == (
        "spec.task[2].template.spec.containers[0].image: Required value. "
        "template.spec.containers[1].resources.requests[cpu]: "
        'Invalid value: "-1": must be greater than or equal to 0. '
    )


def test_name_of_a_task_is_the_name_of_its_template() -> None:
    problem = template_problem({**task({}), "name": "No_Name"}, 0)

    assert problem.startswith('spec.task[0].metadata.name: Invalid value: "No_Name": a lowercase RFC 1123')


def test_privileged_containers_are_allowed() -> None:
    assert template_problem(task({"securityContext": {"privileged": True}}), 0) == ""


# -- whole cpus ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("policy", ["best-effort", "restricted", "single-numa-node"])
@pytest.mark.parametrize(
    "container", [{}, asking("requests", "500m"), asking("limits", "1500m"), asking("requests", "0")]
)
def test_numa_policy_needs_whole_cpus(policy: str, container: JsonObject) -> None:
    wrong = task(asking("requests", "2"), container, topologyPolicy=policy)

    assert template_problem(wrong, 0) == "the cpu request isn't an integer in spec.task[0] container[1]."


@pytest.mark.parametrize(
    "container", [asking("requests", "2"), asking("limits", "2"), asking("requests", "2000m")]
)
def test_whole_cpus_pass_from_requests_or_limits(container: JsonObject) -> None:
    assert template_problem(task(container, topologyPolicy="restricted"), 0) == ""


def test_init_containers_are_counted_after_the_others() -> None:
    wrong = task(asking("requests", "1"), topologyPolicy="restricted")
    spec = wrong["template"]["spec"]  # type: ignore[index, call-overload]
    spec["initContainers"] = [{"name": "init", "image": "i"}]  # type: ignore[index, call-overload]

    assert template_problem(wrong, 1) == "the cpu request isn't an integer in spec.task[1] container[1]."


def test_wrong_template_is_told_before_its_cpus() -> None:
    assert template_problem(task({"image": ""}, topologyPolicy="restricted"), 0) == (
        "spec.task[0].template.spec.containers[0].image: Required value. "
    )


@pytest.mark.parametrize("policy", ["", "none"])
def test_without_a_numa_policy_any_cpu_will_do(policy: str) -> None:
    assert template_problem(task(asking("requests", "500m"), topologyPolicy=policy), 0) == ""


# -- partitions ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("policy", "minimum", "problem"),
    [
        ({"totalPartitions": 0, "partitionSize": 0}, None, "'TotalPartitions' must be greater than 0"),
        ({"totalPartitions": 2, "partitionSize": 0}, None, "'PartitionSize' must be greater than 0"),
        (
            {"totalPartitions": 2, "partitionSize": 3},
            None,
            "'Replicas' are not equal to TotalPartitions*PartitionSize",
        ),
        (
            {"totalPartitions": 2, "partitionSize": 2, "minPartitions": 1},
            4,
            "'MinAvailable' is not equal to MinPartitions*PartitionSize",
        ),
    ],
)
def test_first_rule_of_partitions_that_breaks_is_told(
    policy: JsonObject, minimum: int | None, problem: str
) -> None:
    wrong = task({}, partitionPolicy=policy, minAvailable=minimum)

    assert partition_problem(wrong, "j") == f"{problem} in task: t, job: j"


@pytest.mark.parametrize(("least", "minimum"), [(0, 4), (0, 1), (2, 4), (1, 2), (1, None)])
def test_partitions_that_fit_pass(least: int, minimum: int | None) -> None:
    policy: JsonObject = {"totalPartitions": 2, "partitionSize": 2, "minPartitions": least}

    assert partition_problem(task({}, partitionPolicy=policy, minAvailable=minimum), "j") == ""


def test_topology_of_partitions_names_its_tier_in_one_way() -> None:
    both: JsonObject = {"highestTierAllowed": 0, "highestTierName": "rack"}
    policy: JsonObject = {"totalPartitions": 2, "partitionSize": 2, "networkTopology": both}

    assert partition_problem(task({}, partitionPolicy=policy), "j") == (
        "must not specify 'highestTierAllowed' and 'highestTierName' in networkTopology simultaneously"
    )


def test_policies_of_a_task_are_told_with_their_own_path() -> None:
    wrong = task({}, policies=[{"event": "Nope", "action": "AbortJob"}])
    job: JsonObject = {"metadata": {"name": "j"}, "spec": {"tasks": [wrong]}}

    told = "".join(task_problems(job))

    assert told.startswith(
        '1 error occurred:\n\t* spec.tasks.policies: Invalid value: "Nope": invalid policy event'
    )

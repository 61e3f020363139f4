"""What may change in a job that exists."""

from __future__ import annotations

from copy import deepcopy

import pytest

from tests.webhooks.seen import ask
from vcray.api.meta import JsonObject, JsonValue
from vcray.webhooks.job_updates import FIXED, update_problem
from vcray.webhooks.jobs import validate

CONTAINER: JsonObject = {"name": "c", "image": "i", "resources": {"requests": {"cpu": "1"}}}
OLD: JsonObject = {
    "metadata": {"name": "j"},
    "spec": {
        "queue": "default",
        "minAvailable": 1,
        "volumes": [{"mountPath": "/data", "volumeClaim": {"accessModes": ["ReadWriteOnce"]}}],
        "tasks": [
            {"name": "t", "replicas": 2, "minAvailable": 1, "template": {"spec": {"containers": [CONTAINER]}}}
        ],
    },
}


def changed(*steps: tuple[tuple[str | int, ...], JsonValue]) -> JsonObject:
    """The old job with some places set."""
    new = deepcopy(OLD)
    for path, value in steps:
        place = new
        for step in path[:-1]:
            place = place[step]  # type: ignore[assignment, index]
        place[path[-1]] = value  # type: ignore[index]
    return new


TASK = ("spec", "tasks", 0)
POD = (*TASK, "template", "spec")


@pytest.mark.parametrize(
    "new",
    [
        changed((("spec", "minAvailable"), 2)),
        changed((("spec", "priorityClassName"), "high")),
        changed(((*TASK, "replicas"), 5)),
        changed(((*TASK, "minAvailable"), 2)),
        changed((("spec", "volumes", 0, "volumeClaimName"), "j-pvc-1")),
        changed((("metadata", "labels"), {"a": "b"})),
        changed((("status",), {"running": 1})),
        changed(((*POD, "containers", 0, "resources", "requests", "cpu"), "1000m")),
        changed(((*POD, "hostNetwork"), False), ((*POD, "nodeSelector"), {}), (("spec", "plugins"), None)),
    ],
)
def test_allowed_changes_pass(new: JsonObject) -> None:
    """api-controllers.md 10.33."""
    assert validate(ask("UPDATE", new, OLD)).allowed


@pytest.mark.parametrize(
    ("new", "problem"),
    [
        (changed(((*TASK, "replicas"), -1)), "'replicas' must be >= 0 in task: t"),
        (changed(((*TASK, "minAvailable"), -1)), "'minAvailable' must be >= 0 in task: t"),
        (changed(((*TASK, "minAvailable"), 3)), "'minAvailable' must be <= 'replicas' in task: t"),
        (
            changed(((*TASK, "partitionPolicy"), {"totalPartitions": 0})),
            "'TotalPartitions' must be greater than 0 in task: t, job: j",
        ),
        (
            changed((("spec", "minAvailable"), 3)),
            "job 'minAvailable' must not be greater than total replicas",
        ),
        (changed((("spec", "minAvailable"), -1)), "job 'minAvailable' must be >= 0"),
        (
            changed((("spec", "networkTopology"), {"highestTierAllowed": 1, "highestTierName": "rack"})),
            "must not specify 'highestTierAllowed' and 'highestTierName' in networkTopology simultaneously",
        ),
        (
            changed((("spec", "tasks"), [*OLD["spec"]["tasks"], {"name": "u"}])),  # type: ignore[call-overload, index, misc]
            "job updates may not add or remove tasks",
        ),
        (changed((("spec", "queue"), "other")), FIXED),
        (changed((("spec", "maxRetry"), 5)), FIXED),
        (changed(((*TASK, "name"), "u")), FIXED),
        (changed(((*POD, "containers", 0, "image"), "other")), FIXED),
        (changed(((*POD, "containers", 0, "resources", "requests", "cpu"), "2")), FIXED),
        (changed(((*POD, "hostNetwork"), True)), FIXED),
        (changed(((*POD, "terminationGracePeriodSeconds"), 0)), FIXED),
        (changed((("spec", "volumes", 0, "mountPath"), "/other")), FIXED),
        (changed((("spec", "volumes", 0), {"mountPath": "/data", "volumeClaimName": "c"})), FIXED),
    ],
)
def test_first_broken_rule_is_told(new: JsonObject, problem: str) -> None:
    assert validate(ask("UPDATE", new, OLD)).problem == problem


def test_text_of_a_forbidden_change_is_volcanos() -> None:
    assert FIXED == (
        "job updates may not change fields other than `minAvailable`, "
        "`tasks[*].replicas under spec` and `PriorityClassName`"
    )


def test_first_task_that_is_wrong_is_told_before_the_job() -> None:
    new = changed(((*TASK, "replicas"), -1), (("spec", "minAvailable"), -1), (("spec", "queue"), "x"))

    assert update_problem(OLD, new) == "'replicas' must be >= 0 in task: t"


def test_a_job_may_not_be_raised_beyond_what_a_cluster_holds() -> None:
    most, more = changed(((*TASK, "replicas"), 150_000)), changed(((*TASK, "replicas"), 2**31 - 1))

    assert update_problem(OLD, most) == ""
    assert update_problem(OLD, more) == (
        "'replicas' of all tasks add up to 2147483647, more than the 150000 pods that a job may have, in job: j; "
        "lower them or divide the job"
    )


def test_a_job_that_came_in_with_too_many_pods_can_be_let_go() -> None:
    huge = changed(((*TASK, "replicas"), 2**31 - 1), (("metadata", "finalizers"), ["foregroundDeletion"]))
    freed = changed(((*TASK, "replicas"), 2**31 - 1))

    assert update_problem(huge, freed) == ""
    assert update_problem(huge, OLD) == ""
    assert "add up to 150001" in update_problem(huge, changed(((*TASK, "replicas"), 150_001)))


def test_no_queue_is_asked_for_on_update() -> None:
    assert validate(ask("UPDATE", OLD, OLD)).allowed

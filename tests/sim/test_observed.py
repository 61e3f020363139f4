"""Selectors and names of scenario files."""

from __future__ import annotations

import pytest

from vcray.api.jsonview import dig
from vcray.api.meta import JsonObject
from vcray.sim.observed import belongs, group_of, matches, text

OF_JOB: JsonObject = {
    "metadata": {
        "name": "train-w-0",
        "labels": {"volcano.sh/job-name": "train", "volcano.sh/task-spec": "w"},
        "annotations": {"scheduling.k8s.io/group-name": "train-123"},
    }
}
BARE: JsonObject = {
    "metadata": {
        "name": "ray-head",
        "annotations": {"scheduling.k8s.io/group-name": "ray", "volcano.sh/task-spec": "head"},
    }
}


@pytest.mark.parametrize(
    ("pod", "selector", "so"),
    [
        (OF_JOB, "train", True),
        (OF_JOB, "train/w", True),
        (OF_JOB, "train/*", True),
        (OF_JOB, "train/ps", False),
        (OF_JOB, "train-123", True),
        (OF_JOB, "train-*", True),
        (OF_JOB, "tra", False),
        (BARE, "ray", True),
        (BARE, "ray/head", True),
        (BARE, "ray-head", True),
        (BARE, "*", True),
    ],
)
def test_selector_is_a_job_a_group_a_role_or_a_name(pod: JsonObject, selector: str, so: bool) -> None:
    assert matches(pod, selector) is so


def test_group_of_a_job_goes_by_the_jobs_name() -> None:
    group: JsonObject = {
        "metadata": {"name": "train-123", "ownerReferences": [{"kind": "Job", "name": "train"}]}
    }

    assert belongs(group, "train")
    assert belongs(group, "train-*")
    assert not belongs(group, "other")


def test_pods_are_counted_to_their_job_else_to_their_group() -> None:
    assert (group_of(OF_JOB), group_of(BARE), group_of({})) == ("train", "ray", "")


def test_missing_fields_are_none_and_empty_text() -> None:
    assert dig(OF_JOB, "spec", "nodeName") is None
    assert text(OF_JOB, "spec", "nodeName") == ""
    assert text(OF_JOB, "metadata", "name") == "train-w-0"

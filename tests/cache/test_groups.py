"""Pod -> gang, role, index, priority, status."""

from __future__ import annotations

import pytest

from tests.builders import pod
from vcray.api.wire import to_pod
from vcray.cache import groups
from vcray.core.tables import MISSING, Status


@pytest.mark.parametrize(
    ("name", "ordinal"),
    [
        ("job-worker-7", 7),
        ("job-7", MISSING),
        ("job-worker-x", MISSING),
        ("a-b-c-012", 12),
        ("a-b-", MISSING),
    ],
)
def test_the_ordinal_needs_three_parts(name: str, ordinal: int) -> None:
    assert groups.ordinal_of(name) == ordinal


@pytest.mark.parametrize(
    ("phase", "node", "deleting", "status"),
    [
        ("Pending", None, False, Status.PENDING),
        ("Pending", "n1", False, Status.BOUND),
        ("Pending", None, True, Status.RELEASING),
        ("Running", "n1", False, Status.RUNNING),
        ("Running", "n1", True, Status.RELEASING),
        ("Succeeded", "n1", True, Status.SUCCEEDED),
        ("Failed", "n1", False, Status.FAILED),
        ("Strange", "n1", False, Status.UNKNOWN),
    ],
)
def test_status_follows_phase_node_and_deletion(
    phase: str, node: str | None, deleting: bool, status: Status
) -> None:
    assert groups.status_of(to_pod(pod("a", phase=phase, node=node, deleting=deleting))) == status


@pytest.mark.parametrize(
    ("annotation", "priority", "expected"),
    [(None, None, 1), (None, 0, 0), ("7", 3, 7), ("-7", 3, -7), ("seven", 3, 3), ("9999999999", 3, 3)],
)
def test_task_priority_is_the_annotation_then_the_spec_then_one(
    annotation: str | None, priority: int | None, expected: int
) -> None:
    annotations = {"volcano.sh/task-priority": annotation} if annotation else None
    assert groups.priority_of(to_pod(pod("a", priority=priority, annotations=annotations))) == expected


def test_the_role_is_the_annotation_then_the_label() -> None:
    label = {"volcano.sh/task-spec": "ps"}
    assert groups.role_of(to_pod(pod("a", labels=label))) == "ps"
    assert groups.role_of(to_pod(pod("a", labels=label, role="worker"))) == "worker"


@pytest.mark.parametrize(
    ("annotations", "labels", "expected"),
    [
        ({}, {}, False),
        ({}, {"p": "true"}, True),
        ({"p": "T"}, {"p": "false"}, True),
        ({"p": "yes"}, {"p": "true"}, False),
    ],
)
def test_preemptable_is_the_annotation_then_the_label(
    annotations: dict[str, str], labels: dict[str, str], expected: bool
) -> None:
    def full(found: dict[str, str]) -> dict[str, str]:
        return {"volcano.sh/preemptable": found["p"]} if found else {}

    assert groups.preemptable_of(full(annotations), full(labels), absent=False) is expected

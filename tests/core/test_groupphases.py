"""The table of PodGroup phases, row by row: which sign decides, and that the first one does."""

from __future__ import annotations

from types import SimpleNamespace
from typing import cast

import numpy as np
import pytest

from vcray.core.groupphases import TABLE, Sign, phases
from vcray.core.tables import MISSING, STATUSES, Phase, Status
from vcray.core.view import View

ROWS: list[tuple[Sign, Phase, dict[Status, int], bool, bool, Phase]] = [
    (Sign.LOST, Phase.EMPTY, {Status.RUNNING: 3}, False, True, Phase.PENDING),
    (Sign.LOST, Phase.UNKNOWN, {Status.RUNNING: 3}, True, True, Phase.UNKNOWN),
    (Sign.IDLE, Phase.COMPLETED, {}, False, False, Phase.PENDING),
    (Sign.IDLE, Phase.PENDING, {Status.PENDING: 3}, False, False, Phase.PENDING),
    (Sign.GONE, Phase.COMPLETED, {}, False, False, Phase.COMPLETED),
    (Sign.STUCK, Phase.RUNNING, {Status.RUNNING: 1, Status.PENDING: 2}, True, False, Phase.UNKNOWN),
    (Sign.STUCK, Phase.INQUEUE, {Status.RUNNING: 3}, True, False, Phase.UNKNOWN),
    (Sign.OVER, Phase.RUNNING, {Status.SUCCEEDED: 2, Status.FAILED: 1}, False, False, Phase.COMPLETED),
    (Sign.OVER, Phase.INQUEUE, {Status.SUCCEEDED: 3}, True, False, Phase.COMPLETED),
    (Sign.READY, Phase.INQUEUE, {Status.RUNNING: 2, Status.BOUND: 1}, False, False, Phase.RUNNING),
    (Sign.READY, Phase.RUNNING, {Status.SUCCEEDED: 3, Status.PENDING: 1}, False, False, Phase.RUNNING),
    (Sign.ADMITTED, Phase.INQUEUE, {Status.RUNNING: 2, Status.PENDING: 1}, False, False, Phase.INQUEUE),
    (Sign.ADMITTED, Phase.INQUEUE, {Status.PENDING: 3}, True, False, Phase.INQUEUE),
    (Sign.ELSE, Phase.RUNNING, {Status.RUNNING: 2}, False, False, Phase.PENDING),
    (Sign.ELSE, Phase.COMPLETED, {Status.PENDING: 1}, False, False, Phase.PENDING),
    (Sign.ELSE, Phase.EMPTY, {}, False, False, Phase.PENDING),
]
"""Sign, phase before, tasks by status, called unschedulable, queue missing, phase after; minMember is 3,
or 0 of a group that is released, as those of IDLE are."""


class Jobs(SimpleNamespace):
    def __len__(self) -> int:
        return len(self.queue)


def view_of(before: Phase, tasks: dict[Status, int], lost: bool, released: bool) -> View:
    count = np.zeros((STATUSES, 1), np.int64)
    for status, number in tasks.items():
        count[status] = number
    none = np.zeros(0, np.int64)
    least = 0 if released else 3
    jobs = Jobs(
        queue=np.array([MISSING if lost else 0]),
        min_available=np.array([least]),
        released=np.array([released]),
    )
    found = SimpleNamespace(
        snapshot=SimpleNamespace(jobs=jobs, tasks=SimpleNamespace(node=none, job=none)),
        jobs=SimpleNamespace(count=count, phase=np.array([before])),
        status=none,
    )
    return cast(View, found)


@pytest.mark.parametrize(("sign", "before", "tasks", "stuck", "lost", "after"), ROWS)
def test_first_sign_that_shows_decides(
    sign: Sign, before: Phase, tasks: dict[Status, int], stuck: bool, lost: bool, after: Phase
) -> None:
    assert phases(view_of(before, tasks, lost, sign is Sign.IDLE), np.array([stuck])).tolist() == [after]
    assert dict(TABLE)[sign] in (after, None)


def test_every_row_of_the_table_is_walked() -> None:
    assert {row[0] for row in ROWS} == {sign for sign, _ in TABLE}

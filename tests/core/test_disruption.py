"""Who may be revoked: what annotations of a pod or a job say."""

from __future__ import annotations

import pytest

from vcray.api.names import PREEMPTABLE, REVOCABLE_ZONE
from vcray.core.disruption import revocable
from vcray.core.tables import Notes


@pytest.mark.parametrize(
    ("notes", "expected"),
    [
        ((), False),
        (((REVOCABLE_ZONE, "*"),), True),
        (((REVOCABLE_ZONE, "rz1"), (PREEMPTABLE, "true")), False),
        (((PREEMPTABLE, "true"),), True),
        (((PREEMPTABLE, "1"),), True),
        (((PREEMPTABLE, "yes"),), False),
    ],
)
def test_the_zone_goes_before_what_is_said_of_evictions(notes: Notes, expected: bool) -> None:
    assert revocable(notes) is expected

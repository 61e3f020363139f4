"""What gangs that cannot fit cost in rounds that change nothing for them, counted in Python calls."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.bench.calls import calls_during
from vcray.bench.allocate import helm_policy
from vcray.bench.stuck import answered, full, fuller, rewritten, started
from vcray.core.session import Carry, decide
from vcray.core.snapshot import Snapshot

SHAPES = 4


def calls_of_a_round(gangs: int, change: Callable[[Snapshot, int], Snapshot]) -> int:
    snapshot, policy, carry = full(100, gangs, 8, SHAPES), helm_policy(), Carry()
    told = answered(snapshot, decide(snapshot, policy, carry))
    decide(told, policy, carry)
    calls, decisions = calls_during(lambda: decide(change(told, 1), policy, carry))
    assert not decisions.commits
    assert sum(len(group.pods) for group in decisions.waiting) == 8 * gangs
    return calls


def test_a_gang_that_is_like_others_costs_few_calls() -> None:
    few, many = calls_of_a_round(40, fuller), calls_of_a_round(240, fuller)

    assert (many - few) / 200 < 60


@pytest.mark.parametrize("change", [started, rewritten])
def test_a_gang_costs_no_python_call_in_a_round_whose_changes_cannot_cure_it(
    change: Callable[[Snapshot, int], Snapshot],
) -> None:
    few, many = calls_of_a_round(40, change), calls_of_a_round(240, change)

    assert (many - few) / 200 < 1

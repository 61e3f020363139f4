"""What gangs that cannot fit cost in rounds that change nothing for them, counted in Python calls."""

from __future__ import annotations

from dataclasses import replace

from tests.bench.calls import calls_during
from vcray.bench.allocate import helm_policy
from vcray.bench.stuck import full
from vcray.core.session import Carry, decide

SHAPES = 4


def calls_of_a_quiet_round(gangs: int) -> int:
    snapshot, policy, carry = full(100, gangs, 8, SHAPES), helm_policy(), Carry()
    decide(snapshot, policy, carry)
    quiet = replace(snapshot, generation=2)
    calls, decisions = calls_during(lambda: decide(quiet, policy, carry))
    assert not decisions.commits
    assert sum(len(group.pods) for group in decisions.waiting) == 8 * gangs
    return calls


def test_a_gang_that_is_like_others_costs_few_calls() -> None:
    few, many = calls_of_a_quiet_round(40), calls_of_a_quiet_round(240)

    assert (many - few) / 200 < 60

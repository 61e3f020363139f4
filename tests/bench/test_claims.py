"""What keeps evictions fast, measured so that a busy machine cannot change it: Python calls a claim, and how they grow."""

from __future__ import annotations

import pytest

from tests.bench.calls import calls_during
from vcray.bench.crowded import crowded, crowded_policy, run_crowded
from vcray.core.decisions import Decisions
from vcray.core.session import decide

CALLS_A_CLAIM = {"preempt": 500, "reclaim": 900}
"""Ceilings for a whole round, by promises made; today 400 and 741. Reclaim asks twice as many as get one."""


def counted(action: str, nodes: int, pods: int) -> tuple[float, Decisions]:
    """Python calls a promise, and what was decided."""
    snapshot, policy = crowded(action, nodes, pods), crowded_policy(action)
    decide(snapshot, policy)
    calls, decisions = calls_during(lambda: decide(snapshot, policy))
    return calls / len(decisions.pipelined), decisions


@pytest.mark.parametrize("action", CALLS_A_CLAIM)
def test_a_claim_costs_few_calls(action: str) -> None:
    calls, decisions = counted(action, 40, 320)

    assert len(decisions.pipelined) == {"preempt": 320, "reclaim": 160}[action]
    assert len(decisions.evictions) == len(decisions.pipelined)
    assert calls <= CALLS_A_CLAIM[action], calls


@pytest.mark.parametrize("action", CALLS_A_CLAIM)
def test_calls_a_claim_do_not_grow_with_the_cluster(action: str) -> None:
    small, _ = counted(action, 20, 160)
    large, _ = counted(action, 160, 160)

    assert large <= 1.3 * small, (small, large)


def test_the_benchmark_tells_what_it_did() -> None:
    result = run_crowded("reclaim", 4, 32)

    assert (result.running, result.pending, result.evicted, result.promised) == (32, 32, 16, 16)

"""What a tree of queues costs, counted in Python calls so that a busy machine cannot change it."""

from __future__ import annotations

import pytest

from tests.bench.calls import calls_during
from vcray.bench.hierarchy import policies, run_hierarchy, spread
from vcray.core.policy import Policy
from vcray.core.session import open_session, run

RATIO = 1.5


def calls(policy: Policy, queues: int, pods: int = 600, gang: int = 1) -> int:
    """Python calls of one round on an open session; every pod is placed."""
    session = open_session(spread(200, pods, gang, 8, queues), policy)
    count, decisions = calls_during(lambda: run(session))
    assert sum(len(commit.binds) for commit in decisions.commits) == pods
    return count


@pytest.mark.parametrize("gang", [1, 8])
def test_a_tree_of_queues_costs_at_most_half_as_much_again_as_the_queues_side_by_side(gang: int) -> None:
    flat, tree = policies()

    assert calls(tree, 50, gang=gang) <= RATIO * calls(flat, 50, gang=gang)


def test_calls_grow_slower_than_the_number_of_queues() -> None:
    _, tree = policies()

    few, many = calls(tree, 10), calls(tree, 200)

    assert many < 2 * few, f"{few} calls with 10 queues, {many} with 200"


@pytest.mark.bench
def test_the_measured_ratio_of_tree_and_flat_is_small() -> None:
    result = run_hierarchy(2000, 2000, 8, 20, 50)

    assert result.placed == 2000
    assert result.ratio <= RATIO, str(result)


def test_sizes_below_one_are_refused() -> None:
    with pytest.raises(ValueError, match="at least 1"):
        run_hierarchy(10, 10, 1, 1, 0)

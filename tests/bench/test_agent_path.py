"""What a single pod costs at the agent's fast path, in Python calls, so that a busy machine cannot change it."""

from __future__ import annotations

import pytest

from tests.bench.calls import calls_during
from vcray.bench.agent import run_agent

CALLS_A_POD = 4000
"""Ceiling of Python calls from event to decision and the event that shows the pod bound; today about 3,000."""


def calls(nodes: int, pods: int) -> int:
    count, result = calls_during(lambda: run_agent(nodes, 0, pods, 3))
    assert result.placed == pods
    return count


def test_a_pod_costs_a_bounded_number_of_calls_whatever_the_number_of_nodes():
    small = (calls(50, 60) - calls(50, 10)) / 50
    large = (calls(800, 60) - calls(800, 10)) / 50

    assert small < CALLS_A_POD
    assert large < small * 1.2


@pytest.mark.parametrize("sizes", [(0, 0, 1, 1), (1, -1, 1, 1), (1, 0, 0, 1), (1, 0, 1, 0)])
def test_sizes_that_make_no_sense_are_refused(sizes):
    with pytest.raises(ValueError, match="at least"):
        run_agent(*sizes)

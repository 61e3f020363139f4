"""The kernel decides as a scalar scheduler does that was written apart from it, on thousands of random clusters."""

from __future__ import annotations

import pytest

from tests.oracle.comparison import disagreements, reproduction
from tests.oracle.random_clusters import random_cluster
from tests.oracle.scheduler import decide


@pytest.mark.timeout(600)
def test_kernel_agrees_with_the_oracle(cluster_numbers: range) -> None:
    wrong = []
    for number in cluster_numbers:
        cluster = random_cluster(number)
        if disagreements(cluster.objects, cluster.conf, cluster.seed):
            wrong.append(number)
            if len(wrong) == 3:
                break
    if wrong:
        pytest.fail(f"clusters {wrong} differ; the first:\n{reproduction(wrong[0])}", pytrace=False)


def test_the_random_clusters_are_worth_comparing() -> None:
    outcomes = []
    for number in range(300):
        cluster = random_cluster(number)
        outcomes.append(decide(cluster.objects, cluster.conf, cluster.seed))
    phases = {phase for outcome in outcomes for phase in outcome.phases.values()}
    assert sum(bool(outcome.bound) for outcome in outcomes) > 150
    assert sum(bool(outcome.pipelined) for outcome in outcomes) > 8
    assert sum(bool(outcome.evicted) for outcome in outcomes) > 12
    assert phases == {"Pending", "Inqueue", "Running", "Unknown", "Completed"}

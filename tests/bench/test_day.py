"""A mixed day comes to its end, leaves nothing behind, and shares out by weight."""

from __future__ import annotations

import os

import pytest

from vcray.bench.day import run_day
from vcray.bench.dayplan import plan_of

pytestmark = pytest.mark.bench


SHORT = {"Job": 20, "RayCluster": 8, "PyTorchJob": 8, "SparkApplication": 4}, 2, 40, 0.5
WHOLE = {"Job": 500, "RayCluster": 200, "PyTorchJob": 200, "SparkApplication": 100}, 6, 500, 2.0
"""Objects by kind, queues, nodes, and the hours that all queues have demand for, at least."""


@pytest.mark.timeout(3600)
def test_mixed_day_ends_without_a_leak_and_queues_get_their_shares() -> None:
    counts, queues, nodes, hours = WHOLE if os.environ.get("VCRAY_FULL") == "1" else SHORT

    result = run_day(plan_of(counts, queues=queues, nodes=nodes))

    print(result)
    assert result.finished == counts
    assert result.left == {"pods": 0, "podgroups": 0, "cpu": 0}
    assert result.contended_h > hours
    assert max(map(abs, result.share_error.values())) < 0.03


def test_plan_is_the_same_for_the_same_seed_and_refuses_what_it_cannot_make() -> None:
    assert plan_of({"Job": 5}, seed=3) == plan_of({"Job": 5}, seed=3)
    assert plan_of({"Job": 5}, seed=3) != plan_of({"Job": 5}, seed=4)
    with pytest.raises(ValueError, match="a day has no Workflow"):
        plan_of({"Workflow": 1})

"""What the controllers write for a job: a number that a busy machine cannot change much, and no write that changes nothing."""

from __future__ import annotations

import pytest

from vcray.bench.controllers import Sizes, run_controllers

PODS = 4


@pytest.mark.bench
def test_a_job_costs_its_pods_its_group_and_few_statuses() -> None:
    jobs = 6
    result = run_controllers(Sizes(jobs, PODS, 3, patience_s=60.0))

    assert result.completed == jobs
    assert result.unchanged == {}
    assert result.writes["POST pods"] == jobs * PODS
    assert result.writes["POST podgroups"] == jobs
    # each pod may be seen to start and to end by itself, besides the phases of the job
    assert result.writes["PUT jobs/status"] <= jobs * (2 * PODS + 4)
    assert result.cpu_ms_per_job > 0

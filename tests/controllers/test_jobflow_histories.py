"""JobFlows: in any history of their jobs the phases keep to the table and no job is made twice."""

from __future__ import annotations

import random

import pytest

from tests.controllers.flow_world import FlowWorld
from vcray.api.resources import JOBS
from vcray.controllers import raw
from vcray.controllers.base import Outcome, Read
from vcray.controllers.jobflow.lifecycle import TABLE

CHAIN = ("a", ("b", ["a"]))
DIAMOND = ("a", ("b", ["a"]), ("c", ["a"]), ("d", ["b", "c"]))

STEPS: dict[str, tuple[str, ...]] = {
    "": ("Pending",),
    "Pending": ("Running", "Aborted", "Terminated"),
    "Running": ("Completing", "Completed", "Failed", "Restarting", "Terminating"),
    "Restarting": ("Pending", "Failed"),
    "Aborted": ("Restarting",),
    "Completing": ("Completed",),
    "Terminating": ("Terminated",),
    "Completed": (),
    "Failed": (),
    "Terminated": (),
}
GRAPHS = (CHAIN, DIAMOND, ("a", "b", ("c", ["a"]), ("d", ["c", "b"])), ("a", "a", ("b", ["a"])))


@pytest.mark.parametrize("seed", range(60))
def test_any_history_keeps_to_the_table_the_flow_and_one_job_a_name(seed: int) -> None:
    dice = random.Random(seed)
    graph = GRAPHS[seed % len(GRAPHS)]
    needs = {
        f"f-{each if isinstance(each, str) else each[0]}": []
        if isinstance(each, str)
        else [f"f-{t}" for t in each[1]]
        for each in graph
    }
    w = FlowWorld("a", "b", "c", "d")
    w.begin(*graph, policy=dice.choice(["", "retain", "delete"]))
    lossy = dice.random() < 0.5
    w.fail = lambda effect: (
        Outcome(ok=False, status=500, message="slow")
        if lossy and not isinstance(effect, Read) and dice.random() < 0.1
        else None
    )

    for _ in range(80):
        there = set(w.jobs())
        assert there <= set(needs)
        assert all(
            raw.text(w.job(need), "status", "state", "phase") == "Completed"
            for name in there
            for need in needs[name]
        )
        jobs = [job for job in w.list(JOBS) if STEPS[raw.text(job, "status", "state", "phase")]]
        if dice.random() < 0.1 or not jobs:
            w.restart()
            if not jobs:
                break
        else:
            job = dice.choice(jobs)
            steps = STEPS[raw.text(job, "status", "state", "phase")]
            w.now_is(steps[0] if dice.random() < 0.7 else dice.choice(steps), raw.name(job))

    allowed = {(phase.value, then.value) for phase, stage in TABLE.items() for _, then in stage.leaves}
    assert set(zip(w.flow_phases, w.flow_phases[1:], strict=False)) <= allowed
    assert w.flow_phases[:1] in ([], ["Pending"], ["Running"], ["Failed"])
    made = [message for reason, message in w.events if reason == "Created"]
    assert len(made) == len(set(made))

"""Pods that run slow down nobody (volcano-sh/volcano#2583): 3,000 new pods on 200 nodes with and without 8,000 running ones.

Counted are Python calls, which a busy machine does not change; columns of the pods that run are passed over by numpy.
"""

from __future__ import annotations

from collections.abc import Iterator

from tests.bench.calls import calls_during
from tests.builders import node, pod, podgroup, queue
from vcray.actors.policies import policy_from
from vcray.api.meta import JsonObject
from vcray.cache.cluster import ClusterCache
from vcray.cache.store import Event
from vcray.core.session import Carry, decide
from vcray.registry import discover
from vcray.sim.configurations import CONFIGURATIONS

NODES, GANG = 200, 10
SLOWER = 1.05
"""What the reporter wished; beyond 1.15 is a failure."""


def running(pods: int) -> Iterator[JsonObject]:
    """Ready gangs whose statuses say all that is to be said."""
    said = {"type": "Scheduled", "status": "True", "reason": "tasks in gang are ready to be scheduled"}
    for job in range(pods // GANG):
        group = podgroup(f"run-{job}", GANG, phase="Running")
        group["status"] = {"phase": "Running", "running": GANG, "conditions": [said]}
        yield group
        for index in range(GANG):
            place = f"n{(job * GANG + index) % NODES}"
            yield pod(f"run-{job}-{index}", cpu=1, group=f"run-{job}", node=place)


def waiting(jobs: int) -> Iterator[JsonObject]:
    for job in range(jobs):
        yield podgroup(f"new-{job}", GANG, phase="Pending", min_resources={"cpu": GANG})
        for index in range(GANG):
            yield pod(f"new-{job}-{index}", cpu=1, group=f"new-{job}", created=5)


def calls_to_place(jobs: int, beside: int) -> int:
    """Python calls from the first event of the new pods to the last decision, 30 jobs a round."""
    policy, carry, cache = policy_from(CONFIGURATIONS["K0"], discover()), Carry(), ClusterCache()
    there = [queue("default"), *(node(f"n{index}", cpu=64) for index in range(NODES)), *running(beside)]
    cache.apply(Event("ADDED", item["kind"], item) for item in there)
    decide(cache.snapshot(0.0), policy, carry)
    events = [Event("ADDED", item["kind"], item) for item in waiting(jobs)]

    def place() -> int:
        placed = 0
        for start in range(0, len(events), 30 * (GANG + 1)):
            cache.apply(events[start : start + 30 * (GANG + 1)])
            commits = decide(cache.snapshot(float(start)), policy, carry).commits
            cache.merge.assume(commits, float(start))
            placed += sum(len(commit.binds) for commit in commits)
        return placed

    calls, placed = calls_during(place)
    assert placed == jobs * GANG
    return calls


def test_o_074_8000_running_pods_slow_3000_new_ones_by_less_than_a_twentieth():
    assert calls_to_place(300, 8000) < calls_to_place(300, 0) * SLOWER

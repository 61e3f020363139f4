"""Gangs that are alike are refused by the first of them, and nobody can tell."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest

from tests.core import stubs
from tests.core.world import Job, Node, Pod, Queue, equal_pods, snapshot
from vcray.actions.allocate import Allocate
from vcray.config.scheduler import HELM_CONF, load_scheduler_config
from vcray.core.hopeless import Alike
from vcray.core.place import Placer
from vcray.core.policy import Policy, build_policy, policy_of
from vcray.core.session import decide
from vcray.core.snapshot import Snapshot
from vcray.core.space import CPU
from vcray.core.tables import MISSING, Phase, Status
from vcray.core.turn import Turn
from vcray.core.view import View
from vcray.plugins.gang import Gang
from vcray.registry import discover

REAL = build_policy(
    load_scheduler_config(HELM_CONF.replace("enqueue, allocate, backfill", "allocate, backfill, allocate")),
    discover(),
)


def crowded(number: int) -> Snapshot:
    """Few nodes with little room, some of it ending, and many gangs of a few kinds."""
    rng = Random(number)
    nodes = [Node(f"n{row}", cpu=rng.choice([2, 4, 6]), pods=rng.choice([3, 110])) for row in range(3)]
    kinds = [
        {
            "cpu": rng.choice([1, 2, 3]),
            "count": rng.choice([1, 3, 5, 8]),
            "short": rng.choice([0, 0, 0, 1, 2]),
            "role": rng.choice(["", "", "w"]),
            "minimum": rng.choice([0, 0, 1, 3]),
            "priority": rng.choice([0, 0, 5]),
            "queue": rng.choice(["default", "other"]),
            "gated": rng.random() < 0.1,
            "nominated": rng.random() < 0.1,
        }
        for _ in range(rng.choice([1, 2, 3]))
    ]
    jobs = [
        Job("old", [Pod("old-0", cpu=1, status=Status.RELEASING, node="n0")], least=0, phase=Phase.RUNNING)
    ]
    for row in range(rng.randint(12, 30)):
        kind = rng.choice(kinds)
        pods = [
            Pod(
                f"j{row}-{each}",
                cpu=kind["cpu"],
                role=kind["role"],
                index=each,
                gated=kind["gated"] and each == 0,
                nominated="n1" if kind["nominated"] and each == 0 else "",
            )
            for each in range(kind["count"])
        ]
        if rng.random() < 0.1:
            pods[0] = Pod(f"j{row}-0", cpu=1, role=kind["role"], status=Status.RUNNING, node="n2")
        jobs.append(
            Job(
                f"j{row}",
                pods,
                least=max(1, kind["count"] - kind["short"]),
                queue=kind["queue"],
                priority=kind["priority"],
                created=rng.choice([row, 0]),
                roles={kind["role"]: kind["minimum"]} if kind["role"] and kind["minimum"] else {},
            )
        )
    world = snapshot(nodes, jobs, queues=[Queue("default"), Queue("other")])
    capability, named = world.queues.capability.copy(), world.queues.capability_named.copy()
    for queue in range(2):
        if rng.random() < 0.4:
            capability[CPU, queue], named[CPU, queue] = 1000 * rng.choice([2, 3, 5]), True
    return replace(world, queues=replace(world.queues, capability=capability, capability_named=named))


def test_decisions_are_those_of_gangs_that_are_all_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    worlds = [crowded(number) for number in range(120)]
    original, repeated, remember, held = Alike.repeats, [], Placer.remember, []
    monkeypatch.setattr(
        Alike, "repeats", lambda alike, job: original(alike, job) and not repeated.append(job)
    )
    monkeypatch.setattr(
        Placer,
        "remember",
        lambda placer, job, shape, refusal: (
            held.append(refusal.queue != MISSING),
            remember(placer, job, shape, refusal),
        )[1],
    )
    quick = [decide(world, REAL) for world in worlds]
    monkeypatch.setattr(Alike, "repeats", lambda alike, job: False)
    slow = [decide(world, REAL) for world in worlds]
    monkeypatch.setattr(Turn, "known_to_fail", lambda turn: None)
    slowest = [decide(world, REAL) for world in worlds]

    assert quick == slow == slowest
    assert len(repeated) > 100
    assert sum(held) > 20


def waiting_gangs() -> Snapshot:
    return snapshot([Node("n1", 2)], [Job(f"j{row}", equal_pods(f"j{row}", 4, cpu=1)) for row in range(6)])


class Asking(stubs.Gang):
    """Tells which jobs it is asked about; says nothing of `by_counts`."""

    def job_pipelined(self, view: View, job: int) -> stubs.Vote:
        ASKED.append(job)
        return super().job_pipelined(view, job)


ASKED: list[int] = []


def test_a_plugin_that_may_tell_jobs_apart_is_asked_of_each() -> None:
    policy: Policy = policy_of([Allocate({})], [[(Asking, {}), (Gang, {})]])
    ASKED.clear()
    decide(waiting_gangs(), policy)

    assert sorted(set(ASKED)) == list(range(6))


def test_going_by_counts_is_not_inherited() -> None:
    class Stricter(Gang):
        pass

    assert Gang.by_counts
    assert not Stricter.by_counts

"""Caches between rounds change nothing but the work."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tests.core.random_worlds import preferring_snapshot, random_snapshot
from tests.core.world import Job, Node, equal_pods, snapshot
from vcray.config.scheduler import HELM_CONF, load_scheduler_config
from vcray.core.policy import Chains, build_policy
from vcray.core.session import Carry, decide
from vcray.core.snapshot import Snapshot
from vcray.core.view import Shape, View
from vcray.registry import discover

POLICY = build_policy(load_scheduler_config(HELM_CONF), discover())


def cordoned(world: Snapshot) -> Snapshot:
    """The first node takes no more pods."""
    flags = world.nodes.unschedulable.copy()
    flags[0] = True
    return replace(world, nodes=replace(world.nodes, unschedulable=flags))


def test_decisions_are_those_without_a_carry() -> None:
    for seed in range(20):
        carry = Carry()
        for make in (random_snapshot, preferring_snapshot):
            world = make(seed)
            for each in (world, replace(world, generation=2), cordoned(world), world):
                assert decide(each, POLICY, carry) == decide(each, POLICY), (make.__name__, seed)


def test_masks_are_asked_once_while_nodes_stay(monkeypatch) -> None:  # type: ignore[no-untyped-def]
    asked: list[int] = []
    original = Chains.static

    def static(chains: Chains, view: View, shape: Shape) -> np.ndarray:
        asked.append(shape.row)
        return original(chains, view, shape)

    monkeypatch.setattr(Chains, "static", static)
    world, carry = preferring_snapshot(1), Carry()
    counts = []
    for each in (world, replace(world, generation=2), cordoned(world)):
        asked.clear()
        decide(each, POLICY, carry)
        counts.append(len(asked))

    assert counts[0] > 0
    assert counts[1:] == [0, counts[0]]


def stuck(names: str) -> Snapshot:
    """A gang that cannot fit, and one of which one pod is refused for itself."""
    jobs = [Job(name, equal_pods(name, 3, cpu=cpu)) for name, cpu in zip(names, (8, 2), strict=True)]
    return snapshot([Node("n1", 4)], jobs)


def test_what_waits_for_the_same_reason_is_said_by_the_same_object() -> None:
    world, carry = stuck("ab"), Carry()
    first, again = (decide(replace(world, generation=number), POLICY, carry) for number in (1, 2))

    assert again.waiting == first.waiting
    assert all(one is other for one, other in zip(first.waiting, again.waiting, strict=True))


def test_pods_that_came_in_the_rows_of_others_are_named() -> None:
    carry = Carry()
    for names in ("ab", "cd", "ab"):
        assert decide(stuck(names), POLICY, carry).waiting == decide(stuck(names), POLICY).waiting

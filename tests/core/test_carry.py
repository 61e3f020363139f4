"""Caches between rounds change nothing but the work."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tests.core.random_worlds import preferring_snapshot, random_snapshot
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
            for snapshot in (world, replace(world, generation=2), cordoned(world), world):
                assert decide(snapshot, POLICY, carry) == decide(snapshot, POLICY), (make.__name__, seed)


def test_masks_are_asked_once_while_nodes_stay(monkeypatch) -> None:  # type: ignore[no-untyped-def]
    asked: list[int] = []
    original = Chains.static

    def static(chains: Chains, view: View, shape: Shape) -> np.ndarray:
        asked.append(shape.row)
        return original(chains, view, shape)

    monkeypatch.setattr(Chains, "static", static)
    world, carry = preferring_snapshot(1), Carry()
    counts = []
    for snapshot in (world, replace(world, generation=2), cordoned(world)):
        asked.clear()
        decide(snapshot, POLICY, carry)
        counts.append(len(asked))

    assert counts[0] > 0
    assert counts[1:] == [0, counts[0]]

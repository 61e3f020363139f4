"""Evictions on their way: not decided again before the watch shows them, tried again later when the server refuses."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from tests.actors.test_coordinator import Bench
from tests.builders import node, pod, podgroup, queue
from vcray.actors.messages import Execute, Executed, Message, Outcome, Reconfigure
from vcray.actors.refusals import FIRST_WAIT_S
from vcray.api.meta import JsonObject
from vcray.sim.configurations import CONFIGURATIONS

CLASS: JsonObject = {
    "apiVersion": "scheduling.k8s.io/v1",
    "kind": "PriorityClass",
    "metadata": {"name": "high", "uid": "uid-class-high"},
    "value": 100,
}


class Evicting(Bench):
    """A coordinator that may preempt; its binder answers all evictions with `result`."""

    def __init__(self) -> None:
        super().__init__()
        self.result = "evicted"
        self.binder.ask = self._ask  # type: ignore[method-assign]

    async def _ask(self, message: Message) -> Message | None:
        assert isinstance(message, Execute)
        self.binder.told.append(message)
        evictions = tuple(
            Outcome(evict.job, evict.task, evict.uid, self.result) for evict in message.decisions.evictions
        )
        return Executed(message.decisions.generation, (), evictions)

    async def fill(self) -> None:
        """A full node of low pods, and a high one that waits."""
        await self.sync()
        await self.coordinator.receive(Reconfigure(CONFIGURATIONS["KP"]))
        low = [pod(f"low-{i}", group="low", cpu=1, node="n1") for i in range(4)]
        await self.see(queue("default"), node("n1", cpu=4), CLASS, podgroup("low", phase="Running"), *low)
        await self.see(podgroup("high", priority_class="high"), pod("high", group="high", cpu=1))
        await self.advance()

    async def another_round(self, name: str) -> None:
        """Something small changes."""
        await self.see(node(name, cpu="100m"), kind="ADDED")
        await self.advance()


@pytest.fixture
async def bench() -> AsyncIterator[Evicting]:
    made = Evicting()
    await made.coordinator.start()
    yield made
    await made.coordinator.stop()


async def test_a_decided_eviction_is_not_decided_again_before_the_watch_shows_it(bench: Evicting) -> None:
    await bench.fill()

    await bench.another_round("n2")
    await bench.another_round("n3")

    assert len(bench.binder.evictions) == 1


async def test_the_claimant_is_bound_once_the_watch_shows_the_victim_gone(bench: Evicting) -> None:
    await bench.fill()
    name = bench.binder.evictions[0].partition("/")[2]

    await bench.see(pod(name, group="low", cpu=1, node="n1"), kind="DELETED")
    await bench.advance()

    assert bench.binder.binds == [["default/high"]]


async def test_a_refused_eviction_is_tried_again_at_once_and_then_ever_later(bench: Evicting) -> None:
    bench.result = "refused"
    await bench.fill()
    at_once = len(bench.binder.evictions)

    await bench.advance(FIRST_WAIT_S / 2)
    soon = len(bench.binder.evictions)
    await bench.advance(FIRST_WAIT_S)

    assert at_once <= 3
    assert soon <= 3
    assert len(bench.binder.evictions) > soon or len(set(bench.binder.evictions)) > 1


async def test_the_claimant_says_which_node_it_was_promised(bench: Evicting) -> None:
    await bench.fill()

    nominated = [
        condition.nominated
        for message in bench.binder.told
        for condition in message.decisions.conditions
        if condition.task == "default/high"
    ]
    assert "n1" in nominated

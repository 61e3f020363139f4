"""The coordinator: when rounds run, what is sent, what it learns from the binder; in virtual time, with a fake binder."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence

import pytest

from tests.builders import gang, node, pod, queue
from vcray.actors.coordinator import Coordinator
from vcray.actors.messages import (
    Accepted,
    Changed,
    Execute,
    Executed,
    GangLimits,
    Message,
    Outcome,
    Parcel,
    Reconfigure,
    Round,
    RoundDone,
    Synced,
)
from vcray.actors.policies import policy_from
from vcray.actors.runtime import Statistics
from vcray.actors.timekeeping import VirtualTime
from vcray.api.meta import JsonObject, JsonValue
from vcray.cache.merge import Merge
from vcray.cache.shard import CacheShard
from vcray.cache.store import Event
from vcray.core.decisions import Bind, Decisions
from vcray.metrics import Metrics
from vcray.registry import discover

CONF = """\
actions: "allocate, backfill"
tiers:
- plugins:
  - name: gang
  - name: predicates
"""
COALESCE_S = 0.005

Answer = Callable[[Bind], str]


class FakeBinder:
    """Writes down what it is told to execute, and answers as a test says."""

    def __init__(self) -> None:
        self.told: list[Execute] = []
        self.answer: Answer = lambda bind: "bound"
        self.gate = asyncio.Event()
        self.gate.set()

    @property
    def name(self) -> str:
        return "binder"

    async def send(self, message: Message) -> None:
        raise NotImplementedError

    async def ask(self, message: Message) -> Message | None:
        assert isinstance(message, Execute)
        self.told.append(message)
        await self.gate.wait()
        outcomes = tuple(
            Outcome(commit.job, bind.task, bind.uid, self.answer(bind), "no" * (self.answer(bind) != "bound"))
            for commit in message.decisions.commits
            for bind in commit.binds
        )
        return Executed(message.decisions.generation, outcomes)

    def statistics(self) -> Statistics:
        return Statistics("binder", len(self.told), 0, 0, 0)

    @property
    def binds(self) -> list[list[str]]:
        """Pods of each message with bindings."""
        found = [
            [bind.task for commit in each.decisions.commits for bind in commit.binds] for each in self.told
        ]
        return [tasks for tasks in found if tasks]

    @property
    def evictions(self) -> list[str]:
        """Pods that were to be evicted."""
        return [evict.task for each in self.told for evict in each.decisions.evictions]


class Bench:
    """A coordinator with one shard in front of it that turns objects into deltas."""

    def __init__(self, manual: bool = False) -> None:
        self.time = VirtualTime()
        self.metrics = Metrics()
        self.binder = FakeBinder()
        self.registry = discover()
        self.shard = CacheShard(0, ("volcano",))
        self.versions = 0
        self.coordinator = Coordinator(
            Merge(),
            policy_from(CONF, self.registry),
            self.registry,
            self.binder,
            self.time,
            self.metrics,
            {("pods", 0), ("nodes", 0)},
            coalesce_s=COALESCE_S,
            manual=manual,
        )

    async def sync(self) -> None:
        for resource in ("pods", "nodes"):
            await self.coordinator.receive(Synced(resource, 0))

    async def see(self, *objects: JsonObject, kind: str = "MODIFIED") -> None:
        """Tell of objects as the watch would, each with a new resourceVersion."""
        events = []
        for obj in objects:
            self.versions += 1
            metadata = obj["metadata"]
            assert isinstance(metadata, dict)
            fresh: JsonObject = {**obj, "metadata": {**metadata, "resourceVersion": str(self.versions)}}
            events.append(Event(kind, str(obj["kind"]), fresh))
        delta = self.shard.apply(events)
        assert not delta.refused, delta.refused
        await self.coordinator.receive(Changed(Parcel(delta)))

    async def confirm(self, pods: Sequence[JsonObject], names: Sequence[str]) -> None:
        """The watch shows these pods bound to `n1`, not yet running."""
        for each in pods:
            metadata, spec = each["metadata"], each["spec"]
            assert isinstance(metadata, dict)
            assert isinstance(spec, dict)
            if f"default/{metadata['name']}" in names:
                await self.see({**each, "spec": {**spec, "nodeName": "n1"}})

    async def rest(self) -> None:
        for _ in range(40):
            await asyncio.sleep(0)

    async def advance(self, seconds: float = COALESCE_S) -> None:
        await self.rest()
        await self.time.advance(seconds, self.rest)

    def count(self, name: str, **labels: str) -> float:
        return self.metrics.registry.get_sample_value(f"vcray_{name}_total", labels) or 0.0


@pytest.fixture
async def bench() -> AsyncIterator[Bench]:
    made = Bench()
    await made.coordinator.start()
    yield made
    await made.coordinator.stop()


@pytest.fixture
async def manual() -> AsyncIterator[Bench]:
    made = Bench(manual=True)
    await made.coordinator.start()
    yield made
    await made.coordinator.stop()


TRAIN = gang("train", 2, cpu=1)


async def test_no_round_runs_before_every_first_list_is_in(bench: Bench) -> None:
    await bench.see(queue("default"), node("n1", cpu=4), *TRAIN)
    await bench.coordinator.receive(Synced("pods", 0))
    await bench.advance(1)
    assert bench.count("rounds") == 0

    await bench.coordinator.receive(Synced("nodes", 0))
    await bench.advance()

    assert bench.binder.binds == [["default/train-worker-0", "default/train-worker-1"]]


async def test_changes_that_come_together_share_one_round(bench: Bench) -> None:
    await bench.sync()
    await bench.see(queue("default"), node("n1", cpu=64))
    await bench.advance()
    before = bench.count("rounds")

    for index in range(20):
        await bench.see(*gang(f"g{index}", 2, cpu=1))
    await bench.advance()

    assert bench.count("rounds") == before + 1
    assert [len(tasks) for tasks in bench.binder.binds] == [40]


async def test_without_a_change_there_is_no_round(bench: Bench) -> None:
    await bench.sync()
    await bench.see(queue("default"), node("n1"))
    await bench.advance()
    before = bench.count("rounds")

    await bench.advance(3600)

    assert bench.count("rounds") == before


async def test_a_placement_in_flight_is_neither_decided_again_nor_given_away(bench: Bench) -> None:
    bench.binder.gate.clear()
    await bench.sync()
    await bench.see(queue("default"), node("n1", cpu=2), *TRAIN)
    await bench.advance()

    await bench.see(*gang("late", 1, cpu=1))
    await bench.advance()

    assert bench.binder.binds == [["default/train-worker-0", "default/train-worker-1"]]
    bench.binder.gate.set()


async def test_a_round_does_not_wait_for_the_writes_of_an_earlier_one(bench: Bench) -> None:
    bench.binder.gate.clear()
    await bench.sync()
    await bench.see(queue("default"), node("n1", cpu=4), *TRAIN)
    await bench.advance()

    await bench.see(*gang("late", 2, cpu=1))
    await bench.advance()

    assert len(bench.binder.binds) == 2
    bench.binder.gate.set()


async def test_a_commit_goes_out_with_the_minimums_it_was_decided_on(bench: Bench) -> None:
    await bench.sync()
    await bench.see(queue("default"), node("n1", cpu=4), *TRAIN)
    await bench.advance()

    assert bench.binder.told[0].limits == (GangLimits("default/train", 2, {}),)


async def test_a_placement_that_nobody_confirms_expires(bench: Bench) -> None:
    await bench.sync()
    await bench.see(queue("default"), node("n1", cpu=4), *TRAIN)
    await bench.advance()
    assert len(bench.binder.binds) == 1

    await bench.advance(31)
    await bench.see(node("n2", cpu=1))
    await bench.advance()

    assert len(bench.binder.binds) == 2


async def test_a_stale_decision_is_made_anew(bench: Bench) -> None:
    bench.binder.answer = lambda bind: "stale" if len(bench.binder.told) == 1 else "bound"
    await bench.sync()
    await bench.see(queue("default"), node("n1", cpu=4), *TRAIN)
    await bench.advance()
    await bench.advance()

    assert len(bench.binder.binds) == 2
    assert bench.binder.evictions == []


async def test_a_refused_binding_makes_its_gang_suspect_and_it_is_completed(bench: Bench) -> None:
    refused = ["default/train-worker-1"]
    bench.binder.answer = lambda bind: "refused" if bind.task in refused else "bound"
    await bench.sync()
    await bench.see(queue("default"), node("n1", cpu=2), node("n2", cpu=1), *TRAIN)
    await bench.advance()
    refused.clear()

    await bench.confirm(TRAIN[1:], ["default/train-worker-0"])
    await bench.advance()

    assert bench.binder.binds[-1] == ["default/train-worker-1"]
    assert bench.binder.evictions == []
    assert bench.count("recovered_gangs", result="completed") == 1


async def test_a_suspect_gang_that_does_not_fit_any_more_is_taken_back(bench: Bench) -> None:
    bench.binder.answer = lambda bind: "refused" if bind.task.endswith("1") else "bound"
    await bench.sync()
    await bench.see(queue("default"), node("n1", cpu=2), *TRAIN)
    await bench.advance()

    await bench.see(pod("intruder", node="n1", cpu=1, scheduler="default-scheduler"))
    await bench.confirm(TRAIN[1:], ["default/train-worker-0"])
    await bench.advance()

    assert bench.binder.evictions == ["default/train-worker-0"]
    assert bench.count("recovered_gangs", result="evicted") == 1


async def test_a_gang_refused_again_is_taken_back_although_it_would_fit(bench: Bench) -> None:
    bench.binder.answer = lambda bind: "refused" if bind.task.endswith("1") else "bound"
    await bench.sync()
    await bench.see(queue("default"), node("n1", cpu=4), *TRAIN)
    await bench.advance()
    await bench.confirm(TRAIN[1:], ["default/train-worker-0"])
    await bench.advance()
    await bench.advance()

    assert bench.binder.binds[1:] == [["default/train-worker-1"]]
    assert bench.binder.evictions == ["default/train-worker-0"]


async def test_a_pod_that_is_refused_for_good_is_tried_ever_more_seldom(bench: Bench) -> None:
    bench.binder.answer = lambda bind: "refused"
    await bench.sync()
    await bench.see(queue("default"), node("n1", cpu=4), *gang("cursed", 1, cpu=1))

    await bench.advance(0.5)
    assert len(bench.binder.binds) == 3
    await bench.advance(1)
    assert len(bench.binder.binds) == 4
    await bench.advance(60)
    assert 8 <= len(bench.binder.binds) <= 11

    bench.binder.answer = lambda bind: "bound"
    await bench.advance(11)
    before = len(bench.binder.binds)
    await bench.advance(20)
    assert len(bench.binder.binds) == before


async def test_a_gang_with_a_pod_on_its_way_out_is_looked_at_once_it_is_gone(bench: Bench) -> None:
    leaving = {**TRAIN[2], "spec": {**TRAIN[2]["spec"], "nodeName": "n1"}}  # type: ignore[dict-item]
    leaving["metadata"] = {**TRAIN[2]["metadata"], "deletionTimestamp": "2026-01-01T00:00:00Z"}  # type: ignore[dict-item]
    await bench.see(queue("default"), node("n1", cpu=2), *TRAIN[:2], leaving)
    await bench.confirm(TRAIN[1:], ["default/train-worker-0"])
    await bench.sync()
    await bench.advance()
    assert bench.binder.evictions == []

    await bench.see(leaving, kind="DELETED")
    await bench.advance()

    assert bench.binder.evictions == ["default/train-worker-0"]


async def test_a_gang_found_half_bound_at_the_start_is_completed_before_others(bench: Bench) -> None:
    first = [*gang("rival", 1, cpu=1, created=-100), *TRAIN]
    await bench.see(queue("default"), node("n1", cpu=2), *first)
    await bench.confirm(TRAIN[1:], ["default/train-worker-0"])
    await bench.sync()
    await bench.advance()

    assert bench.binder.binds == [["default/train-worker-1"]]


async def test_a_gang_found_half_bound_without_room_is_taken_back_at_the_start(bench: Bench) -> None:
    await bench.see(queue("default"), node("n1", cpu=1), *TRAIN)
    await bench.confirm(TRAIN[1:], ["default/train-worker-0"])
    await bench.sync()
    await bench.advance()

    assert bench.binder.evictions == ["default/train-worker-0"]
    assert bench.binder.binds == []


async def test_a_gang_that_shrinks_later_is_not_suspect(bench: Bench) -> None:
    await bench.sync()
    await bench.see(queue("default"), node("n1", cpu=2), *TRAIN)
    await bench.advance()
    await bench.confirm(TRAIN[1:], ["default/train-worker-0", "default/train-worker-1"])
    await bench.advance()

    await bench.see(TRAIN[2], kind="DELETED")
    await bench.advance()

    assert bench.binder.evictions == []


async def test_a_new_configuration_holds_from_the_next_round(bench: Bench) -> None:
    await bench.coordinator.receive(Reconfigure(CONF.replace("allocate, backfill", "enqueue")))
    await bench.sync()
    await bench.see(queue("default"), node("n1", cpu=4), *TRAIN)
    await bench.advance()
    assert bench.binder.binds == []

    answer = await bench.coordinator.receive(Reconfigure(CONF))
    await bench.advance()

    assert answer == Accepted(True, ())
    assert len(bench.binder.binds) == 1


@pytest.mark.parametrize(
    ("text", "code"),
    [(CONF.replace("allocate", "alocate"), "VC0105"), ("actions: [", "VC0101"), ("", "VC0103")],
    ids=["unknown action", "no YAML", "empty"],
)
async def test_a_configuration_that_cannot_be_used_leaves_the_last_good_one(
    bench: Bench, text: str, code: str
) -> None:
    answer = await bench.coordinator.receive(Reconfigure(text))
    await bench.sync()
    await bench.see(queue("default"), node("n1", cpu=4), *TRAIN)
    await bench.advance()

    assert isinstance(answer, Accepted)
    assert not answer.in_force
    assert [problem.split()[0] for problem in answer.problems] == [code]
    assert bench.count("config_problems", code=code) == 1
    assert len(bench.binder.binds) == 1


async def test_an_unknown_plugin_is_told_and_the_rest_is_in_force(bench: Bench) -> None:
    answer = await bench.coordinator.receive(Reconfigure(CONF.replace("predicates", "predicate")))

    assert isinstance(answer, Accepted)
    assert answer.in_force
    assert answer.problems[0].startswith("VC0107")
    assert "did you mean 'predicates'?" in answer.problems[0]
    assert bench.count("config_problems", code="VC0107") == 1


async def test_a_round_that_faults_is_counted_and_tried_again(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    faults = [ZeroDivisionError()]
    original = Coordinator._decide

    def decide(self: Coordinator, taken_back: frozenset[str]) -> tuple[Decisions, tuple[GangLimits, ...]]:
        if faults:
            raise faults.pop()
        return original(self, taken_back)

    monkeypatch.setattr(Coordinator, "_decide", decide)
    await bench.sync()
    await bench.see(queue("default"), node("n1", cpu=4), *TRAIN)
    await bench.advance()
    assert (bench.count("failed_rounds"), bench.binder.binds) == (1, [])

    await bench.advance(1.01)

    assert len(bench.binder.binds) == 1


async def test_what_was_said_is_not_said_again(bench: Bench) -> None:
    await bench.sync()
    await bench.see(queue("default"), node("n1", cpu=1), *TRAIN)
    await bench.advance()
    first = [len(each.decisions.events) + len(each.decisions.conditions) for each in bench.binder.told]

    await bench.see(node("n1", cpu=1, labels={"new": "label"}))
    await bench.advance()
    later = [len(each.decisions.events) + len(each.decisions.conditions) for each in bench.binder.told]

    assert sum(first) > 0
    assert sum(later) == sum(first)


async def test_the_own_words_that_come_back_cause_no_round(bench: Bench) -> None:
    group = next(each for each in TRAIN if each["kind"] == "PodGroup")
    await bench.sync()
    await bench.see(queue("default"), node("n1", cpu=1), *TRAIN, {**group, "status": {"phase": "Inqueue"}})
    await bench.advance()
    (said,) = [update for each in bench.binder.told for update in each.decisions.groups]
    conditions: list[JsonValue] = [
        {
            "type": condition.type,
            "status": condition.status,
            "reason": condition.reason,
            "message": condition.message,
            "transitionID": condition.transition,
            "lastTransitionTime": condition.since,
        }
        for condition in said.status.conditions
    ]
    status: JsonObject = {"phase": "Inqueue", "conditions": conditions}
    rounds = bench.count("rounds")

    await bench.see({**group, "status": status})
    await bench.advance()
    assert bench.count("rounds") == rounds

    await bench.see({**group, "status": {**status, "running": 1}})
    await bench.advance()
    assert bench.count("rounds") == rounds + 1


async def test_a_change_that_helps_nobody_waits_for_others(bench: Bench) -> None:
    """A cluster where other schedulers place pods too: those that wait here cost nothing when they do."""
    await bench.sync()
    await bench.see(queue("default"), node("n1", cpu=1), node("n2", cpu=8), *gang("wide", 2, cpu=5))
    await bench.advance()
    rounds = bench.count("rounds")

    for index in range(6):
        await bench.see(pod(f"web-{index}", cpu=1, node="n2", scheduler="default-scheduler"))
        await bench.advance()
    assert bench.count("rounds") == rounds

    await bench.advance(5)
    assert bench.count("rounds") == rounds + 1
    messages = {each.message for each in bench.binder.told[-1].decisions.conditions}
    assert any("2 Insufficient cpu." in message for message in messages)

    await bench.see(pod("web-0", cpu=1, node="n2", scheduler="default-scheduler"), kind="DELETED")
    await bench.advance()
    assert bench.count("rounds") == rounds + 2


async def test_a_manual_round_runs_when_asked_changes_or_not_and_waits_for_its_writes(manual: Bench) -> None:
    await manual.sync()
    await manual.see(queue("default"), node("n1", cpu=4), *TRAIN)
    await manual.advance(10)
    assert manual.count("rounds") == 0

    manual.binder.gate.clear()
    asked = asyncio.ensure_future(manual.coordinator.receive(Round()))
    await manual.rest()
    assert not asked.done()
    manual.binder.gate.set()
    answer = await asked

    assert isinstance(answer, RoundDone)
    assert [commit.job for commit in answer.decisions.commits] == ["default/train"]
    again = await manual.coordinator.receive(Round())
    assert isinstance(again, RoundDone)
    assert again.decisions.commits == ()
    assert manual.count("rounds") == 2


async def test_the_coordinator_refuses_messages_that_are_not_its_own(bench: Bench) -> None:
    with pytest.raises(TypeError, match="RoundDone"):
        await bench.coordinator.receive(RoundDone(0, Decisions(0)))

"""The agent's fast path: order, back-off, cures, words; and that rounds and it never give the same room away twice."""

from __future__ import annotations

import asyncio
from random import Random

import pytest

from tests.builders import node, pod, podgroup, queue
from vcray.actors.agent import AgentPath, waits_for_agent_alone
from vcray.actors.coordinator import Coordinator
from vcray.actors.messages import Changed, Execute, Executed, Outcome, Parcel, Synced
from vcray.actors.policies import policy_from
from vcray.actors.timekeeping import VirtualTime
from vcray.cache.cluster import ClusterCache
from vcray.cache.keeps import Keeps
from vcray.cache.merge import Merge
from vcray.cache.shard import CacheShard
from vcray.cache.store import Event
from vcray.config.scheduler import AGENT_CONF, DEFAULT_CONF
from vcray.core.session import decide
from vcray.metrics import Metrics
from vcray.registry import discover

KEEPS = Keeps(agents=frozenset({"agent-scheduler"}))
REGISTRY = discover()


def agent_path():
    return AgentPath(
        policy_from(AGENT_CONF, REGISTRY), policy_from('actions: "backfill"', REGISTRY), Metrics()
    )


def single(name, **given):
    return pod(name, scheduler="agent-scheduler", **given)


class Bench:
    """A cache with the fast path on it."""

    def __init__(self, *objects):
        self.path = agent_path()
        self.shard = CacheShard(0, KEEPS)
        self.merge = Merge()
        self.versions = 0
        self.see(*objects)

    def see(self, *objects, kind="MODIFIED"):
        for item in objects:
            self.versions += 1
            item["metadata"]["resourceVersion"] = str(self.versions)
            delta = self.shard.apply([Event(kind, item["kind"], item)])
            self.path.saw(delta)
            self.merge.apply(delta)

    def turn(self, now=0.0):
        order = self.path.turn(self.merge, now)
        if order is None:
            return {}
        return {bind.task: bind.node for commit in order.decisions.commits for bind in commit.binds}

    def words(self, now=0.0):
        order = self.path.turn(self.merge, now)
        return {} if order is None else {each.task: each.message for each in order.decisions.conditions}


def test_a_pod_is_placed_without_group_and_queue_and_only_once():
    bench = Bench(node("n1"), single("a", cpu=1))

    assert bench.turn() == {"default/a": "n1"}
    assert bench.turn() == {}
    told = bench.path._metrics.registry.get_sample_value
    assert told("volcano_task_scheduling_latency_milliseconds_count", {"stage": "Assumed"}) == 1
    assert told("volcano_worker_scheduling_cycle_duration_milliseconds_count") == 1
    assert told("volcano_update_snapshot_duration_milliseconds_count") == 1


def test_higher_priority_goes_first_then_who_came_first():
    pods = (
        single("late", cpu=1, created=9),
        single("early", cpu=1, created=1),
        single("urgent", cpu=1, created=20, priority=100),
    )
    bench = Bench(node("n1", cpu=2), *pods)

    assert set(bench.turn()) == {"default/urgent", "default/early"}


def test_pods_that_request_nothing_are_placed_too():
    assert Bench(node("n1"), single("a")).turn() == {"default/a": "n1"}


def test_the_words_are_those_of_kube_scheduler():
    bench = Bench(node("n1", cpu=1), node("n2", cpu=1), single("a", cpu=4))

    assert bench.words() == {"default/a": "0/2 nodes are available: 2 Insufficient cpu."}


def test_without_nodes_it_says_so():
    assert Bench(single("a", cpu=4)).words() == {"default/a": "no nodes available to schedule pods"}


def test_room_that_is_being_freed_is_not_promised():
    bench = Bench(node("n1", cpu=4), pod("old", cpu=4, node="n1", deleting=True), single("a", cpu=2))

    assert bench.words() == {"default/a": "0/1 nodes are available: 1 Insufficient cpu."}


def test_a_pod_that_fitted_nowhere_is_not_tried_again_for_nothing():
    bench = Bench(node("n1", cpu=1), single("a", cpu=4))
    bench.turn(0.0)

    assert bench.path.backlog.left_out(200.0) == {"default/a"}
    assert bench.path.backlog.left_out(300.0) == set()


@pytest.mark.parametrize(
    "cure",
    [
        lambda bench: bench.see(node("n2", cpu=8)),
        lambda bench: bench.see(node("n1", cpu=8)),
        lambda bench: bench.see(pod("old", cpu=1, node="n1"), kind="DELETED"),
        lambda bench: bench.see(pod("old", cpu=1, node="n1", phase="Succeeded")),
    ],
)
def test_what_may_help_brings_it_back_after_its_back_off(cure):
    bench = Bench(node("n1", cpu=2), pod("old", cpu=1, node="n1"), single("a", cpu=2))
    bench.turn(0.0)

    cure(bench)

    assert bench.turn(0.5) == {}
    assert set(bench.turn(1.0)) == {"default/a"}


def test_a_pod_elsewhere_helps_only_those_to_whom_pods_matter():
    term = {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"app": "x"}}}
    needs = {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    bench = Bench(node("n1", cpu=2), single("big", cpu=9), single("near", cpu=1, spec={"affinity": needs}))
    assert bench.turn(0.0) == {}

    bench.see(pod("x", cpu=1, node="n1", labels={"app": "x"}))

    assert bench.path.backlog.left_out(5.0) == {"default/big"}
    assert set(bench.turn(5.0)) == {"default/near"}


def test_back_offs_double_up_to_ten_seconds():
    bench = Bench(node("n1", cpu=1), single("a", cpu=4))
    now, pauses = 0.0, []
    for _ in range(6):
        bench.turn(now)
        bench.path.backlog.cure()
        pauses.append(bench.path.backlog.due() - now)
        now = bench.path.backlog.due()

    assert pauses == [1, 2, 4, 8, 10, 10]


def test_a_changed_pod_is_tried_at_once():
    bench = Bench(node("n1", cpu=1), single("a", cpu=4))
    bench.turn(0.0)

    bench.see(single("a", cpu=1))

    assert set(bench.turn(0.1)) == {"default/a"}


def test_a_refused_binding_gives_the_room_back_and_waits_for_its_back_off():
    bench = Bench(node("n1", cpu=4), single("a", cpu=4), single("b", cpu=4, created=5))
    order = bench.path.turn(bench.merge, 0.0)
    (commit,) = order.decisions.commits
    (bind,) = commit.binds

    failed = bench.path.learn([Outcome(commit.job, bind.task, bind.uid, "refused", "no")], 0.0)
    bench.merge.forget(failed)

    assert failed == [bind.uid]
    assert set(bench.turn(0.1)) == set()
    bench.path.backlog.cure()
    assert set(bench.turn(1.5)) == {"default/a"}


def test_only_pods_that_wait_for_it_start_no_round():
    shard = CacheShard(0, KEEPS)
    alone = shard.apply([Event("ADDED", "Pod", single("a", cpu=1))])
    bound = shard.apply([Event("MODIFIED", "Pod", single("a", cpu=1, node="n1"))])
    mixed = shard.apply([Event("ADDED", "Pod", single("b")), Event("ADDED", "Node", node("n1"))])

    assert waits_for_agent_alone(alone)
    assert not waits_for_agent_alone(bound)
    assert not waits_for_agent_alone(mixed)


@pytest.mark.parametrize("seed", range(40))
def test_rounds_and_turns_in_any_order_never_overbook_a_node(seed):
    dice = Random(seed)
    cache = ClusterCache(KEEPS)
    sizes = {f"n{index}": dice.randint(2, 8) for index in range(dice.randint(1, 6))}
    groups = {f"g{index}": dice.randint(1, 5) for index in range(dice.randint(1, 5))}
    objects = [queue("default"), *(node(name, cpu=size) for name, size in sizes.items())]
    objects += [podgroup(name, size) for name, size in groups.items()]
    wants = {}
    for name, size in groups.items():
        for index in range(size):
            wants[f"default/{name}-{index}"] = dice.randint(1, 3)
            objects.append(pod(f"{name}-{index}", group=name, cpu=wants[f"default/{name}-{index}"]))
    for index in range(dice.randint(1, 15)):
        wants[f"default/s{index}"] = dice.randint(1, 3)
        objects.append(single(f"s{index}", cpu=wants[f"default/s{index}"]))
    dice.shuffle(objects)
    path, policy = agent_path(), policy_from(DEFAULT_CONF, REGISTRY)
    used, bound = dict.fromkeys(sizes, 0), set()
    while objects or dice.random() < 0.8:
        batch, objects = objects[:5], objects[5:]
        cache.apply(Event("ADDED", item["kind"], item) for item in batch)
        path.backlog.cure()
        if dice.random() < 0.5:
            order = path.turn(cache.merge, 1e6)
            commits = () if order is None else order.decisions.commits
        else:
            commits = decide(cache.snapshot(0.0), policy).commits
            cache.merge.assume(commits, 0.0)
        for commit in commits:
            for bind in commit.binds:
                assert bind.task not in bound
                bound.add(bind.task)
                used[bind.node] += wants[bind.task]
    assert all(used[name] <= size for name, size in sizes.items())


class Binder:
    """Says that everything was bound."""

    name = "binder"

    def __init__(self):
        self.told = []

    async def send(self, message):
        raise NotImplementedError

    async def ask(self, message):
        assert isinstance(message, Execute)
        self.told.append(message)
        outcomes = tuple(
            Outcome(commit.job, bind.task, bind.uid, "bound")
            for commit in message.decisions.commits
            for bind in commit.binds
        )
        return Executed(message.decisions.generation, outcomes)


async def test_a_single_pod_waits_for_no_coalescing_and_goes_out_by_the_binder_of_the_fast_path():
    rounds, singles, time = Binder(), Binder(), VirtualTime()
    coordinator = Coordinator(
        Merge(), policy_from(DEFAULT_CONF, REGISTRY), REGISTRY, rounds, time, Metrics(), {("nodes", 0)},
        agent=(agent_path(), singles),
    )  # fmt: skip
    shard = CacheShard(0, KEEPS)
    await coordinator.start()
    await coordinator.receive(
        Changed(Parcel(shard.apply([Event("ADDED", "Node", node("n1")), Event("ADDED", "Pod", single("a"))])))
    )
    assert not singles.told

    await coordinator.receive(Synced("nodes", 0))
    for _ in range(10):
        await asyncio.sleep(0)

    (order,) = singles.told
    assert [bind.task for commit in order.decisions.commits for bind in commit.binds] == ["default/a"]
    assert rounds.told == []
    await coordinator.stop()

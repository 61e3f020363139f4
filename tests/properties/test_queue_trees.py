"""What must hold of capacity as a tree, whatever the tree: no level goes over its limit, guarantees stay free and are not taken
back, and nothing depends on the order of rows."""

from __future__ import annotations

from collections import Counter
from functools import cache, cached_property
from random import Random

from tests.builders import GPU, node, pod, podgroup, queue
from tests.properties.permutation import shuffled
from vcray.api.meta import JsonObject
from vcray.cache.cluster import snapshot_of
from vcray.config.scheduler import load_scheduler_config
from vcray.core.decisions import Decisions
from vcray.core.policy import Policy, build_policy
from vcray.core.session import decide
from vcray.core.snapshot import Snapshot
from vcray.registry import discover

COUNT = 100
CONF = """
actions: "enqueue, allocate, {action}, backfill"
tiers:
- plugins:
  - {{name: priority}}
  - {{name: gang, enablePreemptable: false, enableReclaimable: false}}
  - {{name: conformance}}
  - {{name: capacity, enableHierarchy: true, arguments: {{ancestorReclaimLevel: {level}}}}}
- plugins:
  - {{name: drf}}
  - {{name: predicates}}
  - {{name: nodeorder}}
"""
KINDS = ("cpu", GPU)


class Tree:
    """A random tree of queues with groups in its leaves, on two or three nodes."""

    def __init__(self, number: int) -> None:
        self.rng = rng = Random(number)
        self.parent = {"root": ""}
        self.capability: dict[str, dict[str, int]] = {}
        self.guarantee: dict[str, dict[str, int]] = {}
        self.objects: list[JsonObject] = [queue("root")]
        self.held: dict[str, tuple[str, Counter[str]]] = {}
        for d in range(rng.randrange(1, 4)):
            self._queue(f"d{d}", "root")
            for t in range(rng.randrange(1, 4)):
                self._queue(f"d{d}-t{t}", f"d{d}")
        self.leaves = sorted(set(self.parent) - set(self.parent.values()))
        nodes = ["n0", "n1"]
        self.objects += [node(name, cpu=8, gpu=4) for name in nodes]
        room = {name: Counter({"cpu": 8, GPU: 4}) for name in nodes}
        for g in range(rng.randrange(4, 13)):
            self._group(f"g{g}", nodes, room)
        self.level = rng.randrange(3)
        self.action = "gangreclaim" if number % 3 == 2 else "reclaim"

    def _queue(self, name: str, parent: str) -> None:
        rng = self.rng
        self.parent[name] = parent

        def some(chance: float, most: int) -> dict[str, int]:
            return {kind: rng.randrange(1, most) for kind in KINDS if rng.random() < chance}

        self.capability[name] = some(0.5, 10)
        least = {k: v for k, v in some(0.3, 3).items() if v <= self.capability[name].get(k, 99)}
        self.guarantee[name] = least
        self.objects.append(
            queue(
                name, parent=parent, capability=self.capability[name], guarantee=least, deserved=some(0.6, 6)
            )
        )

    def _group(self, name: str, nodes: list[str], room: dict[str, Counter[str]]) -> None:
        rng = self.rng
        of, size = rng.choice(self.leaves), rng.randrange(1, 5)
        cpu, gpu = rng.randrange(1, 4), rng.randrange(3)
        need = Counter({"cpu": cpu, GPU: gpu})
        least = rng.randrange(1, size + 1)
        seats = [rng.choice(nodes) if rng.random() < 0.7 else None for _ in range(size)]
        taken: list[str | None] = []
        for seat in seats:
            fits = seat is not None and all(room[seat][kind] >= need[kind] for kind in KINDS)
            taken.append(seat if fits else None)
            if fits and seat is not None:
                room[seat].subtract(need)
        phase = "Running" if any(taken) else self.rng.choice(["Inqueue", "Pending"])
        self.objects.append(podgroup(name, least, queue=of, phase=phase, min_resources={"cpu": cpu * least}))
        for i, seat in enumerate(taken):
            self.objects.append(pod(f"{name}-{i}", group=name, cpu=cpu, gpu=gpu, node=seat))
            self.held[f"default/{name}-{i}"] = (of, need)

    @cached_property
    def snapshot(self) -> Snapshot:
        return snapshot_of(self.objects, 1_790_000_000.0, 7)

    @cached_property
    def policy(self) -> Policy:
        return build_policy(
            load_scheduler_config(CONF.format(action=self.action, level=self.level)), discover()
        )

    def path(self, name: str) -> list[str]:
        found = []
        while name:
            found.append(name)
            name = self.parent[name]
        return found

    def sums(self, pods: list[str]) -> dict[str, Counter[str]]:
        """What each queue and all below it hold with these pods."""
        found: dict[str, Counter[str]] = {name: Counter() for name in self.parent}
        for name in pods:
            of, need = self.held[name]
            for at in self.path(of):
                found[at].update(need)
        return found

    def on_nodes(self) -> list[str]:
        table = self.snapshot.tasks
        return [name for name, row in zip(table.names, table.node.tolist(), strict=True) if row >= 0]


@cache
def round_of(number: int) -> tuple[Tree, Decisions]:
    made = Tree(number)
    return made, decide(made.snapshot, made.policy)


def bound(decisions: Decisions) -> list[str]:
    return [bind.task for commit in decisions.commits for bind in commit.binds]


def gone(decisions: Decisions) -> set[str]:
    return {evict.task for evict in decisions.evictions}


def test_trees_bind_evict_and_hold_back_often_enough_to_mean_something() -> None:
    rounds = [round_of(number) for number in range(COUNT)]
    assert sum(bool(bound(decisions)) for _, decisions in rounds) > COUNT // 4
    told = Counter(evict.reason for _, decisions in rounds for evict in decisions.evictions)
    assert set(told) == {"reclaim", "gangreclaim"}
    assert min(told.values()) > 10, told
    assert sum(bool(decisions.waiting) for _, decisions in rounds) > COUNT // 4


def test_no_queue_at_any_level_is_brought_over_its_capability() -> None:
    for number in range(COUNT):
        made, decisions = round_of(number)
        before = made.sums(made.on_nodes())
        after = made.sums(made.on_nodes() + bound(decisions))
        for name, limits in made.capability.items():
            for kind, most in limits.items():
                assert after[name][kind] <= max(most, before[name][kind]), (number, name, kind)


def test_what_is_guaranteed_to_a_queue_is_left_to_it_by_its_siblings() -> None:
    for number in range(COUNT):
        made, decisions = round_of(number)
        before = made.sums(made.on_nodes())
        after = made.sums(made.on_nodes() + bound(decisions))
        for name, parent in made.parent.items():
            for kind, most in made.capability.get(parent, {}).items():
                kept = sum(
                    least.get(kind, 0)
                    for other, least in made.guarantee.items()
                    if made.parent[other] == parent and other != name
                )
                assert after[name][kind] <= max(
                    most - kept, made.guarantee[name].get(kind, 0), before[name][kind]
                )


def test_no_queue_is_brought_below_its_guarantee() -> None:
    """A queue for whose own pods something goes may lose more than they need."""
    for number in range(COUNT):
        made, decisions = round_of(number)
        before = made.sums(made.on_nodes())
        after = made.sums(
            [*(name for name in made.on_nodes() if name not in gone(decisions)), *bound(decisions)]
        )
        claims = made.sums([name for name, _ in decisions.pipelined])
        for name in [name for name in made.guarantee if not claims[name]]:
            for kind, least in made.guarantee[name].items():
                assert after[name][kind] >= min(least, before[name][kind]), (number, name, kind)


def test_status_sums_of_a_queue_are_those_of_all_below_it() -> None:
    for number in range(0, COUNT, 5):
        made, decisions = round_of(number)
        here = [name for name in made.on_nodes() if name not in gone(decisions)] + bound(decisions)
        sums = made.sums(here)
        for update in decisions.queues:
            told = dict(update.allocated)
            assert told["cpu"] == 1000 * sums[update.queue]["cpu"], (number, update.queue)
            assert told.get(GPU, 0) == 1000 * sums[update.queue][GPU]


def test_no_decision_depends_on_the_order_of_rows() -> None:
    for number in range(COUNT):
        made, decisions = round_of(number)
        assert decide(shuffled(made.snapshot, Random(number)), made.policy) == decisions, number

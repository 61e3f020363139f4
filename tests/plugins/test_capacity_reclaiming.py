"""Who may be taken back from a queue with stated shares."""

from __future__ import annotations

import random
from collections.abc import Sequence

import numpy as np
import pytest

from tests.builders import GPU, node, pod, podgroup, queue
from tests.plugins.worlds import World
from vcray.core.space import PODS
from vcray.core.victims import Candidates, Claim, ClaimKind
from vcray.plugins.capacity import Capacity

TREE = {"enableHierarchy": True}


def candidates(world: World, groups: Sequence[Sequence[str]]) -> Candidates:
    """Running pods by name, one group a node."""
    tasks = np.array([world.task(name) for group in groups for name in group], dtype=np.int64)
    table, jobs = world.snapshot.tasks, world.snapshot.jobs
    job = table.job[tasks].astype(np.int64)
    request = np.stack([world.view.shapes[int(s)].request for s in table.shape[tasks]], axis=1)
    number = np.array([i for i, group in enumerate(groups) for _ in group], dtype=np.int64)
    return Candidates(
        tasks, number, job, jobs.queue[job].astype(np.int64), table.node[tasks].astype(np.int64), request
    )


def claim(world: World, name: str, kind: ClaimKind = ClaimKind.RECLAIM) -> Claim:
    task = world.task(name)
    job = int(world.snapshot.tasks.job[task])
    return Claim(kind, job, int(world.snapshot.jobs.queue[job]), (task,), world.shape(name).request)


def taken(world: World, plugin: Capacity, by: str, *groups: Sequence[str]) -> set[str]:
    """Names that may go."""
    mask = plugin.reclaimable(world.view, claim(world, by), candidates(world, groups))
    assert mask is not None
    return {name for name, goes in zip([n for g in groups for n in g], mask.tolist(), strict=True) if goes}


def run(name: str, queue: str, node: str = "n1", **request: object) -> list[object]:
    return [
        podgroup(f"g-{name}", 1, queue=queue, phase="Running"),
        pod(name, group=f"g-{name}", node=node, **request),  # type: ignore[arg-type]
    ]


def ask(name: str, queue: str, **request: object) -> list[object]:
    return [podgroup(f"g-{name}", 1, queue=queue), pod(name, group=f"g-{name}", **request)]  # type: ignore[arg-type]


def world_of(*parts: object) -> World:
    return World(node("n1", cpu=64, memory=256, gpu=16), *parts)  # type: ignore[arg-type]


def test_pods_of_a_queue_go_while_it_holds_more_than_it_deserves_and_strangers_to_it_at_once() -> None:
    world = world_of(
        queue("victims", deserved={"cpu": 2}),
        queue("mine", deserved={"cpu": 8}),
        *[run(f"v{i}", "victims", cpu=1, gpu=1) for i in range(4)],
        run("g0", "victims", gpu=1),
        ask("new", "mine", cpu=1, memory=1, gpu=1),
    )
    went = taken(world, world.plugin(Capacity), "new", ["v0", "v1", "v2", "v3", "g0"])
    assert went == {"v0", "v1", "g0"}


def test_each_node_is_a_what_if_of_its_own() -> None:
    world = world_of(
        node("n2", cpu=64),
        queue("victims", deserved={"cpu": 2}),
        queue("mine", deserved={"cpu": 8}),
        *[run(f"v{i}", "victims", cpu=1) for i in range(2)],
        *[run(f"w{i}", "victims", "n2", cpu=1) for i in range(2)],
        ask("new", "mine", cpu=1),
    )
    went = taken(world, world.plugin(Capacity), "new", ["v0", "v1"], ["w0", "w1"])
    assert went == {"v0", "v1", "w0", "w1"}


def test_a_pod_that_holds_nothing_of_what_is_asked_stays() -> None:
    world = world_of(
        queue("victims"),
        queue("mine", deserved={GPU: 2}),
        run("v", "victims", cpu=4),
        ask("new", "mine", gpu=1),
    )
    assert taken(world, world.plugin(Capacity), "new", ["v"]) == set()


def test_a_smaller_pod_than_the_claimant_may_go() -> None:
    world = world_of(
        queue("victims", deserved={"cpu": 4}),
        queue("mine", deserved={"cpu": 4}),
        *[run(f"v{i}", "victims", cpu=1) for i in range(8)],
        ask("new", "mine", cpu=4),
    )
    names = [f"v{i}" for i in range(8)]
    assert taken(world, world.plugin(Capacity), "new", names) == {"v0", "v1", "v2", "v3"}


def test_what_a_queue_does_not_name_in_deserved_protects_nobody_and_accuses_nobody() -> None:
    world = world_of(
        queue("victims", deserved={GPU: 2}),
        queue("mine", deserved={GPU: 2}),
        *[run(f"v{i}", "victims", cpu=1, memory=1, gpu=1) for i in range(4)],
        ask("new", "mine", cpu=1, memory=1, gpu=1),
    )
    plugin = world.plugin(Capacity)
    assert plugin.queue_preemptive(world.view, world.queue("mine"), world.shape("new").request)
    assert taken(world, plugin, "new", ["v0", "v1", "v2", "v3"]) == {"v0", "v1"}


def test_a_scalar_deserved_as_nought_may_be_taken_back() -> None:
    world = world_of(
        queue("victims", deserved={"cpu": 8, GPU: 0}),
        queue("mine", deserved={GPU: 2}),
        run("v", "victims", cpu=1, gpu=1),
        ask("new", "mine", gpu=1),
    )
    assert taken(world, world.plugin(Capacity), "new", ["v"]) == {"v"}


def test_a_guarantee_is_never_broken() -> None:
    world = world_of(
        queue("victims", guarantee={"cpu": 3}),
        queue("mine", deserved={"cpu": 8}),
        *[run(f"v{i}", "victims", cpu=1) for i in range(5)],
        ask("new", "mine", cpu=4),
    )
    assert taken(world, world.plugin(Capacity), "new", [f"v{i}" for i in range(5)]) == {"v0", "v1"}


def test_pods_of_deserved_make_every_pod_count() -> None:
    world = world_of(
        queue("victims", deserved={"pods": 1, "cpu": 1}),
        queue("mine", deserved={GPU: 8}),
        *[run(f"v{i}", "victims", gpu=1) for i in range(2)],
        ask("new", "mine", gpu=2),
    )
    assert taken(world, world.plugin(Capacity), "new", ["v0", "v1"]) == set()


def test_gangs_take_without_a_common_resource_and_within_a_queue_anybody() -> None:
    world = world_of(
        queue("victims"),
        queue("mine", deserved={GPU: 2}),
        run("v", "victims", cpu=4),
        ask("new", "mine", gpu=1),
    )
    plugin, found = world.plugin(Capacity), candidates(world, [["v"]])
    assert plugin.evictable(world.view, claim(world, "new", ClaimKind.GANG_RECLAIM), found) is not None
    for kind in (ClaimKind.GANG_RECLAIM, ClaimKind.GANG_PREEMPT):
        mask = plugin.evictable(world.view, claim(world, "new", kind), found)
        assert mask is not None
        assert mask.tolist() == [True]


def branches(deserved: str) -> World:
    """Departments a and b; a's only team holds more than it deserves, a itself as `deserved` says."""
    return world_of(
        queue("root"),
        queue("a", parent="root", deserved={"cpu": deserved}),
        queue("b", parent="root", deserved={"cpu": 8}),
        queue("a1", parent="a", deserved={"cpu": 1}),
        queue("b1", parent="b", deserved={"cpu": 8}),
        queue("a2", parent="a", deserved={"cpu": 4}),
        *[run(f"v{i}", "a1", cpu=1) for i in range(3)],
        ask("far", "b1", cpu=2),
        ask("near", "a2", cpu=2),
    )


def test_without_a_level_queues_above_are_not_looked_at() -> None:
    world = branches("8")
    assert taken(world, world.plugin(Capacity, TREE), "far", ["v0", "v1", "v2"]) == {"v0", "v1"}


def test_with_a_level_a_queue_above_must_hold_too_much_as_well() -> None:
    levels = {**TREE, "ancestorReclaimLevel": 1}
    below, above = branches("8"), branches("2")
    assert taken(below, below.plugin(Capacity, levels), "far", ["v0", "v1", "v2"]) == set()
    assert taken(above, above.plugin(Capacity, levels), "far", ["v0", "v1", "v2"]) == {"v0"}


def test_with_a_level_a_common_queue_above_is_not_looked_at() -> None:
    world = branches("8")
    levels = {**TREE, "ancestorReclaimLevel": 1}
    assert taken(world, world.plugin(Capacity, levels), "near", ["v0", "v1", "v2"]) == {"v0", "v1"}


def test_with_a_level_neighbours_that_deserve_nothing_leave_each_other_alone() -> None:
    levels = {**TREE, "ancestorReclaimLevel": 1}
    world = world_of(
        queue("root"),
        queue("a", parent="root"),
        queue("a1", parent="a"),
        queue("a2", parent="a"),
        run("v", "a1", cpu=1),
        ask("near", "a2", cpu=1),
    )
    assert taken(world, world.plugin(Capacity, levels), "near", ["v"]) == set()
    assert taken(world, world.plugin(Capacity, TREE), "near", ["v"]) == {"v"}


@pytest.mark.parametrize("level", [0, 1])
def test_what_a_queue_above_is_sure_of_stays_inside_it(level: int) -> None:
    world = world_of(
        queue("root"),
        queue("a", parent="root", guarantee={"cpu": 2}),
        queue("a1", parent="a"),
        queue("a2", parent="a", deserved={"cpu": 8}),
        queue("a3", parent="a"),
        queue("b", parent="root", deserved={"cpu": 8}),
        *[run(f"v{i}", "a1", cpu=1) for i in range(2)],
        *[run(f"w{i}", "a3", cpu=1) for i in range(2)],
        ask("far", "b", cpu=1),
        ask("near", "a2", cpu=1),
    )
    plugin, names = world.plugin(Capacity, {**TREE, "ancestorReclaimLevel": level}), ["v0", "w0", "v1", "w1"]
    gangs = claim(world, "far", ClaimKind.GANG_RECLAIM)
    given = plugin.evictable(world.view, gangs, candidates(world, [names]))

    assert given is not None
    assert given.tolist() == [True, True, False, False]
    assert taken(world, plugin, "far", names) == {"v0", "w0"}
    assert taken(world, plugin, "near", names) == {*names}


def test_victims_near_the_claimants_queue_go_first() -> None:
    world = branches("8")
    plugin = world.plugin(Capacity, TREE)
    row = world.queue
    near = plugin.victim_order(world.view, row("a2"), row("a1"))
    far = plugin.victim_order(world.view, row("b1"), row("a1"))
    assert tuple(near) < tuple(far)
    assert tuple(world.plugin(Capacity).victim_order(world.view, row("a2"), row("a1"))) == ()


# ---- against a walk ----


def walk(world: World, plugin: Capacity, claim: Claim, cand: Candidates, related: bool) -> list[bool]:
    """One candidate after the other, as the rule is told."""
    limits, out = plugin.limits_, []
    held: dict[tuple[int, int], list[int]] = {}
    for i in range(len(cand)):
        queue, request = int(cand.queue[i]), cand.request[:, i].tolist()
        losing = [at for at in plugin.paths_[queue] if at not in plugin.paths_[claim.queue]]
        of = {at: held.setdefault((int(cand.group[i]), at), list(plugin.held_[at])) for at in losing}
        rows = [r for r, amount in enumerate(request) if amount > 0]
        goes = not related or any(r != PODS and claim.request[r] > 0 for r in rows)
        for at, now in of.items():
            sure = limits.guarantee[:, at].tolist()
            goes = goes and all(g == 0 or now[r] - request[r] >= g for r, g in enumerate(sure))
        deserved = limits.deserved[:, queue].tolist()
        immediate = not any(deserved[r] > 0 for r in rows)
        named = [r for r in rows if r != PODS and (deserved[r] > 0 if r < 2 else limits.named[r, queue])]
        goes = goes and (immediate or any(of[queue][r] > deserved[r] for r in named))
        if goes:
            for now in of.values():
                for r in rows:
                    now[r] -= request[r]
        out.append(bool(goes))
    return out


@pytest.mark.parametrize("tree", [False, True], ids=["flat", "tree"])
@pytest.mark.parametrize("seed", range(60))
def test_all_at_once_equals_one_after_the_other(seed: int, tree: bool) -> None:
    rng = random.Random(seed)

    def amounts(chance: float, most: int) -> dict[str, int]:
        return {key: rng.randrange(most) for key in ("cpu", "memory", GPU, "pods") if rng.random() < chance}

    def some_queue(name: str, parents: Sequence[str], most: int) -> object:
        sure = amounts(0.3, most) if rng.random() < 0.5 else None
        above = rng.choice(parents) if tree else None
        return queue(name, parent=above, deserved=amounts(0.5, 5), guarantee=sure)

    sizes = [{"cpu": 1}, {"cpu": 2, "memory": 2}, {"gpu": 1}, {"cpu": 1, "gpu": 2}]
    above = [some_queue("d", ["root"], 9), some_queue("e", ["root", "d"], 6)] if tree else []
    queues = [some_queue(f"q{i}", ["root", "d", "e"], 3) for i in range(3)]
    runs = [
        (f"p{i}", f"q{rng.randrange(3)}", f"n{rng.randrange(2) + 1}", rng.choice(sizes)) for i in range(20)
    ]
    world = world_of(
        node("n2", cpu=64, memory=256, gpu=16),
        *([queue("root")] if tree else []),
        *above,
        *queues,
        queue("mine", parent=rng.choice(["root", "d"]) if tree else None, deserved={"cpu": 99}),
        *[run(name, of, on, **size) for name, of, on, size in runs],
        ask("new", "mine", **rng.choice(sizes)),
    )
    plugin = world.plugin(Capacity, TREE if tree else {})
    groups = [[name for name, _, on, _ in runs if on == f"n{n}"] for n in (1, 2)]
    found = candidates(world, groups)
    for kind, related in ((ClaimKind.RECLAIM, True), (ClaimKind.GANG_RECLAIM, False)):
        asked = claim(world, "new", kind)
        hook = plugin.reclaimable if related else plugin.evictable
        mask = hook(world.view, asked, found)
        assert mask is not None
        assert mask.tolist() == walk(world, plugin, asked, found, related)

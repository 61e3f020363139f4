"""Placement by HyperNodes: what is batched, bounded and pruned decides as the plain rule does, in any order of rows."""

from __future__ import annotations

import random

import numpy as np
import pytest

from tests.core.near_worlds import near_snapshot, random_tree
from tests.core.world import Job, Node, Pod, equal_pods, snapshot
from tests.properties.permutation import shuffled
from vcray.config.scheduler import HELM_CONF, load_scheduler_config
from vcray.core import choose, nearturn, place
from vcray.core.choose import Scope
from vcray.core.decisions import Decisions
from vcray.core.details import Details
from vcray.core.hypernodes import HyperNodeTable
from vcray.core.policy import Policy, build_policy
from vcray.core.session import decide, open_session
from vcray.core.snapshot import Snapshot
from vcray.core.tables import MISSING, Closeness, Status
from vcray.registry import discover


def configured(more: str = "") -> Policy:
    conf = HELM_CONF.replace("enqueue, allocate", "allocate").replace(
        "- name: binpack", f"- name: binpack\n  - name: network-topology-aware{more}"
    )
    return build_policy(load_scheduler_config(conf), discover())


@pytest.fixture(scope="module")
def policy() -> Policy:
    return configured()


def outcome(decisions: Decisions) -> object:
    return decisions.commits, decisions.pipelined


@pytest.mark.parametrize("block", range(3))
def test_batches_pick_what_one_pod_at_a_time_picks(
    block: int, policy: Policy, monkeypatch: pytest.MonkeyPatch
) -> None:
    worlds = [near_snapshot(seed) for seed in range(block * 25, block * 25 + 25)]
    batched = [outcome(decide(world, policy)) for world in worlds]
    original = choose.choose
    monkeypatch.setattr(
        place,
        "choose",
        lambda view, chains, scorers, group, m, *rest: original(view, chains, scorers, group, 1, *rest),
    )
    for seed, (world, expected) in enumerate(zip(worlds, batched, strict=True), start=block * 25):
        assert outcome(decide(world, policy)) == expected, seed


@pytest.mark.parametrize("block", range(2))
def test_bounds_and_pruning_choose_the_hypernode_that_trying_all_would(
    block: int, policy: Policy, monkeypatch: pytest.MonkeyPatch
) -> None:
    worlds = [near_snapshot(seed) for seed in range(block * 50, block * 50 + 50)]
    quick = [outcome(decide(world, policy)) for world in worlds]
    monkeypatch.setattr(nearturn.NearTurn, "_room", lambda *_: None)
    for seed, (world, expected) in enumerate(zip(worlds, quick, strict=True), start=block * 50):
        assert outcome(decide(world, policy)) == expected, seed


@pytest.mark.parametrize("seed", range(60))
def test_the_order_of_rows_changes_nothing(seed: int, policy: Policy) -> None:
    world = near_snapshot(seed)
    assert decide(shuffled(world, random.Random(seed)), policy) == decide(world, policy)


@pytest.mark.parametrize("seed", range(40))
def test_a_round_can_be_repeated_and_leaves_nothing_in_the_tree(seed: int, policy: Policy) -> None:
    world = near_snapshot(seed)
    first = decide(world, policy)
    assert decide(world, policy) == first


@pytest.mark.parametrize("seed", range(60))
def test_what_must_be_near_is_near(seed: int, policy: Policy) -> None:
    """Read off the decisions alone: a hard job, and each hard sub-group, is inside one HyperNode of an allowed tier."""
    world = near_snapshot(seed)
    session = open_session(world, policy)
    for action in policy.actions:
        action.run(session)
    tree, view = session.view.hypernodes, session.view
    for parts in view.subjobs.of_job.values():
        for limit, tasks in [
            (
                parts.limit,
                [t for sub in parts.subjobs if sub.policy < 0 or parts.limit for t in sub.tasks.tolist()],
            ),
            *((sub.limit, sub.tasks.tolist()) for sub in parts.subjobs),
        ]:
            placed = [
                t
                for t in tasks
                if view.status[t] in (Status.BINDING, Status.PIPELINED)
                and not view.shapes[world.tasks.shape[t]].best_effort
            ]
            if limit is None or not placed:
                continue
            assert tree.tier[tree.covering([view.node[t] for t in placed])] <= limit


@pytest.mark.parametrize("seed", range(60, 120))
def test_a_job_starts_with_enough_whole_sub_groups_or_not_at_all(seed: int, policy: Policy) -> None:
    world = near_snapshot(seed)
    session = open_session(world, policy)
    for action in policy.actions:
        action.run(session)
    view, table = session.view, world.tasks
    counts_as_ready = (Status.BINDING, Status.BOUND, Status.RUNNING, Status.SUCCEEDED)

    def ready(task: int) -> bool:
        waits = view.status[task] == Status.PENDING and view.shapes[table.shape[task]].best_effort
        return waits or view.status[task] in counts_as_ready

    for committed in session.ledger.commits:
        job = committed.job
        tasks = view.tasks_of_job[job].tolist()
        assert sum(map(ready, tasks)) >= int(world.jobs.min_available[job])
        for policy_ in world.jobs.subgroups[job]:
            groups: dict[object, list[int]] = {}
            for task in tasks:
                groups.setdefault(world.label_sets[table.labels[task]], []).append(task)
            whole = [group for group in groups.values() if sum(map(ready, group)) >= policy_.size]
            assert len(whole) >= policy_.least


def fitting(world: Snapshot, nodes: list[str], cpu: int) -> int:
    table = world.nodes
    rows = [table.names.index(name) for name in nodes]
    return sum(int((table.allocatable[0, row] - table.used[0, row]) // cpu) for row in rows)


@pytest.mark.parametrize("seed", range(80))
def test_a_hard_gang_goes_to_the_fullest_hypernode_of_the_lowest_tier_that_holds_it(seed: int) -> None:
    """A scalar walk: tiers upwards; of a tier the HyperNode with the largest share in use with the gang, then the first by name."""
    rng = random.Random(seed)
    nodes = [Node(f"n{i}", cpu=rng.choice((2, 4, 6)), mem=999) for i in range(rng.randrange(2, 12))]
    running = [
        Pod(f"r{i}", cpu=rng.choice((1, 2)), status=Status.RUNNING, node=node.name)
        for i, node in enumerate(nodes)
        if rng.random() < 0.5
    ]
    count, cpu = rng.randrange(1, 7), rng.choice((1, 2))
    tree = random_tree(rng, [node.name for node in nodes])
    limit = rng.randrange(1, 4)
    jobs = [
        Job("run", running, least=0),
        Job("near", equal_pods("w", count, cpu=cpu), closeness=Closeness(soft=False, tier=limit)),
    ]
    world = snapshot(nodes, jobs, details=Details(hypernodes=tree))

    def inside(row: int) -> list[str]:
        below = [n for r, parent in enumerate(tree.parents) if parent == row for n in inside(r)]
        return [*tree.members[row], *below]

    total = {node.name: int(node.cpu * 1000) for node in nodes}
    used = {node.name: sum(int(p.cpu * 1000) for p in running if p.node == node.name) for node in nodes}
    best: tuple[int, float, int] | None = None
    for row, tier in enumerate(tree.tiers):
        held = inside(row)
        if tier > limit or fitting(world, held, cpu * 1000) < count:
            continue
        after = (sum(used[n] for n in held) + count * cpu * 1000) / sum(total[n] for n in held)
        best = min(best or (tier, -after, row), (tier, -after, row))
    found = decide(world, configured())
    bound = {bind.node for commit in found.commits for bind in commit.binds}
    if best is None and limit > max(tree.tiers, default=0):
        return
    assert bool(bound) == (best is not None)
    if best is not None:
        assert bound <= set(inside(best[2]))


def test_a_gang_that_fits_nowhere_says_what_the_last_hypernode_lacks() -> None:
    tree = HyperNodeTable(("leaf-0",), (1,), (MISSING,), (("n1", "n2"),))
    job = Job("near", equal_pods("w", 2, cpu=3), closeness=Closeness(soft=False, tier=1))
    nodes = [Node("n1", 4), Node("n2", 2)]
    decisions = decide(snapshot(nodes, [job], details=Details(hypernodes=tree)), configured())
    messages = [condition.message for condition in decisions.conditions]
    assert any(message.startswith("In hyperNode leaf-") for message in messages), messages


def test_a_part_that_no_hypernode_has_room_for_says_so() -> None:
    tree = HyperNodeTable(("h",), (1,), (MISSING,), (("n1",),))
    job = Job("near", equal_pods("w", 3, cpu=2), closeness=Closeness(soft=False, tier=1))
    decisions = decide(snapshot([Node("n1", 2)], [job], details=Details(hypernodes=tree)), configured())
    texts = [condition.message for condition in decisions.conditions]
    assert "no HyperNode up to tier 1 has room for all pods that must be near each other" in texts


def test_jobs_with_a_topology_wait_while_hypernodes_are_no_forest() -> None:
    unfit = HyperNodeTable(problem="HyperNode a is inside itself")
    jobs = [
        Job("near", equal_pods("w", 2, cpu=1), closeness=Closeness(soft=True, tier=None)),
        Job("plain", equal_pods("p", 2, cpu=1)),
    ]
    decisions = decide(snapshot([Node("n1")], jobs, details=Details(hypernodes=unfit)), configured())
    assert [commit.job for commit in decisions.commits] == ["ns/plain"]


def test_a_scope_without_nodes_takes_nothing() -> None:
    world = snapshot([Node("n1")], [Job("j", equal_pods("p", 1, cpu=1))])
    session = open_session(world, configured())
    scope = Scope(session.view.hypernodes.top, np.zeros(0, dtype=np.int64))
    assert session.placer.place(0, session.view.shapes[0], [0], scope) == 0


def test_an_equal_gang_fails_alike_without_a_search(policy: Policy, monkeypatch: pytest.MonkeyPatch) -> None:
    tree = HyperNodeTable(("a", "b"), (1, 1), (MISSING, MISSING), (("n1",), ("n2",)))
    jobs = [
        Job(
            f"j{j}",
            [Pod(f"j{j}-{i}", cpu=1, index=i) for i in range(5)],
            closeness=Closeness(soft=False, tier=1),
        )
        for j in range(6)
    ]
    world = snapshot([Node("n1", 4), Node("n2", 3)], jobs, details=Details(hypernodes=tree))
    searches: list[int] = []
    original = nearturn.NearTurn._search

    def counted(turn: nearturn.NearTurn) -> object:
        searches.append(turn.job)
        return original(turn)

    monkeypatch.setattr(nearturn.NearTurn, "_search", counted)
    quick = decide(world, policy)
    assert len(searches) == 1
    monkeypatch.setattr(nearturn, "signature", lambda *_: None)
    assert decide(world, policy) == quick
    assert len(searches) == 7

"""Volcano's network-topology-aware: which HyperNodes are offered, how they are rated, and which nodes are near."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pytest

from tests.core.world import Job, Node, Pod, equal_pods, snapshot
from vcray.core.arrays import Int
from vcray.core.details import Details
from vcray.core.hypernodes import HyperNodeTable
from vcray.core.parthooks import Purpose
from vcray.core.policy import policy_of
from vcray.core.session import Session, open_session
from vcray.core.subjobs import SubJob
from vcray.core.tables import MISSING, Closeness, Status
from vcray.plugins.network_topology_aware import NetworkTopologyAware, NetworkTopologyAwareArgs
from vcray.plugins.network_topology_aware.packing import Packing

HARD = Closeness(soft=False, tier=1)


def table(
    tree: Mapping[str, tuple[int, Sequence[str]]], tier_names: Mapping[str, int] | None = None
) -> HyperNodeTable:
    """name -> (tier, members); a member that is itself a name of the tree is a child."""
    names = tuple(sorted(tree))
    parents = {child: name for name, (_, members) in tree.items() for child in members if child in tree}
    return HyperNodeTable(
        names=names,
        tiers=tuple(tree[name][0] for name in names),
        parents=tuple(names.index(parents[name]) if name in parents else MISSING for name in names),
        members=tuple(tuple(sorted(set(tree[name][1]) - set(tree))) for name in names),
        tier_names=tuple(sorted((tier_names or {}).items())),
    )


def opened(
    nodes: Sequence[Node],
    jobs: Sequence[Job],
    tree: Mapping[str, tuple[int, Sequence[str]]],
    **arguments: object,
) -> Session:
    policy = policy_of([], [[(NetworkTopologyAware, arguments)]])  # type: ignore[list-item]
    world = snapshot(nodes, jobs, details=Details(hypernodes=table(tree)))
    return open_session(world, policy)


def plugin_of(session: Session) -> NetworkTopologyAware:
    plugin = session.chains.plugins[0][0][0]
    assert isinstance(plugin, NetworkTopologyAware)
    return plugin


def part(session: Session, job: int = 0) -> SubJob:
    return session.view.subjobs.of_job[job].subjobs[0]


def candidates(session: Session) -> Int:
    tree = session.view.hypernodes
    return np.bincount(tree.cell, minlength=len(tree.holders))


def test_a_hypernode_is_rated_by_how_full_the_whole_part_makes_it() -> None:
    running = Job(
        "old",
        [
            Pod("a", cpu=2, status=Status.RUNNING, node="small"),
            Pod("b", cpu=2, status=Status.RUNNING, node="big"),
            Pod("c", cpu=5, status=Status.RUNNING, node="full"),
        ],
    )
    near = Job("near", equal_pods("w", 2, cpu=2), closeness=HARD)
    session = opened(
        [Node("small", 8), Node("big", 16), Node("full", 8)],
        [running, near],
        {"h-small": (1, ["small"]), "h-big": (1, ["big"]), "h-full": (1, ["full"])},
    )
    row = session.view.hypernodes.row
    domains = [row["h-small"], row["h-big"], row["h-full"]]

    scores = plugin_of(session).domain_order(session.view, part(session, 1), domains)

    assert scores.score.tolist() == [75.0, 37.5, 0.0]


def test_ties_between_hypernodes_go_to_where_more_of_the_part_runs() -> None:
    pods = [Pod("w-0", cpu=1, status=Status.RUNNING, node="n1"), *equal_pods("p", 3, cpu=1)]
    near = Job("near", pods, closeness=Closeness(soft=True, tier=None))
    session = opened([Node("n1"), Node("n2")], [near], {"a": (1, ["n1"]), "b": (1, ["n2"])})
    row = session.view.hypernodes.row
    scores = plugin_of(session).domain_order(session.view, part(session), [row["a"], row["b"]])
    assert scores.shared.tolist() == [25.0, 0.0]


def test_a_promised_pod_counts_and_an_evicted_one_does_not() -> None:
    old = Job("old", [Pod("a", cpu=2, status=Status.RUNNING, node="n1")], phase=4)  # type: ignore[arg-type]
    near = Job("near", equal_pods("w", 2, cpu=2), closeness=HARD)
    session = opened([Node("n1", 8)], [old, near], {"h": (1, ["n1"])})
    view, ledger, tree = session.view, session.ledger, session.view.hypernodes

    def rated() -> float:
        scores = plugin_of(session).domain_order(view, part(session, 1), [tree.row["h"]])
        return float(scores.score[0])

    assert rated() == 75.0
    mark = ledger.checkpoint()
    ledger.evict(0)
    assert rated() == 50.0
    ledger.pipeline(1, view.shapes[int(view.snapshot.tasks.shape[1])], [1], [0])
    assert rated() == 75.0
    ledger.rollback(mark)
    assert rated() == 75.0


TIERS = {"s0": (1, ["n1", "n2"]), "s1": (1, ["n3"]), "s2": (1, ["n5"]), "t": (2, ["s0", "s1"])}
NODES = [Node(f"n{i}", 8) for i in (1, 2, 3, 4, 5)]


def nearness(session: Session, running: str) -> dict[str, float]:
    view = session.view
    score = plugin_of(session).cell_scores(view, view.shapes[0], part(session), view.hypernodes.row[running])
    assert score is not None
    points = score.points(candidates(session))
    return {
        name: float(points[view.hypernodes.cell[row]]) for row, name in enumerate(view.snapshot.nodes.names)
    }


def test_a_node_is_rated_by_the_tier_of_the_lowest_common_hypernode() -> None:
    near = Job("near", equal_pods("w", 4, cpu=1), closeness=Closeness(soft=True, tier=None))
    session = opened(NODES, [near], TIERS)
    assert nearness(session, "s1") == {"n1": 50.0, "n2": 50.0, "n3": 100.0, "n4": 0.0, "n5": 0.0}


def test_nodes_that_share_the_best_get_the_share_of_the_part_in_their_leaf() -> None:
    pods = [
        *(Pod(f"r-{i}", cpu=1, status=Status.RUNNING, node="n1") for i in range(2)),
        *equal_pods("p", 2, cpu=1),
    ]
    near = Job("near", pods, closeness=Closeness(soft=True, tier=None))
    session = opened(NODES, [near], TIERS)
    assert nearness(session, "s0") == {"n1": 150.0, "n2": 150.0, "n3": 50.0, "n4": 0.0, "n5": 0.0}


def test_the_first_pod_of_a_part_is_near_nothing() -> None:
    session = opened(NODES, [Job("near", equal_pods("w", 2, cpu=1), closeness=HARD)], TIERS)
    view = session.view
    assert plugin_of(session).cell_scores(view, view.shapes[0], part(session), MISSING) is None


def packed(session: Session) -> dict[str, float]:
    view = session.view
    score = plugin_of(session).cell_scores(view, view.shapes[-1], None, MISSING)
    assert isinstance(score, Packing)
    points = score.points(candidates(session)) + score.common
    return {
        name: float(points[view.hypernodes.cell[row]]) for row, name in enumerate(view.snapshot.nodes.names)
    }


def test_pods_without_a_topology_pack_hypernodes_wide_tiers_counting_less() -> None:
    old = Job(
        "old",
        [
            Pod("a", cpu=2, mem=1, status=Status.RUNNING, node="in"),
            Pod("b", cpu=2, mem=1, status=Status.RUNNING, node="out"),
        ],
    )
    session = opened([Node("in", 8), Node("out", 8)], [old, Job("j", [Pod("p", cpu=2)])], {"h": (1, ["in"])})
    scores = packed(session)
    assert scores["in"] == pytest.approx(100 * (0.5 + 0.8 * 0.375) / 1.8)
    assert scores["out"] == pytest.approx(100 * (1 + 0.8 * 0.375) / 1.8)


def test_pods_without_a_topology_are_left_alone_when_the_switch_is_off() -> None:
    session = opened(
        [Node("n1")],
        [Job("j", [Pod("p", cpu=2)])],
        {"h": (1, ["n1"])},
        **{"hypernode.binpack.normal-pod.enable": False},
    )
    view = session.view
    assert plugin_of(session).cell_scores(view, view.shapes[0], None, MISSING) is None


def test_packing_follows_assumed_pods_as_if_they_were_placed() -> None:
    session = opened(NODES, [Job("j", equal_pods("p", 3, cpu=2))], TIERS)
    view, tree = session.view, session.view.hypernodes
    score = plugin_of(session).cell_scores(view, view.shapes[0], None, MISSING)
    assert score is not None
    for node in (0, 2):
        score.take(int(tree.cell[node]))
    session.ledger.place(0, view.shapes[0], [0, 1], [0, 2])
    live = plugin_of(session).cell_scores(view, view.shapes[0], None, MISSING)
    assert live is not None
    assert live.points(candidates(session)).tolist() == score.points(candidates(session)).tolist()


def groups(session: Session, purpose: Purpose = Purpose.ALLOCATE, job: int = 0) -> list[list[str]]:
    view = session.view
    found = plugin_of(session).domains(view, view.subjobs.of_job[job], view.hypernodes.top, purpose)
    return [[view.hypernodes.names[row] for row in group] for group in found]


def test_hypernodes_are_offered_by_tier_up_to_the_limit_of_the_job() -> None:
    job = Job("near", equal_pods("w", 2, cpu=1), closeness=Closeness(soft=False, tier=2))
    assert groups(opened(NODES, [job], TIERS)) == [["s0", "s1", "s2"], ["t"]]


def test_a_hypernode_without_room_for_the_minimum_is_not_offered() -> None:
    job = Job(
        "near",
        equal_pods("w", 2, cpu=1),
        closeness=Closeness(soft=False, tier=2),
        min_resources={"cpu": 16_000},
    )
    assert groups(opened(NODES, [job], TIERS)) == [["s0"], ["t"]]


def test_a_job_without_a_known_tier_may_go_anywhere() -> None:
    job = Job("near", equal_pods("w", 2, cpu=1), closeness=Closeness(soft=False, tier=None, tier_name="rack"))
    assert groups(opened(NODES, [job], TIERS)) == [["<cluster-top-hypernode>"]]


@pytest.mark.parametrize(
    ("node", "tier", "expected"),
    [("n1", 1, [["s0"]]), ("n1", 2, [["s0", "s1"], ["t"]]), ("n4", 2, [])],
    ids=["its own leaf", "around it", "already too wide"],
)
def test_a_job_that_runs_already_is_offered_what_is_around_it(
    node: str, tier: int, expected: list[list[str]]
) -> None:
    pods = [Pod("r", cpu=8, status=Status.RUNNING, node=node), Pod("p", cpu=8)]
    job = Job("near", pods, closeness=Closeness(soft=False, tier=tier), min_resources={"cpu": 99_000})
    assert groups(opened(NODES, [job], TIERS)) == expected


def test_claims_are_offered_few_hypernodes_the_widest_first() -> None:
    job = Job("near", equal_pods("w", 2, cpu=1), closeness=Closeness(soft=False, tier=2))
    session = opened(NODES, [job], TIERS, **{"hypernode.gradient.evict.max-hypernodes": 3})
    assert groups(session, Purpose.EVICT) == [["t"], ["s1", "s2"]]


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({}, (1, 0.8, 8)),
        (
            {
                "weight": -2,
                "hypernode.binpack.normal-pod.fading": -0.1,
                "hypernode.gradient.evict.max-hypernodes": 0,
            },
            (1, 0.8, 8),
        ),
        (
            {
                "weight": 3,
                "hypernode.binpack.normal-pod.fading": 1,
                "hypernode.gradient.evict.max-hypernodes": 2,
            },
            (3, 1.0, 2),
        ),
        ({"weight": "3", "hypernode.binpack.normal-pod.fading": "1"}, (1, 0.8, 8)),
    ],
    ids=["defaults", "negative", "given", "wrong types"],
)
def test_arguments_are_read_with_volcanos_tolerance(
    given: dict[str, object], expected: tuple[int, float, int]
) -> None:
    args, _ = NetworkTopologyAwareArgs.read(given, "here")  # type: ignore[arg-type]
    assert (args.weight, args.fading, args.domains) == expected


def test_listed_resources_count_with_their_weights() -> None:
    job = Job("near", equal_pods("w", 1, cpu=2, gpu=2), closeness=HARD)
    session = opened(
        [Node("n1", 8, gpu=4)],
        [job],
        {"h": (1, ["n1"])},
        **{"hypernode.binpack.resources": "nvidia.com/gpu", "hypernode.binpack.resources.nvidia.com/gpu": 3},
    )
    scores = plugin_of(session).domain_order(session.view, part(session), [session.view.hypernodes.row["h"]])
    assert scores.score.tolist() == [100 * (0.25 * 1 + 0.5 * 3) / 4]

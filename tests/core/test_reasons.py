"""Sentences of pods and groups that do not fit."""

from __future__ import annotations

from tests.core.random_worlds import random_snapshot
from tests.core.world import Job, Node, Pod, equal_pods, snapshot
from vcray.config.scheduler import HELM_CONF, load_scheduler_config
from vcray.core.policy import build_policy
from vcray.core.reasons import fit_error, group_sentence, origin_sentence
from vcray.core.session import decide, open_session
from vcray.core.tables import Status, Taint
from vcray.registry import discover

POLICY = build_policy(load_scheduler_config(HELM_CONF), discover())


def why(nodes: list[Node], pod: Pod) -> str:
    session = open_session(snapshot(nodes, [Job("j", [pod])]), POLICY)
    return session.placer.explain(0, session.view.shapes[0])


def test_counts_are_sorted_as_strings() -> None:
    assert fit_error(12, {"b": 2, "a": 10}) == "0/12 nodes are unavailable: 10 a, 2 b."


def test_without_nodes_there_is_no_reason() -> None:
    assert why([], Pod("p", cpu=1)) == "0/0 nodes are unavailable"


def test_a_short_node_names_its_first_short_resource() -> None:
    nodes = [Node("a", cpu=1, mem=1), Node("b", cpu=4, mem=1), Node("c", cpu=4, mem=16)]

    assert why(nodes, Pod("p", cpu=2, mem=2, gpu=1)) == (
        "0/3 nodes are unavailable: 1 Insufficient cpu, 1 Insufficient memory, 1 Insufficient nvidia.com/gpu."
    )


def test_a_node_without_a_free_slot_is_short_of_pods() -> None:
    assert why([Node("a", pods=0)], Pod("p", cpu=1)) == "0/1 nodes are unavailable: 1 Insufficient pods."


def test_room_is_looked_at_before_rules() -> None:
    tainted = Taint("gpu", "yes", "NoSchedule")
    nodes = [Node("a", cpu=1, taints=(tainted,)), Node("b", taints=(tainted,)), Node("c", cordoned=True)]

    assert why(nodes, Pod("p", cpu=2)) == (
        "0/3 nodes are unavailable: 1 Insufficient cpu, 1 node(s) had untolerated taint(s), "
        "1 node(s) were unschedulable."
    )


def test_a_hold_speaks_for_all_nodes() -> None:
    pod = Pod("p", cpu=99, spec={"hold": 'persistentvolumeclaim "c" not found'})

    assert why([Node("a"), Node("b")], pod) == (
        '0/2 nodes are unavailable: 2 persistentvolumeclaim "c" not found.'
    )


def test_a_groups_sentence_has_all_its_parts() -> None:
    counts = {Status.PENDING: 2, Status.RUNNING: 1, Status.FAILED: 0}

    assert group_sentence(False, counts, 3, {"Unschedulable": 1, "Schedulable": 1}) == (
        "pod group is not ready, 1 Running, 2 Pending, 3 minAvailable; Pending: 1 Schedulable, 1 Unschedulable"
    )
    assert origin_sentence(("p", "0/0 nodes")) == ". Origin reason is p: 0/0 nodes"
    assert group_sentence(True, {Status.RUNNING: 1}, 1, {"Unschedulable": 0}) == (
        "pod group is ready, 1 Running, 1 minAvailable"
    )
    assert origin_sentence(None) == ""


def test_every_refusal_has_a_reason() -> None:
    for seed in range(60):
        for condition in decide(random_snapshot(seed), POLICY).conditions:
            assert "without a reason" not in condition.message, seed


def test_texts_do_not_change_while_nothing_changes() -> None:
    world = snapshot([Node("a", cpu=1), Node("b", cpu=2)], [Job("j", equal_pods("j", 4, cpu=1))])

    assert decide(world, POLICY) == decide(world, POLICY)

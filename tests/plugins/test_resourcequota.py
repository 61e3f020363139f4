"""The gate of namespaces' quotas."""

from __future__ import annotations

from collections.abc import Mapping

from tests.builders import node, pod, podgroup
from tests.plugins.worlds import World
from vcray.api.meta import JsonObject
from vcray.core.hooks import Answer, Vote
from vcray.plugins.resourcequota import Resourcequota


def quota(
    name: str, hard: Mapping[str, str], used: Mapping[str, str] | None = None, namespace: str = "default"
) -> JsonObject:
    return {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": name, "namespace": namespace, "uid": f"uid-{name}"},
        "spec": {"hard": dict(hard)},
        "status": {"hard": dict(hard), "used": dict(used or {})},
    }


def asking(name: str, **amounts: str) -> JsonObject:
    return podgroup(
        name, 4, phase="Pending", min_resources={key.replace("_", "."): v for key, v in amounts.items()}
    )


def answer(world: World, name: str = "new") -> Answer:
    return world.plugin(Resourcequota).job_enqueueable(world.view, world.job(name))


def test_a_group_is_let_in_as_long_as_its_minimum_fits_all_quotas() -> None:
    fits = World(
        node("n1"),
        quota("a", {"cpu": "4"}, {"cpu": "1"}),
        quota("b", {"memory": "1Gi"}),
        asking("new", cpu="3"),
    )
    assert answer(fits).vote is Vote.PERMIT
    over = World(
        node("n1"),
        quota("a", {"cpu": "9"}),
        quota("b", {"cpu": "4"}, {"cpu": "1500m"}),
        asking("new", cpu="3"),
    )
    assert answer(over) == Answer(
        Vote.REJECT, "resource quota insufficient, requested: cpu=3, used: cpu=1500m, limited: cpu=4"
    )


def test_the_sentence_names_what_is_exceeded_alone() -> None:
    bounds = {"cpu": "4", "memory": "1Gi", "pods": "10", "requests.memory": "1Gi"}
    minimum = {"cpu": "1", "memory": "2Gi", "requests_memory": "2Gi"}
    assert answer(World(node("n1"), quota("a", bounds), asking("new", **minimum))).message == (
        "resource quota insufficient, requested: memory=2Gi,requests.memory=2Gi, "
        "used: memory=0,requests.memory=0, limited: memory=1Gi,requests.memory=1Gi"
    )


def test_names_are_compared_as_they_are_written() -> None:
    plain = World(node("n1"), quota("a", {"requests.cpu": "1"}), asking("new", cpu="3"))
    assert answer(plain).vote is Vote.PERMIT
    same = World(node("n1"), quota("a", {"requests.cpu": "1"}), asking("new", requests_cpu="3"))
    assert answer(same).vote is Vote.REJECT


def test_other_namespaces_and_groups_without_a_minimum_are_let_in() -> None:
    world = World(node("n1"), quota("a", {"cpu": "1"}, namespace="other"), asking("new", cpu="3"))
    assert answer(world).vote is Vote.PERMIT
    bare = World(node("n1"), quota("a", {"cpu": "0"}), podgroup("new", 1, phase="Pending"))
    assert answer(bare).vote is Vote.PERMIT


def test_a_quota_that_nobody_has_counted_yet_bounds_nothing() -> None:
    fresh = quota("a", {"cpu": "1"})
    del fresh["status"]
    assert answer(World(node("n1"), fresh, asking("new", cpu="3"))).vote is Vote.PERMIT


def test_a_group_that_was_let_in_holds_its_minimum_at_once() -> None:
    world = World(node("n1"), quota("a", {"cpu": "4"}), asking("first", cpu="4"), asking("new", cpu="4"))
    plugin = world.plugin(Resourcequota)
    plugin.job_enqueued(world.view, world.job("first"))
    assert plugin.job_enqueueable(world.view, world.job("new")).vote is Vote.REJECT


def let_in(pods: int, used: str, ended: int = 0) -> World:
    """A gang of four that holds one cpu each, let in earlier, with some of its pods; a quota of 5 and a group that asks for 2."""
    return World(
        node("n1", cpu=16),
        quota("a", {"cpu": "5"}, {"cpu": used}),
        podgroup("old", 4, phase="Running", min_resources={"cpu": "4"}),
        [
            pod(f"old-{i}", group="old", cpu=1, node="n1", phase="Succeeded" if i < ended else "Running")
            for i in range(pods)
        ],
        asking("new", cpu="2"),
    )


def test_what_a_group_has_not_created_yet_counts_beside_what_the_quota_has() -> None:
    assert answer(let_in(pods=4, used="4")).vote is Vote.REJECT
    assert answer(let_in(pods=2, used="2")).vote is Vote.REJECT
    assert answer(let_in(pods=0, used="0")).vote is Vote.REJECT


def test_a_quota_that_lags_behind_is_not_believed() -> None:
    assert answer(let_in(pods=4, used="0")).vote is Vote.REJECT


def test_pods_that_have_ended_count_no_more() -> None:
    assert answer(let_in(pods=4, used="3", ended=1)).vote is Vote.PERMIT

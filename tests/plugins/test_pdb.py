"""pdb: no eviction takes more than the PodDisruptionBudgets allow, whoever asks and however often."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pytest

from tests.builders import node, pod, podgroup
from tests.plugins.claims import chosen, claim_of
from tests.plugins.worlds import World
from vcray.api.meta import JsonObject, JsonValue
from vcray.core.victims import ClaimKind
from vcray.plugins.pdb import Pdb


def budget(
    name: str,
    allowed: int,
    selector: JsonValue = None,
    *,
    namespace: str = "default",
    disrupted: Sequence[str] = (),
    **status: JsonValue,
) -> JsonObject:
    """A PodDisruptionBudget as its controller counted it; it selects app: web unless said otherwise."""
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": name, "namespace": namespace, "uid": f"uid-pdb-{name}"},
        "spec": {"selector": {"matchLabels": {"app": "web"}} if selector is None else selector},
        "status": {
            "disruptionsAllowed": allowed,
            "disruptedPods": dict.fromkeys(disrupted, "2026-01-01T00:00:00Z"),
            **status,
        },
    }


def running(
    names: Sequence[str], labels: Mapping[str, str] | None = None, on: str = "n1"
) -> list[JsonObject]:
    return [
        pod(name, group="old", node=on, cpu=1, labels={"app": "web"} if labels is None else labels)
        for name in names
    ]


def world_of(*objects: JsonObject | list[JsonObject]) -> World:
    """Node n1, the group old of the running pods, and a pod new that claims."""
    return World(
        node("n1"),
        node("n2"),
        podgroup("old", 0),
        podgroup("new", 1),
        pod("new", group="new", cpu=1),
        *objects,
    )


def victims(world: World, *groups: Sequence[str], kind: ClaimKind = ClaimKind.PREEMPT) -> list[str] | None:
    plugin = world.plugin(Pdb)
    hooks = {
        ClaimKind.PREEMPT: plugin.preemptable,
        ClaimKind.RECLAIM: plugin.reclaimable,
        ClaimKind.GANG_PREEMPT: plugin.evictable,
        ClaimKind.GANG_RECLAIM: plugin.evictable,
    }
    return chosen(world, hooks[kind], claim_of(world, "new", kind), *groups)


@pytest.mark.parametrize("kind", list(ClaimKind))
def test_no_more_pods_than_a_budget_allows_in_the_order_given(kind: ClaimKind) -> None:
    world = world_of(running("abcd"), budget("web", 2))
    assert victims(world, "cabd", kind=kind) == ["c", "a"]


def test_each_node_is_a_what_if_of_its_own() -> None:
    world = world_of(running("ab"), running("cd", on="n2"), budget("web", 1))
    assert victims(world, "ab", "cd") == ["a", "c"]


def test_a_pod_uses_up_every_budget_that_selects_it_even_where_another_refuses_it() -> None:
    world = world_of(
        running("ab"),
        running("c", {"app": "api"}),
        budget("web", 0),
        budget("all", 1, {"matchExpressions": [{"key": "app", "operator": "Exists"}]}),
    )
    assert victims(world, "abc") == [], "a, kept by web, used up the one disruption of all"
    assert victims(world, "cab") == ["c"]


def test_pods_that_no_budget_selects_are_free_and_pods_without_labels_are_not() -> None:
    world = world_of(running("ab", {"app": "api"}), running("c", {}), budget("web", 0))
    assert victims(world, "abc") == ["a", "b"]
    assert victims(world_of(running("a"), running("c", {})), "ac") == ["a"]


def test_a_selector_that_is_absent_selects_nobody_and_an_empty_one_all() -> None:
    absent = budget("web", 0)
    del absent["spec"]["selector"]  # type: ignore[union-attr]
    assert victims(world_of(running("ab"), absent), "ab") == ["a", "b"]
    assert victims(world_of(running("ab"), budget("all", 1, {})), "ab") == ["a"]


def test_a_budget_counts_for_its_own_namespace() -> None:
    assert victims(world_of(running("ab"), budget("web", 0, namespace="other")), "ab") == ["a", "b"]


def test_pods_that_are_counted_as_disrupted_already_cost_nothing() -> None:
    assert victims(world_of(running("abc"), budget("web", 1, disrupted=["a"])), "abc") == ["a", "b"]


def test_evictions_of_this_session_are_charged_until_they_are_undone() -> None:
    world = world_of(running("abc"), budget("web", 2))
    mark = world.ledger.checkpoint()
    world.ledger.evict(world.task("a"))
    assert victims(world, "bc") == ["b"]
    world.ledger.rollback(mark)
    assert victims(world, "bc") == ["b", "c"]


def test_a_stale_count_takes_no_more_than_what_runs_beyond_the_minimum() -> None:
    """The controller still counts three healthy pods; one of them is on its way out already."""
    leaving = pod("c", group="old", node="n1", cpu=1, labels={"app": "web"}, deleting=True)
    stale = budget("web", 1, desiredHealthy=2, expectedPods=3)
    assert victims(world_of(running("ab"), leaving, stale), "ab") == []
    foreign = budget("web", 1, desiredHealthy=2, expectedPods=9)
    assert victims(world_of(running("ab"), leaving, foreign), "ab") == [], (
        "most pods are not ours: c costs one"
    )
    assert victims(world_of(running("ab"), foreign), "ab") == ["a"]


def test_of_the_pods_that_others_name_those_of_least_priority_go() -> None:
    low = [
        pod(name, group="old", node="n1", labels={"app": "web"}, priority=p)
        for name, p in (("x", 5), ("b", 1))
    ]
    world = world_of(low, running("a"), budget("web", 2))
    plugin = world.plugin(Pdb)
    rows = np.array([world.task(name) for name in "xab"])
    assert plugin.victim_tasks(world.view, rows).tolist() == [False, True, True]


def test_it_vetoes_from_any_tier() -> None:
    assert Pdb.vetoes

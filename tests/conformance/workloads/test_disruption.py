"""Disruption budgets, by kube-controller-manager and by the embedded cluster's controllers."""

from __future__ import annotations

from typing import Any

import pytest

from tests.conformance.harness.client import ApiError
from tests.conformance.workloads.playground import Object, Playground, template

LABELS = {"app": "web"}


def budget(play: Playground, **spec: Any) -> None:
    play.create("poddisruptionbudgets", "web", {"selector": {"matchLabels": LABELS}, **spec})


def deploy(play: Playground, replicas: int) -> None:
    spec = {"replicas": replicas, "selector": {"matchLabels": LABELS}, "template": template(labels=LABELS)}
    play.create("deployments", "web", spec)
    play.wait_status("deployments", "web", availableReplicas=replicas)


def figures(play: Playground) -> tuple[int, ...]:
    status = play.get("poddisruptionbudgets", "web").get("status") or {}
    names = ("expectedPods", "desiredHealthy", "currentHealthy", "disruptionsAllowed")
    return tuple(status.get(name, -1) for name in names)


def evict(play: Playground, name: str) -> None:
    body: Object = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name}}
    play.client.create(play.path("pods", name, "eviction"), body)


@pytest.mark.parametrize(
    ("spec", "wanted"),
    [
        ({"minAvailable": 2}, (3, 2, 3, 1)),
        ({"minAvailable": "50%"}, (3, 2, 3, 1)),
        ({"maxUnavailable": 1}, (3, 2, 3, 1)),
        ({"maxUnavailable": "50%"}, (3, 1, 3, 2)),
        ({"minAvailable": 5}, (3, 5, 3, 0)),
    ],
)
def test_budget_counts_what_may_go(play: Playground, spec: Object, wanted: tuple[int, ...]) -> None:
    deploy(play, 3)
    budget(play, **spec)

    play.wait(lambda: figures(play) == wanted, f"{wanted}")

    condition = play.condition("poddisruptionbudgets", "web", "DisruptionAllowed")
    expected = ("True", "SufficientPods") if wanted[-1] else ("False", "InsufficientPods")
    assert (condition["status"], condition["reason"]) == expected


def test_eviction_is_refused_once_the_budget_is_spent(play: Playground) -> None:
    budget(play, minAvailable=2)
    for name in ("a", "b", "c"):
        body: Object = {"metadata": {"name": name, "labels": LABELS}, "spec": template()["spec"]}
        play.client.create(play.path("pods"), play.typed("pods", body))
    play.wait(lambda: figures(play) == (3, 2, 3, 1), "three healthy pods")

    evict(play, "a")

    play.wait(lambda: figures(play)[3] == 0, "a spent budget")
    with pytest.raises(ApiError) as refused:
        evict(play, "b")
    assert refused.value.code == 429
    play.wait(lambda: not play.exists("pods", "a"), "the evicted pod to go")
    assert play.exists("pods", "b")

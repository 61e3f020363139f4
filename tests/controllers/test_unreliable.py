"""Nodes whose failures break gangs."""

from __future__ import annotations

from datetime import UTC, datetime

from tests.controllers.world import World
from vcray.api.meta import JsonObject, JsonValue
from vcray.api.names import BROKE_GANGS, GROUP_NAME, UNRELIABLE
from vcray.api.resources import NODES, PODGROUPS, PODS
from vcray.controllers import raw
from vcray.controllers.base import Outcome, Patch
from vcray.controllers.unreliable import UnreliableNodeController

OTHER: JsonObject = {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}


def world(least: int = 2, phase: str = "Running", on: tuple[str, ...] = ("n1", "n2")) -> World:
    """A gang `g` with a pod on each of some nodes; n1 and n2 are Ready."""
    w = World([UnreliableNodeController()])
    w.put(
        PODGROUPS,
        {
            "metadata": {"name": "g", "namespace": "ns"},
            "spec": {"minMember": least},
            "status": {"phase": phase},
        },
    )
    for row, node in enumerate(on):
        metadata: JsonObject = {"name": f"p{row}", "namespace": "ns", "annotations": {GROUP_NAME: "g"}}
        w.put(PODS, {"metadata": metadata, "spec": {"nodeName": node}, "status": {"phase": "Running"}})
    ready(w, True)
    return w


def ready(w: World, is_ready: bool, taints: list[JsonValue] | None = None) -> None:
    """n1 becomes Ready, or not, at the present time."""
    at = datetime.fromtimestamp(w.now, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    known = w.objects.get((NODES, "", "n1"), {})
    kept = raw.at(known, "spec", "taints")
    condition: JsonObject = {"type": "Ready", "status": str(is_ready), "lastTransitionTime": at}
    notes: JsonObject = {**raw.annotations_of(known)}
    w.put(
        NODES,
        {
            "metadata": {"name": "n1", "annotations": notes},
            "spec": {"taints": kept if taints is None else taints},
            "status": {"conditions": [condition]},
        },
    )
    w.settle()


def outage(w: World, minutes: int = 10) -> None:
    ready(w, False)
    w.advance(60 * minutes)
    ready(w, True)


def times(w: World) -> int:
    return len([each for each in raw.annotation(w.objects[NODES, "", "n1"], BROKE_GANGS).split(",") if each])


def taints(w: World) -> list[str]:
    return [raw.text(each, "key") for each in raw.tables(w.objects[NODES, "", "n1"], "spec", "taints")]


def test_a_node_that_broke_gangs_three_times_in_an_hour_takes_no_more_until_it_is_cleared() -> None:
    w = world()
    ready(w, True, [OTHER])

    outage(w)
    outage(w)
    assert (times(w), taints(w)) == (2, [OTHER["key"]])
    outage(w)
    assert (times(w), taints(w)) == (3, [OTHER["key"], UNRELIABLE])
    assert [reason for reason, _ in w.events] == ["BrokeGangs"]
    assert "ns/g" in w.events[0][1]

    ready(w, True, [])
    assert (times(w), taints(w)) == (0, [])
    outage(w)
    assert (times(w), taints(w)) == (1, [])


def test_what_is_longer_ago_than_an_hour_counts_no_more() -> None:
    w = world()

    for _ in range(4):
        outage(w, 31)

    assert (times(w), taints(w)) == (2, [])


def test_only_gangs_that_had_started_and_cannot_go_on_count() -> None:
    for w in (world(phase="Inqueue"), world(least=1), world(on=("n2", "n2")), world(least=0)):
        outage(w)
        assert (times(w), w.effects) == (0, [])


def test_an_outage_that_is_seen_twice_counts_once_and_a_conflict_is_tried_again() -> None:
    w = world()
    w.fail = lambda effect: Outcome(False, status=409, reason="Conflict") if not w.errors else None
    ready(w, False)
    w.advance(1)
    assert (times(w), w.errors) == (1, ["mark node n1: Conflict"])
    again = World([UnreliableNodeController()], now=w.now, objects=dict(w.objects))
    again.put(NODES, w.objects[NODES, "", "n1"])
    del again.objects[NODES, "", "n1"]
    again.put(NODES, w.objects[NODES, "", "n1"])

    again.settle()

    assert times(again) == 1
    assert again.did(Patch) == []

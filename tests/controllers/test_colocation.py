"""Annotations that tell pods of the memory rules of their namespace."""

from __future__ import annotations

import pytest

from tests.controllers.world import World
from vcray.api.meta import JsonObject, JsonValue
from vcray.api.resources import COLOCATIONCONFIGURATIONS, PODS
from vcray.controllers import raw
from vcray.controllers.base import Outcome, Patch
from vcray.controllers.colocation import ColocationController

NAME, RULES = "volcano.sh/colocation-config-name", "volcano.sh/colocation-config"
EVERY: JsonObject = {}
QOS: JsonObject = {"highRatio": 80, "lowRatio": 0, "minRatio": 10}


def world() -> World:
    return World([ColocationController()])


def pod(
    w: World, name: str = "p", namespace: str = "ns", notes: JsonObject | None = None, **labels: str
) -> None:
    metadata: JsonObject = {"name": name, "namespace": namespace, "labels": dict(labels)}
    if notes is not None:
        metadata["annotations"] = notes
    w.put(PODS, {"metadata": metadata})
    w.settle()


def rules(
    w: World,
    name: str,
    selector: JsonValue,
    made: str = "2027-01-01T00:00:00Z",
    namespace: str = "ns",
    qos: JsonObject | None = QOS,
) -> None:
    spec: JsonObject = {"selector": selector} if selector is not None else {}
    if qos is not None:
        spec["memoryQos"] = qos
    metadata: JsonObject = {"name": name, "namespace": namespace, "creationTimestamp": made}
    w.put(COLOCATIONCONFIGURATIONS, {"metadata": metadata, "spec": spec})
    w.settle()


def labels(**wanted: str) -> JsonObject:
    return {"matchLabels": dict(wanted)}


def notes(w: World, name: str = "p", namespace: str = "ns") -> dict[str, str]:
    return raw.annotations_of(w.objects[PODS, namespace, name])


def test_a_pod_is_told_a_second_after_it_appeared() -> None:
    w = world()
    rules(w, "c", labels(app="web"))
    pod(w, app="web", notes={"mine": "kept"})
    assert notes(w) == {"mine": "kept"}

    w.advance(1)

    assert notes(w) == {
        "mine": "kept",
        NAME: "c",
        RULES: '{"memoryQos":{"highRatio":80,"minRatio":10}}',
    }


@pytest.mark.parametrize(
    ("qos", "text"),
    [
        ({"highRatio": 100, "lowRatio": 0, "minRatio": 0}, '{"memoryQos":{"highRatio":100}}'),
        ({"highRatio": 0, "lowRatio": 0, "minRatio": 0}, '{"memoryQos":{}}'),
        (None, "{}"),
    ],
)
def test_rules_are_written_as_go_writes_them(qos: JsonObject | None, text: str) -> None:
    w = world()
    pod(w)
    rules(w, "c", EVERY, qos=qos)

    w.advance(1)

    assert notes(w) == {NAME: "c", RULES: text}


def test_the_newest_configuration_that_selects_a_pod_counts() -> None:
    w = world()
    rules(w, "old", EVERY, "2027-01-01T00:00:00Z")
    rules(w, "b", EVERY, "2027-01-02T00:00:00Z")
    rules(w, "a", EVERY, "2027-01-02T00:00:00Z")
    rules(w, "newest", labels(app="other"), "2027-01-03T00:00:00Z")
    pod(w)

    w.advance(1)

    assert notes(w)[NAME] == "a"


def test_configurations_of_other_namespaces_count_nothing() -> None:
    w = world()
    rules(w, "c", EVERY, namespace="other")
    pod(w)
    pod(w, namespace="other")

    w.advance(1)

    assert (notes(w), notes(w, namespace="other")[NAME]) == ({}, "c")


@pytest.mark.parametrize(
    "selector",
    [
        None,
        labels(app="other"),
        {"matchExpressions": [{"key": "app", "operator": "NotIn", "values": []}]},
        {"matchExpressions": [{"key": "app", "operator": "Exists", "values": ["web"]}]},
        {"matchExpressions": [{"key": "app", "operator": "Like", "values": ["web"]}]},
        {"matchExpressions": [{"key": "a b", "operator": "DoesNotExist"}]},
        labels(app="web", **{"not/a/key": "x"}),
        {"matchExpressions": [{"key": "app", "operator": "NotIn", "values": ["a b"]}]},
        {"matchLabels": {"app": 1}},
    ],
)
def test_no_selector_and_one_that_kubernetes_refuses_select_nothing(selector: JsonValue) -> None:
    w = world()
    rules(w, "sound", labels(app="web"), "2026-01-01T00:00:00Z")
    rules(w, "c", selector)
    pod(w, app="web")

    w.advance(1)

    assert notes(w)[NAME] == "sound"


def test_expressions_select() -> None:
    w = world()
    rules(w, "c", {"matchExpressions": [{"key": "tier", "operator": "DoesNotExist"}]})
    pod(w, "p")
    pod(w, "q", tier="x")

    w.advance(1)

    assert (notes(w, "p")[NAME], notes(w, "q")) == ("c", {})


def test_a_pod_that_is_labelled_otherwise_gets_other_rules_or_loses_them() -> None:
    w = world()
    rules(w, "web", labels(app="web"))
    rules(w, "db", labels(app="db"), qos={"highRatio": 50})
    pod(w, app="web")
    w.advance(1)

    w.change(PODS, "ns", "p", metadata__labels={"app": "db"})
    w.settle()
    w.advance(1)
    assert notes(w) == {NAME: "db", RULES: '{"memoryQos":{"highRatio":50}}'}

    w.change(PODS, "ns", "p", metadata__labels={})
    w.settle()
    w.advance(1)
    assert notes(w) == {RULES: "{}"}


def test_a_configuration_that_comes_changes_or_goes_reaches_the_pods_it_selects() -> None:
    w = world()
    pod(w, "p", app="web")
    pod(w, "q", app="db")
    w.advance(1)
    assert w.did(Patch) == []

    rules(w, "c", labels(app="web"))
    w.advance(1)
    assert (notes(w, "p")[NAME], notes(w, "q")) == ("c", {})

    w.change(COLOCATIONCONFIGURATIONS, "ns", "c", spec={"selector": labels(app="db"), "memoryQos": QOS})
    w.settle()
    w.advance(1)
    assert (notes(w, "p"), notes(w, "q")[NAME]) == ({RULES: "{}"}, "c")

    w.change(COLOCATIONCONFIGURATIONS, "ns", "c", spec__memoryQos={"highRatio": 1})
    w.settle()
    w.advance(1)
    assert notes(w, "q")[RULES] == '{"memoryQos":{"highRatio":1}}'

    w.remove(COLOCATIONCONFIGURATIONS, "ns", "c")
    w.settle()
    w.advance(1)
    assert notes(w, "q") == {RULES: "{}"}
    assert len(w.did(Patch)) == 5


def test_what_says_nothing_new_writes_nothing() -> None:
    w = world()
    rules(w, "c", EVERY)
    pod(w, notes={NAME: "c", RULES: '{"memoryQos": {"minRatio": 10, "highRatio": 80, "lowRatio": 0}}'})
    pod(w, "reset", "other", notes={RULES: "{}"})
    w.advance(1)

    w.change(COLOCATIONCONFIGURATIONS, "ns", "c", status__conditions=[])
    w.change(PODS, "ns", "p", status__phase="Running")
    w.settle()
    w.advance(1)

    assert w.did(Patch) == []


@pytest.mark.parametrize("text", ["", "x", "[]", '{"memoryQos":{"highRatio":1}}'])
def test_rules_that_somebody_wrote_over_are_written_again_when_the_pod_is_seen(text: str) -> None:
    w = world()
    rules(w, "c", EVERY)
    pod(w, notes={NAME: "c", RULES: text})

    w.advance(1)

    assert notes(w)[RULES] == '{"memoryQos":{"highRatio":80,"minRatio":10}}'


def test_a_configuration_that_went_while_nobody_looked_is_taken_back_at_the_start() -> None:
    w = world()
    pod(w, notes={NAME: "c", RULES: '{"memoryQos":{}}'})

    w.advance(1)

    assert notes(w) == {RULES: "{}"}


def test_many_changes_within_a_second_are_one_write() -> None:
    w = world()
    pod(w, app="web")
    for ratio in range(5):
        rules(w, "c", EVERY, qos={"highRatio": ratio})
    assert len(w.waiting) == 1

    w.advance(1)

    assert len(w.did(Patch)) == 1
    assert notes(w)[RULES] == '{"memoryQos":{"highRatio":4}}'


def test_a_write_that_is_refused_is_tried_again_and_one_for_a_pod_that_is_gone_is_not() -> None:
    w = world()
    rules(w, "c", EVERY)
    pod(w)
    pod(w, "gone")
    w.fail = lambda effect: Outcome(False, status=500, message="no")
    w.remove(PODS, "ns", "gone")
    w.advance(1)
    assert w.errors == ["annotate Pod ns/p: no"]

    w.fail = lambda effect: Outcome(False, status=404, reason="NotFound")
    w.advance(1)
    assert len(w.errors) == 1
    assert w.waiting == []


def test_a_pod_of_the_same_name_is_another_one() -> None:
    w = world()
    rules(w, "c", EVERY)
    pod(w)
    w.advance(1)

    w.put(PODS, {"metadata": {"name": "p", "namespace": "ns", "uid": "other"}})
    w.settle()
    w.advance(1)

    assert notes(w)[NAME] == "c"

"""What the cluster says beside pods and nodes: claims, priorities, default spread."""

from __future__ import annotations

from tests.builders import (
    claim,
    namespace,
    node,
    pod,
    podgroup,
    priority_class,
    replica_set,
    service,
    storage_class,
)
from vcray.api.meta import JsonObject
from vcray.cache.cluster import ClusterCache, snapshot_of
from vcray.cache.store import Event
from vcray.core.snapshot import SelectorSpec, Snapshot


def _hold(*objects: JsonObject) -> str:
    (shape,) = snapshot_of([podgroup("g"), pod("a", group="g", claims=["data"]), *objects]).shapes
    return shape.hold


def test_a_missing_claim_holds_the_pod() -> None:
    assert _hold() == 'persistentvolumeclaim "data" not found'


def test_an_unbound_claim_holds_the_pod() -> None:
    assert _hold(claim("data", phase="Pending")) == "pod has unbound immediate PersistentVolumeClaims"


def test_a_claim_that_waits_for_its_first_consumer_is_a_matter_of_nodes() -> None:
    unbound = claim("data", phase="Pending", storage_class="slow")
    assert not _hold(storage_class("slow", waits=True), unbound)
    assert (
        _hold(storage_class("slow", waits=False), unbound)
        == "pod has unbound immediate PersistentVolumeClaims"
    )
    assert _hold(unbound) == "pod has unbound immediate PersistentVolumeClaims"


def test_a_lost_claim_holds_the_pod() -> None:
    assert (
        _hold(claim("data", phase="Lost"))
        == 'persistentvolumeclaim "data" bound to non-existent persistentvolume ""'
    )


def test_a_bound_claim_lets_the_pod_go_as_soon_as_it_is_seen() -> None:
    cache = ClusterCache()
    cache.apply(
        Event("ADDED", str(item["kind"]), item)
        for item in (podgroup("g"), pod("a", group="g", claims=["data"]))
    )
    assert cache.snapshot().shapes[0].hold
    cache.apply([Event("ADDED", "PersistentVolumeClaim", claim("data"))])
    assert not cache.snapshot().shapes[0].hold


def test_job_priority_is_the_class_then_the_default_then_zero() -> None:
    def priorities(*objects: JsonObject) -> list[int]:
        found: list[int] = snapshot_of(
            [podgroup("a", priority_class="high"), podgroup("b"), *objects]
        ).jobs.priority.tolist()
        return found

    assert priorities() == [0, 0]
    assert priorities(priority_class("high", 9)) == [9, 0]
    assert priorities(priority_class("high", 9), priority_class("base", 4, default=True)) == [9, 4]


def _spread(*objects: JsonObject, labels: dict[str, str]) -> Snapshot:
    return snapshot_of(
        [node("n1"), podgroup("g"), pod("a", group="g", labels=labels, owner=("ReplicaSet", "rs")), *objects]
    )


def test_pods_of_a_service_or_replica_set_get_the_default_constraints() -> None:
    labels = {"app": "web", "tier": "front"}
    plain = _spread(labels=labels)
    assert plain.shapes[0].spread == ()
    both = _spread(service("s", {"app": "web"}), replica_set("rs", {"tier": "front"}), labels=labels)
    assert [(term.key, term.max_skew, term.hard, term.system) for term in both.shapes[0].spread] == [
        ("kubernetes.io/hostname", 3, False, True),
        ("topology.kubernetes.io/zone", 5, False, True),
    ]
    (selector,) = both.selectors
    assert isinstance(selector, SelectorSpec)
    assert [item.key for item in selector.requirements] == ["app", "tier"]
    assert selector.living


def test_a_service_of_another_namespace_or_label_adds_nothing() -> None:
    for other in (service("s", {"app": "web"}, namespace="other"), service("s", {"app": "db"})):
        assert _spread(other, labels={"app": "web"}).shapes[0].spread == ()


def test_namespace_selectors_become_names_and_follow_labels() -> None:
    term: JsonObject = {
        "topologyKey": "zone",
        "labelSelector": {},
        "namespaceSelector": {"matchLabels": {"team": "a"}},
    }
    rules: JsonObject = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    cache = ClusterCache()
    objects = (
        podgroup("g"),
        pod("a", group="g", spec={"affinity": rules}),
        namespace("x", labels={"team": "a"}),
    )
    cache.apply(Event("ADDED", str(item["kind"]), item) for item in objects)
    assert [item.namespaces for item in cache.snapshot().selectors] == [("x",)]
    cache.apply([Event("ADDED", "Namespace", namespace("y", labels={"team": "a"}))])
    assert ("x", "y") in [item.namespaces for item in cache.snapshot().selectors]

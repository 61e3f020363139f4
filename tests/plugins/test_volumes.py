"""Volumes in predicates: where bound ones let a pod go, which free one it gets, where one could be made; one claim a volume."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from tests.builders import (
    bound,
    claim,
    csi_node,
    node,
    pod,
    podgroup,
    storage_class,
    volume,
)
from tests.plugins.worlds import World
from vcray.actions.allocate import Allocate
from vcray.api.meta import JsonObject
from vcray.core.check import check_plugin
from vcray.core.decisions import Decisions, Preparation
from vcray.core.policy import policy_of
from vcray.core.session import decide
from vcray.plugins.gang import Gang
from vcray.plugins.predicates import Predicates, PredicatesArgs

ZONE = "topology.kubernetes.io/zone"
DISK = "example.com/disk"
POLICY = policy_of([Allocate({})], [[(Gang, {}), (Predicates, {})]])
HAND_MADE = storage_class("local", waits=True, provisioner="kubernetes.io/no-provisioner")
NODES = [node("n1", cpu=8), node("n2", cpu=8)]


def unbound(name: str, storage: str = "local", **facts: object) -> JsonObject:
    return claim(name, phase="Pending", storage_class=storage, **facts)  # type: ignore[arg-type]


def users(group: str, *claims: str, least: int | None = None) -> list[JsonObject]:
    """A group of pods, each with one of the claims."""
    pods = [pod(f"{group}-{name}", group=group, cpu=1, claims=[name]) for name in claims]
    return [podgroup(group, len(claims) if least is None else least), *pods]


def decided(*objects: JsonObject | list[JsonObject]) -> Decisions:
    return decide(World(*objects).snapshot, POLICY)


def places(decisions: Decisions) -> dict[str, str]:
    return {bind.task.partition("/")[2]: bind.node for commit in decisions.commits for bind in commit.binds}


def before(decisions: Decisions, name: str) -> Preparation | None:
    return next(
        bind.before for commit in decisions.commits for bind in commit.binds if bind.task == f"default/{name}"
    )


def reasons(world: World, name: str, arguments: Mapping[str, object] | None = None) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for reject in world.plugin(Predicates, arguments).why(world.view, world.shape(name)):
        for where, yes in world.by_node(reject.where).items():
            if yes:
                found.setdefault(where, set()).add(reject.reason)
    return found


# ---- bound ----


def test_a_bound_claim_confines_its_pod_to_nodes_that_reach_the_volume() -> None:
    objects = [*NODES, *bound("data", node="n2"), *users("g", "data")]
    assert places(decided(objects)) == {"g-data": "n2"}
    assert reasons(World(objects), "g-data") == {
        "n1": {"node(s) didn't match PersistentVolume's node affinity"}
    }


def test_a_bound_pod_needs_no_preparation() -> None:
    assert before(decided(NODES, bound("data"), users("g", "data")), "g-data") is None


def test_a_volume_that_is_not_there_holds_its_own_pod_alone() -> None:
    objects = [*NODES, claim("data"), *users("g", "data"), podgroup("h", 1), pod("h-0", group="h", cpu=1)]
    assert list(places(decided(objects))) == ["h-0"]
    assert reasons(World(objects), "g-data")["n1"] == {'persistentvolume "pv-data" not found'}


def test_zone_labels_of_a_volume_count_on_nodes_that_have_any() -> None:
    zoned = volume("pv-data", claim="data", labels={ZONE: "a__b"})
    near, far, bare = node("near", labels={ZONE: "b"}), node("far", labels={ZONE: "c"}), node("bare")
    world = World([near, far, bare, claim("data"), zoned, *users("g", "data")])
    assert reasons(world, "g-data") == {"far": {"node(s) had no available volume zone"}}
    assert reasons(world, "g-data", {"predicate.VolumeZoneEnable": False}) == {}


def test_a_beta_zone_label_is_met_by_the_newer_label_of_a_node() -> None:
    zoned = volume("pv-data", claim="data", labels={"failure-domain.beta.kubernetes.io/zone": "a"})
    world = World([node("n1", labels={ZONE: "a"}), claim("data"), zoned, *users("g", "data")])
    assert reasons(world, "g-data") == {}


def test_a_claim_for_one_pod_is_refused_to_a_second_and_eviction_could_help() -> None:
    single = claim("data", modes=["ReadWriteOncePod"])
    holder = [podgroup("h", 1), pod("h-0", group="h", cpu=1, node="n1", claims=["data"])]
    world = World([*NODES, single, volume("pv-data", claim="data"), *holder, *users("g", "data")])
    rejects = list(world.plugin(Predicates).why(world.view, world.shape("g-data")))
    (hit,) = [reject for reject in rejects if reject.where.any()]
    assert "ReadWriteOncePod access mode already in-use by another pod" in hit.reason
    assert hit.where.all()
    assert hit.curable


def test_two_pods_of_a_session_do_not_share_a_claim_for_one_pod() -> None:
    single = claim("data", modes=["ReadWriteOncePod"])
    pods = [pod(f"g-{i}", group="g", cpu=1, claims=["data"]) for i in range(2)]
    assert len(places(decided(NODES, single, volume("pv-data", claim="data"), podgroup("g", 1), pods))) == 1


# ---- waiting for the first consumer: volumes that exist ----


def test_the_smallest_volume_that_fits_is_taken() -> None:
    volumes = [volume(name, size=size, storage_class="local", node="n1") for name, size in SIZES.items()]
    decisions = decided(NODES, HAND_MADE, unbound("data", size="5Gi"), volumes, users("g", "data"))
    assert places(decisions) == {"g-data": "n1"}
    prepared = before(decisions, "g-data")
    assert prepared is not None
    assert prepared.volumes == (("default/data", "uid-persistentvolumeclaim-default-data", "middle"),)
    assert prepared.timeout_s == 600


SIZES = {"large": "50Gi", "middle": "10Gi", "small": "1Gi"}


def test_class_mode_access_selector_and_phase_must_match() -> None:
    wanted = unbound("data", spec={"selector": {"matchLabels": {"disk": "fast"}}})
    good = {"storage_class": "local", "labels": {"disk": "fast"}}
    wrong = [
        volume("class", storage_class="other", labels={"disk": "fast"}),
        volume("access", modes=["ReadOnlyMany"], **good),  # type: ignore[arg-type]
        volume("label", storage_class="local", labels={"disk": "slow"}),
        volume("mode", spec={"volumeMode": "Block"}, **good),  # type: ignore[arg-type]
        volume("taken", claim="somebody", **good),  # type: ignore[arg-type]
        volume("pending", **good) | {"status": {"phase": "Pending"}},  # type: ignore[arg-type]
    ]
    objects = [*NODES, HAND_MADE, wanted, *wrong, *users("g", "data")]
    assert places(decided(objects)) == {}
    sentence = "node(s) didn't find available persistent volumes to bind"
    assert reasons(World(objects), "g-data") == {"n1": {sentence}, "n2": {sentence}}
    right = volume("right", size="100Gi", **good)  # type: ignore[arg-type]
    assert places(decided(objects, right))


def test_one_volume_goes_to_one_claim_of_a_session() -> None:
    objects = [*NODES, HAND_MADE, unbound("a"), unbound("b"), volume("pv", storage_class="local", node="n1")]
    assert len(places(decided(objects, users("g", "a", "b", least=1)))) == 1
    assert places(decided(objects, users("g", "a", "b"))) == {}


def test_two_gangs_do_not_get_one_volume() -> None:
    objects = [*NODES, HAND_MADE, unbound("a"), unbound("b"), volume("pv", storage_class="local", node="n1")]
    assert len(places(decided(objects, users("g", "a"), users("h", "b")))) == 1


def test_a_gang_that_fails_gives_its_volumes_back() -> None:
    objects = [
        *NODES,
        HAND_MADE,
        unbound("a"),
        unbound("b"),
        unbound("c"),
        volume("pv", storage_class="local"),
    ]
    assert places(decided(objects, users("g", "a", "b"), users("h", "c"))) == {
        "h-c": places(decided(objects, users("h", "c")))["h-c"]
    }


def test_claims_of_one_pod_get_different_volumes_on_one_node() -> None:
    two = [podgroup("g", 1), pod("g-0", group="g", cpu=1, claims=["a", "b"])]
    claims = [unbound("a", size="5Gi"), unbound("b", size="1Gi")]
    apart = [volume("pv1", size="5Gi", storage_class="local", node="n1")]
    apart += [volume("pv2", size="5Gi", storage_class="local", node="n2")]
    assert places(decided(NODES, HAND_MADE, claims, apart, two)) == {}
    decisions = decided(
        NODES, HAND_MADE, claims, apart, volume("pv3", size="8Gi", storage_class="local", node="n2"), two
    )
    assert places(decisions) == {"g-0": "n2"}
    prepared = before(decisions, "g-0")
    assert prepared is not None
    assert {claim: name for claim, _, name in prepared.volumes} == {"default/a": "pv3", "default/b": "pv2"}


def test_pods_that_share_an_unbound_claim_go_where_its_one_volume_is() -> None:
    pods = [pod(f"g-{i}", group="g", cpu=1, claims=["a"]) for i in range(3)]
    volumes = [volume(f"pv{i}", storage_class="local", node=f"n{i}", modes=["ReadWriteMany"]) for i in (1, 2)]
    decisions = decided(
        NODES, HAND_MADE, unbound("a", modes=["ReadWriteMany"]), volumes, podgroup("g", 3), pods
    )
    assert len(set(places(decisions).values())) == 1
    chosen = {each[2] for i in range(3) if (part := before(decisions, f"g-{i}")) for each in part.volumes}
    assert len(chosen) == 1


def test_a_volume_with_the_claims_name_on_it_is_its_own_and_no_others() -> None:
    marked = volume("marked", size="50Gi", storage_class="local", node="n2", claim="a")
    free = volume("free", storage_class="local", node="n1")
    decisions = decided(
        NODES, HAND_MADE, unbound("a"), unbound("b"), marked, free, users("g", "a"), users("h", "b")
    )
    assert places(decisions) == {"g-a": "n2", "h-b": "n1"}


# ---- volumes that are made ----


def test_a_class_that_makes_volumes_tells_the_node_and_keeps_to_its_topology() -> None:
    made = storage_class("disk", waits=True, topology={ZONE: ["a"]})
    nodes = [node("near", labels={ZONE: "a"}), node("far", labels={ZONE: "b"})]
    decisions = decided(nodes, made, unbound("data", "disk"), users("g", "data"))
    assert places(decisions) == {"g-data": "near"}
    prepared = before(decisions, "g-data")
    assert prepared is not None
    assert prepared.provisions == (("default/data", "uid-persistentvolumeclaim-default-data"),)


def test_an_existing_volume_goes_before_a_new_one() -> None:
    made = storage_class("disk", waits=True)
    there = volume("pv", storage_class="disk", node="n1")
    one = decided(node("n1"), made, unbound("data", "disk"), there, users("g", "data"))
    prepared = before(one, "g-data")
    assert prepared is not None
    assert [name for _, _, name in prepared.volumes] == ["pv"]


def test_a_claim_that_a_provisioner_was_told_a_node_for_stays_there() -> None:
    told = unbound("data", "disk", annotations={"volume.kubernetes.io/selected-node": "n2"})
    objects = [*NODES, storage_class("disk", waits=True), told, *users("g", "data")]
    assert places(decided(objects)) == {"g-data": "n2"}


def capacity(name: str, size: str, zone: str, largest: str | None = None) -> JsonObject:
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "CSIStorageCapacity",
        "metadata": {"name": name, "namespace": "kube-system"},
        "storageClassName": "disk",
        "capacity": size,
        "nodeTopology": {"matchLabels": {ZONE: zone}},
        **({"maximumVolumeSize": largest} if largest else {}),
    }


def driver(publishes: bool) -> JsonObject:
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "CSIDriver",
        "metadata": {"name": "example.com/disk"},
        "spec": {"storageCapacity": publishes},
    }


def test_a_driver_that_publishes_its_capacity_is_believed() -> None:
    nodes = [node("near", labels={ZONE: "a"}), node("far", labels={ZONE: "b"})]
    nodes += [csi_node("near", DISK), csi_node("far", DISK)]
    objects = [*nodes, storage_class("disk", waits=True), unbound("data", "disk", size="10Gi")]
    left = [capacity("a", "5Gi", "a"), capacity("b", "100Gi", "b")]
    world = World([*objects, driver(True), *left, *users("g", "data")])
    assert reasons(world, "g-data") == {"near": {"node(s) did not have enough free storage"}}
    assert places(decided(objects, driver(True), left, users("g", "data"))) == {"g-data": "far"}
    small = [capacity("a", "5Gi", "a"), capacity("b", "100Gi", "b", largest="1Gi")]
    assert places(decided(objects, driver(True), small, users("g", "data"))) == {}
    assert places(decided(objects, driver(False), small, users("g", "data")))


# ---- attachable volumes ----


def test_volumes_of_a_driver_count_against_what_the_node_can_attach() -> None:
    objects = [node("n1", cpu=8), csi_node("n1", DISK, 2), storage_class("disk", waits=True)]
    claims = [unbound(name, "disk") for name in "abc"]
    decisions = decided(objects, claims, users("g", "a", "b", "c", least=1))
    assert len(places(decisions)) == 2
    assert any(
        "Insufficient attachable-volumes-csi-example.com-disk" in waiting.message
        for waiting in decisions.waiting
    )


def test_a_running_pods_volumes_count_too() -> None:
    holder = [podgroup("h", 1), pod("h-0", group="h", cpu=1, node="n1", claims=["data"])]
    objects = [node("n1", cpu=8), csi_node("n1", DISK, 1), *bound("data", driver="example.com/disk"), *holder]
    assert (
        places(decided(objects, storage_class("disk", waits=True), unbound("a", "disk"), users("g", "a")))
        == {}
    )


def test_a_driver_that_states_no_count_attaches_any_number_and_an_absent_one_none() -> None:
    objects = [
        *NODES,
        csi_node("n1", DISK),
        storage_class("disk", waits=True),
        unbound("a", "disk"),
        *users("g", "a"),
    ]
    assert places(decided(objects)) == {"g-a": "n1"}


def test_a_provisioner_that_nobody_knows_as_a_driver_counts_nothing() -> None:
    assert places(decided(NODES, storage_class("disk", waits=True), unbound("a", "disk"), users("g", "a")))


def test_a_pod_that_asks_for_nothing_but_a_counted_volume_is_no_best_effort_pod() -> None:
    objects = [node("n1"), csi_node("n1", DISK), *bound("data", driver="example.com/disk"), podgroup("g", 1)]
    world = World([*objects, pod("g-0", group="g", claims=["data"])])
    assert not world.shape("g-0").best_effort
    assert np.count_nonzero(world.shape("g-0").request) == 2


def test_switching_volume_binding_off_leaves_claims_alone() -> None:
    objects = [*NODES, HAND_MADE, unbound("a"), *users("g", "a")]
    policy = policy_of([Allocate({})], [[(Predicates, {"predicate.VolumeBindingEnable": False})]])
    decisions = decide(World(objects).snapshot, policy)
    assert before(decisions, "g-a") is None


def test_the_laws_of_hooks_hold_for_pods_with_claims() -> None:
    volumes = [
        volume(f"pv{i}", storage_class="local", node=f"n{1 + i % 2}", size=f"{i + 1}Gi") for i in range(4)
    ]
    claims = [unbound(name) for name in "abc"]
    objects = [*NODES, HAND_MADE, *volumes, *claims, *bound("data", node="n1"), *users("g", *"abc", "data")]
    assert check_plugin(Predicates, PredicatesArgs(), World(objects).snapshot) == []

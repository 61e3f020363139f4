"""What decisions gave away of volumes and devices is nobody else's until the objects say so, or the placement is forgotten."""

from __future__ import annotations

import json

from tests.builders import claim, csi_node, node, pod, podgroup, resource_claim, storage_class, volume
from vcray.api.meta import JsonObject
from vcray.cache.cluster import ClusterCache
from vcray.cache.merge import Merge
from vcray.cache.shard import CacheShard
from vcray.cache.store import Event
from vcray.core.decisions import Bind, Commit, Preparation
from vcray.core.snapshot import Snapshot

UID = "uid-persistentvolumeclaim-default-a"
LOCAL = storage_class("local", waits=True, provisioner="kubernetes.io/no-provisioner")


class Cluster:
    """A merge fed by one shard, with a pod `p` that waits for a claim `a` and a volume `disk`."""

    def __init__(self, *objects: JsonObject) -> None:
        self.shard = CacheShard(0, ("volcano",))
        self.merge = Merge()
        self.see(
            LOCAL,
            claim("a", phase="Pending", storage_class="local"),
            volume("disk", storage_class="local"),
            node("n1"),
            podgroup("g", 1),
            pod(
                "p",
                group="g",
                claims=["a"],
                spec={"resourceClaims": [{"name": "d", "resourceClaimName": "c"}]},
            ),
            *objects,
        )

    def see(self, *objects: JsonObject) -> None:
        self.merge.apply(self.shard.apply(Event("ADDED", str(each["kind"]), each) for each in objects))

    def snapshot(self) -> Snapshot:
        return self.merge.snapshot(0.0, 1)

    def decide(self, before: Preparation) -> None:
        snapshot = self.snapshot()
        uid = snapshot.tasks.uids[snapshot.tasks.names.index("default/p")]
        self.merge.assume([Commit("default/g", (Bind("default/p", uid, "n1", (), before),), True)], 0.0)

    def promised(self) -> dict[str, str]:
        storage = self.snapshot().details.storage
        assert storage is not None
        return dict(storage.promised)


VOLUMES = Preparation(volumes=(("default/a", UID, "disk"),))


def test_a_volume_is_promised_until_it_names_its_claim() -> None:
    cluster = Cluster()
    cluster.decide(VOLUMES)
    assert cluster.promised() == {"disk": "default/a"}
    cluster.see(volume("disk", storage_class="local", claim="a"))
    assert cluster.promised() == {}


def test_a_promise_ends_when_the_placement_is_forgotten() -> None:
    cluster = Cluster()
    cluster.decide(VOLUMES)
    snapshot = cluster.snapshot()
    cluster.merge.forget(snapshot.tasks.uids)
    assert cluster.promised() == {}


def test_a_promise_stays_while_the_binding_may_take_its_time() -> None:
    cluster = Cluster()
    cluster.decide(VOLUMES)
    assert cluster.merge.expire(600.0) == ()
    assert cluster.promised()
    assert len(cluster.merge.expire(631.0)) == 1
    assert cluster.promised() == {}


def test_promises_are_not_kept_once_objects_tell_or_the_pod_is_gone() -> None:
    cluster = Cluster(resource_claim("c"))
    cluster.decide(VOLUMES)
    cluster.see(volume("disk", storage_class="local", claim="a"))
    cluster.snapshot()
    assert len(cluster.merge._state.promises) == 0
    cluster = Cluster(resource_claim("c"))
    cluster.decide(Preparation(devices=(("default/c", "uid-resourceclaim-default-c", ""),)))
    cluster.snapshot()
    assert len(cluster.merge._state.promises) == 1
    gone = pod("p", group="g", claims=["a"], version=9)
    cluster.merge.apply(cluster.shard.apply([Event("DELETED", "Pod", gone)]))
    assert len(cluster.merge._state.promises) == 0


def test_a_claim_that_was_made_again_is_promised_nothing() -> None:
    cluster = Cluster()
    cluster.decide(Preparation(volumes=(("default/a", "of-an-earlier-claim", "disk"),)))
    assert cluster.promised() == {}


def test_devices_are_promised_until_the_claim_shows_them() -> None:
    cluster = Cluster(resource_claim("c"))
    result = {"request": "gpu", "driver": "gpu.example.com", "pool": "p", "device": "x"}
    allocation = json.dumps({"devices": {"results": [result]}})
    cluster.decide(Preparation(devices=(("default/c", "uid-resourceclaim-default-c", allocation),)))
    table = cluster.snapshot().details.devices
    assert table is not None
    assert [given.device for given in table.promised["default/c"].given] == ["x"]
    cluster.see(resource_claim("c", allocated=["x"]))
    table = cluster.snapshot().details.devices
    assert table is not None
    assert table.promised == {}


def test_a_placed_pod_still_counts_its_volumes() -> None:
    cluster = Cluster(csi_node("n1", "disk.example.com", 3))
    cluster.see(claim("a"), volume("pv-a", claim="a", driver="disk.example.com"))
    cluster.decide(Preparation(devices=(("default/c", "u", ""),)))
    snapshot = cluster.snapshot()
    row = snapshot.space.rows["attachable-volumes-csi-disk.example.com"]
    assert snapshot.nodes.used[row].tolist() == [1]
    assert snapshot.nodes.allocatable[row].tolist() == [3]


def test_an_attaching_node_and_a_driver_may_come_in_any_order() -> None:
    cache = ClusterCache()
    objects = [
        csi_node("n1", "example.com/disk", 2),
        node("n1"),
        podgroup("g", 1),
        pod("p", group="g", claims=["a"]),
        claim("a", phase="Pending", storage_class="late"),
        storage_class("late", waits=True),
    ]
    for each in reversed(objects):
        cache.apply([Event("ADDED", str(each["kind"]), each)])
    (shape,) = cache.snapshot().shapes
    assert ("attachable-volumes-csi-example.com-disk", 1) in shape.requests
    cache.apply([Event("DELETED", "CSINode", objects[0])])
    (shape,) = cache.snapshot().shapes
    assert "attachable-volumes-csi-example.com-disk" not in dict(shape.requests)

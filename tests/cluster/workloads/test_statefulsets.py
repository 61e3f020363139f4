"""StatefulSets under virtual time: order, updates, claims, histories."""

from __future__ import annotations

import pytest

from tests.cluster.workloads.sets_world import CLASS, LABELS, SetsWorld, played, template
from vcray.api.jsonview import dig, dig_objects, dig_str, dig_strings
from vcray.api.meta import JsonObject
from vcray.api.resources import (
    CONTROLLERREVISIONS,
    PERSISTENTVOLUMECLAIMS,
    PODDISRUPTIONBUDGETS,
    PODS,
    STATEFULSETS,
)
from vcray.cluster.workloads.history import short_hash
from vcray.cluster.workloads.statefulset.claims import owners_wanted
from vcray.cluster.workloads.statefulset.identity import ordinal_of

SET: JsonObject = {"metadata": {"name": "web", "uid": "set"}}
CLAIM: JsonObject = {
    "accessModes": ["ReadWriteOnce"],
    "resources": {"requests": {"storage": "1Gi"}},
    "storageClassName": CLASS,
}
POD: JsonObject = {"metadata": {"name": "web-0", "uid": "pod"}}


def on_node(**more: object) -> JsonObject:
    return template(nodeName="node-0", **more)  # type: ignore[arg-type]


def spec(replicas: int, **more: object) -> JsonObject:
    whole: JsonObject = {
        "replicas": replicas,
        "serviceName": "web",
        "selector": {"matchLabels": LABELS},
        "template": on_node(),
    }
    return {**whole, **more}  # type: ignore[dict-item]


def claims(scaled: str = "Retain", deleted: str = "Retain") -> dict[str, object]:
    claim: JsonObject = {
        "metadata": {"name": "data"},
        "spec": CLAIM,
    }
    policy: JsonObject = {"whenScaled": scaled, "whenDeleted": deleted}
    return {"volumeClaimTemplates": [claim], "persistentVolumeClaimRetentionPolicy": policy}


async def new_template(world: SetsWorld, image: str, ready: bool = True, **more: object) -> None:
    patch: JsonObject = {"spec": {"template": on_node(image=image, ready=ready), **more}}  # type: ignore[dict-item]
    await world.patch(STATEFULSETS, "web", patch)


async def numbers(world: SetsWorld) -> list[int]:
    return sorted(int(str(each["revision"])) for each in await world.items(CONTROLLERREVISIONS))


# -- order ----------------------------------------------------------------------------------------------------


@played
async def test_each_pod_waits_until_the_one_before_has_been_ready_for_long_enough(world: SetsWorld) -> None:
    await world.create(STATEFULSETS, "web", spec(2, minReadySeconds=10))
    await world.pass_time(5)
    assert await world.names(PODS) == ["web-0"]
    status = await world.status(STATEFULSETS, "web")
    assert (status["readyReplicas"], status["availableReplicas"]) == (1, 0)

    await world.pass_time(8)
    assert await world.names(PODS) == ["web-0", "web-1"]
    await world.pass_time(12)
    assert (await world.status(STATEFULSETS, "web"))["availableReplicas"] == 2


@played
async def test_parallel_pods_come_and_go_at_once(world: SetsWorld) -> None:
    await world.create(
        STATEFULSETS, "web", spec(3, podManagementPolicy="Parallel", template=on_node(ready=False))
    )
    assert len(await world.names(PODS)) == 3

    await world.patch(STATEFULSETS, "web", {"spec": {"replicas": 0}})
    assert await world.names(PODS) == []


@played
async def test_pods_go_from_the_last_and_none_while_another_is_not_available(world: SetsWorld) -> None:
    await world.create(STATEFULSETS, "web", spec(3))
    await world.pass_time(5)
    await world.patch(
        PODS, "web-0", {"status": {"conditions": [{"type": "Ready", "status": "False"}]}}, "status"
    )

    await world.patch(STATEFULSETS, "web", {"spec": {"replicas": 1}})
    assert len(await world.names(PODS)) == 3

    await world.delete(PODS, "web-0")
    await world.pass_time(5)
    assert await world.names(PODS) == ["web-0"]


@played
async def test_of_surplus_pods_that_are_not_available_the_first_goes_first(world: SetsWorld) -> None:
    await world.create(STATEFULSETS, "web", spec(3))
    await world.pass_time(5)
    unready: JsonObject = {"status": {"conditions": [{"type": "Ready", "status": "False"}]}}
    for name in ("web-1", "web-2"):
        await world.patch(PODS, name, unready, "status")
    await world.patch(STATEFULSETS, "web", {"spec": {"replicas": 1}})
    assert len(await world.names(PODS)) == 3

    ready: JsonObject = {"status": {"conditions": [{"type": "Ready", "status": "True"}]}}
    await world.patch(PODS, "web-2", ready, "status")
    await world.pass_time(1)
    assert await world.names(PODS) == ["web-0"]


@played
async def test_ended_pod_is_deleted_and_comes_again_under_its_name(world: SetsWorld) -> None:
    await world.create(STATEFULSETS, "web", spec(2))
    await world.pass_time(5)
    before = await world.client.get(PODS, "default", "web-0")

    await world.fail("web-0")
    await world.pass_time(3)

    after = await world.client.get(PODS, "default", "web-0")
    assert dig_str(after, "metadata", "uid") != dig_str(before, "metadata", "uid")
    assert dig_str(after, "status", "phase") == "Running"
    assert {"SuccessfulCreate", "SuccessfulDelete"} <= await world.reasons()


@played
async def test_start_ordinal_that_moves_moves_the_pods(world: SetsWorld) -> None:
    await world.create(STATEFULSETS, "web", spec(2))
    await world.pass_time(5)

    await world.patch(STATEFULSETS, "web", {"spec": {"ordinals": {"start": 1}}})
    await world.pass_time(5)

    assert await world.names(PODS) == ["web-1", "web-2"]


# -- updates --------------------------------------------------------------------------------------------------


@played
async def test_update_stops_at_a_pod_that_does_not_become_ready(world: SetsWorld) -> None:
    await world.create(STATEFULSETS, "web", spec(3))
    await world.pass_time(5)

    await new_template(world, "nginx:2", ready=False)
    await world.pass_time(60)

    assert await world.images() == {"web-0": "nginx", "web-1": "nginx", "web-2": "nginx:2"}
    status = await world.status(STATEFULSETS, "web")
    assert (status["currentReplicas"], status["updatedReplicas"], status["readyReplicas"]) == (2, 1, 2)

    await new_template(world, "nginx")  # the broken pod is waited for until somebody deletes it
    await world.pass_time(60)
    assert (await world.images())["web-2"] == "nginx:2"
    await world.delete(PODS, "web-2")
    await world.pass_time(5)
    assert set((await world.images()).values()) == {"nginx"}
    assert await numbers(world) == [2, 3]
    assert dig_str(await world.status(STATEFULSETS, "web"), "currentRevision").startswith("web-")


@played
async def test_without_a_partition_lost_pods_below_the_update_come_back_as_they_were(
    world: SetsWorld,
) -> None:
    strategy: JsonObject = {"type": "RollingUpdate"}
    await world.create(STATEFULSETS, "web", spec(3, updateStrategy=strategy, podManagementPolicy="Parallel"))
    await world.pass_time(5)
    await new_template(world, "nginx:2", ready=False)
    await world.pass_time(5)

    await world.delete(PODS, "web-0")
    await world.pass_time(5)

    assert (await world.images())["web-0"] == "nginx"


@played
async def test_on_delete_pods_are_updated_when_they_are_deleted(world: SetsWorld) -> None:
    await world.create(STATEFULSETS, "web", spec(2, updateStrategy={"type": "OnDelete"}))
    await world.pass_time(5)
    await new_template(world, "nginx:2")
    await world.delete(PODS, "web-0")
    await world.pass_time(5)

    assert await world.images() == {"web-0": "nginx:2", "web-1": "nginx"}


@played
async def test_history_keeps_its_limit_besides_what_is_in_use(world: SetsWorld) -> None:
    await world.create(STATEFULSETS, "web", spec(1, revisionHistoryLimit=1))
    for image in ("nginx:2", "nginx:3", "nginx:4"):
        await world.pass_time(5)
        await new_template(world, image)
    await world.pass_time(5)

    assert await numbers(world) == [3, 4]


@played
async def test_revision_whose_name_another_has_gets_one_of_its_own(world: SetsWorld) -> None:
    probe = await world.create(STATEFULSETS, "web", spec(0))
    whole: JsonObject = {**dig_strings({}), **probe["spec"]["template"], "$patch": "replace"}  # type: ignore
    mark = short_hash({"spec": {"template": whole}}, 0)
    assert await world.names(CONTROLLERREVISIONS) == [f"web-{mark}"]
    await world.delete(STATEFULSETS, "web")
    await world.pass_time(1)
    other: JsonObject = {"metadata": {"name": f"web-{mark}"}, "data": {"spec": {}}, "revision": 1}
    await world.client.create(CONTROLLERREVISIONS, "default", other)

    await world.create(STATEFULSETS, "web", spec(0))

    assert (await world.status(STATEFULSETS, "web"))["collisionCount"] == 1
    assert len(await world.names(CONTROLLERREVISIONS)) == 2


@played
async def test_budget_reckons_with_the_pods_that_the_set_wants(world: SetsWorld) -> None:
    await world.create(STATEFULSETS, "web", spec(4, template=on_node(ready=False)))
    await world.create(
        PODDISRUPTIONBUDGETS, "web", {"minAvailable": "50%", "selector": {"matchLabels": LABELS}}
    )
    await world.pass_time(5)

    status = await world.status(PODDISRUPTIONBUDGETS, "web")
    assert (status["expectedPods"], status["desiredHealthy"]) == (4, 2)


# -- whose pods -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("pod", "ordinal"),
    [("web-0", 0), ("web-12", 12), ("web-012", None), ("web-x", None), ("other-1", None), ("web-1-1", None)],
)
def test_ordinal_is_that_of_a_name_the_set_gives(pod: str, ordinal: int | None) -> None:
    assert ordinal_of(SET, pod) == ordinal


@played
async def test_orphan_with_the_name_of_an_ordinal_is_adopted_and_gets_its_labels(world: SetsWorld) -> None:
    for name in ("web-0", "stray"):
        body: JsonObject = {"metadata": {"name": name, "labels": LABELS}, "spec": on_node()["spec"]}
        await world.client.create(PODS, "default", body)
    await world.pass_time(3)

    await world.create(STATEFULSETS, "web", spec(1))
    await world.pass_time(3)

    adopted, stray = [await world.client.get(PODS, "default", name) for name in ("web-0", "stray")]
    assert not dig_objects(stray, "metadata", "ownerReferences")
    assert dig_strings(adopted, "metadata", "labels")["apps.kubernetes.io/pod-index"] == "0"
    assert "SuccessfulUpdate" in await world.reasons()


# -- claims ---------------------------------------------------------------------------------------------------


async def owner_kinds(world: SetsWorld, claim: str) -> list[str]:
    found = await world.client.get(PERSISTENTVOLUMECLAIMS, "default", claim)
    return [dig_str(each, "kind") for each in dig_objects(found, "metadata", "ownerReferences")]


@played
async def test_claims_stay_unless_the_policy_says_otherwise_and_follow_when_it_changes(
    world: SetsWorld,
) -> None:
    await world.create(STATEFULSETS, "web", spec(2, **claims()))
    await world.pass_time(5)
    await world.patch(STATEFULSETS, "web", {"spec": {"replicas": 1}})
    await world.pass_time(5)
    assert await world.names(PERSISTENTVOLUMECLAIMS) == ["data-web-0", "data-web-1"]
    assert await owner_kinds(world, "data-web-0") == []

    policy: JsonObject = {"whenDeleted": "Delete", "whenScaled": "Retain"}
    await world.patch(STATEFULSETS, "web", {"spec": {"persistentVolumeClaimRetentionPolicy": policy}})
    await world.pass_time(1)
    assert await owner_kinds(world, "data-web-0") == ["StatefulSet"]
    await world.delete(STATEFULSETS, "web")
    await world.pass_time(1)
    assert await world.names(PERSISTENTVOLUMECLAIMS) == ["data-web-1"]


@played
async def test_pod_that_comes_back_waits_until_its_former_claim_is_gone(world: SetsWorld) -> None:
    await world.create(STATEFULSETS, "web", spec(2, **claims(scaled="Delete")))
    await world.pass_time(5)
    before = await world.client.get(PERSISTENTVOLUMECLAIMS, "default", "data-web-1")
    holder: JsonObject = {"name": "v", "persistentVolumeClaim": {"claimName": "data-web-1"}}
    user = on_node(volumes=[holder])["spec"]
    await world.client.create(PODS, "default", {"metadata": {"name": "user"}, "spec": user})

    await world.patch(STATEFULSETS, "web", {"spec": {"replicas": 1}})
    await world.pass_time(5)
    await world.patch(STATEFULSETS, "web", {"spec": {"replicas": 2}})
    await world.pass_time(5)
    assert await world.names(PODS) == ["user", "web-0"]
    assert "FailedCreate" not in await world.reasons()

    await world.delete(PODS, "user")
    await world.pass_time(5)
    assert await world.names(PODS) == ["web-0", "web-1"]
    after = await world.client.get(PERSISTENTVOLUMECLAIMS, "default", "data-web-1")
    assert dig(after, "metadata", "uid") != dig(before, "metadata", "uid")


@played
async def test_no_pod_is_made_while_its_claim_is_being_deleted(world: SetsWorld) -> None:
    claim: JsonObject = {
        "metadata": {"name": "data-web-0", "finalizers": ["example.com/wait"]},
        "spec": CLAIM,
    }
    await world.client.create(PERSISTENTVOLUMECLAIMS, "default", claim)
    await world.delete(PERSISTENTVOLUMECLAIMS, "data-web-0")

    await world.create(STATEFULSETS, "web", spec(1, **claims()))
    await world.pass_time(5)
    assert await world.names(PODS) == []
    assert "FailedCreate" in await world.reasons()

    await world.patch(PERSISTENTVOLUMECLAIMS, "data-web-0", {"metadata": {"finalizers": None}})
    await world.pass_time(5)
    assert await world.names(PODS) == ["web-0"]


@played
async def test_claim_that_a_waiting_pod_has_lost_is_made_again(world: SetsWorld) -> None:
    await world.create(STATEFULSETS, "web", spec(1, template=template(), **claims()))
    await world.patch(PERSISTENTVOLUMECLAIMS, "data-web-0", {"metadata": {"finalizers": None}})
    await world.delete(PERSISTENTVOLUMECLAIMS, "data-web-0")
    await world.pass_time(1)

    found = await world.client.get(PERSISTENTVOLUMECLAIMS, "default", "data-web-0")
    assert not dig_str(found, "metadata", "deletionTimestamp")


def reference(kind: str, uid: str, controller: bool = True) -> JsonObject:
    name, group = ("web-0", "v1") if kind == "Pod" else ("web", "apps/v1")
    if kind not in ("Pod", "StatefulSet"):
        name = "other"
    return {"apiVersion": group, "kind": kind, "name": name, "uid": uid, "controller": controller}


@pytest.mark.parametrize(
    ("scaled", "deleted", "away", "owners", "wanted"),
    [
        ("Retain", "Retain", False, [], None),
        ("Retain", "Retain", True, [reference("StatefulSet", "set")], []),
        ("Retain", "Delete", False, [], ["set"]),
        ("Retain", "Delete", True, [reference("StatefulSet", "set")], None),
        ("Delete", "Retain", False, [reference("Pod", "pod")], []),
        ("Delete", "Retain", True, [], ["pod"]),
        ("Delete", "Delete", True, [reference("StatefulSet", "set")], ["pod"]),
        ("Delete", "Delete", False, [reference("Pod", "pod")], ["set"]),
        ("Retain", "Delete", False, [reference("StatefulSet", "set", controller=False)], ["set"]),
        ("Retain", "Delete", False, [reference("StatefulSet", "former")], None),
        ("Delete", "Delete", True, [reference("Pod", "former")], None),
        ("Retain", "Delete", False, [reference("Backup", "else")], None),
        ("Retain", "Delete", False, [reference("Backup", "else"), reference("StatefulSet", "set")], ["else"]),
        ("Retain", "Delete", False, [reference("Backup", "else", controller=False)], ["else", "set"]),
    ],
)
def test_owners_of_a_claim_follow_the_retention_policy(
    scaled: str, deleted: str, away: bool, owners: list[JsonObject], wanted: list[str] | None
) -> None:
    policy: JsonObject = {"whenScaled": scaled, "whenDeleted": deleted}
    stateful_set: JsonObject = {**SET, "spec": {"persistentVolumeClaimRetentionPolicy": policy}}

    found = owners_wanted(stateful_set, {"metadata": {"ownerReferences": [*owners]}}, POD, away)

    assert (None if found is None else [each["uid"] for each in found]) == wanted

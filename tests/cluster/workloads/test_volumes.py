"""Claims and volumes: who gets whom, what waits for what, and what becomes of volumes whose claims are gone."""

from __future__ import annotations

import pytest

from tests.cluster.workloads.volume_world import World, played
from vcray.api.jsonview import dig, dig_object, dig_str
from vcray.api.meta import JsonObject
from vcray.api.resources import PERSISTENTVOLUMECLAIMS, PERSISTENTVOLUMES, PODS
from vcray.cluster.workloads.volumes.matching import best_match, mismatch
from vcray.cluster.workloads.volumes.provisioning import deletion_problem

CLAIM: JsonObject = {"name": "data", "persistentVolumeClaim": {"claimName": "data"}}


def made(name: str, **spec: object) -> JsonObject:
    """A volume that is Available."""
    whole: JsonObject = {"accessModes": ["ReadWriteOnce"], "capacity": {"storage": "1Gi"}, **spec}  # type: ignore[dict-item]
    return {"metadata": {"name": name}, "spec": whole, "status": {"phase": "Available"}}


def wanted(**spec: object) -> JsonObject:
    """A claim for 1Gi, ReadWriteOnce."""
    whole: JsonObject = {
        "accessModes": ["ReadWriteOnce"],
        "resources": {"requests": {"storage": "1Gi"}},
        **spec,  # type: ignore[dict-item]
    }
    return {"metadata": {"name": "data", "namespace": "default", "uid": "u1"}, "spec": whole}


def named(volume: JsonObject | None) -> str:
    return dig_str(volume, "metadata", "name")


def test_the_smallest_volume_that_is_large_enough_is_taken() -> None:
    volumes = [made(f"v{size}", capacity={"storage": f"{size}Gi"}) for size in (5, 1, 3, 2)]

    assert named(best_match(wanted(resources={"requests": {"storage": "2Gi"}}), volumes, False)) == "v2"


def test_few_access_modes_come_before_small_size() -> None:
    plain = made("plain", capacity={"storage": "9Gi"})
    shared = made("shared", accessModes=["ReadWriteOnce", "ReadOnlyMany"])

    assert named(best_match(wanted(), [shared, plain], False)) == "plain"
    assert named(best_match(wanted(accessModes=["ReadOnlyMany"]), [shared, plain], False)) == "shared"


@pytest.mark.parametrize(
    "volume",
    [
        made("small", capacity={"storage": "500Mi"}),
        made("modes", accessModes=["ReadWriteMany"]),
        made("class", storageClassName="fast"),
        made("block", volumeMode="Block"),
        made("attributes", volumeAttributesClassName="gold"),
        made("taken", claimRef={"namespace": "default", "name": "other"}),
        made("former", claimRef={"namespace": "default", "name": "data", "uid": "u0"}),
        {**made("released"), "status": {"phase": "Released"}},
        {**made("going"), "metadata": {"name": "going", "deletionTimestamp": "2026-01-01T00:00:00Z"}},
    ],
    ids=named,
)
def test_volumes_that_do_not_fit_are_left(volume: JsonObject) -> None:
    assert best_match(wanted(), [volume], False) is None


def test_a_selector_chooses_by_labels() -> None:
    gold: JsonObject = {**made("gold"), "metadata": {"name": "gold", "labels": {"tier": "gold"}}}
    claim = wanted(selector={"matchLabels": {"tier": "gold"}})

    assert named(best_match(claim, [made("a"), gold], False)) == "gold"


def test_a_delayed_claim_takes_only_what_is_reserved_for_it() -> None:
    reserved = made("mine", claimRef={"namespace": "default", "name": "data"})

    assert best_match(wanted(), [made("a")], True) is None
    assert named(best_match(wanted(), [made("a"), reserved], True)) == "mine"


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"capacity": {"storage": "1Mi"}}, "requested PV is too small"),
        ({"storageClassName": "fast"}, "storageClassName does not match"),
        ({"volumeAttributesClassName": "gold"}, "volumeAttributesClassName does not match"),
        ({"volumeMode": "Block"}, "incompatible volumeMode"),
        ({"accessModes": ["ReadOnlyMany"]}, "incompatible accessMode"),
        ({}, ""),
    ],
)
def test_a_volume_that_was_asked_for_by_name_says_why_it_does_not_do(change: JsonObject, why: str) -> None:
    assert mismatch(made("v", **change), wanted()) == why


def test_what_can_be_deleted() -> None:
    def problem(notes: JsonObject | None = None, **spec: object) -> str | None:
        volume = made("v", **spec)
        dig_object(volume, "metadata")["annotations"] = notes or {}
        return deletion_problem(volume)

    by = "pv.kubernetes.io/provisioned-by"
    assert problem(hostPath={"path": "/tmp/x"}) == ""
    assert problem({by: "kubernetes.io/host-path"}, hostPath={"path": "/tmp/x"}) == ""
    assert problem({by: "ebs.csi.aws.com"}) is None
    assert problem(csi={"driver": "d"}) is None
    assert problem({by: "kubernetes.io/aws-ebs"}) == "no volume plugin matched name: kubernetes.io/aws-ebs"
    supported = "host_path deleter only supports /tmp/.+ but received provided /data"
    assert problem(hostPath={"path": "/data"}) == supported
    assert problem(local={"path": "/mnt"}) == (
        'error getting deleter volume plugin for volume "v": no deletable volume plugin matched'
    )


@played
async def test_a_claim_is_bound_to_a_volume_and_both_say_so(world: World) -> None:
    await world.volume("disk", "2Gi")
    assert await world.phase("disk") == "Available"

    await world.claim()

    claim = await world.get_claim()
    assert dig(claim, "status") == {
        "phase": "Bound",
        "accessModes": ["ReadWriteOnce"],
        "capacity": {"storage": "2Gi"},
    }
    assert dig(claim, "metadata", "annotations") == {
        "pv.kubernetes.io/bind-completed": "yes",
        "pv.kubernetes.io/bound-by-controller": "yes",
    }
    volume = await world.client.get(PERSISTENTVOLUMES, None, "disk")
    assert dig_str(volume, "status", "phase") == "Bound"
    assert dig(volume, "metadata", "annotations") == {"pv.kubernetes.io/bound-by-controller": "yes"}
    reference = dig_object(volume, "spec", "claimRef")
    assert (reference["kind"], reference["namespace"], reference["name"]) == (
        "PersistentVolumeClaim",
        "default",
        "data",
    )
    assert reference["uid"] == dig(claim, "metadata", "uid")


@played
async def test_a_volume_tells_since_when_it_is_in_its_phase(world: World) -> None:
    await world.volume("disk")
    await world.wait(10)

    await world.claim()

    volume = await world.client.get(PERSISTENTVOLUMES, None, "disk")
    since = dig_str(volume, "status", "lastPhaseTransitionTime")
    assert since > dig_str(volume, "metadata", "creationTimestamp")


@played
async def test_a_claim_waits_until_a_volume_comes(world: World) -> None:
    await world.claim()
    assert await world.bound_to() == "(Pending)"
    assert await world.events("data") == [
        ("FailedBinding", "no persistent volumes available for this claim and no storage class is set")
    ]

    await world.volume("disk")

    assert await world.bound_to() == "disk"


@played
async def test_two_claims_never_share_a_volume(world: World) -> None:
    await world.claim("a")
    await world.claim("b")
    await world.volume("disk")

    assert sorted([await world.bound_to("a"), await world.bound_to("b")]) == ["(Pending)", "disk"]


@played
async def test_a_volume_kept_for_a_claim_goes_to_no_other(world: World) -> None:
    await world.volume("kept", claimRef={"namespace": "default", "name": "late"})
    await world.claim("early")
    assert (await world.bound_to("early"), await world.phase("kept")) == ("(Pending)", "Available")

    await world.claim("late")

    assert await world.bound_to("late") == "kept"
    volume = await world.client.get(PERSISTENTVOLUMES, None, "kept")
    assert not dig_object(volume, "metadata", "annotations")


@played
async def test_a_claim_that_names_its_volume_waits_for_that_one(world: World) -> None:
    await world.volume("other")
    await world.claim(volumeName="mine")
    assert await world.bound_to() == "(Pending)"

    await world.volume("mine", "1Mi")
    assert await world.events("data") == [
        ("VolumeMismatch", 'Cannot bind to requested volume "mine": requested PV is too small')
    ]
    await world.client.patch(PERSISTENTVOLUMES, None, "mine", {"spec": {"capacity": {"storage": "1Gi"}}})
    await world.wait()

    assert await world.bound_to() == "mine"
    notes = dig(await world.get_claim(), "metadata", "annotations")
    assert notes == {"pv.kubernetes.io/bind-completed": "yes"}


@played
async def test_a_volume_of_another_claim_is_told_to_be_so(world: World) -> None:
    await world.volume("disk", claimRef={"namespace": "default", "name": "other"})
    await world.claim(volumeName="disk")

    assert await world.events("data") == [
        ("FailedBinding", 'volume "disk" already bound to a different claim.')
    ]


@played
async def test_a_retained_volume_is_released_and_given_to_nobody(world: World) -> None:
    await world.volume("disk")
    await world.claim()
    await world.delete_claim()
    assert await world.phase("disk") == "Released"

    await world.claim()
    assert await world.bound_to() == "(Pending)"
    await world.client.patch(PERSISTENTVOLUMES, None, "disk", {"spec": {"claimRef": None}})
    await world.wait()

    assert await world.bound_to() == "disk"


@played
async def test_a_volume_to_be_deleted_goes_with_its_claim(world: World) -> None:
    await world.volume("disk", persistentVolumeReclaimPolicy="Delete")
    await world.claim()

    await world.delete_claim()

    assert await world.phase("disk") == "gone"


@played
async def test_a_volume_that_nobody_can_delete_has_failed(world: World) -> None:
    await world.volume("disk", persistentVolumeReclaimPolicy="Delete", hostPath={"path": "/data"})
    await world.claim()

    await world.delete_claim()

    assert await world.phase("disk") == "Failed"
    why = "host_path deleter only supports /tmp/.+ but received provided /data"
    assert await world.events("disk") == [("VolumeFailedDelete", why)]
    volume = await world.client.get(PERSISTENTVOLUMES, None, "disk")
    assert dig_str(volume, "status", "message") == why


@played
async def test_a_claim_whose_volume_vanishes_is_lost(world: World) -> None:
    await world.volume("disk")
    await world.claim()
    await world.client.delete(PERSISTENTVOLUMES, None, "disk")
    patch: JsonObject = {"metadata": {"finalizers": None}}
    await world.client.patch(PERSISTENTVOLUMES, None, "disk", patch)
    await world.wait()

    assert await world.bound_to() == "(Lost)"
    assert (
        "ClaimLost",
        "Bound claim has lost its PersistentVolume. Data on the volume is lost!",
    ) in await world.events("data")


# -- classes --------------------------------------------------------------------------------------------------


@played
async def test_the_default_class_makes_a_volume_for_a_claim_that_names_none(world: World) -> None:
    await world.claim(storageClassName=None)
    assert await world.bound_to() == "(Pending)"

    await world.default_class("standard")
    await world.wait()

    claim = await world.get_claim()
    name = f"pvc-{dig_str(claim, 'metadata', 'uid')}"
    assert await world.bound_to() == name
    assert dig_str(claim, "spec", "storageClassName") == "standard"
    volume = await world.client.get(PERSISTENTVOLUMES, None, name)
    assert dig_str(volume, "spec", "persistentVolumeReclaimPolicy") == "Delete"
    succeeded = (
        "ProvisioningSucceeded",
        f"Successfully provisioned volume {name} using kubernetes.io/host-path",
    )
    assert succeeded in await world.events("data")
    await world.delete_claim()
    assert await world.phase(name) == "gone"


@played
async def test_a_claim_without_a_class_on_purpose_gets_none(world: World) -> None:
    await world.default_class("standard")
    await world.claim(storageClassName="")

    assert await world.bound_to() == "(Pending)"
    assert dig(await world.get_claim(), "spec", "storageClassName") == ""


@played
async def test_a_made_volume_may_be_retained(world: World) -> None:
    await world.storage_class("keep", reclaimPolicy="Retain")
    await world.claim(storageClassName="keep")
    name = await world.bound_to()

    await world.delete_claim()

    assert await world.phase(name) == "Released"


@played
async def test_a_late_claim_waits_for_its_pod_and_the_choice_of_a_node(world: World) -> None:
    await world.storage_class("late", volumeBindingMode="WaitForFirstConsumer")
    await world.claim(storageClassName="late")
    assert await world.events("data") == [
        ("WaitForFirstConsumer", "waiting for first consumer to be created before binding")
    ]
    await world.pod("p", CLAIM, node="", schedulerName="volcano")
    assert ("WaitForPodScheduled", "waiting for pod p to be scheduled") in await world.events("data")
    assert await world.bound_to() == "(Pending)"

    notes: JsonObject = {"volume.kubernetes.io/selected-node": "node-0"}
    await world.client.patch(PERSISTENTVOLUMECLAIMS, "default", "data", {"metadata": {"annotations": notes}})
    await world.wait()

    assert (await world.bound_to()).startswith("pvc-")


@played
async def test_a_late_claim_is_given_back_if_its_node_is_gone(world: World) -> None:
    await world.storage_class("late", volumeBindingMode="WaitForFirstConsumer")
    await world.claim(storageClassName="late")
    notes: JsonObject = {"volume.kubernetes.io/selected-node": "elsewhere"}
    await world.client.patch(PERSISTENTVOLUMECLAIMS, "default", "data", {"metadata": {"annotations": notes}})
    await world.wait()

    failed = ("ProvisioningFailed", 'Failed to get target node: node "elsewhere" not found')
    assert failed in await world.events("data")
    assert not dig_object(await world.get_claim(), "metadata", "annotations")


@pytest.mark.parametrize(
    ("provisioner", "reason", "message"),
    [
        (
            "kubernetes.io/no-provisioner",
            "ProvisioningFailed",
            "no volume plugin matched name: kubernetes.io/no-provisioner",
        ),
        (
            "ebs.csi.aws.com",
            "ExternalProvisioning",
            "Waiting for a volume to be created either by the external",
        ),
        ("", "ProvisioningFailed", 'storageclass.storage.k8s.io "other" not found'),
    ],
)
def test_what_nobody_here_makes_is_waited_for(provisioner: str, reason: str, message: str) -> None:
    @played
    async def test(world: World) -> None:
        if provisioner:
            await world.storage_class("other", provisioner)
        await world.claim(storageClassName="other")

        [(told, why)] = await world.events("data")
        assert (told, why[: len(message)]) == (reason, message)
        assert await world.bound_to() == "(Pending)"
        await world.volume("disk", storageClassName="other")
        assert await world.bound_to() == "disk"

    test()


# -- pods -----------------------------------------------------------------------------------------------------


@played
async def test_a_pod_starts_when_its_claim_has_a_volume(world: World) -> None:
    await world.pod("p", CLAIM)
    await world.wait(30)
    await world.claim()
    await world.wait(30)
    assert not await world.running("p")

    await world.volume("disk")
    await world.wait()

    assert await world.running("p")


@played
async def test_a_pod_that_waits_for_its_claim_can_be_deleted(world: World) -> None:
    await world.pod("p", CLAIM)
    await world.client.delete(PODS, "default", "p")
    await world.wait(31)

    assert (await world.client.list(PODS, "default")).items == []


@played
async def test_pods_of_a_volume_share_its_files(world: World) -> None:
    await world.volume("disk")
    await world.claim()

    def runs(command: str) -> JsonObject:
        mounts: JsonObject = {"volumeMounts": [{"name": "data", "mountPath": "/data"}]}
        return {"name": "main", "image": "busybox", "command": ["sh", "-c", command], **mounts}

    await world.pod("writer", CLAIM, containers=[runs("echo hello > /data/word")], restartPolicy="Never")
    await world.wait(5)
    await world.pod("reader", CLAIM, containers=[runs("cat /data/word")], restartPolicy="Never")
    await world.wait(5)

    assert world.fleet.log("default", "reader") == "hello\n"


@played
async def test_a_pod_brings_its_claim_along_and_takes_it_with_it(world: World) -> None:
    await world.storage_class("made")
    spec: JsonObject = {
        "accessModes": ["ReadWriteOnce"],
        "storageClassName": "made",
        "resources": {"requests": {"storage": "1Gi"}},
    }
    await world.pod("p", {"name": "scratch", "ephemeral": {"volumeClaimTemplate": {"spec": spec}}})
    await world.wait()

    name = await world.bound_to("p-scratch")
    assert name.startswith("pvc-")
    assert await world.running("p")
    await world.client.delete(PODS, "default", "p")
    await world.wait(40)
    assert await world.phase(name) == "gone"

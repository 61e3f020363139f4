"""PreBind: what is written to claims and volumes before a pod is bound, what is waited for, and what is taken back."""

from __future__ import annotations

import json

import pytest

from tests.builders import claim, node, pod, podgroup, storage_class, volume
from vcray.actors.binder import Binder
from vcray.actors.messages import Execute, Executed, Outcome, pack, unpack
from vcray.actors.status_writer import StatusWriter
from vcray.actors.timekeeping import VirtualTime
from vcray.actors.unready import Unready
from vcray.api.jsonview import dig, dig_list, dig_object, dig_objects, dig_str
from vcray.api.meta import JsonObject
from vcray.api.resources import (
    NODES,
    PERSISTENTVOLUMECLAIMS,
    PERSISTENTVOLUMES,
    PODGROUPS,
    PODS,
    RESOURCECLAIMS,
    STORAGECLASSES,
)
from vcray.cluster.objects.store import Store
from vcray.cluster.server.inprocess import InProcessTransport
from vcray.core.decisions import Bind, Commit, Decisions, Preparation
from vcray.kube.client import KubeClient
from vcray.kube.events import EventRecorder
from vcray.metrics import Metrics

SELECTED = "volume.kubernetes.io/selected-node"
DEVICES = json.dumps(
    {
        "devices": {
            "results": [{"request": "gpu", "driver": "gpu.example.com", "pool": "n1", "device": "gpu-0"}]
        }
    }
)


class Bench:
    """A binder on a store with a node, a gang `train` of two pods, two volumes, two claims and a ResourceClaim."""

    def __init__(self) -> None:
        self.time = VirtualTime()
        store = Store(clock=self.time)
        self.client = KubeClient(InProcessTransport(store), "test", sleep=self.time.sleep)
        writer = StatusWriter(
            self.client, EventRecorder(self.client, "volcano", self.time), self.time, "volcano"
        )
        self.binder = Binder(self.client, writer, self.time, Metrics())
        self.uids: dict[str, str] = {}

    async def prepare(self) -> None:
        await self.client.create(NODES, None, node("n1", gpu=8))
        await self.client.create(STORAGECLASSES, None, storage_class("local", waits=True))
        await self.client.create(PODGROUPS, "default", podgroup("train", 2))
        for name in ("train-0", "train-1"):
            await self._note(await self.client.create(PODS, "default", pod(name, group="train", gpu=1)))
        for name in ("a", "b"):
            unbound = claim(name, phase="Pending", storage_class="local")
            await self._note(await self.client.create(PERSISTENTVOLUMECLAIMS, "default", unbound))
            await self.client.create(PERSISTENTVOLUMES, None, self._hosted(name))
        await self._note(await self.client.create(RESOURCECLAIMS, "default", self._devices()))

    @staticmethod
    def _hosted(name: str) -> JsonObject:
        return volume(
            f"pv-{name}", storage_class="local", node="n1", spec={"local": {"path": f"/mnt/{name}"}}
        )

    @staticmethod
    def _devices() -> JsonObject:
        request: JsonObject = {"name": "gpu", "exactly": {"deviceClassName": "gpu"}}
        return {
            "apiVersion": "resource.k8s.io/v1",
            "kind": "ResourceClaim",
            "metadata": {"name": "gpus", "namespace": "default"},
            "spec": {"devices": {"requests": [request]}},
        }

    async def _note(self, made: JsonObject) -> None:
        self.uids[dig_str(made, "metadata", "name")] = dig_str(made, "metadata", "uid")

    def bind(self, pod: str, before: Preparation | None) -> Bind:
        return Bind(f"default/{pod}", self.uids[pod], "n1", (), before)

    def own(self, name: str) -> Preparation:
        return Preparation(volumes=((f"default/{name}", self.uids[name], f"pv-{name}"),))

    def provision(self, name: str) -> Preparation:
        return Preparation(provisions=((f"default/{name}", self.uids[name]),))

    def devices(self, allocation: str = DEVICES) -> Preparation:
        return Preparation(devices=(("default/gpus", self.uids["gpus"], allocation),))

    async def execute(
        self, *binds: Bind, whole: bool = True, later: bool = False, last: bool = False
    ) -> tuple[Outcome, ...]:
        order = Execute(Decisions(1, (Commit("default/train", binds, whole),)), later=later, last=last)
        answer = await self.binder.receive(order)
        assert isinstance(answer, Executed)
        return answer.outcomes

    async def results(
        self, *binds: Bind, whole: bool = True, later: bool = False, last: bool = False
    ) -> list[str]:
        outcomes = await self.execute(*binds, whole=whole, later=later, last=last)
        return [outcome.result for outcome in outcomes]

    async def complete(self, name: str, volume: str = "") -> None:
        """What a volume controller does once it sees that a volume is meant for the claim."""
        target = volume or f"pv-{name}"
        spec: JsonObject = {"spec": {"volumeName": target}}
        await self.client.patch(PERSISTENTVOLUMECLAIMS, "default", name, spec)
        status: JsonObject = {"status": {"phase": "Bound"}}
        await self.client.patch(PERSISTENTVOLUMECLAIMS, "default", name, status, subresource="status")

    async def holder(self, name: str) -> str:
        found = await self.client.get(PERSISTENTVOLUMES, None, f"pv-{name}")
        return dig_str(found, "spec", "claimRef", "name")

    async def selected(self, name: str) -> str:
        found = await self.client.get(PERSISTENTVOLUMECLAIMS, "default", name)
        return dig_str(found, "metadata", "annotations", SELECTED)

    async def node_of(self, pod: str) -> str:
        return dig_str(await self.client.get(PODS, "default", pod), "spec", "nodeName")

    async def said(self, pod: str) -> tuple[str, str]:
        found = await self.client.get(PODS, "default", pod)
        for condition in dig_objects(found, "status", "conditions"):
            if dig_str(condition, "type") == "PodScheduled":
                return dig_str(condition, "reason"), dig_str(condition, "message")
        return "", ""

    async def claim_status(self) -> JsonObject:
        return dig_object(await self.client.get(RESOURCECLAIMS, "default", "gpus"), "status")


@pytest.fixture
async def bench() -> Bench:
    made = Bench()
    await made.prepare()
    return made


# ---- volumes that exist ----


async def test_a_volume_gets_the_claims_name_and_the_pod_waits_for_its_binding(bench: Bench) -> None:
    bind = bench.bind("train-0", bench.own("a"))
    assert await bench.results(bind) == ["waiting"]
    found = await bench.client.get(PERSISTENTVOLUMES, None, "pv-a")
    reference = dig_object(found, "spec", "claimRef")
    assert (reference["kind"], reference["name"], reference["uid"]) == (
        "PersistentVolumeClaim",
        "a",
        bench.uids["a"],
    )
    assert dig_str(found, "metadata", "annotations", "pv.kubernetes.io/bound-by-controller") == "yes"
    assert await bench.node_of("train-0") == ""
    await bench.complete("a")
    assert await bench.results(bind, later=True) == ["bound"]
    assert await bench.node_of("train-0") == "n1"


async def test_what_is_ready_already_is_bound_at_once(bench: Bench) -> None:
    await bench.complete("a")
    assert await bench.results(bench.bind("train-0", bench.own("a"))) == ["bound"]


async def test_a_gang_is_bound_when_all_its_claims_are_and_not_before(bench: Bench) -> None:
    binds = bench.bind("train-0", bench.own("a")), bench.bind("train-1", bench.own("b"))
    assert await bench.results(*binds) == ["waiting", "waiting"]
    await bench.complete("a")
    assert await bench.results(*binds, later=True) == ["waiting", "waiting"]
    await bench.complete("b")
    assert await bench.results(*binds, later=True) == ["bound", "bound"]


async def test_pods_that_need_not_wait_for_each_other_do_not(bench: Bench) -> None:
    binds = bench.bind("train-0", bench.own("a")), bench.bind("train-1", None)
    assert await bench.results(*binds, whole=False) == ["waiting", "bound"]


async def test_a_volume_of_another_claim_fails_the_gang_and_what_was_written_is_taken_back(
    bench: Bench,
) -> None:
    other: JsonObject = {"spec": {"claimRef": {"namespace": "default", "name": "z", "uid": "u"}}}
    await bench.client.patch(PERSISTENTVOLUMES, None, "pv-b", other)
    binds = bench.bind("train-0", bench.own("a")), bench.bind("train-1", bench.own("b"))
    assert await bench.results(*binds) == ["stale", "refused"]
    assert await bench.holder("a") == ""
    assert await bench.holder("b") == "z"
    reason, message = await bench.said("train-1")
    assert reason == "SchedulerError"
    assert message.startswith("execute preBind for pod default/train-1 failed: binding volumes: ")
    assert message.endswith(", resync the task")
    assert await bench.said("train-0") == ("", "")


async def test_a_binding_that_takes_too_long_is_given_up_with_the_words_of_kubernetes(bench: Bench) -> None:
    bind = bench.bind("train-0", bench.own("a"))
    await bench.results(bind)
    assert await bench.results(bind, later=True, last=True) == ["refused"]
    assert await bench.holder("a") == ""
    assert await bench.said("train-0") == (
        "SchedulerError",
        "execute preBind for pod default/train-0 failed: binding volumes: context deadline exceeded, resync the task",
    )


async def test_a_claim_that_was_taken_off_its_volume_meanwhile_fails_the_pod(bench: Bench) -> None:
    bind = bench.bind("train-0", bench.own("a"))
    await bench.results(bind)
    await bench.client.patch(PERSISTENTVOLUMES, None, "pv-a", {"spec": {"claimRef": None}})
    assert await bench.results(bind, later=True) == ["refused"]


async def test_a_claim_that_goes_meanwhile_fails_its_pod(bench: Bench) -> None:
    bind = bench.bind("train-0", bench.own("a"))
    await bench.results(bind)
    await bench.client.patch(PERSISTENTVOLUMECLAIMS, "default", "a", {"metadata": {"finalizers": None}})
    await bench.client.delete(PERSISTENTVOLUMECLAIMS, "default", "a")
    (outcome,) = await bench.execute(bind, later=True)
    assert (outcome.result, outcome.message) == (
        "refused",
        'binding volumes: persistentvolumeclaim "a" not found',
    )


async def test_nothing_is_waited_for_when_the_pod_is_gone(bench: Bench) -> None:
    bind = bench.bind("train-0", bench.own("a"))
    await bench.results(bind)
    await bench.client.delete(PODS, "default", "train-0", grace_seconds=0)
    assert await bench.results(bind, later=True) == ["gone"]
    assert await bench.holder("a") == ""


# ---- volumes that are made ----


async def test_a_claim_is_told_the_node_and_waits_for_its_volume(bench: Bench) -> None:
    bind = bench.bind("train-0", bench.provision("a"))
    assert await bench.results(bind) == ["waiting"]
    assert await bench.selected("a") == "n1"
    await bench.complete("a")
    assert await bench.results(bind, later=True) == ["bound"]


async def test_a_provisioner_that_gives_up_fails_the_pod(bench: Bench) -> None:
    bind = bench.bind("train-0", bench.provision("a"))
    await bench.results(bind)
    await bench.client.patch(
        PERSISTENTVOLUMECLAIMS, "default", "a", {"metadata": {"annotations": {SELECTED: None}}}
    )
    (outcome,) = await bench.execute(bind, later=True)
    assert outcome.message == 'binding volumes: provisioning failed for PVC "a"'


async def test_a_volume_that_was_made_out_of_the_nodes_reach_fails_the_pod(bench: Bench) -> None:
    bind = bench.bind("train-0", bench.provision("a"))
    await bench.results(bind)
    far = volume("far", storage_class="local", node="n9", spec={"local": {"path": "/mnt"}})
    await bench.client.create(PERSISTENTVOLUMES, None, far)
    await bench.complete("a", "far")
    (outcome,) = await bench.execute(bind, later=True)
    assert outcome.message == 'binding volumes: pv "far" node affinity doesn\'t match node "n1"'


async def test_a_node_that_was_told_is_taken_back_when_the_pod_fails(bench: Bench) -> None:
    bind = bench.bind("train-0", bench.provision("a"))
    await bench.results(bind)
    assert await bench.results(bind, later=True, last=True) == ["refused"]
    assert await bench.selected("a") == ""


# ---- devices ----


async def test_a_resource_claim_gets_its_allocation_and_its_user(bench: Bench) -> None:
    assert await bench.results(bench.bind("train-0", bench.devices())) == ["bound"]
    found = await bench.client.get(RESOURCECLAIMS, "default", "gpus")
    assert dig(found, "status", "allocation", "devices", "results", 0, "device") == "gpu-0"
    assert dig_list(found, "status", "reservedFor") == [
        {"resource": "pods", "name": "train-0", "uid": bench.uids["train-0"]}
    ]
    assert "resource.kubernetes.io/delete-protection" in dig_list(found, "metadata", "finalizers")
    assert dig_str(found, "status", "allocation", "allocationTimestamp")


async def test_pods_that_share_a_claim_are_all_its_users(bench: Bench) -> None:
    binds = bench.bind("train-0", bench.devices()), bench.bind("train-1", bench.devices())
    assert await bench.results(*binds) == ["bound", "bound"]
    users = dig_objects(await bench.claim_status(), "reservedFor")
    assert sorted(dig_str(user, "name") for user in users) == ["train-0", "train-1"]


async def test_a_claim_that_somebody_else_allocated_fails_the_pod(bench: Bench) -> None:
    await bench.results(bench.bind("train-0", bench.devices()))
    other = DEVICES.replace("gpu-0", "gpu-1")
    (outcome,) = await bench.execute(bench.bind("train-1", bench.devices(other)))
    assert outcome.message == "claim default/gpus got allocated elsewhere in the meantime"


async def test_a_claim_that_lost_its_devices_fails_the_pod(bench: Bench) -> None:
    (outcome,) = await bench.execute(bench.bind("train-0", bench.devices("")))
    assert outcome.message == "claim default/gpus got deallocated elsewhere in the meantime"


def slow_device() -> str:
    result = {"request": "gpu", "driver": "gpu.example.com", "pool": "n1", "device": "gpu-0"}
    waits = {"bindingConditions": ["attached"], "bindingFailureConditions": ["broken"]}
    return json.dumps({"devices": {"results": [{**result, **waits}]}})


async def say_of_device(bench: Bench, type: str) -> None:
    now = "2026-11-30T00:00:00Z"
    condition: JsonObject = {
        "type": type,
        "status": "True",
        "reason": "x",
        "message": "",
        "lastTransitionTime": now,
    }
    device: JsonObject = {
        "driver": "gpu.example.com",
        "pool": "n1",
        "device": "gpu-0",
        "conditions": [condition],
    }
    await bench.client.patch(
        RESOURCECLAIMS, "default", "gpus", {"status": {"devices": [device]}}, subresource="status"
    )


async def test_a_device_that_must_be_attached_first_is_waited_for(bench: Bench) -> None:
    bind = bench.bind("train-0", bench.devices(slow_device()))
    assert await bench.results(bind) == ["waiting"]
    await say_of_device(bench, "attached")
    assert await bench.results(bind, later=True) == ["bound"]


async def test_a_device_that_cannot_be_attached_fails_its_pod_and_is_given_back(bench: Bench) -> None:
    bind = bench.bind("train-0", bench.devices(slow_device()))
    await bench.results(bind)
    await say_of_device(bench, "broken")
    (outcome,) = await bench.execute(bind, later=True)
    assert (outcome.result, outcome.message) == (
        "refused",
        "device binding failed: claim=default/gpus, device=gpu-0, condition=broken",
    )
    assert "allocation" not in await bench.claim_status()


async def test_devices_of_a_gang_that_fails_are_given_back(bench: Bench) -> None:
    lost = Preparation(volumes=(("default/b", "another-uid", "pv-b"),))
    binds = bench.bind("train-0", bench.devices()), bench.bind("train-1", lost)
    assert await bench.results(*binds) == ["stale", "refused"]
    status = await bench.claim_status()
    assert not dig_objects(status, "reservedFor")
    assert "allocation" not in status


# ---- the waiting side ----


def order(later: bool = False) -> Execute:
    bind = Bind("default/a", "uid-a", "n1", (), Preparation(provisions=(("default/c", "u"),), timeout_s=60))
    return Execute(Decisions(1, (Commit("default/j", (bind,), True),)), later=later)


WAITING = Outcome("default/j", "default/a", "uid-a", "waiting")


def test_what_waits_is_sent_again_ever_more_rarely_and_once_at_a_time() -> None:
    unready = Unready()
    unready.note(order(), [WAITING], 0.0)
    assert unready.orders(2, 0.05) == []
    (again,) = unready.orders(2, 0.2)
    assert (again.later, again.last) == (True, False)
    assert unready.orders(2, 0.3) == []
    unready.note(again, [WAITING], 0.3)
    assert unready.due == 0.5


def test_after_its_time_what_waits_is_sent_a_last_time() -> None:
    unready = Unready()
    unready.note(order(), [WAITING], 0.0)
    (last,) = unready.orders(2, 60.0)
    assert last.last
    unready.note(last, [Outcome("default/j", "default/a", "uid-a", "refused")], 60.0)
    assert unready.due is None


def test_an_order_with_preparations_crosses_a_process() -> None:
    assert unpack(pack(order(later=True))) == order(later=True)

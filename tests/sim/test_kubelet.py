"""The scenario kubelet: what becomes of pods that have a node, cycle by cycle."""

from __future__ import annotations

from vcray.api.jsonview import dig
from vcray.api.meta import JsonObject
from vcray.api.resources import PODS
from vcray.cluster.objects.store import Store
from vcray.cluster.server.inprocess import InProcessTransport
from vcray.kube.client import KubeClient, PatchType
from vcray.sim import shorthand
from vcray.sim.kubelet import ScenarioKubelet
from vcray.sim.observed import text
from vcray.sim.scenario import Kubelet


class Node:
    """One store, its kubelet, and what a test asks of both."""

    def __init__(self) -> None:
        self.store = Store()
        self.client = KubeClient(InProcessTransport(self.store), "test")
        self.kubelet = ScenarioKubelet(self.client, lambda: 1_700_000_000.0)

    async def add(self, name: str, spec: JsonObject) -> None:
        for pod in shorthand.pods(name, spec, name):
            await self.client.create(PODS, "default", pod)

    async def pod(self, name: str) -> JsonObject:
        return await self.client.get(PODS, "default", name)

    async def phases(self) -> dict[str, str]:
        pods = (await self.client.list(PODS)).items
        return {text(each, "metadata", "name"): text(each, "status", "phase") for each in pods}

    async def delete(self, name: str) -> None:
        await self.client.delete(PODS, "default", name)

    async def evict(self, name: str) -> None:
        condition: JsonObject = {"type": "DisruptionTarget", "status": "True", "reason": "Preemption"}
        patch: JsonObject = {"status": {"conditions": [condition]}}
        await self.client.patch(PODS, "default", name, patch, PatchType.STRATEGIC, "status")
        await self.delete(name)


async def test_bound_pod_runs_after_a_cycle_and_one_without_a_node_does_not() -> None:
    node = Node()
    await node.add("bound", {"size": "1c", "node": "n1"})
    await node.add("free", {"size": "1c"})

    await node.kubelet.cycle()

    assert await node.phases() == {"bound": "Running", "free": "Pending"}
    status = dig(await node.pod("bound"), "status", "containerStatuses")
    assert isinstance(status, list)
    assert dig(status[0], "ready") is True


async def test_deleted_pod_is_gone_after_one_cycle() -> None:
    node = Node()
    await node.add("p", {"node": "n1"})
    await node.kubelet.cycle()
    await node.delete("p")
    assert await node.phases() == {"p": "Running"}

    await node.kubelet.cycle()

    assert await node.phases() == {}


async def test_pods_may_take_cycles_to_stop_and_succeed_meanwhile() -> None:
    node = Node()
    node.kubelet.rule(Kubelet(pods="slow", stop_cycles=3, on_stop="succeed"))
    await node.add("slow", {"node": "n1"})
    await node.kubelet.cycle()
    await node.delete("slow")

    seen = []
    for _ in range(3):
        await node.kubelet.cycle()
        seen.append(await node.phases())

    assert seen == [{"slow": "Succeeded"}, {"slow": "Succeeded"}, {}]


async def test_last_rule_that_matches_holds_so_a_stuck_pod_can_be_freed() -> None:
    node = Node()
    node.kubelet.rule(Kubelet(pods="*", start=False))
    await node.add("stuck", {"node": "n1"})
    await node.kubelet.cycle()
    assert await node.phases() == {"stuck": "Pending"}

    node.kubelet.rule(Kubelet(pods="stuck"))
    await node.kubelet.cycle()

    assert await node.phases() == {"stuck": "Running"}


async def test_pod_ends_with_its_exit_code() -> None:
    node = Node()
    await node.add("p", {"count": 2, "node": "n1"})
    await node.kubelet.cycle()

    await node.kubelet.finish("default", "p-0", 0)
    await node.kubelet.finish("default", "p-1", 137)

    assert await node.phases() == {"p-0": "Succeeded", "p-1": "Failed"}
    statuses = dig(await node.pod("p-1"), "status", "containerStatuses")
    assert isinstance(statuses, list)
    assert dig(statuses[0], "state", "terminated", "exitCode") == 137


async def test_evicted_bare_pod_comes_back_pending_by_its_name() -> None:
    node = Node()
    await node.add("p", {"size": "1c", "node": "n1", "group": "g", "priority": "system-node-critical"})
    await node.kubelet.cycle()
    old = text(await node.pod("p"), "metadata", "uid")
    await node.evict("p")

    await node.kubelet.cycle()
    await node.kubelet.cycle()

    pod = await node.pod("p")
    assert text(pod, "metadata", "uid") != old
    assert (text(pod, "spec", "nodeName"), text(pod, "status", "phase")) == ("", "Pending")
    assert dig(pod, "metadata", "annotations") == {"scheduling.k8s.io/group-name": "g"}
    assert dig(pod, "spec", "priority") == 2000001000


async def test_deleted_or_owned_pods_and_those_told_so_do_not_come_back() -> None:
    node = Node()
    node.kubelet.rule(Kubelet(pods="told", replace=False))
    await node.add("deleted", {"node": "n1"})
    await node.add("told", {"node": "n1"})
    await node.kubelet.cycle()
    await node.delete("deleted")
    await node.evict("told")

    await node.kubelet.cycle()

    assert await node.phases() == {}

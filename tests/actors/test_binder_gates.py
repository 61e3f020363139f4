"""What the binder does beside binding: gates of queue admission go, few at a time; statuses of NodeShards."""

from __future__ import annotations

import asyncio
import json

import pytest

from tests.builders import pod
from vcray.actors.binder import Binder
from vcray.actors.messages import Execute
from vcray.actors.status_writer import StatusWriter
from vcray.actors.timekeeping import VirtualTime
from vcray.api.names import QUEUE_ALLOCATION_GATE
from vcray.api.resources import NODESHARDS, PODS
from vcray.cluster.objects.store import Store
from vcray.cluster.server.inprocess import InProcessTransport
from vcray.core.decisions import Decisions, Lift
from vcray.core.nodeshards import NodeShard
from vcray.kube.client import KubeClient
from vcray.kube.events import EventRecorder
from vcray.metrics import Metrics


class Slow(InProcessTransport):
    """Counts how many PATCHes are under way at once."""

    def __init__(self, store: Store) -> None:
        super().__init__(store)
        self.now = self.most = 0

    async def request(self, method, path, query=None, body=None, content_type="application/json"):
        if method != "PATCH":
            return await super().request(method, path, query, body, content_type)
        self.now += 1
        self.most = max(self.most, self.now)
        await asyncio.sleep(0)
        answer = await super().request(method, path, query, body, content_type)
        self.now -= 1
        return answer


class Bench:
    def __init__(self, lifting=5):
        self.time = VirtualTime()
        self.store = Store(clock=self.time)
        self.transport = Slow(self.store)
        self.client = KubeClient(self.transport, "test", sleep=self.time.sleep)
        writer = StatusWriter(
            self.client, EventRecorder(self.client, "volcano", self.time), self.time, "volcano"
        )
        self.binder = Binder(self.client, writer, self.time, Metrics(), lifting=lifting)

    async def gated(self, name, *gates):
        body = pod(name, cpu=1, gates=gates)
        body["metadata"] = {"name": name, "namespace": "default"}
        body.pop("status")
        made = await self.client.create(PODS, "default", body)
        return Lift(f"default/{name}", made["metadata"]["uid"])

    async def gates(self, name):
        found = await self.client.get(PODS, "default", name)
        return [gate["name"] for gate in found["spec"].get("schedulingGates") or []]


async def test_the_gate_of_queue_admission_goes_and_no_other():
    bench = Bench()
    lift = await bench.gated("a", QUEUE_ALLOCATION_GATE, "x.io/wait")

    await bench.binder.receive(Execute(Decisions(1, lifts=(lift,))))

    assert await bench.gates("a") == ["x.io/wait"]


async def test_a_pod_of_that_name_that_is_another_keeps_its_gate():
    bench = Bench()
    await bench.gated("a", QUEUE_ALLOCATION_GATE)

    await bench.binder.receive(Execute(Decisions(1, lifts=(Lift("default/a", "someone-else"),))))
    await bench.binder.receive(Execute(Decisions(2, lifts=(Lift("default/gone", "u"),))))

    assert await bench.gates("a") == [QUEUE_ALLOCATION_GATE]


@pytest.mark.parametrize("lifting", [1, 3])
async def test_few_gates_go_at_once(lifting):
    bench = Bench(lifting)
    lifts = tuple([await bench.gated(f"p{index}", QUEUE_ALLOCATION_GATE) for index in range(8)])

    await bench.binder.receive(Execute(Decisions(1, lifts=lifts)))

    assert bench.transport.most == lifting
    assert [await bench.gates(f"p{index}") for index in range(8)] == [[]] * 8


async def test_the_status_of_a_node_shard_is_written_and_nothing_of_its_spec():
    bench = Bench()
    made = {
        "apiVersion": "shard.volcano.sh/v1alpha1",
        "kind": "NodeShard",
        "metadata": {"name": "volcano"},
        "spec": {"nodesDesired": ["a", "b"]},
    }
    await bench.client.create(NODESHARDS, None, made)

    shard = NodeShard("volcano", ("a", "b"), in_use=("a",), to_add=("b",))
    await bench.binder.receive(Execute(Decisions(1), shards=(shard,)))

    found = await bench.client.get(NODESHARDS, None, "volcano")
    assert found["spec"] == {"nodesDesired": ["a", "b"]}
    status = json.loads(json.dumps(found["status"]))
    assert (status["nodesInUse"], status["nodesToAdd"], status["nodesToRemove"]) == (["a"], ["b"], [])
    assert status["lastUpdateTime"]

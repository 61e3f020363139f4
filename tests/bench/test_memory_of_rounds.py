"""What comes and goes leaves nothing behind (volcano-sh/volcano#618, volcano-sh/volcano#3205): 2,000 bare pods and
Deployments' pods in 20 rounds, with the PodGroups that are made for them."""

from __future__ import annotations

import gc
import sys

from vcray.api.resources import EVENTS, NODES, PODGROUPS, PODS, REPLICASETS
from vcray.app import in_process
from vcray.cache.merge import Merge
from vcray.sim.configurations import CONFIGURATIONS

ROUNDS, PODS_A_ROUND = 20, 100


def bare(name):
    container = {"name": "main", "image": "serve:1", "resources": {"requests": {"cpu": "100m"}}}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"schedulerName": "volcano", "containers": [container]},
    }


def owned(name, owner):
    made = bare(name)
    made["metadata"]["ownerReferences"] = [
        {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": owner["metadata"]["name"],
         "uid": owner["metadata"]["uid"], "controller": True}
    ]  # fmt: skip
    return made


def replica_set(name):
    return {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {
            "replicas": 0,
            "selector": {"matchLabels": {"app": name}},
            "template": {"metadata": {"labels": {"app": name}}, "spec": bare(name)["spec"]},
        },
    }


NODE = {
    "apiVersion": "v1",
    "kind": "Node",
    "metadata": {"name": "n1"},
    "status": {"allocatable": {"cpu": "100", "memory": "1Ti", "pods": "1000"}},
}


async def test_o_073_after_twenty_rounds_nothing_is_left_and_memory_is_that_of_round_five():
    world = in_process()
    world.store.storage._history = 200  # what the API server remembers of the past is not ours
    await world.start(CONFIGURATIONS["K0"])
    await world.client.create(NODES, None, NODE)
    blocks = []
    for turn in range(ROUNDS):
        owner = await world.client.create(REPLICASETS, "default", replica_set(f"rs-{turn}"))
        for index in range(PODS_A_ROUND):
            name = f"p-{turn}-{index}"
            await world.client.create(PODS, "default", bare(name) if index % 2 else owned(name, owner))
        await world.rest()
        for _ in range(3):
            await world.cycle()
        bound = await world.client.list(PODS, "default")
        assert all(item["spec"].get("nodeName") for item in bound.items)
        for item in bound.items:
            await world.client.delete(PODS, "default", item["metadata"]["name"], grace_seconds=0)
        await world.client.delete(REPLICASETS, "default", f"rs-{turn}")
        for _ in range(3):
            await world.cycle()
        for event in (await world.client.list(EVENTS, "default")).items:  # those are the API server's memory
            await world.client.delete(EVENTS, "default", event["metadata"]["name"])
        gc.collect()
        blocks.append(sys.getallocatedblocks())

    groups = (await world.client.list(PODGROUPS, "default")).items
    merge = next(item for item in gc.get_objects() if type(item) is Merge)
    await world.stop()
    assert groups == []
    assert [len(table) for table in merge._state.tables.values()] == [0, 0]
    assert len(merge._state.jobs) == 0
    assert blocks[-1] <= blocks[4] * 1.1, blocks

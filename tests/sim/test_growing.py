"""Updates of what grows by itself are judged on our side of the wire, whichever way they are written."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from tests.integrations.objects import ray_cluster
from vcray.api.jsonview import dig
from vcray.api.meta import JsonObject, JsonValue
from vcray.api.resources import NAMESPACES, RAYCLUSTERS
from vcray.cache.supposed import Wanted
from vcray.cluster.objects.store import Store
from vcray.cluster.server.inprocess import InProcessTransport
from vcray.kube.client import KubeClient, PatchType
from vcray.kube.errors import ApiError
from vcray.sim.growing import GrowingTransport
from vcray.sim.operating import install

WORKERS: JsonValue = [
    {"groupName": "w", "replicas": 8, "template": {"spec": {"containers": [{"name": "c"}]}}}
]
REPLICAS: JsonValue = [{"op": "replace", "path": "/spec/workerGroupSpecs/0/replicas", "value": 8}]


async def room_for_three(wanted: Sequence[Wanted]) -> Sequence[int | None]:
    assert [(each.job, each.count) for each in wanted] == [("ns/ray-r-pg", 8)]
    return (3,)


@pytest.mark.parametrize("way", ["put", "merge", "json"])
async def test_every_way_of_writing_gets_what_has_room(way: str) -> None:
    transport = InProcessTransport(Store())
    await install(transport, ["kuberay"])
    client = KubeClient(GrowingTransport(transport, room_for_three))
    await client.create(NAMESPACES, None, {"metadata": {"name": "ns"}})
    made = await client.create(RAYCLUSTERS, "ns", ray_cluster(workers=1, enableInTreeAutoscaling=True))
    changes: dict[str, tuple[JsonValue, PatchType]] = {
        "merge": ({"spec": {"workerGroupSpecs": WORKERS}}, PatchType.MERGE),
        "json": (REPLICAS, PatchType.JSON),
    }
    if way == "put":
        spec = made["spec"]
        assert isinstance(spec, dict)
        whole: JsonObject = {**made, "spec": {**spec, "workerGroupSpecs": WORKERS}}
        stored = await client.update(RAYCLUSTERS, whole)
    else:
        stored = await client.patch(RAYCLUSTERS, "ns", "r", *changes[way])

    assert dig(stored, "spec", "workerGroupSpecs", 0, "replicas") == 3
    with pytest.raises(ApiError):
        await client.patch(
            RAYCLUSTERS, "ns", "r", [{"op": "test", "path": "/no", "value": 1}], PatchType.JSON
        )
    await transport.close()

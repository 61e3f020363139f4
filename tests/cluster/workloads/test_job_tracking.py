"""A job notes only so many pods at once, and does not end before all of them are counted."""

from __future__ import annotations

import pytest

from tests.cluster.workloads.volume_world import World, played
from vcray.api.jsonview import dig, dig_objects
from vcray.api.meta import JsonObject
from vcray.api.resources import KUBERNETES_JOBS
from vcray.cluster.workloads.job import tracking


@pytest.mark.parametrize("mode", ["Indexed", "NonIndexed"])
def test_a_job_ends_when_all_its_pods_are_counted(monkeypatch: pytest.MonkeyPatch, mode: str) -> None:
    monkeypatch.setattr(tracking, "MOST_UNCOUNTED", 2)

    @played
    async def test(world: World) -> None:
        container: JsonObject = {"name": "main", "image": "busybox", "command": ["sh", "-c", "exit 0"]}
        pod: JsonObject = {"nodeName": "node-0", "restartPolicy": "Never", "containers": [container]}
        spec: JsonObject = {"completions": 5, "parallelism": 5, "completionMode": mode}
        body: JsonObject = {"metadata": {"name": "work"}, "spec": {**spec, "template": {"spec": pod}}}
        await world.client.create(KUBERNETES_JOBS, "default", body)

        await world.wait(5)
        await world.wait(5)

        job = await world.client.get(KUBERNETES_JOBS, "default", "work")
        assert [each["type"] for each in dig_objects(job, "status", "conditions")] == [
            "SuccessCriteriaMet",
            "Complete",
        ]
        assert dig(job, "status", "succeeded") == 5
        assert dig(job, "status", "completedIndexes") == ("0-4" if mode == "Indexed" else None)

    test()

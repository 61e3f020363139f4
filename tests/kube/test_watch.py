"""A watch that cannot read says so once, and once more when it can again."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

import pytest

from vcray.api.resources import NODES, RESOURCESLICES
from vcray.clock import ManualClock
from vcray.cluster import InProcessTransport, Store
from vcray.kube.client import KubeClient
from vcray.kube.transport import Response
from vcray.kube.watch import EventType, watch_heads, watch_nodes, watch_objects, watch_pods


@pytest.fixture(autouse=True)
def _heard(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever configured the log before, caplog hears it."""
    monkeypatch.setattr(logging.getLogger("vcray"), "propagate", True)


async def test_an_outage_is_told_when_it_begins_and_when_it_ends(caplog: pytest.LogCaptureFixture) -> None:
    transport = InProcessTransport(Store(ManualClock()))
    transport.available = False
    slept = 0

    async def sleep(_: float) -> None:
        nonlocal slept
        slept += 1
        transport.available = slept > 16
        await asyncio.sleep(0)

    client = KubeClient(transport, sleep=sleep)
    with caplog.at_level("INFO", "vcray"):
        await asyncio.gather(anext(watch_nodes(client).events()), anext(watch_pods(client).events()))

    told = [each.getMessage() for each in caplog.records]
    assert len(told) == 2
    assert told[0].startswith("the API server cannot be used, trying on why='VC0401 ")
    assert told[1].startswith("the API server answers again server=")


async def test_one_resource_that_may_not_be_read_is_named(caplog: pytest.LogCaptureFixture) -> None:
    class Closed(InProcessTransport):
        async def request(self, *_: object, **__: object) -> Response:
            body = b'{"code": 403, "reason": "Forbidden", "message": "pods is forbidden"}'
            return Response(403, body, {})

    tries = 0

    async def sleep(_: float) -> None:
        nonlocal tries
        tries += 1
        if tries > 8:
            raise asyncio.CancelledError

    client = KubeClient(Closed(Store(ManualClock())), sleep=sleep)
    with caplog.at_level("INFO", "vcray"), pytest.raises(asyncio.CancelledError):
        await anext(watch_pods(client).events())

    assert [each.getMessage() for each in caplog.records] == [
        "cannot read, trying on resource=pods why='VC0203 GET /api/v1/pods: pods is forbidden'"
    ]


async def test_an_optional_resource_that_is_not_served_counts_as_read_and_is_asked_for_again() -> None:
    class Old(InProcessTransport):
        served = False

        async def request(self, method: str, path: str, *rest: Any, **more: Any) -> Response:
            if self.served:
                return await super().request(method, path, *rest, **more)
            return Response(404, b'{"code": 404, "reason": "NotFound", "message": "not found"}', {})

    transport = Old(Store(ManualClock()))

    async def sleep(_: float) -> None:
        transport.served = True
        await asyncio.sleep(0)

    events = watch_objects(KubeClient(transport, sleep=sleep), RESOURCESLICES, optional=True).events()
    assert (await anext(events)).type is EventType.SYNCED
    assert (await anext(events)).type is EventType.SYNCED
    await events.aclose()


async def test_an_optional_resource_that_stays_away_is_no_news_for_the_log(
    caplog: pytest.LogCaptureFixture,
) -> None:
    class Without(InProcessTransport):
        async def request(self, *_: Any, **__: Any) -> Response:
            return Response(404, b'{"code": 404, "reason": "NotFound", "message": "not found"}', {})

    asked = 0

    async def sleep(_: float) -> None:
        nonlocal asked
        asked += 1
        if asked == 10:
            raise TimeoutError

    client = KubeClient(Without(Store(ManualClock())), sleep=sleep)
    events = watch_objects(client, RESOURCESLICES, optional=True).events()
    assert (await anext(events)).type is EventType.SYNCED
    with pytest.raises(TimeoutError):
        await anext(events)

    assert not caplog.records


async def test_heads_are_metadata_without_what_else_there_is() -> None:
    client = KubeClient(InProcessTransport(Store(ManualClock())))
    labels = {"rack": "r1"}
    await client.create(
        NODES, None, {"metadata": {"name": "n", "labels": labels}, "spec": {"providerID": "x"}}
    )

    event = await anext(watch_heads(client, NODES).events())

    assert event.key == "n"
    assert event.object is not None
    assert set(event.object) == {"metadata"}
    metadata = event.object["metadata"]
    assert isinstance(metadata, dict)
    assert (metadata["labels"], "managedFields" in metadata) == (labels, False)

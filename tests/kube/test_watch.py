"""A watch that cannot read says so once, and once more when it can again."""

from __future__ import annotations

import asyncio

import pytest

from vcray.api.resources import NODES
from vcray.clock import ManualClock
from vcray.cluster import InProcessTransport, Store
from vcray.kube.client import KubeClient
from vcray.kube.watch import watch_nodes


async def test_an_outage_is_told_when_it_begins_and_when_it_ends(caplog: pytest.LogCaptureFixture) -> None:
    transport = InProcessTransport(Store(ManualClock()))
    transport.available = False
    slept = 0

    async def sleep(_: float) -> None:
        nonlocal slept
        slept += 1
        transport.available = slept > 8
        await asyncio.sleep(0)

    watch = watch_nodes(KubeClient(transport, sleep=sleep))
    with caplog.at_level("INFO", "vcray"):
        await anext(watch.events())

    told = [each.getMessage() for each in caplog.records]
    assert len(told) == 2
    assert told[0].startswith(f"cannot read, trying on resource={NODES.full_name} why='VC0401 ")
    assert told[1] == f"reading again resource={NODES.full_name}"

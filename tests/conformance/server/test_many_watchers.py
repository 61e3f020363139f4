"""Many watchers of one busy resource: each sees all changes in order, whoever else is slow or deaf.

VCRAY_WATCHERS and VCRAY_EVENTS say how many (20 and 500 by default; 100 and 5,000 in `make watchers-full`).
"""

from __future__ import annotations

import asyncio
import os
import re
import ssl

import aiohttp
import pytest

from tests.conformance.harness.base import ADMIN_TOKEN, Server

WATCHERS = int(os.environ.get("VCRAY_WATCHERS", "20"))
EVENTS = int(os.environ.get("VCRAY_EVENTS", "500"))
NUMBER = re.compile(rb'"number":"(\d+)"')

pytestmark = pytest.mark.timeout(120 + WATCHERS * EVENTS // 1000)


def session(server: Server) -> aiohttp.ClientSession:
    tls = ssl.create_default_context(cafile=str(server.certificate_authority))
    return aiohttp.ClientSession(
        server.url,
        headers={"Authorization": f"Bearer {ADMIN_TOKEN}"},
        connector=aiohttp.TCPConnector(ssl=tls, limit=0),
        timeout=aiohttp.ClientTimeout(total=None),
    )


async def seen(watch: aiohttp.ClientResponse, start: asyncio.Event) -> list[int]:
    """The numbers that a watch tells, up to the last one; nothing is read before `start`."""
    await start.wait()
    data = bytearray()
    async for part in watch.content.iter_any():
        data += part
        if b'"number":"%d"' % (EVENTS - 1) in data[-len(part) - 100 :]:
            break
    return [int(number) for number in NUMBER.findall(bytes(data))]


async def test_each_of_many_watchers_sees_every_change_in_order_whoever_is_slow_or_deaf(
    apiserver: Server, namespace: str
) -> None:
    path = f"/api/v1/namespaces/{namespace}/configmaps"
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "busy"}, "data": {"number": "-1"}}
    now, later = asyncio.Event(), asyncio.Event()
    now.set()
    async with session(apiserver) as client:
        async with client.post(path, json=body) as created:
            version = (await created.json())["metadata"]["resourceVersion"]
        query = {"watch": "true", "resourceVersion": version}
        watches = [await client.get(path, params=query) for _ in range(WATCHERS + 2)]
        deaf, slow, *quick = watches
        readers = [asyncio.create_task(seen(watch, now)) for watch in quick]
        last = asyncio.create_task(seen(slow, later))

        for number in range(EVENTS):
            change = {"data": {"number": str(number)}}
            kind = {"Content-Type": "application/merge-patch+json"}
            async with client.patch(f"{path}/busy", json=change, headers=kind) as patched:
                assert patched.status == 200
        told = await asyncio.gather(*readers)
        later.set()
        late = await last

        for watch in (deaf, slow, *quick):
            watch.close()
    assert all(numbers == list(range(EVENTS)) for numbers in told)
    assert late == list(range(EVENTS))

"""Large objects, many watchers, slow watchers: nobody keeps the others waiting."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import msgspec
import pytest

from vcray.api.meta import JsonObject
from vcray.api.resources import CONFIGMAPS
from vcray.cluster.server import streams
from vcray.cluster.server.https import EmbeddedServer, serve
from vcray.kube.client import KubeClient
from vcray.kube.errors import TooLarge
from vcray.kube.http import HttpTransport, StaticToken

PATH = CONFIGMAPS.path("default")


@asynccontextmanager
async def running() -> AsyncIterator[tuple[EmbeddedServer, HttpTransport]]:
    server = await serve()
    tls = ssl.create_default_context(cadata=server.ca.decode())
    transport = HttpTransport(server.url, StaticToken(server.admin_token), tls)
    try:
        yield server, transport
    finally:
        await transport.close()
        await server.stop()


def config_map(name: str, text: str = "") -> JsonObject:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"text": text}}


def version_of(line: bytes) -> int:
    return int(msgspec.json.decode(line)["object"]["metadata"]["resourceVersion"])


async def test_every_watcher_sees_every_change_once_and_in_order() -> None:
    watchers, changes = 20, 200
    async with running() as (server, transport):
        since = str(server.store.storage.version)

        async def follow() -> list[int]:
            stream = transport.stream(PATH, {"watch": "true", "resourceVersion": since})
            seen = [version_of(await anext(stream)) for _ in range(changes)]
            await stream.aclose()
            return seen

        following = [asyncio.create_task(follow()) for _ in range(watchers)]
        made = [
            server.store.create(CONFIGMAPS, "default", config_map(f"c{number}")).version
            for number in range(changes)
        ]
        seen = await asyncio.gather(*following)

    assert all(each == made for each in seen)


async def test_a_client_that_never_reads_is_cut_and_the_others_miss_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(streams, "MOST_LINES", 20)
    async with running() as (server, transport):
        since = str(server.store.storage.version)
        deaf, writer = await deaf_watch(server, since)
        stream = transport.stream(PATH, {"watch": "true", "resourceVersion": since})
        changes = 80
        for number in range(changes):
            server.store.create(CONFIGMAPS, "default", config_map(f"c{number}", "x" * 500_000))
            assert version_of(await anext(stream)) > int(since)
        await stream.aclose()
        with pytest.raises((ConnectionError, asyncio.IncompleteReadError, ssl.SSLError)):
            await deaf.readexactly(changes * 500_000)
        writer.transport.abort()


async def deaf_watch(server: EmbeddedServer, since: str) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """A watch whose client reads no more than the head of the answer."""
    tls = ssl.create_default_context(cadata=server.ca.decode())
    port = int(server.url.rpartition(":")[2])
    reader, writer = await asyncio.open_connection("127.0.0.1", port, ssl=tls, limit=1 << 16)
    request = f"GET {PATH}?watch=true&resourceVersion={since} HTTP/1.1\r\nHost: x\r\n"
    writer.write(f"{request}Authorization: Bearer {server.admin_token}\r\n\r\n".encode())
    await reader.readuntil(b"\r\n\r\n")
    return reader, writer


async def test_an_object_of_a_megabyte_is_kept_read_and_watched() -> None:
    async with running() as (server, transport):
        client = KubeClient(transport)
        since = str(server.store.storage.version)
        await client.create(CONFIGMAPS, "default", config_map("large", "y" * 1_000_000))
        stream = transport.stream(PATH, {"watch": "true", "resourceVersion": since})
        line = await anext(stream)
        await stream.aclose()
        found = await client.get(CONFIGMAPS, "default", "large")

    assert len(msgspec.json.encode(found)) > 1_000_000
    assert len(line) > 1_000_000


async def test_a_body_of_more_than_three_mebibytes_is_refused() -> None:
    async with running() as (_, transport):
        with pytest.raises(TooLarge, match="Request entity too large: limit is 3145728"):
            await KubeClient(transport).create(CONFIGMAPS, "default", config_map("huge", "z" * 3_200_000))

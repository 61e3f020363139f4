"""The embedded server on its socket: TLS, tokens, requests and watches through vcray's own client."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import yaml

from vcray.api.jsonview import dig_str
from vcray.api.meta import JsonObject
from vcray.api.resources import CONFIGMAPS, NAMESPACES
from vcray.cluster.server.https import EmbeddedServer, ServerOptions, serve
from vcray.cluster.server.tokens import ADMIN, read_tokens
from vcray.errors import Unauthorized
from vcray.kube.client import KubeClient
from vcray.kube.http import HttpTransport, StaticToken


@asynccontextmanager
async def running(options: ServerOptions | None = None) -> AsyncIterator[EmbeddedServer]:
    server = await serve(options)
    try:
        yield server
    finally:
        await server.stop()


@asynccontextmanager
async def client_of(server: EmbeddedServer, token: str = "") -> AsyncIterator[HttpTransport]:
    tls = ssl.create_default_context(cadata=server.ca.decode())
    transport = HttpTransport(server.url, StaticToken(token or server.admin_token), tls)
    try:
        yield transport
    finally:
        await transport.close()


def config_map(name: str) -> JsonObject:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"a": "1"}}


def test_an_object_created_over_https_is_read_back_and_watched() -> None:
    async def run() -> tuple[str, bytes]:
        async with running() as server, client_of(server) as transport:
            client = KubeClient(transport)
            await client.create(CONFIGMAPS, "default", config_map("one"))
            found = await client.get(CONFIGMAPS, "default", "one")
            stream = transport.stream(CONFIGMAPS.path("default"), {"watch": "true"})
            first = await anext(stream)
            await stream.aclose()
            return dig_str(found, "data", "a"), first

    value, first = asyncio.run(run())
    assert value == "1"
    assert first.startswith(b'{"type":"ADDED"')


def test_an_unknown_token_is_refused() -> None:
    async def run() -> None:
        async with running() as server, client_of(server, "wrong") as transport:
            with pytest.raises(Unauthorized):
                await KubeClient(transport).get(CONFIGMAPS, "default", "one")

    asyncio.run(run())


def test_the_authority_is_kept_in_the_folder_and_the_kubeconfig_names_it(tmp_path: Path) -> None:
    async def run() -> tuple[bytes, str]:
        async with running(ServerOptions(folder=tmp_path)) as server:
            return server.ca, server.kubeconfig()

    first, text = asyncio.run(run())
    second, _ = asyncio.run(run())
    assert first == second == (tmp_path / "ca.crt").read_bytes()
    assert yaml.safe_load(text)["clusters"][0]["cluster"]["server"].startswith("https://127.0.0.1:")


def test_stopping_ends_open_watches() -> None:
    async def run() -> list[bytes]:
        async with running() as server, client_of(server) as transport:
            stream = transport.stream(NAMESPACES.path(None), {"watch": "true", "limit": "1"})
            await anext(stream)
            await server.stop()
            return [line async for line in stream]

    assert len(asyncio.run(run())) < 10


def test_a_token_file_names_users_with_their_groups() -> None:
    users = read_tokens('t,admin,1,"system:masters"\ns,stranger,2\n')
    assert users["t"].groups == ("system:masters", "system:authenticated")
    assert users["s"].groups == ("system:authenticated",)
    assert ADMIN.name == "admin"

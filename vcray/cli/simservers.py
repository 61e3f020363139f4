"""The servers that scenarios run on besides this process: one server for all of them, gone or left alone afterwards."""

from __future__ import annotations

import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from vcray.kube.transport import Transport


@asynccontextmanager
async def connected(kubeconfig: Path | None) -> AsyncIterator[Transport]:
    """The server of a kubeconfig (without one: as `vcray run` finds it)."""
    from vcray.kube.auth import load

    transport = await load(kubeconfig)
    try:
        yield transport
    finally:
        await transport.close()


@asynccontextmanager
async def embedded() -> AsyncIterator[Transport]:
    """An embedded API server of its own, over HTTPS, with Volcano's definitions."""
    from vcray.cli.embedded import install_definitions
    from vcray.cluster.server.https import ServerOptions, serve
    from vcray.kube.client import KubeClient
    from vcray.kube.http import HttpTransport, StaticToken

    server = await serve(ServerOptions())
    try:
        await install_definitions(KubeClient(server.transport, "vcray"))
        transport = HttpTransport(
            server.url, StaticToken(server.admin_token), ssl.create_default_context(cadata=server.ca.decode())
        )
        try:
            yield transport
        finally:
            await transport.close()
    finally:
        await server.stop()

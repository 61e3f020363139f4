"""From flags to a client of an API server, closed again when the command ends."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

from vcray.kube.client import KubeClient

Connect = Callable[[], Awaitable[KubeClient]]
"""Opens the client; a command calls it once its own flags are found right."""


@asynccontextmanager
async def opened(
    kubeconfig: str = "",
    master: str = "",
    connect: Connect | None = None,
    program: str = "vcctl",
    context: str | None = None,
) -> AsyncIterator[Connect]:
    """A function that opens the client when first called. `connect`: how to, in place of the kubeconfig.

    `program` is the manager of the fields that are written, `context` that of the kubeconfig in place of the current one. Raises ServerError VC0403 when the kubeconfig cannot be used."""
    clients: list[KubeClient] = []

    async def open_client() -> KubeClient:
        if not clients:
            clients.append(await (connect() if connect else _load(kubeconfig, master, program, context)))
        return clients[0]

    try:
        yield open_client
    finally:
        for client in clients:
            await client.close()


async def _load(kubeconfig: str, master: str, program: str, context: str | None) -> KubeClient:
    from vcray.cli.warnings import WarningTransport
    from vcray.kube.auth import load

    transport = await load(Path(kubeconfig) if kubeconfig else None, context, master or None)
    return KubeClient(WarningTransport(transport), program)

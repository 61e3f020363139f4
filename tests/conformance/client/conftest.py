"""One `KubeClient`, three servers: every test here runs on the object store in this process, on the embedded server over
HTTPS and on a real kube-apiserver."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from itertools import count

import pytest

from tests.conformance.harness.base import Server
from vcray.api.crds import all_crds
from vcray.api.meta import JsonObject
from vcray.api.resources import CUSTOMRESOURCEDEFINITIONS, NAMESPACES, QUEUES
from vcray.cluster import InProcessTransport, Store
from vcray.kube.auth import load
from vcray.kube.client import KubeClient
from vcray.kube.errors import AlreadyExists, ApiError

STORE, EMBEDDED, REAL = "store", "embedded", "real"
_numbers = count(1)


@dataclass
class Backend:
    """A server under test: a client, a namespace of its own, and a word to make cluster-scoped names unique."""

    kind: str
    client: KubeClient
    namespace: str
    word: str
    store: Store | None = None
    server: Server | None = None

    @property
    def real(self) -> bool:
        """True for the kube-apiserver."""
        return self.kind == REAL

    def name(self, prefix: str) -> str:
        """A name that no other test uses."""
        return f"{prefix}-{self.word}"

    def second_client(self, field_manager: str) -> KubeClient:
        """Another writer on the same server."""
        return KubeClient(self.client.transport, field_manager)

    def disconnect(self) -> None:
        """Break the embedded server's open watches; on the real one they end by their timeout."""
        if isinstance(self.client.transport, InProcessTransport):
            self.client.transport.disconnect()


async def eventually(ask: Callable[[], Awaitable[bool]], what: str, timeout_s: float = 20.0) -> None:
    """Poll until `ask` says yes."""
    loop = asyncio.get_running_loop()
    deadline = loop.time() + timeout_s
    while not await ask():
        assert loop.time() < deadline, f"waited {timeout_s} s for {what}"
        await asyncio.sleep(0.05)


async def install_crds(client: KubeClient) -> None:
    """Create the CRDs unless an earlier test did, and wait until the last one is served."""
    for crd in all_crds():
        try:
            await client.create(CUSTOMRESOURCEDEFINITIONS, None, crd)
        except AlreadyExists:
            continue

    async def served() -> bool:
        crds = (await client.list(CUSTOMRESOURCEDEFINITIONS)).items
        return all(_established(crd) for crd in crds)

    await eventually(served, "the CRDs to be established")

    async def listed() -> bool:
        try:
            await client.list(QUEUES)
        except ApiError:
            return False
        return True

    await eventually(listed, "queues to be served")


def _established(crd: JsonObject) -> bool:
    status = crd.get("status")
    conditions = status.get("conditions") if isinstance(status, dict) else None
    return isinstance(conditions, list) and any(
        isinstance(c, dict) and c.get("type") == "Established" and c.get("status") == "True"
        for c in conditions
    )


async def server_backend(kind: str, server: Server) -> Backend:
    """A client and a fresh namespace on a server over HTTPS."""
    client = KubeClient(await load(server.kubeconfig), "tests")
    namespace = server.create_namespace()
    return Backend(kind, client, namespace, namespace.removeprefix("test-"), server=server)


async def store_backend() -> Backend:
    """A client and a namespace on a fresh store."""
    store = Store()
    client = KubeClient(InProcessTransport(store), "tests")
    namespace = f"test-{next(_numbers)}"
    await client.create(NAMESPACES, None, {"metadata": {"name": namespace}})
    return Backend(STORE, client, namespace, namespace, store=store)


ALL = [
    STORE,
    pytest.param(EMBEDDED, marks=pytest.mark.embedded),
    pytest.param(REAL, marks=pytest.mark.apiserver),
]


@pytest.fixture(params=ALL)
async def backend(request: pytest.FixtureRequest) -> AsyncIterator[Backend]:
    """The server under test, without controllers."""
    if request.param == STORE:
        made = await store_backend()
    else:
        made = await server_backend(request.param, request.getfixturevalue(f"{request.param}_apiserver"))
        await install_crds(made.client)
    yield made
    await made.client.close()


@pytest.fixture(params=ALL)
async def collecting(request: pytest.FixtureRequest) -> AsyncIterator[Backend]:
    """The server under test with a garbage collector: those over HTTPS need controllers beside them for it."""
    if request.param == STORE:
        made = await store_backend()
    else:
        made = await server_backend(request.param, request.getfixturevalue(f"{request.param}_cluster"))
    yield made
    await made.client.close()

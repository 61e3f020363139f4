"""The transport that never leaves the process: the same paths, bodies and watch lines as over HTTP, from a `Store`."""

from __future__ import annotations

from collections.abc import AsyncGenerator

from vcray.api.resources import Resource
from vcray.cluster.objects.store import Store
from vcray.cluster.objects.watching import Delivery
from vcray.cluster.server.answers import refusal
from vcray.cluster.server.api import Api
from vcray.cluster.server.requests import Request
from vcray.errors import Problem, Unreachable
from vcray.kube.errors import TooLarge
from vcray.kube.transport import JSON, Query, Response

MAX_BODY = 3 * 1024 * 1024
"""Bytes of one request that a server takes."""


class InProcessTransport:
    """A `Transport` onto a store. Several transports may share one store; each has watches and delivery of its own.

    `shuffle_seed` shuffles the order in which watchers are served. `user_agent` is the field manager of requests that
    name none; `api` is that of a server which asks webhooks, by default nobody is asked. `available = False` makes every request fail as if the server were not there.
    """

    def __init__(
        self,
        store: Store,
        *,
        shuffle_seed: int | None = None,
        user_agent: str = "vcray",
        api: Api | None = None,
    ) -> None:
        self.store = store
        self._api = api or Api(store)
        self.delivery = Delivery(store.storage, shuffle_seed)
        self.available = True
        self.requests = 0
        self._user_agent = user_agent

    @property
    def address(self) -> str:
        """A name for messages."""
        return "the in-process cluster"

    def hold(self, resource: Resource, namespace: str | None, name: str) -> None:
        """Withhold the watch events of one object until it is released."""
        self.delivery.hold(resource, namespace or "", name)

    def release(self, resource: Resource, namespace: str | None, name: str) -> None:
        """Send the withheld events of one object, in order."""
        self.delivery.release(resource, namespace or "", name)

    def disconnect(self) -> None:
        """End all watches; clients will open them again."""
        self.delivery.end_all()

    def idle(self) -> bool:
        """True if every watch line has been taken by its reader (withheld events apart)."""
        return self.delivery.idle()

    async def request(
        self,
        method: str,
        path: str,
        query: Query | None = None,
        body: bytes | None = None,
        content_type: str = JSON,
    ) -> Response:
        """Answer at once, without giving up control to the event loop."""
        self._require_available()
        self.requests += 1
        asked = Request(method, path, query or {}, body, content_type, agent=self._user_agent)
        if body is not None and len(body) > MAX_BODY:
            return refusal(asked, TooLarge(f"Request entity too large: limit is {MAX_BODY}"))
        return await self._api.respond(asked)

    async def stream(self, path: str, query: Query | None = None) -> AsyncGenerator[bytes, None]:
        """The lines of a watch until it is closed, disconnected, or its timeoutSeconds are over."""
        self._require_available()
        asked = Request("GET", path, {"watch": "true", **(query or {})}, agent=self._user_agent)
        async for item in self._api.watch(asked, self.delivery).lines():
            yield item

    async def close(self) -> None:
        """End all watches; the store stays."""
        self.delivery.shut()

    def _require_available(self) -> None:
        if not self.available:
            raise Unreachable(Problem("VC0401", self.address, "the API server does not answer"))

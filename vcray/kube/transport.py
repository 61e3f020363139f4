"""What lies under the client: requests and watch streams, over HTTP or within the process.

Both implementations answer with the same paths, bodies and status codes, so whoever holds a `KubeClient` cannot tell a
kube-apiserver from the in-memory store.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from dataclasses import dataclass, field
from typing import Protocol

JSON = "application/json"

Query = Mapping[str, str]
"""Query parameters by name, not yet escaped."""


@dataclass(frozen=True, slots=True)
class Response:
    """An answer, whatever its status; header names are in lower case."""

    status: int
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)

    @property
    def ok(self) -> bool:
        """True for 2xx."""
        return 200 <= self.status < 300


class Transport(Protocol):
    """One API server with one identity.

    `request` raises `vcray.errors.Unreachable` when no answer comes; an answer with an error status is returned.
    `stream` raises on its first step: `Unreachable`, `Unauthorized`, or an `ApiError` for an error status. It ends
    without an error when the server ends the watch, and with `Unreachable` when the connection breaks.
    """

    @property
    def address(self) -> str:
        """Where the server is, for messages."""

    async def request(
        self,
        method: str,
        path: str,
        query: Query | None = None,
        body: bytes | None = None,
        content_type: str = JSON,
    ) -> Response: ...

    def stream(self, path: str, query: Query | None = None) -> AsyncGenerator[bytes, None]:
        """The lines of a watch, each one JSON document without its line end."""

    async def close(self) -> None:
        """End all streams and free the connections; safe to call twice."""


class PassingTransport:
    """A transport that passes all on to another: base of those that look at what goes by."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    @property
    def address(self) -> str:
        return self._transport.address

    def stream(self, path: str, query: Query | None = None) -> AsyncGenerator[bytes, None]:
        return self._transport.stream(path, query)

    async def close(self) -> None:
        await self._transport.close()

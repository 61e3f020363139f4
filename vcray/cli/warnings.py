"""Warnings that an API server sends beside its answers, passed on to the user as kubectl does: once each, on standard error."""

from __future__ import annotations

import re
import sys
from collections.abc import AsyncGenerator, Iterator

from vcray.kube.transport import JSON, Query, Response, Transport

_WARNING = re.compile(r'\d{3} \S+ "((?:[^"\\]|\\.)*)"')


def texts(header: str) -> Iterator[str]:
    """The texts of a Warning header, which may hold several."""
    for found in _WARNING.finditer(header):
        yield re.sub(r"\\(.)", r"\1", found[1])


class WarningTransport:
    """A transport that tells each warning once."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport
        self._told: set[str] = set()

    @property
    def address(self) -> str:
        return self._transport.address

    async def request(
        self,
        method: str,
        path: str,
        query: Query | None = None,
        body: bytes | None = None,
        content_type: str = JSON,
    ) -> Response:
        answer = await self._transport.request(method, path, query, body, content_type)
        for text in texts(answer.headers.get("warning", "")):
            if text not in self._told:
                self._told.add(text)
                print(f"Warning: {text}", file=sys.stderr)
        return answer

    def stream(self, path: str, query: Query | None = None) -> AsyncGenerator[bytes, None]:
        return self._transport.stream(path, query)

    async def close(self) -> None:
        await self._transport.close()

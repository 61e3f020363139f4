"""Warnings that an API server sends beside its answers, passed on to the user as kubectl does: once each, on standard error."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator

from vcray.kube.transport import JSON, PassingTransport, Query, Response, Transport

_WARNING = re.compile(r'\d{3} \S+ "((?:[^"\\]|\\.)*)"')


def texts(header: str) -> Iterator[str]:
    """The texts of a Warning header, which may hold several."""
    for found in _WARNING.finditer(header):
        yield re.sub(r"\\(.)", r"\1", found[1])


class WarningTransport(PassingTransport):
    """A transport that tells each warning once."""

    def __init__(self, transport: Transport) -> None:
        super().__init__(transport)
        self._told: set[str] = set()

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

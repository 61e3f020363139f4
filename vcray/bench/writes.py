"""What a part of the control plane writes: a transport that counts requests that change things, by verb and resource."""

from __future__ import annotations

from collections import Counter
from typing import Final

import msgspec
from msgspec import Struct

from vcray.kube.paths import target_of
from vcray.kube.transport import JSON, PassingTransport, Query, Response, Transport

READS: Final = frozenset({"GET", "HEAD"})


class _Metadata(Struct, rename="camel"):
    resource_version: str = ""


class _Answer(Struct):
    metadata: _Metadata = msgspec.field(default_factory=_Metadata)


_ANSWER: Final = msgspec.json.Decoder(_Answer)


class CountingTransport(PassingTransport):
    """Passes all on and counts writes: `writes` and `refused` by `verb resource`, `unchanged` alike.

    A server gives each change a resourceVersion above all before it, and answers a PUT or PATCH that changes nothing with
    the version that the object had. So a version no higher than one that was known when the request left tells that
    nothing was changed. Leases are left out: they are written to say that somebody lives.
    """

    def __init__(self, transport: Transport) -> None:
        super().__init__(transport)
        self.writes: Counter[str] = Counter()
        self.refused: Counter[str] = Counter()
        self.unchanged: Counter[str] = Counter()
        self._highest = 0

    def forget(self) -> None:
        """Count anew from here."""
        for each in (self.writes, self.refused, self.unchanged):
            each.clear()

    async def request(
        self,
        method: str,
        path: str,
        query: Query | None = None,
        body: bytes | None = None,
        content_type: str = JSON,
    ) -> Response:
        known = self._highest
        answer = await self._transport.request(method, path, query, body, content_type)
        target = target_of(path)
        if method in READS or target is None or target.plural == "leases":
            return answer
        call = f"{method} {target.plural}"
        self.writes[call] += 1
        if not answer.ok:
            self.refused[call] += 1
            return answer
        version = _version(answer.body)
        if method in ("PUT", "PATCH") and 0 < version <= known:
            self.unchanged[call] += 1
        self._highest = max(self._highest, version)
        return answer


def _version(body: bytes) -> int:
    try:
        text = _ANSWER.decode(body).metadata.resource_version
    except msgspec.DecodeError:
        return 0
    return int(text) if text.isdigit() else 0

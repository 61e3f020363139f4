"""The answers under /openapi: which document in which form, and whether the client has it already."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import quote

from vcray.cluster.openapi.documents import Document, Publisher
from vcray.cluster.openapi.gnostic import swagger_bytes
from vcray.kube.errors import ResourceMissing, status_response
from vcray.kube.transport import Query, Response

V2_PROTOBUF = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"
"""What is answered; the older name, which clients still ask for, is no well-formed media type."""
_V2_PROTOBUF_NAMES = (V2_PROTOBUF, "application/com.github.proto-openapi.spec.v2@v1.0+protobuf")
_JSON = "application/json"


class OpenApi:
    """Answers GET requests for a publisher's documents."""

    def __init__(self, publisher: Publisher) -> None:
        self._publisher = publisher
        self._protobuf: tuple[Document, bytes] | None = None

    def answer(self, path: str, query: Query, headers: Mapping[str, str]) -> Response:
        """The answer to GET `path`; `headers` are the request's, in whatever case."""
        asked = {name.lower(): value for name, value in headers.items()}
        if path.rstrip("/") == "/openapi/v2":
            return self._v2(asked)
        if path.rstrip("/") == "/openapi/v3":
            return Response(200, self._publisher.index(), {"content-type": _JSON})
        where = path.removeprefix("/openapi/v3/").rstrip("/")
        document = self._publisher.v3(where) if path.startswith("/openapi/v3/") else None
        if document is None:
            return status_response(ResourceMissing("the server could not find the requested resource"))
        wanted = query.get("hash", "")
        if wanted and wanted != document.hash:
            target = f"/openapi/v3/{quote(where)}?hash={document.hash}"
            return Response(301, b"", {"location": target})
        caching = "public, immutable" if wanted else "no-cache, private"
        return _told(document.body, document.hash, _JSON, asked, {"cache-control": caching})

    def _v2(self, asked: Mapping[str, str]) -> Response:
        document = self._publisher.v2()
        accepted = [part.partition(";")[0].strip() for part in asked.get("accept", "").split(",")]
        first = next((each for each in accepted if each in (*_V2_PROTOBUF_NAMES, _JSON, "*/*")), _JSON)
        if first not in _V2_PROTOBUF_NAMES:
            return _told(document.body, document.hash, _JSON, asked, {})
        if self._protobuf is None or self._protobuf[0] is not document:
            self._protobuf = (document, swagger_bytes(self._publisher.swagger()))
        return _told(self._protobuf[1], document.hash + "P", V2_PROTOBUF, asked, {})


def _told(body: bytes, tag: str, kind: str, asked: Mapping[str, str], more: Mapping[str, str]) -> Response:
    """A document, or 304 if the client names its tag."""
    headers = {"content-type": kind, "etag": f'"{tag}"', "vary": "Accept", **more}
    known = [part.strip().removeprefix("W/") for part in asked.get("if-none-match", "").split(",")]
    if f'"{tag}"' in known or "*" in known:
        return Response(304, b"", {name: headers[name] for name in ("etag", "vary")})
    return Response(200, body, headers)

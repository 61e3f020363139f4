"""Bodies of answers: objects, lists, Status objects, warnings."""

from __future__ import annotations

import json
from collections.abc import Iterable

import msgspec

from vcray.api.meta import JsonObject, JsonValue
from vcray.cluster.kinds.data import kinds_data
from vcray.cluster.objects.catalog import Kind
from vcray.cluster.objects.lists import ListPage, TokenExpired
from vcray.cluster.objects.versions import item
from vcray.cluster.protobuf.codec import PROTOBUF, encode
from vcray.cluster.server.paths import UnknownPath
from vcray.cluster.server.requests import JSON, NothingFits, Request
from vcray.kube.errors import ApiError
from vcray.kube.transport import Response

_SPEAKING = frozenset({"NotFound", "MethodNotAllowed", "Forbidden", "Timeout"})
"""Refusals whose Status has `details` even when there are none."""
_UNREADABLE = ("406: ", "415: ", "the server rejected our request")
_DETAILS = ("name", "group", "kind", "uid", "causes", "retryAfterSeconds")


def json_answer(request: Request, status: int, obj: JsonObject) -> Response:
    """An answer with one JSON object."""
    return raw_answer(request, status, msgspec.json.encode(obj))


def raw_answer(request: Request, status: int, body: bytes) -> Response:
    """The same from bytes; indented for clients in front of which somebody sits."""
    return Response(status, indented(body) if request.pretty else body + b"\n", {"content-type": JSON})


def text_answer(status: int, body: str) -> Response:
    """An answer in plain text."""
    headers = {"content-type": "text/plain; charset=utf-8", "x-content-type-options": "nosniff"}
    return Response(status, body.encode(), headers)


def metrics_answer(body: str) -> Response:
    """An answer in Prometheus' text format."""
    return Response(200, body.encode(), {"content-type": "text/plain; version=0.0.4; charset=utf-8"})


def indented(body: bytes) -> bytes:
    """JSON with two spaces a level, as Go indents it."""
    return json.dumps(json.loads(body), indent=2, ensure_ascii=False).encode()


def refusal(request: Request, error: ApiError) -> Response:
    """The Status answer of a refusal; plain text for a path that nobody serves."""
    if isinstance(error, UnknownPath):
        return text_answer(404, "404 page not found\n")
    answer = raw_answer(request, error.code, msgspec.json.encode(status_of(error)))
    headers = dict(answer.headers)
    if isinstance(error, NothingFits):
        return Response(406, indented(answer.body), headers)
    if _wants_protobuf(request):
        headers["content-type"] = PROTOBUF
        answer = Response(error.code, encode(status_of(error)))
    if error.code == 403:
        headers["x-content-type-options"] = "nosniff"
    if error.retry_after is not None:
        headers["retry-after"] = str(int(error.retry_after))
    return Response(error.code, answer.body, headers)


def too_slow(request: Request) -> Response:
    """504 for a request that its own `timeout` did not leave enough time."""
    body: JsonObject = {
        "metadata": {},
        "status": "Failure",
        "message": "Timeout: request did not complete within the allotted timeout",
        "reason": "Timeout",
        "details": {},
        "code": 504,
    }
    return json_answer(request, 504, body)


def _wants_protobuf(request: Request) -> bool:
    """Whether protobuf is the client's first wish and the request is for a group that speaks it."""
    if request.accept.partition(",")[0].partition(";")[0].strip() != PROTOBUF:
        return False
    group = request.path.split("/")[2:3] if request.path.startswith("/apis/") else [""]
    return any([each.group] == group for each in kinds_data().groups)


def status_of(error: ApiError) -> JsonObject:
    """The Status object of a refusal, its fields in the order of a real server's."""
    status = error.to_status()
    details: JsonObject = {key: error.details[key] for key in _DETAILS if key in error.details}
    if error.retry_after is not None:
        details["retryAfterSeconds"] = int(error.retry_after)
    status.pop("details", None)
    if isinstance(error, TokenExpired):
        status["metadata"] = {"continue": error.token}
    if not error.reason:
        status.pop("reason", None)
    code = status.pop("code")
    if details or error.reason in _SPEAKING or error.message.startswith(_UNREADABLE):
        status["details"] = details
    return {**status, "code": code}


def success(code: int = 0, details: JsonObject | None = None) -> JsonObject:
    """A Status that says that all went well."""
    status: JsonObject = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success"}
    if details:
        status["details"] = details
    return {**status, "code": code} if code else status


def list_metadata(page: ListPage) -> JsonObject:
    """The metadata of a list answer."""
    metadata: dict[str, JsonValue] = {"resourceVersion": str(page.version)}
    if page.token:
        metadata["continue"] = page.token
        if page.remaining >= 0:
            metadata["remainingItemCount"] = page.remaining
    return metadata


def list_body(kind: Kind, page: ListPage) -> bytes:
    """The JSON of a list."""
    name = kind.version.list_kind if kind.version else kind.resource.list_kind
    head = {"kind": name, "apiVersion": kind.resource.api_version, "metadata": list_metadata(page)}
    items = b",".join([item(kind, record) for record in page.records])
    return msgspec.json.encode(head)[:-1] + b',"items":[' + items + b"]}"


def warning_header(warnings: Iterable[str]) -> str:
    """The Warning header of an answer: one value for each text, none twice."""
    return ", ".join(f'299 - "{_quoted(text)}"' for text in dict.fromkeys(warnings))


def _quoted(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", " ")

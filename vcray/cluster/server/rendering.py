"""Objects, lists and watch events in the form that a client asked for."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import msgspec
import yaml

from vcray.api.meta import JsonObject, JsonValue
from vcray.clock import Clock, WallClock
from vcray.cluster.objects.catalog import Kind
from vcray.cluster.objects.lists import ListPage
from vcray.cluster.objects.record import Record
from vcray.cluster.objects.versions import item, shown
from vcray.cluster.objects.watching import line
from vcray.cluster.protobuf import codec
from vcray.cluster.server.answers import indented, list_body, list_metadata
from vcray.cluster.server.forms import META, PARTIAL, PARTIAL_LIST, PLAIN, TABLE, Form, form_of
from vcray.cluster.server.requests import JSON, YAML, Request
from vcray.cluster.tables.render import as_table, own_version
from vcray.kube.transport import Response


class _WithMetadata(msgspec.Struct):
    metadata: msgspec.Raw


_metadata = msgspec.json.Decoder(_WithMetadata)


@dataclass(frozen=True, slots=True)
class Rendering:
    """How one request wants objects of one kind to look. `clock` is for the ages in tables."""

    request: Request
    kind: Kind
    form: Form
    clock: Clock = field(default_factory=WallClock)
    _told: list[bool] = field(default_factory=list)  # holds something once a watch has sent a table's columns

    def answer(self, status: int, body: bytes) -> Response:
        """An answer whose JSON is `body`, in the wanted media type. Not for lists in protobuf."""
        headers = {"content-type": self.form.content_type}
        match self.form.media:
            case codec.PROTOBUF:
                return Response(status, codec.encode(body), headers)
            case media if media == YAML:
                return Response(status, _yaml(body), headers)
        return Response(status, indented(body) if self.request.pretty else body + b"\n", headers)

    def status(self, status: int, obj: JsonObject) -> Response:
        """The answer with a Status, which is shown as nothing else."""
        form = Form(self.form.media)
        return Rendering(self.request, self.kind, form).answer(status, msgspec.json.encode(obj))

    def of_record(self, status: int, record: Record) -> Response:
        """The answer with one object."""
        if self.form.plain and not self.request.pretty:
            return Response(status, shown(self.kind, record) + b"\n", {"content-type": JSON})
        return self.answer(status, self.object(record))

    def object(self, record: Record) -> bytes:
        """The JSON of one object as it is to be shown."""
        return self._formed(shown(self.kind, record))

    def _formed(self, body: bytes, headers: bool = True) -> bytes:
        if self.form.as_kind == PARTIAL:
            return _partial(self.form, body)
        if self.form.as_kind == TABLE:
            return self._table([body], own_version(body), headers)
        return body

    def of_page(self, page: ListPage) -> Response:
        """The answer with a list."""
        form = self.form
        if form.as_kind == TABLE:
            bodies = (shown(self.kind, record) for record in page.records)
            return self.answer(200, self._table(bodies, list_metadata(page)))
        if form.as_kind == PARTIAL_LIST:
            return self.answer(200, self._partial_list(page))
        if form.media == codec.PROTOBUF:
            resource = self.kind.resource
            parts = (item(self.kind, record) for record in page.records)
            body = codec.encode_list(resource.api_version, resource.list_kind, list_metadata(page), parts)
            return Response(200, body, {"content-type": form.content_type})
        return self.answer(200, list_body(self.kind, page))

    def _partial_list(self, page: ListPage) -> bytes:
        head = {
            "kind": PARTIAL_LIST,
            "apiVersion": f"{META}/{self.form.version}",
            "metadata": list_metadata(page),
        }
        items = b",".join([_partial(self.form, record.body) for record in page.records])
        return msgspec.json.encode(head)[:-1] + b',"items":[' + items + b"]}"

    def _table(self, items: Iterable[bytes], metadata: JsonObject, headers: bool = True) -> bytes:
        include, now = self.request.query.get("includeObject", ""), self.clock.now()
        return as_table(
            self.kind, items, metadata, now, include=include, version=self.form.version, headers=headers
        )

    # -- watches ------------------------------------------------------------------------------------------------

    @property
    def stream_type(self) -> str:
        """The content type of a watch in this form."""
        return codec.WATCH if self.form.media == codec.PROTOBUF else self.form.content_type

    def event(self, change: str, record: Record) -> bytes:
        """The line (or frame) of one change, with its end."""
        return self._framed(change, self._streamed(shown(self.kind, record)))

    def framed(self, change: str, body: bytes) -> bytes:
        """The line (or frame) around one object's JSON: a bookmark, which has the form of the others, or a Status."""
        return self._framed(change, body if change == "ERROR" else self._formed(body, headers=False))

    def _streamed(self, body: bytes) -> bytes:
        """An object of a watch; only the first table tells the columns."""
        formed = self._formed(body, headers=not self._told)
        if self.form.as_kind == TABLE and not self._told:
            self._told.append(True)
        return formed

    def _framed(self, change: str, body: bytes) -> bytes:
        if self.form.media == codec.PROTOBUF:
            return codec.encode_event(change, body)
        return line(change, body) + b"\n"


def whole(request: Request, kind: Kind, status: int, obj: JsonObject) -> Response:
    """The answer with an object of a kind that is not stored; it has no form but its own. NotAcceptable.

    What belongs to a custom kind, its scale, is always JSON.
    """
    form = PLAIN if kind.custom else form_of(request, kind)
    return Rendering(request, kind, form).answer(status, msgspec.json.encode(obj))


def _partial(form: Form, body: bytes) -> bytes:
    head = b'{"kind":"%s","apiVersion":"%s/%s","metadata":' % (
        PARTIAL.encode(),
        META.encode(),
        form.version.encode(),
    )
    return head + bytes(_metadata.decode(body).metadata) + b"}"


def _metadata_of(body: bytes) -> JsonObject:
    decoded: JsonObject = msgspec.json.decode(_metadata.decode(body).metadata)
    return decoded


def _yaml(body: bytes) -> bytes:
    decoded: JsonValue = msgspec.json.decode(body)
    text: str = yaml.safe_dump(decoded, sort_keys=True, default_flow_style=False, allow_unicode=True)
    return text.encode()

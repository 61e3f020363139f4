"""Whole bodies: an object in its envelope, lists, the frames of a watch.

A body is the four bytes `k8s\\0` and a `runtime.Unknown` with the type and the object's bytes. A watch with `stream=watch`
is a row of `WatchEvent` messages without envelope, each behind its length in four bytes; the object in one has an
envelope again. See "Alternate representations of resources" in the Kubernetes documentation.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from vcray.api.meta import JsonObject, JsonValue
from vcray.cluster.protobuf.fields import message_of
from vcray.cluster.protobuf.messages import read_value, table, write_value
from vcray.cluster.protobuf.wire import bytes_field, fields, text_field

PROTOBUF = "application/vnd.kubernetes.protobuf"
WATCH = f"{PROTOBUF};stream=watch"
MAGIC = b"k8s\0"

_decoder = msgspec.json.Decoder(dict)
_LIST_META = "io.k8s.apimachinery.pkg.apis.meta.v1.ListMeta"
_PARTIAL = ("meta.k8s.io/v1", "PartialObjectMetadata")


class NotProtobuf(ValueError):
    """The bytes are no message of Kubernetes; the text is a sentence for the client."""


def has_message(api_version: str, kind: str) -> bool:
    """Whether a kind can be sent as protobuf; custom kinds and tables cannot."""
    return message_of(api_version, kind) is not None


def encode(obj: JsonObject | bytes) -> bytes:
    """An object (its JSON, or that as bytes) as a body. KeyError if its kind has no message."""
    decoded: JsonObject = _decoder.decode(obj) if isinstance(obj, bytes) else obj
    api_version, kind = str(decoded.get("apiVersion", "")), str(decoded.get("kind", ""))
    return _enveloped(api_version, kind, table(_message(api_version, kind)).write(decoded))


def encode_list(api_version: str, kind: str, metadata: JsonObject, items: Iterable[bytes]) -> bytes:
    """A list of kind `kind` (`PodList`) with its metadata, from the JSON of its items."""
    row = table(_message(api_version, kind)).readers[2][0]
    inner = table(row.target)
    parts = [bytes_field(1, write_value(_LIST_META, metadata))]
    parts += [bytes_field(2, inner.write(_decoder.decode(item))) for item in items]
    return _enveloped(api_version, kind, b"".join(parts))


def encode_event(change: str, obj: JsonObject | bytes) -> bytes:
    """One frame of a watch: `change` is ADDED, MODIFIED, DELETED, BOOKMARK or ERROR."""
    event = text_field(1, change) + bytes_field(2, bytes_field(1, encode(obj)))
    return len(event).to_bytes(4, "big") + event


def decode(body: bytes) -> tuple[str, str, JsonObject]:
    """apiVersion, kind and object of a body; the object names both too. NotProtobuf if it is none."""
    if body[:4] != MAGIC:
        raise NotProtobuf(
            "provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]"
        )
    api_version = kind = ""
    raw = b""
    try:
        for number, _, value in fields(body[4:]):
            if number == 1 and isinstance(value, bytes):
                api_version, kind = _type_meta(value)
            elif number == 2 and isinstance(value, bytes):
                raw = value
        name = message_of(api_version, kind)
        if name is None:
            raise NotProtobuf(f'no kind "{kind}" is registered for version "{api_version}"')
        found = read_value(name, raw)
    except NotProtobuf:
        raise
    except ValueError as error:
        raise NotProtobuf(f"the protobuf message is malformed: {error}") from error
    head: dict[str, JsonValue] = {"kind": kind, "apiVersion": api_version}
    return api_version, kind, {**head, **(found if isinstance(found, dict) else {})}


def _type_meta(data: bytes) -> tuple[str, str]:
    found = {number: value for number, _, value in fields(data)}
    told = [found.get(1, b""), found.get(2, b"")]
    api_version, kind = (value.decode() if isinstance(value, bytes) else "" for value in told)
    return api_version, kind


def _message(api_version: str, kind: str) -> str:
    name = message_of(api_version, kind)
    if name is None:
        raise KeyError(f"{api_version} {kind}")
    return name


def _enveloped(api_version: str, kind: str, raw: bytes) -> bytes:
    meta = text_field(1, api_version) + text_field(2, kind)
    return b"".join((MAGIC, bytes_field(1, meta), bytes_field(2, raw), text_field(3, ""), text_field(4, "")))

"""Bodies of requests: JSON, YAML or protobuf to an object, or the sentence with which a kube-apiserver refuses them."""

from __future__ import annotations

import msgspec
import yaml

from vcray.api.meta import JsonObject, JsonValue
from vcray.cluster.objects.catalog import Kind
from vcray.cluster.protobuf.codec import PROTOBUF, NotProtobuf, decode
from vcray.kube.errors import BadRequest, UnsupportedMediaType

JSON, YAML = "application/json", "application/yaml"


def media_type(header: str) -> str:
    """A Content-Type without its parameters."""
    return header.partition(";")[0].strip().lower()


def read_object(body: bytes | None, content_type: str, kind: Kind) -> JsonObject:
    """The object of a create or update. BadRequest, UnsupportedMediaType."""
    wanted = kind.resource.kind
    decoded = read_body(body, content_type or JSON, wanted, custom=kind.custom)
    if not isinstance(decoded, dict):
        raise BadRequest(
            f"the object provided is unrecognized (must be of type {wanted}): couldn't get version/kind; json parse "
            "error: json: cannot unmarshal into Go value of type struct"
        )
    return decoded


def read_body(body: bytes | None, content_type: str, wanted: str, custom: bool = False) -> JsonValue:
    """Any body of one of the media types in which objects come."""
    media = media_type(content_type)
    if media in (JSON, ""):
        return _json(body or b"", wanted)
    if media in (YAML, "application/x-yaml"):
        return _yaml(body or b"", wanted)
    if media == PROTOBUF and not custom:
        return _protobuf(body or b"", wanted)
    accepted = [JSON, YAML] if custom else [JSON, YAML, PROTOBUF]
    raise UnsupportedMediaType(
        "the body of the request was in an unknown format - accepted media types include: "
        + ", ".join(accepted)
    )


def _json(body: bytes, wanted: str) -> JsonValue:
    try:
        decoded: JsonValue = msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        cut = not body or "truncated" in str(error)
        why = "unexpected end of JSON input" if cut else str(error)
        raise BadRequest(_unreadable(body, wanted, f"json parse error: {why}")) from error
    return decoded


def _yaml(body: bytes, wanted: str) -> JsonValue:
    try:
        loaded: JsonValue = yaml.load(body, Loader=_Loader)
    except yaml.YAMLError as error:
        raise BadRequest(_unreadable(body, wanted, f"yaml: {error}")) from error
    return loaded


def _protobuf(body: bytes, wanted: str) -> JsonValue:
    try:
        return decode(body)[2]
    except NotProtobuf as error:
        raise BadRequest(
            f"the object provided is unrecognized (must be of type {wanted}): {error}"
        ) from error


def _unreadable(body: bytes, wanted: str, why: str) -> str:
    shown = body[:1024].decode(errors="replace") or "<empty>"
    return f"the object provided is unrecognized (must be of type {wanted}): couldn't get version/kind; {why} ({shown})"


class _Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
    """YAML as JSON would say it: timestamps stay strings."""


_Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in rules if tag != "tag:yaml.org,2002:timestamp"]
    for first, rules in yaml.SafeLoader.yaml_implicit_resolvers.items()
}

"""From what a client sent to an object with defaults: decoded as the server's decoder would, unknown fields told.

The first step of every write, for built-in kinds by their types, for custom ones by the schema of their definition.
`fieldValidation` says what happens to unknown and repeated fields: Strict refuses them, Warn tells them in a header,
Ignore keeps quiet; they never reach the store.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

import msgspec

from vcray.api.jsonview import dig, dig_object
from vcray.api.meta import JsonObject, JsonValue
from vcray.cluster.kinds.data import type_name
from vcray.cluster.kinds.decoding import read_metadata, read_object
from vcray.cluster.kinds.faults import DecodeError, Faults, Where, kind_of, spoken
from vcray.cluster.objects.catalog import Kind
from vcray.cluster.schema.defaulting import apply_defaults
from vcray.cluster.schema.duplicates import told
from vcray.cluster.schema.pruning import drop_nulls, prune
from vcray.kube.errors import ApiError, BadRequest, Invalid

Shown: TypeAlias = Callable[[], str]
"""Tells what an error about a patch is to show of it."""

STRICT, WARN, IGNORE = "Strict", "Warn", "Ignore"


def read(
    kind: Kind,
    obj: JsonObject,
    validation: str = IGNORE,
    warnings: list[str] | None = None,
    repeated: Sequence[str] = (),
    patch: Shown | None = None,
) -> JsonObject:
    """The object as the server takes it. `obj` is taken over.

    `repeated` are the faults that the text of the body had (`duplicate field "spec.a"`). `patch` shows the outcome
    of a patch: its faults are laid at the patch's door (Invalid), those of a body at the body's (BadRequest).
    """
    faults = Faults()
    places = _places(obj) if repeated and kind.schema is None else []
    resets = dig(obj, "metadata", "managedFields") == []
    try:
        result = _read_built_in(kind, obj, faults) if kind.schema is None else _read_custom(kind, obj, faults)
    except DecodeError as error:
        raise refusal(kind, str(error), patch) from error
    if resets:
        dig_object(result, "metadata")["managedFields"] = []
    unknown = [f'unknown field "{name}"' for name in faults.unknown]
    if (repeated or unknown) and validation == STRICT:
        found = _in_order([*told(repeated), *unknown], places)
        raise refusal(kind, f"strict decoding error: {', '.join(found)}", patch)
    if validation == WARN and warnings is not None:
        warnings += _in_order([*repeated, *unknown], places)
    return result


def _places(obj: JsonObject) -> list[str]:
    """The fields of an object as faults name them, in the order of its text."""
    found: list[str] = []

    def walk(value: JsonValue, where: Where) -> None:
        if isinstance(value, dict):
            for name, item in value.items():
                found.append(f'"{spoken((where, name))}"')
                walk(item, (where, name))
        elif isinstance(value, list):
            for index, item in enumerate(value):
                walk(item, (where, index))

    walk(obj, None)
    return found


def _in_order(told_faults: list[str], places: list[str]) -> list[str]:
    """Faults in the order of the places that they name; those that name none stay in front."""
    order = {place: index for index, place in enumerate(places)}
    return sorted(told_faults, key=lambda fault: order.get(fault.partition(" field ")[2], -1))


def refusal(kind: Kind, why: str, patch: Shown | None) -> ApiError:
    """The answer to a body, or to the outcome of a patch, that cannot be decoded."""
    resource = kind.resource
    if patch is None:
        return BadRequest(
            f'{resource.kind} in version "{resource.version}" cannot be handled as a {resource.kind}: {why}'
        )
    message = f"Invalid value: {quoted(patch())}: {why}"
    cause: JsonValue = {"reason": "FieldValueInvalid", "message": message, "field": "patch"}
    return Invalid(f' "" is invalid: patch: {message}', details={"causes": [cause]})


def quoted(text: str) -> str:
    """Text in quotes as Go writes it."""
    return msgspec.json.encode(text).decode()


def _read_built_in(kind: Kind, obj: JsonObject, faults: Faults) -> JsonObject:
    name = type_name(kind.resource.api_version, kind.resource.kind)
    return obj if name is None else read_object(name, obj, faults)


def _read_custom(kind: Kind, obj: JsonObject, faults: Faults) -> JsonObject:
    assert kind.schema is not None
    metadata = obj.get("metadata") or {}
    if not isinstance(metadata, dict):
        raise DecodeError(f"json: cannot unmarshal {kind_of(metadata)} into Go value of type v1.ObjectMeta")
    inner = Faults()
    obj["metadata"] = read_metadata(metadata, None, inner)
    faults.unknown += [f"metadata.{name}" for name in inner.unknown]
    if kind.version is None or not kind.version.keeps_unknown:
        prune(obj, kind.schema, faults)
    apply_defaults(obj, kind.schema)
    drop_nulls(obj, kind.schema)
    return obj

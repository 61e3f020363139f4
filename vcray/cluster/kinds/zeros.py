"""The object that a server starts from when a new one is sent: what is always written, and nothing else."""

from __future__ import annotations

from functools import cache

from vcray.api.jsonview import dig_object, dig_str
from vcray.api.meta import JsonObject
from vcray.cluster.kinds.data import kinds_data, type_name
from vcray.cluster.kinds.decoding import empty_value


@cache
def zero_object(api_version: str, kind: str) -> JsonObject:
    """An object of a kind with its type alone, without defaults: read only."""
    name = type_name(api_version, kind)
    start: JsonObject = {"apiVersion": api_version, "kind": kind}
    return start if name is None else {**_zero_struct(name), **start}


def _zero_struct(name: str) -> JsonObject:
    result: JsonObject = {}
    for field, part in dig_object(kinds_data().types[name], "properties").items():
        schema = dig_object(part)
        if schema.get("zero"):
            empty = empty_value(schema)
            result[field] = _zero_struct(dig_str(schema, "$ref")) if empty == {} else empty
    return result

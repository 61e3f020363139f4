"""Tables and partial objects: the two short forms of objects that clients ask for with `as=` in their Accept header."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from vcray.api.jsonview import dig, dig_object
from vcray.api.meta import JsonObject, JsonValue
from vcray.cluster.definitions.served import Column
from vcray.cluster.objects.catalog import Kind
from vcray.cluster.tables.pods import completion
from vcray.cluster.tables.printers import printer_of
from vcray.kube.errors import BadRequest

VERSIONS = ("v1", "v1beta1")
"""The versions of meta.k8s.io that the forms exist in."""

_decoder = msgspec.json.Decoder(dict)
_INCLUDES = ("", "Metadata", "Object", "None")


def check_include(include: str) -> None:
    """Refuse (BadRequest) an unknown `includeObject`."""
    if include not in _INCLUDES:
        raise BadRequest(
            f'Unable to convert to Table as requested: includeObject: Invalid value: "{include}": must be '
            "'Metadata', 'Object', 'None', or empty"
        )


def as_table(
    kind: Kind,
    items: Iterable[bytes],
    metadata: JsonObject,
    now: float,
    *,
    include: str = "",
    version: str = "v1",
    headers: bool = True,
) -> bytes:
    """The Table of some objects of a kind, each given as its JSON.

    `metadata` is that of the list, or the resourceVersion of the one object. `include` says what of an object goes into
    its row: Metadata (the default), Object or None. A watch sends `headers` with its first table only.
    """
    check_include(include)
    printer = printer_of(kind)
    rows: list[JsonValue] = []
    for item in items:
        obj: JsonObject = _decoder.decode(item)
        row: JsonObject = {"cells": printer.cells(obj, now)}
        done = completion(obj) if kind.resource.full_name == "pods" else None
        if done is not None:
            row["conditions"] = [done]
        row["object"] = _included(obj, include, version)
        rows.append(row)
    return msgspec.json.encode(
        {
            "kind": "Table",
            "apiVersion": f"meta.k8s.io/{version}",
            "metadata": metadata,
            "columnDefinitions": [_definition(column) for column in printer.columns] if headers else None,
            "rows": rows,
        }
    )


def _definition(column: Column) -> JsonObject:
    return {
        "name": column.name,
        "type": column.type,
        "format": column.format,
        "description": column.description,
        "priority": column.priority,
    }


def _included(obj: JsonObject, include: str, version: str) -> JsonValue:
    if include == "None":
        return None
    return obj if include == "Object" else partial(obj, version)


def partial(obj: JsonObject, version: str = "v1") -> JsonObject:
    """An object reduced to its metadata."""
    return {
        "kind": "PartialObjectMetadata",
        "apiVersion": f"meta.k8s.io/{version}",
        "metadata": obj.get("metadata"),
    }


def as_partial(item: bytes, version: str = "v1") -> bytes:
    """The PartialObjectMetadata of an object."""
    return msgspec.json.encode(partial(_decoder.decode(item), version))


def as_partial_list(items: Iterable[bytes], metadata: JsonObject, version: str = "v1") -> bytes:
    """The PartialObjectMetadataList of some objects."""
    head: JsonObject = {
        "kind": "PartialObjectMetadataList",
        "apiVersion": f"meta.k8s.io/{version}",
        "metadata": metadata,
    }
    return msgspec.json.encode({**head, "items": [partial(_decoder.decode(item), version) for item in items]})


def own_version(item: bytes) -> JsonObject:
    """The metadata of the table of one object."""
    obj: JsonObject = _decoder.decode(item)
    version = dig(dig_object(obj, "metadata"), "resourceVersion")
    return {"resourceVersion": version} if version else {}

"""A stored object in the version that a request names.

Stored bytes begin with kind and apiVersion, so that another version of a custom kind, or an entry of a list, is a matter of
other first bytes. Only built-in kinds with two shapes are decoded and turned into each other.
"""

from __future__ import annotations

import msgspec

from vcray.api.meta import JsonObject
from vcray.cluster.kinds.conversion import STORED_AS, converted
from vcray.cluster.objects.catalog import Kind
from vcray.cluster.objects.record import Record, head_of
from vcray.cluster.schema.defaulting import apply_defaults
from vcray.cluster.schema.pruning import prune


def shown(kind: Kind, record: Record) -> bytes:
    """The JSON of an object in the version of `kind`."""
    if _outdated(kind, record):
        return msgspec.json.encode(decoded(kind, record))
    if kind.resource == record.resource:
        return record.body
    if kind.resource in STORED_AS:
        return msgspec.json.encode(converted(record.decode(), record.resource, kind.resource))
    return head_of(kind.resource) + record.body[len(head_of(record.resource)) :]


def item(kind: Kind, record: Record) -> bytes:
    """The same as an entry of a list: entries of built-in kinds say nothing of their kind."""
    body = shown(kind, record)
    return body if kind.custom else b"{" + body[len(head_of(kind.resource)) :]


def decoded(kind: Kind, record: Record) -> JsonObject:
    """A fresh copy of an object in the version of `kind`."""
    obj = record.decode()
    if kind.resource != record.resource:
        obj = converted(obj, record.resource, kind.resource)
    if _outdated(kind, record) and kind.schema is not None:
        prune(obj, kind.schema)
        apply_defaults(obj, kind.schema)
    return obj


def _outdated(kind: Kind, record: Record) -> bool:
    """Whether an object was stored under another schema than the present one of its kind."""
    return kind.version is not None and record.version < kind.version.since


def stored(kind: Kind, obj: JsonObject) -> JsonObject:
    """An object of `kind` in the version in which it is kept."""
    return obj if kind.resource == kind.stored else converted(obj, kind.resource, kind.stored)

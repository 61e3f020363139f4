"""A snapshot as bytes and back: a msgpack header, then the raw column buffers, with a schema version.

The header tells everything but the numbers of the columns; columns follow as they lie in memory (little endian), so a
recording of 100,000 pods is written at the speed of memory. Reading rebuilds exactly what was written, or refuses.
"""

from __future__ import annotations

import dataclasses
import typing
from collections.abc import Mapping
from enum import IntEnum
from functools import cache
from types import UnionType
from typing import cast

import msgpack
import numpy as np
import numpy.typing as npt

from vcray.core.snapshot import Snapshot
from vcray.errors import InputError, Problem

SCHEMA = 2
"""Grows when a field of any table appears, goes or changes its meaning."""

KIND = "vcray snapshot"
ALIGN = 8

Column = npt.NDArray[np.generic]
Plain = object
"""What msgpack takes: None, bool, int, float, str, list, dict."""


def dump(snapshot: Snapshot) -> bytes:
    """The snapshot as one buffer."""
    columns: list[Column] = []
    tree = _pack(snapshot, columns)
    shapes = [[column.dtype.str, list(column.shape)] for column in columns]
    header = msgpack.packb({"kind": KIND, "schema": SCHEMA, "columns": shapes, "tree": tree})
    parts = [len(header).to_bytes(8, "little"), header, _padding(8 + len(header))]
    for column in columns:
        raw = np.ascontiguousarray(column).tobytes()
        parts += [raw, _padding(len(raw))]
    return b"".join(parts)


def load(data: bytes | memoryview) -> Snapshot:
    """The snapshot that was dumped. InputError (VC0503) when the bytes are no recording of this schema."""
    try:
        size = int.from_bytes(data[:8], "little")
        header = msgpack.unpackb(data[8 : 8 + size], strict_map_key=False)
        kind, schema = header["kind"], header["schema"]
    except (ValueError, KeyError, TypeError, msgpack.UnpackException) as error:
        raise _refused("not a recording of a snapshot") from error
    if kind != KIND:
        raise _refused("not a recording of a snapshot")
    if schema != SCHEMA:
        raise _refused(f"has schema {schema}, this version reads {SCHEMA}; record it anew")
    columns: list[Column] = []
    at = 8 + size + len(_padding(8 + size))
    try:
        for dtype, shape in header["columns"]:
            kind_of = np.dtype(dtype)
            length = kind_of.itemsize * int(np.prod(shape, dtype=np.int64))
            column = np.frombuffer(data, dtype=kind_of, count=length // kind_of.itemsize, offset=at)
            columns.append(column.reshape(shape).copy())
            at += length + len(_padding(length))
        return cast(Snapshot, _unpack(header["tree"], Snapshot, columns))
    except (ValueError, KeyError, TypeError, IndexError) as error:
        raise _refused("is cut short or damaged") from error


def _refused(what: str) -> InputError:
    return InputError(Problem("VC0503", "recording", what))


def _padding(length: int) -> bytes:
    return b"\0" * (-length % ALIGN)


def _pack(value: object, columns: list[Column]) -> Plain:
    """Columns become their number; records, tuples and maps become lists, in field order."""
    if isinstance(value, np.ndarray):
        columns.append(value)
        return len(columns) - 1
    if dataclasses.is_dataclass(value):
        return [_pack(getattr(value, field.name), columns) for field in dataclasses.fields(value)]
    if isinstance(value, tuple):
        if value and all(type(item) is str for item in value):
            return list(value)
        return [_pack(item, columns) for item in value]
    if isinstance(value, Mapping):
        return [[_pack(key, columns), _pack(item, columns)] for key, item in value.items()]
    return int(value) if isinstance(value, IntEnum) else value


@cache
def _field_kinds(kind: type) -> tuple[object, ...]:
    hints = typing.get_type_hints(kind)
    return tuple(hints[field.name] for field in dataclasses.fields(kind))


def _unpack(plain: Plain, kind: object, columns: list[Column]) -> object:
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin is np.ndarray:
        return columns[cast(int, plain)]
    if origin in (UnionType, typing.Union):
        if plain is None:
            return None
        (kind,) = (argument for argument in arguments if argument is not type(None))
        return _unpack(plain, kind, columns)
    if origin is tuple:
        items = cast("list[Plain]", plain)
        if arguments[1:] == (Ellipsis,):
            if arguments[0] in (str, int, float, bool):
                return tuple(items)
            return tuple(_unpack(item, arguments[0], columns) for item in items)
        return tuple(
            _unpack(item, argument, columns) for item, argument in zip(items, arguments, strict=True)
        )
    if origin is not None and issubclass(origin, Mapping):
        pairs = cast("list[tuple[Plain, Plain]]", plain)
        return {
            _unpack(key, arguments[0], columns): _unpack(item, arguments[1], columns) for key, item in pairs
        }
    if dataclasses.is_dataclass(kind) and isinstance(kind, type):
        values = cast("list[Plain]", plain)
        kinds = _field_kinds(kind)
        return kind(*(_unpack(value, part, columns) for part, value in zip(kinds, values, strict=True)))
    if isinstance(kind, type) and issubclass(kind, IntEnum):
        return kind(cast(int, plain))
    return plain

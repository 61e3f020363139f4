"""The protobuf encoding itself: varints, tags, lengths; for messages that are walked by tables instead of classes.

See https://protobuf.dev/programming-guides/encoding.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator

VARINT, FIXED64, LENGTH, FIXED32 = 0, 1, 2, 5
_MASK = (1 << 64) - 1


def varint(number: int) -> bytes:
    """A whole number; negative ones take ten bytes, as int32 and int64 do."""
    if 0 <= number < 128:
        return bytes((number,))
    number &= _MASK
    out = bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    out.append(number)
    return bytes(out)


def tagged(field: int, kind: int) -> bytes:
    """The key of a field."""
    return varint(field << 3 | kind)


def number_field(field: int, value: int) -> bytes:
    """A varint field."""
    return varint(field << 3) + varint(value)


def bytes_field(field: int, value: bytes) -> bytes:
    """A length-delimited field: bytes, a string, a message."""
    return varint(field << 3 | LENGTH) + varint(len(value)) + value


def text_field(field: int, value: str) -> bytes:
    """A string field."""
    return bytes_field(field, value.encode())


def double_field(field: int, value: float) -> bytes:
    """A field of 64-bit floating point."""
    return varint(field << 3 | FIXED64) + struct.pack("<d", value)


def signed(value: int) -> int:
    """A varint as a signed 64-bit number."""
    return value - (1 << 64) if value >> 63 else value


def read_varint(data: bytes, at: int) -> tuple[int, int]:
    """A varint and the place behind it. ValueError where the data ends."""
    shift = number = 0
    try:
        while True:
            byte = data[at]
            at += 1
            number |= (byte & 127) << shift
            if byte < 128:
                return number & _MASK, at
            shift += 7
            if shift > 63:
                raise ValueError("a varint is longer than ten bytes")
    except IndexError:
        raise ValueError("the message ends within a number") from None


def fields(data: bytes) -> Iterator[tuple[int, int, int | bytes]]:
    """Field number, wire type and raw value of each field of a message, in order. ValueError if it is malformed."""
    at, end = 0, len(data)
    while at < end:
        key = data[at]
        at += 1
        if key > 127:
            key, at = read_varint(data, at - 1)
        kind = key & 7
        if kind == LENGTH:
            size = data[at] if at < end else 128  # most lengths have one byte
            at += 1
            if size > 127:
                size, at = read_varint(data, at - 1)
            if at + size > end:
                raise ValueError("the message ends within a field")
            yield key >> 3, kind, data[at : at + size]
            at += size
        elif kind == VARINT:
            value, at = read_varint(data, at)
            yield key >> 3, kind, value
        elif kind in (FIXED64, FIXED32):
            size = 8 if kind == FIXED64 else 4
            if at + size > end:
                raise ValueError("the message ends within a field")
            yield key >> 3, kind, data[at : at + size]
            at += size
        else:
            raise ValueError(f"unknown wire type {kind}")

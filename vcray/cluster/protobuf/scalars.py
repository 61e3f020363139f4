"""Types that have one form in JSON and another in protobuf: quantities, times, raw JSON, the either-or types of schemas.

Each is a pair of functions: from JSON to the bytes of the message, and back.
"""

from __future__ import annotations

import re
from calendar import timegm
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import msgspec

from vcray.api.meta import JsonValue
from vcray.cluster.protobuf.wire import bytes_field, fields, number_field, signed, text_field

_MACHINERY = "io.k8s.apimachinery.pkg."
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_PLAIN_TIME = re.compile(r"(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)Z\Z")

ToBytes = Callable[[JsonValue], bytes]
ToJson = Callable[[bytes], JsonValue]


def _first(data: bytes, number: int) -> int | bytes | None:
    found: int | bytes | None = None
    for field, _, value in fields(data):
        if field == number:
            found = value
    return found


def _text(value: int | bytes | None) -> str:
    return value.decode() if isinstance(value, bytes) else ""


def _write_quantity(value: JsonValue) -> bytes:
    return text_field(1, str(value))


def _read_quantity(data: bytes) -> JsonValue:
    return _text(_first(data, 1)) or "0"


def _write_time(value: JsonValue) -> bytes:
    text = str(value)
    plain = _PLAIN_TIME.match(text)
    if plain is not None:
        year, month, day, hour, minute, second = (int(part) for part in plain.groups())
        return number_field(1, timegm((year, month, day, hour, minute, second)))
    moment = datetime.fromisoformat(text)
    since = (moment if moment.tzinfo else moment.replace(tzinfo=UTC)) - _EPOCH
    seconds = since.days * 86400 + since.seconds
    return number_field(1, seconds) + number_field(2, since.microseconds * 1000)


def _moment(data: bytes) -> datetime | None:
    if not data:
        return None
    seconds = nanos = 0
    for field, _, value in fields(data):
        if isinstance(value, int):
            if field == 1:
                seconds = signed(value)
            elif field == 2:
                nanos = value
    return _EPOCH + timedelta(seconds=seconds, microseconds=nanos // 1000)


def _read_time(data: bytes) -> JsonValue:
    moment = _moment(data)
    return None if moment is None else moment.strftime("%Y-%m-%dT%H:%M:%SZ")


def _read_micro_time(data: bytes) -> JsonValue:
    moment = _moment(data)
    return None if moment is None else moment.strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def _write_int_or_string(value: JsonValue) -> bytes:
    if isinstance(value, str):
        return number_field(1, 1) + text_field(3, value)
    return number_field(2, int(value) if isinstance(value, int | float) else 0)


def _read_int_or_string(data: bytes) -> JsonValue:
    found: dict[int, int | bytes] = {number: value for number, _, value in fields(data)}
    if found.get(1):
        return _text(found.get(3))
    number = found.get(2, 0)
    return signed(number) if isinstance(number, int) else 0


def _write_json(value: JsonValue) -> bytes:
    return bytes_field(1, msgspec.json.encode(value))


def _read_json(data: bytes) -> JsonValue:
    raw = _first(data, 1)
    if not isinstance(raw, bytes) or not raw:
        return None
    decoded: JsonValue = msgspec.json.decode(raw)
    return decoded


def _write_items(value: JsonValue) -> bytes:
    return b"".join(text_field(1, str(item)) for item in value) if isinstance(value, list) else b""


def _read_items(data: bytes) -> JsonValue:
    return [_text(value) for number, _, value in fields(data) if number == 1]


SPECIAL: dict[str, tuple[ToBytes, ToJson]] = {
    f"{_MACHINERY}api.resource.Quantity": (_write_quantity, _read_quantity),
    f"{_MACHINERY}apis.meta.v1.Time": (_write_time, _read_time),
    f"{_MACHINERY}apis.meta.v1.MicroTime": (_write_time, _read_micro_time),
    f"{_MACHINERY}util.intstr.IntOrString": (_write_int_or_string, _read_int_or_string),
    f"{_MACHINERY}runtime.RawExtension": (_write_json, _read_json),
    f"{_MACHINERY}apis.meta.v1.FieldsV1": (_write_json, _read_json),
    "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSON": (_write_json, _read_json),
    f"{_MACHINERY}apis.meta.v1.Verbs": (_write_items, _read_items),
    "io.k8s.api.authentication.v1.ExtraValue": (_write_items, _read_items),
    "io.k8s.api.authorization.v1.ExtraValue": (_write_items, _read_items),
    "io.k8s.api.certificates.v1.ExtraValue": (_write_items, _read_items),
}
"""Type -> its two functions. A reader's None means that the value is not set."""

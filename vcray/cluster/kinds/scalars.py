"""Values that are more than plain JSON: times, quantities, bytes, numbers-or-names; read and written as Go does."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from functools import lru_cache

from vcray.api.meta import JsonValue
from vcray.api.quantity import QuantityError, canonical
from vcray.cluster.kinds.faults import DecodeError

_TIME = re.compile(r"(\d{4})-(\d{2})-(\d{2})T(\d{2}):(\d{2}):(\d{2})((?:[.,]\d+)?)(Z|[+-]\d{2}:\d{2})")
_UTC_TIME = re.compile(r"\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d)T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\dZ")
_LAYOUT = "2006-01-02T15:04:05Z07:00"
_MICRO_LAYOUT = "2006-01-02T15:04:05.000000Z07:00"
_BASE64 = re.compile(r"[A-Za-z0-9+/]*={0,2}")
_QUANTITY_FORM = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"


def read_time(text: str) -> str:
    """A time in UTC with whole seconds, `2026-01-02T03:04:05Z`. Raises DecodeError."""
    if _UTC_TIME.fullmatch(text):
        return text
    return _moment(text, _LAYOUT).strftime("%Y-%m-%dT%H:%M:%SZ")


def read_micro_time(text: str) -> str:
    """A time in UTC with six decimals, which must be there. Raises DecodeError."""
    moment = _moment(text, _MICRO_LAYOUT)
    if not re.search(r"\.\d{6}(Z|[+-])", text):
        rest = text[19:] or ""
        raise DecodeError(f'parsing time "{text}" as "{_MICRO_LAYOUT}": cannot parse "{rest}" as ".000000"')
    return moment.strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def _moment(text: str, layout: str) -> datetime:
    match = _TIME.fullmatch(text)
    if match is None:
        rest, part = _unread(text)
        raise DecodeError(f'parsing time "{text}" as "{layout}": cannot parse "{rest}" as "{part}"')
    fraction = (match[7][1:] + "000000")[:6] if match[7] else "000000"
    zone = "+00:00" if match[8] == "Z" else match[8]
    try:
        moment = datetime.fromisoformat(f"{text[:19]}.{fraction}{zone}")
    except ValueError as error:
        problem = "day" if "day" in str(error) else "month" if "month" in str(error) else "hour"
        raise DecodeError(f'parsing time "{text}": {problem} out of range') from error
    return moment.astimezone(UTC)


_PARTS = (
    (r"\d{4}", "2006"),
    ("-", "-"),
    (r"\d{2}", "01"),
    ("-", "-"),
    (r"\d{2}", "02"),
    ("T", "T"),
    (r"\d{2}", "15"),
    (":", ":"),
    (r"\d{2}", "04"),
    (":", ":"),
    (r"\d{2}", "05"),
    (r"([.,]\d+)?(Z|[+-]\d{2}:\d{2})", "Z07:00"),
)


def _unread(text: str) -> tuple[str, str]:
    """What is left of a time where its reading stops, and the part of the layout that was expected there."""
    for pattern, part in _PARTS:
        match = re.match(pattern, text)
        if match is None:
            return text, part
        text = text[match.end() :]
    return text, ""


def read_quantity(value: JsonValue) -> str:
    """The canonical text of a quantity. Raises DecodeError."""
    if isinstance(value, str):
        return _canonical(value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise DecodeError(_QUANTITY_FORM)
    return _canonical(str(value))


@lru_cache(maxsize=65536)
def _canonical(text: str) -> str:
    try:
        return canonical(text.strip() or "0")
    except QuantityError as error:
        raise DecodeError(_QUANTITY_FORM) from error


def read_bytes(text: str) -> str:
    """Base64 text as it is. Raises DecodeError with the place of the first wrong letter."""
    plain = text.replace("\n", "").replace("\r", "")
    match = _BASE64.match(plain)
    end = match.end() if match else 0
    if end < len(plain) or len(plain) % 4:
        place = end if end < len(plain) else len(plain) - len(plain) % 4
        raise DecodeError(f"illegal base64 data at input byte {place}")
    return plain

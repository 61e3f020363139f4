"""Amounts of memory as programs on the Java machine write them: `512m` is 512 MiB and `4g` is 4 GiB, where Kubernetes would read a
thousandth of a byte in the one and nothing at all in the other (trap T9)."""

from __future__ import annotations

import re
from typing import Final

from vcray.api.meta import JsonValue
from vcray.integrations.base import Malformed

_AMOUNT: Final = re.compile(r"(\d+)\s*([a-z]*)", re.IGNORECASE)
_POWERS: Final = {"b": 0, "k": 1, "m": 2, "g": 3, "t": 4, "p": 5}
_ENDINGS: Final = ("", "b", "i", "ib")
MEBIBYTE: Final = 2**20


def memory_bytes(spelled: JsonValue, where: str, unit: str) -> int:
    """Bytes of `2g`, `512mb`, `1024`; `unit` (b, k, m, g) is that of a bare number. Malformed when it is no amount."""
    found = _AMOUNT.fullmatch(str(spelled).strip()) if isinstance(spelled, str | int) else None
    letters = found[2].lower() if found is not None else ""
    power = _POWERS.get(letters[:1] or unit)
    if found is None or isinstance(spelled, bool) or power is None or letters[1:] not in _ENDINGS:
        raise Malformed(f"{where}: must be an amount of memory such as 512m or 4g, got {spelled!r}")
    return int(found[1]) << (10 * power)

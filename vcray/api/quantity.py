"""Kubernetes quantities in exact integers.

The grammar is apimachinery's: a signed decimal number and a suffix, which is binary (`Ki` .. `Ei`), decimal (`n u m k M
G T P E`) or an exponent (`e3`, `E-6`). Whatever is finer than a nano-unit counts as a whole nano-unit (away from zero),
whatever is larger than 2^63-1 counts as 2^63-1. Conversions to milli-units and whole units round away from zero, as
`MilliValue()` and `Value()` of the Go library do. No float takes part, so sums and comparisons are exact.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TypeAlias

Quantity: TypeAlias = str | int | float
"""A quantity as JSON or YAML carries it: usually text, a number where a user left out the quotes."""

MAX_VALUE = 2**63 - 1

_NANO = 10**9
_BINARY = {"Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40, "Pi": 2**50, "Ei": 2**60}
_DECIMAL = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_FORM = re.compile(r"([+-]?)([0-9]+\.?[0-9]*|\.[0-9]+)(Ki|Mi|Gi|Ti|Pi|Ei|[numkMGTPE]?|[eE][+-]?[0-9]+)")
_LARGE_EXPONENT = 64


class QuantityError(ValueError):
    """A text that is no Kubernetes quantity."""

    def __init__(self, text: object) -> None:
        super().__init__(
            f"{text!r} is not a quantity: write a number with an optional suffix, such as 500m, 2, 1.5Gi or 1e3"
        )


def _ceil_div(number: int, divisor: int) -> int:
    """Divide and round away from zero."""
    return -(-number // divisor) if number >= 0 else number // divisor


def _scaled(digits: str, exponent: int, factor: int) -> int:
    """`digits * factor * 10^exponent`, rounded up, for digits without a sign."""
    whole, _, fraction = digits.partition(".")
    mantissa = int(whole + fraction) * factor
    exponent -= len(fraction)
    if mantissa == 0:
        return 0
    if exponent >= 0:
        scale: int = 10**exponent
        return mantissa * scale
    return _ceil_div(mantissa, 10**-exponent)


def _nano(text: str) -> int:
    match = _FORM.fullmatch(text)
    if match is None:
        raise QuantityError(text)
    sign, digits, suffix = match.groups()
    if suffix in _BINARY:
        nanos = _scaled(digits, 9, _BINARY[suffix])
    elif suffix in _DECIMAL:
        nanos = _scaled(digits, _DECIMAL[suffix] + 9, 1)
    else:
        power = int(suffix[1:])
        bound = _LARGE_EXPONENT + len(digits)
        nanos = _scaled(digits, max(-bound, min(power, bound)) + 9, 1)
    nanos = min(nanos, MAX_VALUE * _NANO)
    return -nanos if sign == "-" else nanos


def _text(quantity: Quantity) -> str:
    if isinstance(quantity, str):
        return quantity
    if isinstance(quantity, bool) or not isinstance(quantity, int | float):
        raise QuantityError(quantity)
    return str(quantity)


@lru_cache(maxsize=65536)
def _nano_of(text: str) -> int:
    return _nano(text)


@lru_cache(maxsize=65536)
def _thousandths_of(text: str) -> int:
    return _ceil_div(_nano(text), 10**6)


@lru_cache(maxsize=65536)
def _value_of(text: str) -> int:
    return _ceil_div(_nano(text), _NANO)


def parse_quantity(quantity: Quantity) -> int:
    """The exact amount in nano-units (10^-9). Raises QuantityError."""
    return _nano_of(quantity if isinstance(quantity, str) else _text(quantity))


def thousandths(quantity: Quantity) -> int:
    """As `milli`, without the upper bound: for sums that end in larger units. Raises QuantityError."""
    return _thousandths_of(quantity if isinstance(quantity, str) else _text(quantity))


def milli(quantity: Quantity) -> int:
    """The amount in thousandths, rounded away from zero, at most 2^63-1. Raises QuantityError."""
    return min(_thousandths_of(quantity if isinstance(quantity, str) else _text(quantity)), MAX_VALUE)


def value(quantity: Quantity) -> int:
    """The amount in whole units, rounded away from zero, at most 2^63-1. Raises QuantityError."""
    return _value_of(quantity if isinstance(quantity, str) else _text(quantity))


def format_milli(amount: int) -> str:
    """Thousandths in canonical decimal form: 1500 -> `1500m`, 2000 -> `2`, 2000000 -> `2k`."""
    return _format_decimal(amount * 10**6)


def format_value(amount: int) -> str:
    """Whole units in canonical decimal form: 1500 -> `1500`, 2000 -> `2k`."""
    return _format_decimal(amount * _NANO)


def format_bytes(amount: int) -> str:
    """Whole units in canonical binary form: 1536 -> `1536`, 2048 -> `2Ki`, 1000 -> `1k` as Kubernetes writes it."""
    if -1024 < amount < 1024:
        return format_value(amount)
    suffix = ""
    for candidate in _BINARY:
        if amount % _BINARY[candidate]:
            break
        suffix = candidate
    return f"{amount // _BINARY[suffix]}{suffix}" if suffix else str(amount)


def canonical(quantity: Quantity) -> str:
    """The canonical text of a quantity, keeping its family of suffixes, as the API server stores it."""
    text = _text(quantity)
    nanos = parse_quantity(text)
    if text[-2:] in _BINARY and nanos % _NANO == 0:
        return format_bytes(nanos // _NANO)
    if "e" in text or ("E" in text and not text.endswith("E") and text[-2:] not in _BINARY):
        return _format_exponent(nanos)
    return _format_decimal(nanos)


def _factored(nanos: int) -> tuple[int, int]:
    """The mantissa and the largest exponent, a multiple of three from -9 to 18, that keep it whole."""
    exponent = -9
    while nanos and exponent < 18 and nanos % 1000 == 0:
        nanos //= 1000
        exponent += 3
    return nanos, exponent


def _format_decimal(nanos: int) -> str:
    if nanos == 0:
        return "0"
    mantissa, exponent = _factored(nanos)
    return f"{mantissa}{_SUFFIX_OF[exponent]}"


def _format_exponent(nanos: int) -> str:
    if nanos == 0:
        return "0"
    mantissa, exponent = _factored(nanos)
    return f"{mantissa}e{exponent}" if exponent else str(mantissa)


_SUFFIX_OF = {exponent: suffix for suffix, exponent in _DECIMAL.items()}

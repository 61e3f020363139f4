"""Functions on resource quantities and semantic versions.

A quantity is carried as the text of a fraction (`3/2`), a version as `1.2.3-rc.1`: the functions that both have tell them
apart by their form.
"""

from __future__ import annotations

import math
import re
from fractions import Fraction

from vcray.api.quantity import parse_quantity
from vcray.cel.functions import Function, member, plain

_VERSION = re.compile(
    r"(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(?:-([0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*))?"
    r"(?:\+[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*)?"
)
_BILLION = 1_000_000_000
_Key = tuple[int, int, int, tuple[tuple[int, int, str], ...]]


def _quantity(text: str) -> str:
    try:
        return str(Fraction(parse_quantity(text), _BILLION))
    except ValueError as error:
        raise ValueError(
            "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
        ) from error


def _is_quantity(text: str) -> bool:
    try:
        _quantity(text)
    except ValueError:
        return False
    return True


def _whole(text: str) -> int:
    value = Fraction(text)
    if value.denominator != 1 or not -(2**63) <= value < 2**63:
        raise ValueError("cannot convert value to integer")
    return int(value)


def _is_whole(text: str) -> bool:
    value = Fraction(text)
    return value.denominator == 1 and -(2**63) <= value < 2**63


def _normalized(text: str) -> str:
    """A version as people write it made a semantic one: no `v`, no leading zeros, missing parts zero."""
    core, dash, rest = text.removeprefix("v").partition("-")
    parts = [part.lstrip("0") or "0" for part in core.split(".") if part]
    return ".".join([*parts, "0", "0", "0"][: max(3, len(parts))]) + dash + rest


def _semver(text: str, normalize: bool = False) -> str:
    given = _normalized(text) if normalize else text
    if not _VERSION.fullmatch(given):
        raise ValueError(f"invalid semver {text!r}")
    return given.partition("+")[0]


def _is_semver(text: str, normalize: bool = False) -> bool:
    return _VERSION.fullmatch(_normalized(text) if normalize else text) is not None


def _key(text: str) -> _Key:
    found = _VERSION.fullmatch(text)
    if found is None:
        raise ValueError(f"invalid semver {text!r}")
    major, minor, patch, pre = found.groups()
    words: tuple[tuple[int, int, str], ...] = ((2, 0, ""),)  # a release is above its candidates
    if pre:
        words = tuple((0, int(w), "") if w.isdigit() else (1, 0, w) for w in pre.split("."))
    return int(major), int(minor), int(patch), words


def _compare(a: str, b: str) -> int:
    if a.count(".") >= 2:
        return (_key(a) > _key(b)) - (_key(a) < _key(b))
    return (Fraction(a) > Fraction(b)) - (Fraction(a) < Fraction(b))


def _number(text: str) -> Fraction:
    return Fraction(text)


FUNCTIONS: tuple[Function, ...] = (
    plain("quantity", "string", "Quantity", _quantity),
    plain("isQuantity", "string", "bool", _is_quantity),
    member("sign", "Quantity", "int", lambda text: (_number(text) > 0) - (_number(text) < 0)),
    member("isInteger", "Quantity", "bool", _is_whole),
    member("asInteger", "Quantity", "int", _whole),
    member("asApproximateFloat", "Quantity", "double", lambda text: float(_number(text))),
    member("add", "Quantity Quantity", "Quantity", lambda a, b: str(_number(a) + _number(b))),
    member("add", "Quantity int", "Quantity", lambda a, b: str(_number(a) + math.trunc(b))),
    member("sub", "Quantity Quantity", "Quantity", lambda a, b: str(_number(a) - _number(b))),
    member("sub", "Quantity int", "Quantity", lambda a, b: str(_number(a) - math.trunc(b))),
    plain("semver", "string", "Semver", _semver),
    plain("semver", "string bool", "Semver", _semver),
    plain("isSemver", "string", "bool", _is_semver),
    plain("isSemver", "string bool", "bool", _is_semver),
    member("major", "Semver", "int", lambda text: _key(text)[0]),
    member("minor", "Semver", "int", lambda text: _key(text)[1]),
    member("patch", "Semver", "int", lambda text: _key(text)[2]),
    *(
        member("isGreaterThan", f"{t} {t}", "bool", lambda a, b: _compare(a, b) > 0)
        for t in ("Quantity", "Semver")
    ),
    *(
        member("isLessThan", f"{t} {t}", "bool", lambda a, b: _compare(a, b) < 0)
        for t in ("Quantity", "Semver")
    ),
    *(member("compareTo", f"{t} {t}", "int", _compare) for t in ("Quantity", "Semver")),
)

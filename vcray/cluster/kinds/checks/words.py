"""Checks of single values that many kinds share: numbers, words of an enumeration, ports, addresses, percentages, amounts."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable, Collection, Iterator
from functools import lru_cache

from vcray.api.formats import invalid, required, unsupported
from vcray.api.jsonview import dig_int, dig_str
from vcray.api.meta import JsonObject, JsonValue

PORT_RANGE = "must be between 1 and 65535, inclusive"
_PERCENT = re.compile(r"[0-9]+%")
_PERCENT_RULE = (
    "a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%',  or '93%', regex used for "
    "validation is '[0-9]+%')"
)
NOT_NEGATIVE = "must be greater than or equal to 0"


def number_of(value: JsonValue) -> int | None:
    """A whole number; None for anything else."""
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def not_negative(obj: JsonObject, path: str, *names: str) -> Iterator[str]:
    """Fields that may not be below zero."""
    for name in names:
        value = number_of(obj.get(name))
        if value is not None and value < 0:
            yield invalid(f"{path}.{name}", value, NOT_NEGATIVE)


def one_of(
    obj: JsonObject, path: str, name: str, known: Collection[str], needed: bool = False
) -> Iterator[str]:
    """A word of an enumeration; `needed` says that it must be there."""
    word = dig_str(obj, name)
    if not word:
        if needed:
            yield required(f"{path}.{name}")
    elif word not in known:
        yield unsupported(f"{path}.{name}", word, known)


def named(value: str, path: str, rule: Callable[[str], list[str]]) -> Iterator[str]:
    """A text that has to keep a format."""
    for wrong in broken(rule, value):
        yield invalid(path, value, wrong)


@lru_cache(maxsize=16384)
def broken(rule: Callable[[str], list[str]], value: str) -> tuple[str, ...]:
    """What is wrong with a text by a rule; the same names, keys and labels come again and again."""
    return tuple(rule(value))


def port(value: JsonValue, path: str) -> Iterator[str]:
    """A port number."""
    number = number_of(value)
    if number is None or not 1 <= number <= 65535:
        yield invalid(path, value, PORT_RANGE)


def port_name(value: str) -> list[str]:
    """What is wrong with the name of a port."""
    wrong = ["must be no more than 15 characters"] if len(value) > 15 else []
    if not re.fullmatch(r"[-a-z0-9]+", value):
        return [*wrong, "must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)"]
    if not re.search("[a-z]", value):
        wrong.append("must contain at least one letter (a-z)")
    if "--" in value:
        wrong.append("must not contain consecutive hyphens")
    if value[0] == "-" or value[-1] == "-":
        wrong.append("must not begin or end with a hyphen")
    return wrong


def port_or_name(value: JsonValue, path: str) -> Iterator[str]:
    """A port by number or by name."""
    if isinstance(value, str):
        yield from named(value, path, port_name)
    else:
        yield from port(value, path)


def address(value: str, path: str) -> Iterator[str]:
    """An IP address."""
    try:
        ipaddress.ip_address(value)
    except ValueError:
        yield invalid(path, value, "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)")


def is_network(value: str) -> bool:
    """True for an address range, `10.0.0.0/8`."""
    try:
        ipaddress.ip_network(value, strict=False)
    except ValueError:
        return False
    return "/" in value


def count_or_percent(value: JsonValue, path: str) -> Iterator[str]:
    """A number that is not negative, or a percentage."""
    number = number_of(value)
    if isinstance(value, str):
        if not _PERCENT.fullmatch(value):
            yield invalid(path, value, _PERCENT_RULE)
    elif number is not None and number < 0:
        yield invalid(path, number, NOT_NEGATIVE)


def at_most_whole(value: JsonValue, path: str) -> Iterator[str]:
    """A percentage of at most a hundred."""
    if isinstance(value, str) and _PERCENT.fullmatch(value) and int(value[:-1]) > 100:
        yield invalid(path, value, "must not be greater than 100%")


def is_zero(value: JsonValue) -> bool:
    """True for zero, as a number or as a percentage."""
    return value in (0, "0%") and not isinstance(value, bool)


def positive(obj: JsonObject, path: str, name: str, most: int = 2**31 - 1) -> Iterator[str]:
    """A number of at least one, where it is given."""
    if obj.get(name) is not None and not 1 <= dig_int(obj, name) <= most:
        yield invalid(f"{path}.{name}", obj[name], f"must be between 1 and {most}, inclusive")

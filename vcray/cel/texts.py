"""Functions on strings: regular expressions, named formats, keys of JSON pointers.

A format is carried as its name. `validate` answers a list that is empty or holds the list of complaints; the rewriting of
expressions turns that into the optional that an author sees.
"""

from __future__ import annotations

import base64
import binascii
import re
import uuid
from collections.abc import Callable
from datetime import date, datetime
from functools import lru_cache
from urllib.parse import urlsplit

import jsonpointer

from vcray.api import formats
from vcray.cel.functions import Function, member, plain

_LABEL_1035 = "[a-z]([-a-z0-9]*[a-z0-9])?"
_RULE_1035 = (
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, "
    f"and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '{_LABEL_1035}')"
)


@lru_cache(maxsize=256)
def _pattern(text: str) -> re.Pattern[str]:
    try:
        return re.compile(text)
    except re.error as error:
        raise ValueError(f"Illegal regex: {error}") from error


def _find(text: str, pattern: str) -> str:
    found = _pattern(pattern).search(text)
    return found.group() if found else ""


def _find_all(text: str, pattern: str, limit: int = -1) -> list[str]:
    found = [match.group() for match in _pattern(pattern).finditer(text)]
    return found if limit < 0 else found[:limit]


def _label_1035(text: str) -> list[str]:
    wrong = ["must be no more than 63 bytes"] if len(text) > formats.LABEL_LENGTH else []
    return wrong if re.fullmatch(_LABEL_1035, text) else [*wrong, _RULE_1035]


def _prefix(check: Callable[[str], list[str]]) -> Callable[[str], list[str]]:
    """A check of what a generated name begins with: a dash at the end is as good as a letter."""
    return lambda text: check(text[:-1] + "a" if len(text) > 1 and text.endswith("-") else text)


def _parses(parse: Callable[[str], object], complaint: str) -> Callable[[str], list[str]]:
    def check(text: str) -> list[str]:
        try:
            parse(text)
        except (ValueError, binascii.Error):
            return [complaint]
        return []

    return check


def _uri(text: str) -> list[str]:
    parts = urlsplit(text)
    if text.startswith("/") or (parts.scheme and "://" in text):
        return []
    return [f'parse "{text}": invalid URI for request' if text else 'parse "": empty url']


_FORMATS: dict[str, Callable[[str], list[str]]] = {
    "dns1123Label": formats.dns_label,
    "dns1123Subdomain": formats.dns_subdomain,
    "dns1035Label": _label_1035,
    "qualifiedName": formats.qualified_name,
    "dns1123LabelPrefix": _prefix(formats.dns_label),
    "dns1123SubdomainPrefix": _prefix(formats.dns_subdomain),
    "dns1035LabelPrefix": _prefix(_label_1035),
    "labelValue": formats.label_value,
    "uri": _uri,
    "uuid": _parses(uuid.UUID, "does not match the UUID format"),
    "byte": _parses(lambda text: base64.b64decode(text, validate=True), "invalid base64"),
    "date": _parses(date.fromisoformat, "invalid date"),
    "datetime": _parses(datetime.fromisoformat, "invalid datetime"),
}


def _validate(name: str, text: str) -> list[list[str]]:
    wrong = _FORMATS[name](text)
    return [wrong] if wrong else []


def _constant(name: str) -> Callable[[], str]:
    return lambda: name


FUNCTIONS: tuple[Function, ...] = (
    member("find", "string string", "string", _find),
    member("findAll", "string string", "list<string>", _find_all),
    member("findAll", "string string int", "list<string>", _find_all),
    plain("jsonpatch.escapeKey", "string", "string", jsonpointer.escape),
    *(plain(f"format.{name}", "", "Format", _constant(name)) for name in _FORMATS),
    plain("format.named", "string", "list<Format>", lambda name: [name] if name in _FORMATS else []),
    member("validate", "Format string", "list<list<string>>", _validate),
)

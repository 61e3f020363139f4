"""Field errors as an API server words them, collected along a path."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence

from vcray.api.meta import JsonValue

_ESCAPED = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026"}
_LABEL = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?\Z")
_SUBDOMAIN = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*\Z")


def shown(value: JsonValue) -> str:
    """A value as error messages show it: JSON without spaces; in objects and lists with Go's escapes."""
    text = json.dumps(value, separators=(",", ":"), ensure_ascii=False)
    if isinstance(value, dict | list):
        for mark, escaped in _ESCAPED.items():
            text = text.replace(mark, escaped)
    return text


class Faults:
    """The errors found so far; each method adds one under a field path."""

    def __init__(self) -> None:
        self.found: list[str] = []

    def required(self, path: str, detail: str = "") -> None:
        """The field is missing or empty."""
        self.found.append(f"{path}: Required value: {detail}" if detail else f"{path}: Required value")

    def invalid(self, path: str, value: JsonValue, detail: str) -> None:
        """The value is wrong."""
        self.found.append(f"{path}: Invalid value: {shown(value)}: {detail}")

    def forbidden(self, path: str, detail: str) -> None:
        """The field may not be set."""
        self.found.append(f"{path}: Forbidden: {detail}")

    def duplicate(self, path: str, value: JsonValue) -> None:
        """The value occurs twice."""
        self.found.append(f"{path}: Duplicate value: {shown(value)}")

    def unsupported(self, path: str, value: JsonValue, supported: Iterable[str]) -> None:
        """The value is none of an enumeration."""
        known = ", ".join(shown(item) for item in supported)
        self.found.append(f"{path}: Unsupported value: {shown(value)}: supported values: {known}")

    def one_of(self, path: str, value: str, accepted: Sequence[str]) -> None:
        """Check a required word of an enumeration."""
        if not value:
            self.required(path)
        elif value not in accepted:
            self.unsupported(path, value, accepted)

    def label(self, path: str, value: str, opening: str = "") -> None:
        """Check that a word can be a DNS label that begins with a letter; `opening` goes before the reason."""
        reason = not_a_label(value)
        if reason:
            self.invalid(path, value, opening + reason)


def not_a_label(value: str) -> str:
    """Why a word is no RFC 1035 label; empty if it is one."""
    reasons = ["must be no more than 63 characters"] if len(value) > 63 else []
    if not _LABEL.match(value):
        reasons.append(
            "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic "
            "character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for "
            "validation is '[a-z]([-a-z0-9]*[a-z0-9])?')"
        )
    return ",".join(reasons)


def not_a_subdomain(value: str) -> str:
    """Why a word is no RFC 1123 subdomain; empty if it is one."""
    reasons = ["must be no more than 253 characters"] if len(value) > 253 else []
    if not _SUBDOMAIN.match(value):
        reasons.append(
            "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must "
            "start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is "
            "'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
        )
    return ",".join(reasons)

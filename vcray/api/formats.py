"""The texts by which Kubernetes says that a name or a field is wrong.

Whoever refuses an object does it in these words: clients, tests and people search for them. A field error is the text
`path: what: detail` of apimachinery's `field.Error`; a format check answers the list of what is wrong with a name.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable

from vcray.api.meta import JsonValue

LABEL_LENGTH = 63
SUBDOMAIN_LENGTH = 253

_LABEL = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN = rf"{_LABEL}(\.{_LABEL})*"
_KEY = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_IS_LABEL, _IS_SUBDOMAIN, _IS_KEY = re.compile(_LABEL), re.compile(_SUBDOMAIN), re.compile(_KEY)

_KEY_RULE = "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character"
_LABEL_RULE = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', "
    "and must start and end with an alphanumeric character"
)
_SUBDOMAIN_RULE = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', "
    "and must start and end with an alphanumeric character"
)
_VALUE_RULE = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', "
    "and must start and end with an alphanumeric character"
)


# -- names ------------------------------------------------------------------------------------------------------------


def dns_label(value: str) -> list[str]:
    """What is wrong with an RFC 1123 label; empty when nothing is."""
    wrong = _too_long(value, LABEL_LENGTH, "characters")
    if not _IS_LABEL.fullmatch(value):
        dots = _IS_SUBDOMAIN.fullmatch(value) is not None
        wrong.append(
            "must not contain dots" if dots else _by_regex(_LABEL_RULE, _LABEL, "my-name", "123-abc")
        )
    return wrong


def dns_subdomain(value: str) -> list[str]:
    """What is wrong with an RFC 1123 subdomain."""
    return _subdomain(value, "characters")


def _subdomain(value: str, unit: str) -> list[str]:
    wrong = _too_long(value, SUBDOMAIN_LENGTH, unit)
    if not _IS_SUBDOMAIN.fullmatch(value):
        wrong.append(_by_regex(_SUBDOMAIN_RULE, _SUBDOMAIN, "example.com"))
    return wrong


def qualified_name(value: str) -> list[str]:
    """What is wrong with a label key: a name, with or without a DNS prefix and a slash."""
    rule = _by_regex(_KEY_RULE, _KEY, "MyName", "my.name", "123-abc")
    parts = value.split("/")
    if len(parts) > 2:
        return [
            f"a valid label key {rule} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
        ]
    wrong = []
    if len(parts) == 2:
        problems = _subdomain(parts[0], "bytes") if parts[0] else ["must be non-empty"]
        wrong += [f"prefix part {problem}" for problem in problems]
    name = parts[-1]
    problems = _too_long(name, LABEL_LENGTH) if name else ["must be non-empty"]
    wrong += [f"name part {problem}" for problem in problems]
    if not _IS_KEY.fullmatch(name):
        wrong.append(f"name part {rule}")
    return wrong


def label_value(value: str) -> list[str]:
    """What is wrong with the value of a label."""
    wrong = _too_long(value, LABEL_LENGTH)
    if value and not _IS_KEY.fullmatch(value):
        wrong.append(_by_regex(_VALUE_RULE, f"({_KEY})?", "MyValue", "my_value", "12345"))
    return wrong


def _too_long(value: str, most: int, unit: str = "bytes") -> list[str]:
    """Both are counted in bytes; the older of Kubernetes' checks call them characters."""
    return [f"must be no more than {most} {unit}"] if len(value.encode()) > most else []


def _by_regex(rule: str, regex: str, *examples: str) -> str:
    shown = "  or ".join(f"'{example}'," for example in examples)
    return f"{rule} (e.g. {shown} regex used for validation is '{regex}')"


# -- field errors -----------------------------------------------------------------------------------------------------


def required(path: str, detail: str = "") -> str:
    """The field must be there."""
    return _error(path, "Required value", detail)


def forbidden(path: str, detail: str) -> str:
    """The field must not be there."""
    return _error(path, "Forbidden", detail)


def invalid(path: str, value: JsonValue, detail: str) -> str:
    """The value breaks a rule."""
    return _error(path, f"Invalid value: {shown(value)}", detail)


def duplicate(path: str, value: JsonValue) -> str:
    """The value is there already."""
    return _error(path, f"Duplicate value: {shown(value)}", "")


def unknown(path: str, value: JsonValue) -> str:
    """The value names something that does not exist."""
    return _error(path, f"Not found: {shown(value)}", "")


def unsupported(path: str, value: JsonValue, supported: Iterable[str]) -> str:
    """The value is none of these."""
    listed = ", ".join(shown(each) for each in supported)
    return _error(path, f"Unsupported value: {shown(value)}", f"supported values: {listed}")


def aggregate(errors: Iterable[str]) -> str:
    """Several errors as one text: each once, in brackets when there is more than one; empty for none."""
    distinct = list(dict.fromkeys(errors))
    return distinct[0] if len(distinct) == 1 else f"[{', '.join(distinct)}]" if distinct else ""


def shown(value: JsonValue) -> str:
    """A value as it stands in an error: JSON without spaces."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _error(path: str, what: str, detail: str) -> str:
    return f"{path}: {what}: {detail}" if detail else f"{path}: {what}"

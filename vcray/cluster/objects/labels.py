"""Label selectors as a query spells them: `app=web, tier in (a, b), !legacy, age>3`; and the sentences for broken ones.

The language is that of the Kubernetes documentation, "Labels and selectors"; refusals are worded as a kube-apiserver's.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from vcray.api.formats import label_value, qualified_name
from vcray.kube.errors import BadRequest

Test = Callable[[Mapping[str, str]], bool]

_TOKEN = re.compile(r"\s*(==|!=|[=!(),<>]|[^\s=!(),<>]+)")
_SYMBOLS = frozenset({"==", "!=", "=", "!", "(", ")", ",", "<", ">", ""})
_OPERATORS = "in, notin, =, ==, !=, gt, lt"
_UNREADABLE = "unable to parse requirement: "


def label_selector(query: str) -> Test:
    """A test of labels. BadRequest if the query is malformed."""
    tests = _Parser(query).requirements()
    if len(tests) == 1:
        return tests[0]
    return lambda labels: all(test(labels) for test in tests)


class _Parser:
    """Reads one query from left to right, a token at a time; the empty token is the end."""

    def __init__(self, query: str) -> None:
        self._tokens = _TOKEN.findall(query.strip())
        self._at = 0

    @property
    def _next(self) -> str:
        return self._tokens[self._at] if self._at < len(self._tokens) else ""

    def _take(self) -> str:
        token = self._next
        self._at += 1
        return token

    def requirements(self) -> list[Test]:
        """All requirements; each must hold."""
        found: list[Test] = []
        while self._next:
            if self._next in _SYMBOLS and self._next != "!":
                raise BadRequest(f"found '{self._next}', expected: !, identifier, or 'end of string'")
            found.append(self._requirement())
            if not self._next:
                break
            if self._take() != ",":
                self._at -= 1
                raise BadRequest(f"found '{self._next}', expected: ',' or 'end of string'")
            if self._next in _SYMBOLS and self._next != "!":
                raise BadRequest(f"found '{self._next}', expected: identifier after ','")
        return found

    def _requirement(self) -> Test:
        absent = self._next == "!"
        if absent:
            self._take()
        key = self._take()
        if key in _SYMBOLS:
            raise BadRequest(f"{_UNREADABLE}found '{key}', expected: identifier")
        faults = qualified_name(key)
        if faults:
            raise BadRequest(f'{_UNREADABLE}<nil>: Invalid value: "{key}": {"; ".join(faults)}')
        if absent:
            return lambda labels: key not in labels
        if self._next in ("", ","):
            return lambda labels: key in labels
        return self._compared(key, self._take())

    def _compared(self, key: str, operator: str) -> Test:
        match operator:
            case "in" | "notin":
                values, wanted = self._values(key), operator == "in"
                return lambda labels: (labels.get(key) in values) is wanted
            case "=" | "==":
                value = self._value(key)
                return lambda labels: labels.get(key) == value
            case "!=":
                value = self._value(key)
                return lambda labels: labels.get(key) != value
            case ">" | "gt" | "<" | "lt":
                return _ordered(key, self._value(key), operator in (">", "gt"))
        raise BadRequest(f"{_UNREADABLE}found '{operator}', expected: {_OPERATORS}")

    def _value(self, key: str) -> str:
        """One value, which may be empty."""
        if self._next in ("", ","):
            return ""
        value = self._take()
        if value in _SYMBOLS:
            raise BadRequest(f"{_UNREADABLE}found '{value}', expected: identifier")
        return _checked(key, value, 0)

    def _values(self, key: str) -> frozenset[str]:
        """The values of a set, in parentheses."""
        if self._take() != "(":
            self._at -= 1
            raise BadRequest(f"{_UNREADABLE}found '{self._next}' expected: '('")
        values: list[str] = []
        while True:
            value = "" if self._next in (",", ")") else self._take()
            if value in _SYMBOLS and value:
                raise BadRequest(f"{_UNREADABLE}found '{value}', expected: ',', or identifier")
            values.append(_checked(key, value, len(values)))
            token = self._take()
            if token == ")":
                return frozenset(values)
            if token != ",":
                raise BadRequest(f"{_UNREADABLE}found '{token}', expected: ',' or ')'")


def _checked(key: str, value: str, index: int) -> str:
    faults = label_value(value)
    if faults:
        raise BadRequest(
            f'{_UNREADABLE}values[{index}][{key}]: Invalid value: "{value}": {"; ".join(faults)}'
        )
    return value


def _ordered(key: str, value: str, greater: bool) -> Test:
    if not _is_integer(value):
        why = "for 'Gt', 'Lt' operators, the value must be an integer"
        raise BadRequest(f'{_UNREADABLE}values[0]: Invalid value: "{value}": {why}')
    bound = int(value)

    def test(labels: Mapping[str, str]) -> bool:
        present = labels.get(key, "")
        return _is_integer(present) and (int(present) > bound if greater else int(present) < bound)

    return test


def _is_integer(text: str) -> bool:
    return re.fullmatch(r"[+-]?\d+", text) is not None

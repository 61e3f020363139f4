"""Expansion of shell words: quotes, variables, command substitution, arithmetic."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable

from vcray.cluster.kubelet.surroundings import Surroundings
from vcray.cluster.kubelet.syntax import bracketed

Capture = Callable[[str], str]
"""Runs a script and returns what it prints."""

_NAME = re.compile(r"[A-Za-z_]\w*|[0-9?$!#@*]", re.ASCII)


def expand(word: str, around: Surroundings, capture: Capture) -> list[str]:
    """The fields that a raw word becomes: none, one or many."""
    return _Expander(word, around, capture).fields()


class _Expander:
    def __init__(self, word: str, around: Surroundings, capture: Capture) -> None:
        self._word = word
        self._around = around
        self._capture = capture
        self._fields: list[str] = []
        self._open: str | None = None

    def fields(self) -> list[str]:
        at = 0
        while at < len(self._word):
            at = self._step(at)
        if self._open is not None:
            self._fields.append(self._open)
        return self._fields

    def _add(self, text: str) -> None:
        self._open = (self._open or "") + text

    def _add_split(self, text: str) -> None:
        """Text that came from an expansion outside quotes: blanks part fields."""
        parts = text.split()
        if not parts:
            if text and self._open is not None:
                self._close()
            return
        if text[0].isspace() and self._open is not None:
            self._close()
        self._add(parts[0])
        for part in parts[1:]:
            self._close()
            self._add(part)
        if text[-1].isspace():
            self._close()

    def _close(self) -> None:
        if self._open is not None:
            self._fields.append(self._open)
            self._open = None

    def _step(self, at: int) -> int:
        word, char = self._word, self._word[at]
        if char == "\\":
            self._add(word[at + 1 : at + 2].replace("\n", ""))
            return at + 2
        if char == "'":
            end = word.index("'", at + 1)
            self._add(word[at + 1 : end])
            return end + 1
        if char == '"':
            return self._quoted(at + 1)
        if char in "$`":
            text, end = self._value(at)
            self._add_split(text)
            return end
        self._add(char)
        return at + 1

    def _quoted(self, at: int) -> int:
        self._add("")
        word = self._word
        while at < len(word) and word[at] != '"':
            if word[at] == "\\" and word[at + 1 : at + 2] in ("$", "`", '"', "\\", "\n"):
                self._add(word[at + 1].replace("\n", ""))
                at += 2
            elif word[at] in "$`":
                text, at = self._value(at)
                self._add(text)
            else:
                self._add(word[at])
                at += 1
        return at + 1

    def _value(self, at: int) -> tuple[str, int]:
        """The value of the expansion that begins at `at`, and the place behind it."""
        word = self._word
        if word[at] == "`":
            end = word.index("`", at + 1)
            return self._capture(word[at + 1 : end].replace("\\`", "`")), end + 1
        following = word[at + 1 : at + 2]
        if following == "(":
            end = bracketed(word, at + 1)
            inner = word[at + 2 : end - 1]
            if inner.startswith("(") and inner.endswith(")"):
                return str(arithmetic(inner[1:-1], self._around)), end
            return self._capture(inner), end
        if following == "{":
            end = bracketed(word, at + 1)
            return self._parameter(word[at + 2 : end - 1]), end
        if name := _NAME.match(word, at + 1):
            return self._special(name[0]), name.end()
        return "$", at + 1

    def _special(self, name: str) -> str:
        return "1" if name == "$" else self._around.variable(name)

    def _parameter(self, text: str) -> str:
        if text.startswith("#"):
            return str(len(self._around.variable(text[1:])))
        found = _NAME.match(text)
        if not found:
            return ""
        value, rest = self._special(found[0]), text[found.end() :]
        for mark in (":-", "-", ":=", "="):
            if rest.startswith(mark):
                chosen = value or " ".join(expand(rest[len(mark) :], self._around, self._capture))
                if "=" in mark:
                    self._around.assign(found[0], chosen)
                return chosen
        if rest.startswith(":+"):
            return " ".join(expand(rest[2:], self._around, self._capture)) if value else ""
        return _trimmed(value, rest)


def _trimmed(value: str, rest: str) -> str:
    """`${name##*-}` and its kin: remove the shortest or longest prefix or suffix that a pattern matches."""
    mark = re.match(r"##|#|%%|%", rest)
    if not mark:
        return value
    pattern = re.escape(rest[mark.end() :]).replace(r"\*", ".*").replace(r"\?", ".")
    spans = range(len(value) + 1)
    if mark[0][0] == "#":
        ends = [end for end in spans if re.fullmatch(pattern, value[:end], re.DOTALL)]
        return value[(max if mark[0] == "##" else min)(ends) :] if ends else value
    starts = [start for start in spans if re.fullmatch(pattern, value[start:], re.DOTALL)]
    return value[: (min if mark[0] == "%%" else max)(starts)] if starts else value


_TOKEN = re.compile(r"\s*(?:(\d+)|\$?\{?([A-Za-z_]\w*)\}?|(==|!=|<=|>=|&&|\|\||[-+*/%<>()=]))", re.ASCII)
_LEVELS: tuple[dict[str, Callable[[int, int], int]], ...] = (
    {"||": lambda a, b: int(bool(a or b))},
    {"&&": lambda a, b: int(bool(a and b))},
    {"==": lambda a, b: int(a == b), "!=": lambda a, b: int(a != b)},
    {
        "<": lambda a, b: int(a < b),
        ">": lambda a, b: int(a > b),
        "<=": lambda a, b: int(a <= b),
        ">=": lambda a, b: int(a >= b),
    },
    {"+": operator.add, "-": operator.sub},
    {
        "*": operator.mul,
        "/": lambda a, b: int(a / b) if b else 0,
        "%": lambda a, b: a - b * int(a / b) if b else 0,
    },
)


def arithmetic(text: str, around: Surroundings) -> int:
    """The value of an arithmetic expression; what is not understood counts as zero."""
    found: list[str | int] = []
    at = 0
    target = re.match(r"\s*([A-Za-z_]\w*)\s*([-+*/]?)=(?!=)", text, re.ASCII)
    if target:
        inner = arithmetic(text[target.end() :], around)
        old = _number(around.variable(target[1]))
        value = _LEVELS[4 if target[2] in "+-" else 5][target[2]](old, inner) if target[2] else inner
        around.assign(target[1], str(value))
        return value
    if stepped := re.match(r"\s*([A-Za-z_]\w*)(\+\+|--)\s*$", text, re.ASCII):
        old = _number(around.variable(stepped[1]))
        around.assign(stepped[1], str(old + (1 if stepped[2] == "++" else -1)))
        return old
    while token := _TOKEN.match(text, at):
        number, name, sign = token.groups()
        found.append(int(number) if number else _number(around.variable(name)) if name else sign)
        at = token.end()
    value, _ = _level(found, 0, 0)
    return value


def _number(text: str) -> int:
    return int(text) if re.fullmatch(r"-?\d+", text) else 0


def _level(found: list[str | int], at: int, level: int) -> tuple[int, int]:
    if level == len(_LEVELS):
        return _atom(found, at)
    left, at = _level(found, at, level + 1)
    while at < len(found) and isinstance(sign := found[at], str) and sign in _LEVELS[level]:
        right, at = _level(found, at + 1, level + 1)
        left = _LEVELS[level][sign](left, right)
    return left, at


def _atom(found: list[str | int], at: int) -> tuple[int, int]:
    if at >= len(found):
        return 0, at
    item = found[at]
    if isinstance(item, int):
        return item, at + 1
    if item == "-":
        value, at = _atom(found, at + 1)
        return -value, at
    if item == "(":
        value, at = _level(found, at + 1, 0)
        return value, at + 1
    return 0, at + 1

"""The syntax of `sh -c` scripts, as far as containers' commands use it: lists, pipelines, if, loops, groups.

Words keep their quotes; they are expanded when the command runs. What is not understood is a `SyntaxFault`, upon which the
caller treats the script as a program of unknown length.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TypeAlias


class SyntaxFault(ValueError):
    """The script is no shell script that we understand."""


@dataclass(frozen=True, slots=True)
class Simple:
    """Assignments and words of one command, with the targets of its output redirections (path, append)."""

    assignments: tuple[tuple[str, str], ...] = ()
    words: tuple[str, ...] = ()
    outputs: tuple[tuple[str, bool], ...] = ()


@dataclass(frozen=True, slots=True)
class Pipeline:
    """Commands joined by `|`; `negated` by a leading `!`."""

    parts: tuple[Node, ...]
    negated: bool = False


@dataclass(frozen=True, slots=True)
class Both:
    """`left && right`, or `left || right` when `otherwise`."""

    left: Node
    right: Node
    otherwise: bool


@dataclass(frozen=True, slots=True)
class Background:
    """`body &`."""

    body: Node


@dataclass(frozen=True, slots=True)
class Script:
    """Commands one after another."""

    parts: tuple[Node, ...] = ()


@dataclass(frozen=True, slots=True)
class If:
    """Branches of condition and body, and what else."""

    branches: tuple[tuple[Node, Node], ...]
    otherwise: Node = field(default_factory=Script)


@dataclass(frozen=True, slots=True)
class Loop:
    """`while`, or `until` when `negated`."""

    condition: Node
    body: Node
    negated: bool = False


@dataclass(frozen=True, slots=True)
class For:
    """`for name in words`."""

    name: str
    words: tuple[str, ...]
    body: Node


@dataclass(frozen=True, slots=True)
class Subshell:
    """`( body )`: its exit ends only itself."""

    body: Node


@dataclass(frozen=True, slots=True)
class Function:
    """`name() { body; }`."""

    name: str
    body: Node


Node: TypeAlias = Simple | Pipeline | Both | Background | Script | If | Loop | For | Subshell | Function

_OPERATOR = re.compile(r"&&|\|\||;;|\d?>>|\d?>&\d|&>|\d?>|<<<|<|[;&|()\n]")
_BLANK = re.compile(r"(?:[ \t\r]|\\\n)+")
_COMMENT = re.compile(r"#[^\n]*")
_ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)=", re.ASCII)
_STOPS = frozenset({"then", "else", "elif", "fi", "do", "done", "}", ")"})
_SEPARATORS = frozenset({";", "\n", "&"})


def tokens(script: str) -> list[str]:
    """Operators and raw words. SyntaxFault for an open quote."""
    found: list[str] = []
    at = 0
    while at < len(script):
        if skipped := _BLANK.match(script, at) or _COMMENT.match(script, at):
            at = skipped.end()
            continue
        if operator := _OPERATOR.match(script, at):
            found.append(operator[0])
            at = operator.end()
            continue
        end = _word_end(script, at)
        found.append(script[at:end])
        at = end
    return found


def _word_end(script: str, at: int) -> int:
    while at < len(script):
        char = script[at]
        if char == "\\":
            at += 2
        elif char == "'" or char == "`":
            at = _closing(script, at, char)
        elif char == '"':
            at = _double_quoted(script, at)
        elif char == "$" and script[at + 1 : at + 2] in ("(", "{"):
            at = bracketed(script, at + 1)
        elif char in " \t\r\n;&|()<>":
            break
        else:
            at += 1
    return min(at, len(script))


def _closing(script: str, at: int, quote: str) -> int:
    end = script.find(quote, at + 1)
    if end < 0:
        raise SyntaxFault(f"unterminated {quote}")
    return end + 1


def _double_quoted(script: str, at: int) -> int:
    at += 1
    while at < len(script):
        if script[at] == "\\":
            at += 2
        elif script[at] == '"':
            return at + 1
        elif script[at] == "$" and script[at + 1 : at + 2] in ("(", "{"):
            at = bracketed(script, at + 1)
        else:
            at += 1
    raise SyntaxFault('unterminated "')


def bracketed(script: str, at: int) -> int:
    """The place behind the bracket that closes the one at `at`. SyntaxFault if none does."""
    opening = script[at]
    closing = {"(": ")", "{": "}"}[opening]
    depth = 0
    while at < len(script):
        char = script[at]
        if char == "\\":
            at += 1
        elif char == "'":
            at = _closing(script, at, char) - 1
        elif char == '"':
            at = _double_quoted(script, at) - 1
        elif char == opening:
            depth += 1
        elif char == closing:
            depth -= 1
            if not depth:
                return at + 1
        at += 1
    raise SyntaxFault(f"unterminated {opening}")


def parse(script: str) -> Node:
    """The tree of a script. SyntaxFault if it cannot be understood."""
    reader = _Reader(tokens(script))
    tree = reader.script()
    if reader.peek() is not None:
        raise SyntaxFault(f"unexpected {reader.peek()!r}")
    return tree


class _Reader:
    def __init__(self, words: list[str]) -> None:
        self._words = words
        self._at = 0

    def peek(self, ahead: int = 0) -> str | None:
        place = self._at + ahead
        return self._words[place] if place < len(self._words) else None

    def _take(self) -> str:
        word = self.peek()
        if word is None:
            raise SyntaxFault("unexpected end")
        self._at += 1
        return word

    def _expect(self, wanted: str) -> None:
        found = self._take()
        if found != wanted:
            raise SyntaxFault(f"expected {wanted!r}, found {found!r}")

    def _skip(self, *separators: str) -> None:
        while self.peek() in separators:
            self._at += 1

    def script(self) -> Script:
        parts: list[Node] = []
        self._skip(";", "\n")
        while (word := self.peek()) is not None and word not in _STOPS:
            part = self._chain()
            if self.peek() == "&":
                part = Background(part)
            elif self.peek() not in (None, ";", "\n") and self.peek() not in _STOPS:
                raise SyntaxFault(f"unexpected {self.peek()!r}")
            parts.append(part)
            self._skip(*_SEPARATORS)
        return Script(tuple(parts))

    def _chain(self) -> Node:
        left = self._pipeline()
        while (operator := self.peek()) in ("&&", "||"):
            self._at += 1
            self._skip("\n")
            left = Both(left, self._pipeline(), operator == "||")
        return left

    def _pipeline(self) -> Node:
        negated = self.peek() == "!"
        if negated:
            self._at += 1
        parts = [self._command()]
        while self.peek() == "|":
            self._at += 1
            self._skip("\n")
            parts.append(self._command())
        return Pipeline(tuple(parts), negated) if negated or len(parts) > 1 else parts[0]

    def _command(self) -> Node:
        match self.peek():
            case "if":
                return self._redirected(self._if())
            case "while" | "until":
                return self._redirected(self._loop())
            case "for":
                return self._redirected(self._for())
            case "{":
                self._at += 1
                body = self.script()
                self._expect("}")
                return self._redirected(body)
            case "(":
                self._at += 1
                body = self.script()
                self._expect(")")
                return self._redirected(Subshell(body))
            case "case" | "select" | "[[(":
                raise SyntaxFault(f"{self.peek()!r} is not understood")
        if self.peek(1) == "(" and self.peek(2) == ")":
            name = self._take()
            self._at += 2
            self._skip("\n")
            return Function(name, self._command())
        return self._simple()

    def _redirected(self, node: Node) -> Node:
        while (
            (word := self.peek()) is not None and (">" in word or word in ("<", "<<<")) and _is_operator(word)
        ):
            self._at += 1
            if "&" not in word or word == "&>":
                self._take()
        return node

    def _if(self) -> Node:
        branches: list[tuple[Node, Node]] = []
        word = self._take()
        while word in ("if", "elif"):
            condition = self.script()
            self._expect("then")
            branches.append((condition, self.script()))
            word = self._take()
        otherwise = Script()
        if word == "else":
            otherwise = self.script()
            word = self._take()
        if word != "fi":
            raise SyntaxFault(f"expected 'fi', found {word!r}")
        return If(tuple(branches), otherwise)

    def _loop(self) -> Node:
        negated = self._take() == "until"
        condition = self.script()
        self._expect("do")
        body = self.script()
        self._expect("done")
        return Loop(condition, body, negated)

    def _for(self) -> Node:
        self._at += 1
        name = self._take()
        words: list[str] = []
        if name == "(":
            raise SyntaxFault("arithmetic loops are not understood")
        if self.peek() == "in":
            self._at += 1
            while self.peek() not in (";", "\n", None):
                words.append(self._take())
        self._skip(";", "\n")
        self._expect("do")
        body = self.script()
        self._expect("done")
        return For(name, tuple(words), body)

    def _simple(self) -> Node:
        assignments: list[tuple[str, str]] = []
        words: list[str] = []
        outputs: list[tuple[str, bool]] = []
        while (word := self.peek()) is not None:
            if _is_operator(word):
                if word in ("<", "<<<"):
                    self._at += 1
                    self._take()
                    continue
                if ">" not in word:
                    break
                self._at += 1
                if "&" in word and word != "&>":
                    continue
                target = self._take()
                if not word.startswith("2"):
                    outputs.append((target, ">>" in word))
                continue
            found = _ASSIGNMENT.match(word) if not words else None
            if found:
                assignments.append((found[1], word[found.end() :]))
            else:
                words.append(word)
            self._at += 1
        if not words and not assignments and not outputs:
            raise SyntaxFault(f"expected a command, found {self.peek()!r}")
        return Simple(tuple(assignments), tuple(words), tuple(outputs))


def _is_operator(word: str) -> bool:
    return bool(_OPERATOR.fullmatch(word))

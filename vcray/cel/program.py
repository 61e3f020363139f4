"""One compiled expression, its evaluation and its errors, in the words of cel-go as far as the cause is the same."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache

from cel_expr_python import cel  # type: ignore[import-untyped]
from google.protobuf import descriptor_pool

from vcray.cel import environment
from vcray.cel.rewriting import rewritten

_NOISE = re.compile(r"^[A-Z_]+: | \[[A-Z_]+\]$")
_STRUCT = re.compile(r"(undefined field '[^']*') not found in struct '[^']*'")
_QUALIFIED = re.compile(
    r"ERROR: <input>:(\d+):(\d+): undeclared reference to '([A-Za-z_][\w.]*)\.\w+'([^\n]*\n \| [^\n]*\n \| )(\.*)\^"
)
_KEY = re.compile(r'Key not found in map : "?(.*?)"?$', re.DOTALL)
_INDEX = re.compile(r"Index error: index=(-?\d+) size=\d+")


class CompileError(Exception):
    """The expression is no good; the text is the compiler's, one block for each error."""


class EvaluationError(Exception):
    """The expression has no value for these inputs; the text is cel-go's."""


class BudgetExceeded(EvaluationError):
    """The evaluation took more steps than are allowed: the library ends it after 10,000 turns of loops."""


def _compiler_words(error: Exception) -> str:
    text = _NOISE.sub("", str(error))
    text = _STRUCT.sub(r"\1", text)
    return _QUALIFIED.sub(_at_its_root, text)


def _at_its_root(match: re.Match[str]) -> str:
    """The library blames a whole qualified name at its last dot, cel-go the first name where it stands."""
    line, column, path, rest, dots = match.groups()
    back = min(len(path), len(dots))
    root = path.partition(".")[0]
    where = f"<input>:{line}:{int(column) - back}"
    return f"ERROR: {where}: undeclared reference to '{root}'{rest}{dots[: len(dots) - back]}^"


def _runtime_words(text: str) -> str:
    said = _NOISE.sub("", text)
    if found := _KEY.search(said):
        return f"no such key: {found[1]}"
    if found := _INDEX.search(said):
        return f"index out of bounds: {found[1]}"
    if "No matching overloads" in said or "non-message type" in said:
        return "no such overload"
    if "divide by zero" in said:
        return "division by zero"
    if "modulus by zero" in said:
        return "modulus by zero"
    if "overflow" in said:
        return "integer overflow"
    return said


class Program:
    """A compiled expression."""

    def __init__(self, expression: cel.Expression) -> None:
        self._expression = expression

    @property
    def result(self) -> str:
        """The type it has by the compiler: `BOOL`, `STRING`, `DYN`, …"""
        return str(self._expression.return_type().name())

    @property
    def expression(self) -> cel.Expression:
        """The library's own object, for those who read its syntax tree."""
        return self._expression

    def evaluate(self, data: Mapping[str, object]) -> object:
        """The value as plain Python objects. Raises EvaluationError."""
        try:
            value = self._expression.eval(data=data)
            if value.type() == cel.Type.ERROR:
                raise EvaluationError(_runtime_words(str(value.value())))
            found: object = value.plain_value()
        except (RuntimeError, TypeError) as error:
            if "Iteration budget exceeded" in str(error):
                raise BudgetExceeded("operation cancelled: actual cost limit exceeded") from error
            raise EvaluationError(_runtime_words(str(error))) from error
        return found


@lru_cache(maxsize=4096)
def compiled(expression: str, names: tuple[str, ...], optional_old: bool = False) -> Program:
    """The expression ready to be evaluated with variables of these names. Raises CompileError."""
    text = rewritten(expression, optional_old)
    try:
        return Program(environment.evaluating(names).compile(text))
    except RuntimeError as error:
        raise CompileError(_compiler_words(error)) from error


class Checker:
    """Checks expressions against typed variables: `variables` by name, types in CEL's writing."""

    def __init__(
        self, variables: Mapping[str, str], pool: descriptor_pool.DescriptorPool | None = None
    ) -> None:
        self._environment = environment.checking(variables, pool)

    def check(self, expression: str, optional_old: bool = False) -> Program:
        """The program, for its type and its tree (it is not to be evaluated). Raises CompileError."""
        text = rewritten(expression, optional_old)
        try:
            if text != expression:
                self._environment.compile(expression, True)  # syntax errors stand where the author wrote them
            return Program(self._environment.compile(text))
        except RuntimeError as error:
            raise CompileError(_compiler_words(error)) from error

"""Expressions as authors write them, put in words that the library knows.

Kubernetes adds to CEL what the library has no door for: typed objects of mutations (`Object.spec{replicas: 1}`,
`JSONPatch{…}`), the optional `oldSelf`, functions that answer optionals, and the macro `cel.bind`. All of it has an equal in
plain CEL. Positions in error messages are those of the text as rewritten.
"""

from __future__ import annotations

import re
from functools import lru_cache

from vcray.cel.comprehensions import WORTH, arguments, closing, one_variable

_TOKEN = re.compile(
    r"""(?P<space>\s+|//[^\n]*)
    |(?P<string>(?:[rR]?[bB]?|[bB][rR])(?:'''(?s:.*?)'''|\"\"\"(?s:.*?)\"\"\"|'(?:\\.|[^'\\\n])*'|"(?:\\.|[^"\\\n])*"))
    |(?P<name>[A-Za-z_][A-Za-z0-9_]*)
    |(?P<number>0x[0-9a-fA-F]+u?|\d+(?:\.\d+)?(?:[eE][-+]?\d+)?u?)
    |(?P<operator>==|!=|<=|>=|&&|\|\|)
    |(?P<sign>.)""",
    re.VERBOSE,
)
_OPEN, _CLOSE = "([{", ")]}"
_WORTH = re.compile(r"\bObject\b|\bJSONPatch\b|\.validate\b|\bformat\s*\.\s*named\b|\bcel\s*\.\s*bind\b")


def tokens_of(expression: str) -> list[str]:
    """The tokens of an expression, blanks included."""
    return [match.group() for match in _TOKEN.finditer(expression)]


@lru_cache(maxsize=1024)
def rewritten(expression: str, optional_old: bool = False) -> str:
    """The expression in plain CEL; `optional_old` says that `oldSelf` is an optional (a list of at most one for us)."""
    if not optional_old and not _WORTH.search(expression) and not WORTH.search(expression):
        return expression
    tokens = [token for token in tokens_of(expression) if not token.isspace() and not token.startswith("//")]
    if optional_old:
        tokens = _with_optional_old(tokens)
    return " ".join(one_variable(_bound(_answered(_without_types(tokens)))))


def names_of(expression: str) -> frozenset[str]:
    """The identifiers that stand in an expression and are no fields or methods of something."""
    tokens = [token for token in tokens_of(expression) if not token.isspace()]
    return frozenset(
        t for i, t in enumerate(tokens) if _is_name(t) and (i == 0 or tokens[i - 1] not in (".", "?."))
    )


def fields_of(expression: str, root: str) -> list[str]:
    """The names that follow `root.` in an expression, in their order."""
    tokens = [token for token in tokens_of(expression) if not token.isspace()]
    found = [
        tokens[i + 2]
        for i in range(len(tokens) - 2)
        if tokens[i] == root and tokens[i + 1] == "." and (i == 0 or tokens[i - 1] != ".")
    ]
    return list(dict.fromkeys(found))


def _is_name(token: str) -> bool:
    return re.fullmatch(r"[A-Za-z_]\w*", token) is not None


def _with_optional_old(tokens: list[str]) -> list[str]:
    out: list[str] = []
    for token in tokens:
        bare = token == "oldSelf" and (not out or out[-1] != ".")
        out += ["oldSelf", "[", "?", "0", "]"] if bare else [token]
    return out


def _type_end(tokens: list[str], index: int) -> int:
    """Behind a type name `Object.spec.template` that begins at `index` and is followed by a brace; else `index`."""
    if tokens[index] not in ("Object", "JSONPatch") or (index and tokens[index - 1] == "."):
        return index
    end = index + 1
    while end + 1 < len(tokens) and tokens[end] == "." and _is_name(tokens[end + 1]):
        end += 2
    return end if end < len(tokens) and tokens[end] == "{" else index


def _without_types(tokens: list[str]) -> list[str]:
    """Objects of named types as maps with quoted keys."""
    out: list[str] = []
    objects: list[bool] = []  # for each open bracket: whether it is the brace of a typed object
    index = 0
    while index < len(tokens):
        end = _type_end(tokens, index)
        if end > index:
            out.append("{")
            objects.append(True)
            index = end + 1
            continue
        token = tokens[index]
        if token in _OPEN:
            objects.append(False)
        elif token in _CLOSE and objects:
            objects.pop()
        elif objects and objects[-1] and _is_key(tokens, index):
            token = f'"{unescaped(token)}"'
        out.append(token)
        index += 1
    return out


def _is_key(tokens: list[str], index: int) -> bool:
    before, after = tokens[index - 1], tokens[index + 1] if index + 1 < len(tokens) else ""
    return _is_name(tokens[index]) and after == ":" and before in ("{", ",", "?")


def _answered(tokens: list[str]) -> list[str]:
    """Calls that answer an optional: the first of the list that the function really gives."""
    out = list(tokens)
    index = 0
    while index < len(out):
        named = out[index] == "named" and out[max(index - 2, 0) : index] == ["format", "."]
        checked = out[index] == "validate" and index > 0 and out[index - 1] == "."
        if (named or checked) and index + 1 < len(out) and out[index + 1] == "(":
            end = closing(out, index + 1) + 1
            out[end:end] = ["[", "?", "0", "]"]
        index += 1
    return out


def _bound(tokens: list[str]) -> list[str]:
    """`cel.bind(name, value, body)` as `[value].map(name, body)[0]`."""
    for index in range(len(tokens) - 3):
        if tokens[index : index + 4] == ["cel", ".", "bind", "("]:
            end = closing(tokens, index + 3)
            parts = arguments(tokens[index + 4 : end])
            if len(parts) != 3:
                return tokens
            name, value, body = parts
            put = ["[", *value, "]", ".", "map", "(", *name, ",", *body, ")", "[", "0", "]"]
            return _bound([*tokens[:index], *put, *tokens[end + 1 :]])
    return tokens


# -- names of fields --------------------------------------------------------------------------------------------------

_RESERVED = frozenset(
    [
        "true",
        "false",
        "null",
        "in",
        "as",
        "break",
        "const",
        "continue",
        "else",
        "for",
        "function",
        "if",
        "import",
        "let",
        "loop",
        "package",
        "namespace",
        "return",
        "var",
        "void",
        "while",
    ]
)
_ESCAPES = (("__", "__underscores__"), (".", "__dot__"), ("-", "__dash__"), ("/", "__slash__"))
_UNESCAPE = re.compile(r"__(underscores|dot|dash|slash)__")
_PLAIN = {"underscores": "__", "dot": ".", "dash": "-", "slash": "/"}


def escaped(name: str) -> str | None:
    """A property's name as an identifier of an expression; None if it cannot be one."""
    if name in _RESERVED:
        return f"__{name}__"
    found = name
    for plain, word in _ESCAPES:
        found = found.replace(plain, "\0" + word.strip("_") + "\0")
    found = re.sub("\0(\\w+)\0", r"__\1__", found)
    return found if _is_name(found) else None


def unescaped(name: str) -> str:
    """The property that an identifier of an expression means."""
    inner = name.removeprefix("__").removesuffix("__")
    if name == f"__{inner}__" and inner in _RESERVED:
        return inner
    return _UNESCAPE.sub(lambda match: _PLAIN[match[1]], name)

"""Macros with two variables in plain CEL: `m.all(k, v, p)` as a loop over the keys of `m` in which `v` is `m[k]`.

Lists have their indices as keys. Known are `all`, `exists`, `existsOne` and `transformList`; the macros that make maps are not.
"""

from __future__ import annotations

import re

_MACROS = {"all": "all", "exists": "exists", "existsOne": "exists_one", "exists_one": "exists_one"}
_OPEN, _CLOSE = "([{", ")]}"
WORTH = re.compile(r"\.\s*(all|exists|existsOne|exists_one|transformList)\s*\(\s*\w+\s*,\s*\w+\s*,")


def one_variable(tokens: list[str], depth: int = 0) -> list[str]:
    """The tokens of an expression with every macro of two variables rewritten."""
    for index in range(1, len(tokens) - 2):
        if tokens[index - 1] != "." or tokens[index + 1] != "(":
            continue
        name = tokens[index]
        end = closing(tokens, index + 1)
        parts = arguments(tokens[index + 2 : end])
        if not _has_two(name, parts):
            continue
        start = _start(tokens, index - 2)
        (key,), (value,) = parts[0], parts[1]
        bound = f"target__{depth}"
        inner = [_replaced(part, value, [bound, "[", key, "]"]) for part in parts[2:]]
        loop = "map" if name == "transformList" else _MACROS[name]
        body = [token for part in inner for token in (",", *part)]
        put = ["[", *tokens[start : index - 1], "]", ".", "map", "(", bound, ","]
        put += ["keys__", "(", bound, ")", ".", loop, "(", key, *body, ")", ")", "[", "0", "]"]
        return one_variable([*tokens[:start], *put, *tokens[end + 1 :]], depth + 1)
    return tokens


def _has_two(name: str, parts: list[list[str]]) -> bool:
    wanted = (3, 4) if name == "transformList" else (3,) if name in _MACROS else ()
    return len(parts) in wanted and all(
        len(part) == 1 and re.fullmatch(r"[A-Za-z_]\w*", part[0]) for part in parts[:2]
    )


def _start(tokens: list[str], index: int) -> int:
    """Where the operand begins that ends at `index`: names, calls, indices and fields that hang together."""
    while True:
        if tokens[index] in _CLOSE:
            index = _opening(tokens, index)
            hangs = index > 0 and (tokens[index - 1] in _CLOSE or re.match(r"\w", tokens[index - 1]))
            if hangs and tokens[index] in "([":
                index -= 1
                continue
        if index > 1 and tokens[index - 1] == ".":
            index -= 2
            continue
        if index > 2 and tokens[index - 1] == "?" and tokens[index - 2] == ".":
            index -= 3
            continue
        return index


def _opening(tokens: list[str], index: int) -> int:
    depth = 0
    for place in range(index, -1, -1):
        depth += (tokens[place] in _CLOSE) - (tokens[place] in _OPEN)
        if depth == 0:
            return place
    return 0


def _replaced(tokens: list[str], name: str, by: list[str]) -> list[str]:
    out: list[str] = []
    for index, token in enumerate(tokens):
        free = token == name and (index == 0 or tokens[index - 1] != ".")
        out += by if free else [token]
    return out


def closing(tokens: list[str], opening: int) -> int:
    """The index of the bracket that closes the one at `opening`; the end if none does."""
    depth = 0
    for index in range(opening, len(tokens)):
        depth += (tokens[index] in _OPEN) - (tokens[index] in _CLOSE)
        if depth == 0:
            return index
    return len(tokens) - 1


def arguments(tokens: list[str]) -> list[list[str]]:
    """The arguments between the brackets of a call."""
    parts: list[list[str]] = [[]]
    depth = 0
    for token in tokens:
        depth += (token in _OPEN) - (token in _CLOSE)
        if token == "," and depth == 0:
            parts.append([])
        else:
            parts[-1].append(token)
    return parts

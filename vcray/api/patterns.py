"""Regular expressions of schemas and HyperNodes: RE2's, as Go knows them.

Python's own differ where users notice: `\\p{L}` and `\\z` are missing, `$` matches before a last line end, and a hostile pattern
can run for ever. The library comes with the CEL library, whose `matches` needs the same.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Protocol

import re2  # type: ignore[import-untyped, unused-ignore]

_GO_WORDS = {
    "missing ]": "missing closing ]",
    "missing )": "missing closing )",
    "invalid perl operator": "invalid or unsupported Perl syntax",
    "no argument for repetition operator": "missing argument to repetition operator",
}


class Pattern(Protocol):
    """A compiled pattern."""

    def search(self, text: str) -> object | None:
        """Something where the pattern matches anywhere in a text, else None."""


@lru_cache(maxsize=512)
def compiled(text: str) -> Pattern:
    """A pattern, ready to search with. ValueError with Go's words if it is none."""
    options = re2.Options()
    options.log_errors = False
    try:
        pattern: Pattern = re2.compile(text, options)
    except re2.error as error:
        told = error.args[0] if error.args else b""
        what = told.decode() if isinstance(told, bytes) else str(told)
        kind, _, part = what.partition(": ")
        raise ValueError(f"error parsing regexp: {_GO_WORDS.get(kind, kind)}: `{part}`") from error
    return pattern

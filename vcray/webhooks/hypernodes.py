"""Admission of HyperNodes: there are members, and their patterns can be matched.

Texts after Volcano's `/hypernodes/validate`, whose paths begin with `[]`: what is named by no field of its own. All else is
said by the schema before a webhook is asked.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from vcray.api.formats import aggregate, invalid
from vcray.api.jsonview import dig, dig_objects
from vcray.api.meta import JsonObject
from vcray.api.patterns import compiled
from vcray.webhooks.base import Answer, Request

_MEMBERS: Final = "[].spec.members"
_PATTERN: Final = f"{_MEMBERS}.selector.regexMatch.pattern"


def validate(request: Request) -> Answer:
    """On CREATE and UPDATE: all problems at once. Other operations are allowed, as Volcano allows them."""
    if request.operation not in ("CREATE", "UPDATE"):
        return Answer()
    return Answer(aggregate(_problems(request.new)))


def _problems(hypernode: JsonObject) -> Iterator[str]:
    if not dig(hypernode, "spec", "members"):
        yield invalid(_MEMBERS, None, "member must have at least one member")
    for member in dig_objects(hypernode, "spec", "members"):
        pattern = dig(member, "selector", "regexMatch", "pattern")
        if isinstance(pattern, str):
            try:
                compiled(pattern)
            except ValueError as error:
                yield invalid(_PATTERN, pattern, f"member regexMatch pattern is invalid: {error}")

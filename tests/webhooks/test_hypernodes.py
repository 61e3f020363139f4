"""Admission of HyperNodes."""

from __future__ import annotations

import pytest

from tests.webhooks.seen import ask
from vcray.api.meta import JsonObject, JsonValue
from vcray.webhooks.hypernodes import validate

NO_MEMBERS = "[].spec.members: Invalid value: null: member must have at least one member"


def hypernode(*selectors: JsonValue) -> JsonObject:
    members: list[JsonValue] = [{"type": "Node", "selector": selector} for selector in selectors]
    return {"metadata": {"name": "h"}, "spec": {"tier": 1, "members": members}}


def pattern_problem(pattern: str, why: str) -> str:
    return (
        f'[].spec.members.selector.regexMatch.pattern: Invalid value: "{pattern}": '
        f"member regexMatch pattern is invalid: error parsing regexp: {why}"
    )


@pytest.mark.parametrize(
    "selector",
    [
        {"exactMatch": {"name": "node-0"}},
        {"regexMatch": {"pattern": "^node-[0-9]+$"}},
        {"regexMatch": {"pattern": r"\p{L}\z"}},
        {"labelMatch": {"matchLabels": {"rack": "a"}}},
        None,
    ],
)
@pytest.mark.parametrize("operation", ["CREATE", "UPDATE"])
def test_members_that_can_be_found_pass(operation: str, selector: JsonValue) -> None:
    assert validate(ask(operation, hypernode(selector))).allowed


@pytest.mark.parametrize("spec", [{}, {"members": None}, {"members": []}])
def test_there_is_a_member(spec: JsonObject) -> None:
    assert validate(ask("CREATE", {"spec": spec})).problem == NO_MEMBERS


@pytest.mark.parametrize(
    ("pattern", "why"),
    [
        ("[", "missing closing ]: `[`"),
        ("a(", "missing closing ): `a(`"),
        ("(?=a)", "invalid or unsupported Perl syntax: `(?=`"),
    ],
)
def test_pattern_is_one_of_gos(pattern: str, why: str) -> None:
    answer = validate(ask("UPDATE", hypernode({"regexMatch": {"pattern": pattern}})))

    assert answer.problem == pattern_problem(pattern, why)


def test_patterns_are_told_together_and_each_once() -> None:
    wrong = [{"regexMatch": {"pattern": pattern}} for pattern in ("[", "(", "[")]

    answer = validate(ask("CREATE", hypernode(*wrong)))

    first = pattern_problem("[", "missing closing ]: `[`")
    second = pattern_problem("(", "missing closing ): `(`")
    assert answer.problem == f"[{first}, {second}]"


def test_other_operations_are_allowed() -> None:
    assert validate(ask("DELETE")).allowed

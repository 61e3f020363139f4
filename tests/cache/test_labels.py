"""Selectors and what they select."""

from __future__ import annotations

import pytest

from vcray.api.wire import Requirement as WireRequirement
from vcray.api.wire import Selector
from vcray.cache.labels import NOTHING, fold_keys, requirements_of, selects
from vcray.core.selectors import satisfies
from vcray.core.snapshot import SelectorSpec
from vcray.core.tables import Requirement


def test_an_absent_selector_selects_nothing_and_an_empty_one_everything() -> None:
    assert not satisfies(requirements_of(None), {"app": "a"})
    assert satisfies(requirements_of(Selector()), {})


@pytest.mark.parametrize(
    ("operator", "values", "labels", "holds"),
    [
        ("In", ("a", "b"), {"app": "b"}, True),
        ("In", ("a",), {}, False),
        ("NotIn", ("a",), {}, True),
        ("NotIn", ("a",), {"app": "a"}, False),
        ("Exists", (), {"app": ""}, True),
        ("Exists", (), {}, False),
        ("DoesNotExist", (), {}, True),
        ("DoesNotExist", (), {"app": "a"}, False),
        ("Near", ("a",), {"app": "a"}, False),
    ],
)
def test_requirements_hold_as_in_kubernetes(
    operator: str, values: tuple[str, ...], labels: dict[str, str], holds: bool
) -> None:
    assert satisfies([Requirement("app", operator, values)], labels) is holds


def test_two_spellings_of_one_selector_are_equal() -> None:
    one = Selector(match_labels={"a": "1", "b": "2"})
    other = Selector(
        match_expressions=(WireRequirement("b", "In", ("2",)), WireRequirement("a", "In", ("1",)))
    )
    assert requirements_of(one) == requirements_of(other)


def test_keys_already_folded_by_the_api_server_are_not_doubled() -> None:
    labels = {"hash": "x"}
    once = fold_keys((), labels, ["hash", "absent"], "In")
    assert once == (Requirement("hash", "In", ("x",)),)
    assert fold_keys(once, labels, ["hash"], "In") == once


def test_a_selector_counts_pods_of_its_namespaces_only() -> None:
    assert selects(SelectorSpec(None, ()), "any", {})
    assert selects(SelectorSpec(("a",), ()), "a", {})
    assert not selects(SelectorSpec(("a",), ()), "b", {})
    assert not selects(SelectorSpec(None, NOTHING), "a", {"": ""})

"""Every rule of Volcano's scheduler has a verdict, and what it names is there."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

import pytest

from tests.parity.rules import PAGE, ROOT, VERDICTS, Rule, page, read_rules

RULES = read_rules()


@cache
def _functions(path: Path) -> frozenset[str]:
    tree = ast.parse(path.read_text())
    return frozenset(
        node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    )


@cache
def _differences() -> frozenset[str]:
    lines = (ROOT / "docs" / "differences.md").read_text().splitlines()
    return frozenset(line.split("|")[1].strip() for line in lines if line.startswith("|"))


def test_ids_are_unique_and_verdicts_known() -> None:
    assert len({rule.id for rule in RULES}) == len(RULES)
    assert {rule.verdict for rule in RULES} <= set(VERDICTS)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)
def test_a_rule_names_what_shows_it(rule: Rule) -> None:
    if rule.verdict == "unobservable":
        assert rule.why
        return
    assert rule.tests
    for test in rule.tests:
        path, _, function = test.partition("::")
        assert (ROOT / path).is_file(), test
        assert not function or function in _functions(ROOT / path), test
        assert function or path.endswith(".yaml"), test
    if rule.verdict == "differ":
        assert rule.difference in _differences()


def test_the_page_is_what_the_rules_say() -> None:
    assert PAGE.read_text() == page(RULES), "run: python -m tests.parity.rules"

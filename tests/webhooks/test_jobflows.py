"""Admission of JobFlows."""

from __future__ import annotations

import pytest

from tests.webhooks.seen import ask
from vcray.api.meta import JsonObject, JsonValue
from vcray.webhooks.jobflows import validate

NOT_DAG = "jobflow Flow is not DAG"


def jobflow(*flows: tuple[str, list[str]]) -> JsonObject:
    listed: list[JsonValue] = [
        {"name": name, **({"dependsOn": {"targets": [*targets]}} if targets else {})}
        for name, targets in flows
    ]
    return {"metadata": {"name": "f"}, "spec": {"flows": listed}}


@pytest.mark.parametrize(
    "flows",
    [
        [],
        [("a", [])],
        [("a", []), ("b", ["a"]), ("c", ["b"])],
        [("c", ["a", "b"]), ("a", []), ("b", [])],
        [("a", []), ("b", ["a"]), ("c", ["a"]), ("d", ["b", "c"]), ("e", ["d", "a"])],
        [("a", []), ("b", ["a", "a"])],
    ],
    ids=["empty", "single", "chain", "fan-in", "diamond", "named twice"],
)
@pytest.mark.parametrize("operation", ["CREATE", "UPDATE"])
def test_flows_that_end_pass(operation: str, flows: list[tuple[str, list[str]]]) -> None:
    answer = validate(ask(operation, jobflow(*flows)))

    assert (answer.problem, answer.warnings) == ("", ())


def test_target_is_among_the_flows() -> None:
    answer = validate(ask("CREATE", jobflow(("a", []), ("b", ["a", "x"]), ("c", ["y"]))))

    assert answer.problem == f"{NOT_DAG}: vertex is not defined: x"


@pytest.mark.parametrize(
    "flows",
    [
        [("a", ["a"])],
        [("a", ["b"]), ("b", ["a"])],
        [("s", []), ("a", ["s", "c"]), ("b", ["a"]), ("c", ["b"])],
    ],
    ids=["itself", "two", "three behind a start"],
)
def test_no_flow_waits_for_itself(flows: list[tuple[str, list[str]]]) -> None:
    assert validate(ask("UPDATE", jobflow(*flows))).problem == NOT_DAG


def test_name_that_is_there_twice_is_let_in_with_a_warning() -> None:
    answer = validate(ask("CREATE", jobflow(("a", []), ("a", []), ("b", ["a"]))))

    assert answer.allowed
    assert answer.warnings == ('spec.flows: the name "a" is there 2 times; such a JobFlow never succeeds',)


def test_long_chain_is_judged_at_once() -> None:
    count = 20_000
    chain = [(str(each), [str(each + 1)] if each < count else []) for each in range(count + 1)]

    assert validate(ask("CREATE", jobflow(*chain))).allowed


def test_other_operations_are_refused() -> None:
    assert validate(ask("DELETE")).problem == "expect operation to be 'CREATE' or 'UPDATE'"

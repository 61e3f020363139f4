"""How long a job waits whose bindings the server refuses."""

from __future__ import annotations

import pytest

from vcray.actors.messages import Outcome
from vcray.actors.refusals import LONGEST_WAIT_S, REMEMBERED, Refusals


def outcomes(*results: str, job: str = "ns/train") -> list[Outcome]:
    return [Outcome(job, f"ns/{index}", f"u{index}", result) for index, result in enumerate(results)]


def test_a_job_waits_ever_longer_from_its_third_refusal_on() -> None:
    refusals = Refusals()

    waits = [refusals.note(outcomes("bound", "refused"))["ns/train"] for _ in range(9)]

    assert waits == [0, 0, 1, 2, 4, 8, LONGEST_WAIT_S, LONGEST_WAIT_S, LONGEST_WAIT_S]


def test_completing_is_hopeless_after_two_refusals_in_a_row() -> None:
    refusals = Refusals()
    refusals.note(outcomes("refused"))
    assert not refusals.hopeless("ns/train")

    refusals.note(outcomes("refused"))

    assert refusals.hopeless("ns/train")
    assert not refusals.hopeless("ns/other")


def test_a_job_that_is_bound_starts_over() -> None:
    refusals = Refusals()
    for _ in range(5):
        refusals.note(outcomes("refused"))

    assert refusals.note(outcomes("bound", "bound")) == {}

    assert not refusals.hopeless("ns/train")
    assert refusals.note(outcomes("refused")) == {"ns/train": 0}


@pytest.mark.parametrize("result", ["stale", "gone"])
def test_what_is_no_refusal_neither_counts_nor_forgives(result: str) -> None:
    refusals = Refusals()
    refusals.note(outcomes("refused"))

    assert refusals.note(outcomes(result)) == {}
    assert not refusals.hopeless("ns/train")

    refusals.note(outcomes("refused"))
    assert refusals.hopeless("ns/train")


def test_jobs_are_told_apart_and_old_ones_forgotten() -> None:
    refusals = Refusals()
    for _ in range(2):
        refusals.note([*outcomes("refused", job="ns/first"), *outcomes("bound", job="ns/second")])
    assert refusals.hopeless("ns/first")
    assert not refusals.hopeless("ns/second")

    for index in range(REMEMBERED):
        refusals.note(outcomes("refused", job=f"ns/{index}"))

    assert not refusals.hopeless("ns/first")

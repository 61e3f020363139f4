"""The embedded cluster's work grows with what it is given, no faster: counted in Python calls, which a busy machine cannot change."""

from __future__ import annotations

import pytest

from tests.bench.calls import calls_during
from vcray.bench.cluster import Sizes, run_cluster


def calls(nodes: int, pods: int) -> int:
    """Python-level calls of all steps."""
    return calls_during(lambda: run_cluster(Sizes(nodes, pods, 1)))[0]


@pytest.mark.bench
def test_calls_grow_no_faster_than_pods() -> None:
    calls(2, 10)  # imports and caches
    few, many = calls(5, 20), calls(5, 120)
    base = calls(5, 1)

    assert (many - base) / 119 <= 1.15 * (few - base) / 19


@pytest.mark.bench
def test_calls_of_a_pod_do_not_depend_on_the_number_of_nodes() -> None:
    calls(2, 10)
    small = calls(5, 30) - calls(5, 1)
    large = calls(65, 30) - calls(65, 1)

    assert large <= 1.15 * small


@pytest.mark.bench
def test_every_step_does_what_it_says() -> None:
    steps = run_cluster(Sizes(3, 20, 4, jobs=2, gang=3))

    assert [(step.name, step.count) for step in steps] == [
        ("nodes registered", 3),
        ("pods created", 20),
        ("pods bound", 20),
        ("pods Running", 20),
        ("created, bound, Running", 20),
        ("events to 4 watchers", 80),
        ("pods of vcjobs of 3 Running", 6),
    ]
    assert all(step.per_s > 0 and step.rss_mib > 0 for step in steps)

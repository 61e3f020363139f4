"""What a snapshot says beside objects: local time, the start, periodic work, measured load."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest

from tests.core.world import Node, snapshot
from vcray.actors.moments import Moments
from vcray.core.decisions import Decisions
from vcray.core.timing import Timing
from vcray.core.usage import UsageTable


@pytest.fixture
def east(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Two hours east of Greenwich."""
    monkeypatch.setenv("TZ", "XXX-2")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


def test_local_time_is_the_processs(east: None) -> None:
    assert Moments(5.0).complete(snapshot([Node("n1")])).timing == Timing(7200, 5.0, ())


def test_work_that_ran_is_remembered_with_the_last_moment() -> None:
    moments = Moments(0.0)
    moments.note(Decisions(1, ran=("b", "a")), 10.0)
    moments.note(Decisions(2, ran=("a",)), 20.0)
    timing = moments.complete(snapshot([Node("n1")])).timing
    assert timing.ran == (("a", 20.0), ("b", 10.0))
    assert [timing.last(name) for name in ("a", "b", "c")] == [20.0, 10.0, None]


def test_measured_load_goes_into_the_details_and_nothing_else_changes() -> None:
    moments, bare = Moments(0.0), snapshot([Node("n1")])
    assert moments.complete(bare).details is bare.details
    moments.usage = UsageTable()
    assert moments.complete(bare).details.usage == UsageTable()


def test_when_time_changes_an_answer_is_no_part_of_what_is_asked_for() -> None:
    assert Decisions(1, wakes_at=5.0, ran=("x",)) == Decisions(1)

"""The mixed load is what it says: crowded, with evictions, and the same each time; waiting gangs stay cheap."""

from __future__ import annotations

from dataclasses import asdict

import pytest

from vcray.bench.mixed import run_mixed
from vcray.bench.stuck import run_stuck

pytestmark = pytest.mark.bench


def test_a_mixed_load_evicts_and_leaves_jobs_waiting_the_same_each_time() -> None:
    one, other = run_mixed(20, 12, 8), run_mixed(20, 12, 8)

    counted = ("placed", "evicted", "waiting")
    assert one.placed > 0
    assert one.evicted > 0
    assert one.waiting > 0
    assert [asdict(one)[name] for name in counted] == [asdict(other)[name] for name in counted]


def test_rounds_with_stuck_gangs_grow_no_faster_than_the_gangs() -> None:
    few, many = run_stuck(500, 50, 8, 10), run_stuck(500, 200, 8, 10)

    assert few.placed == many.placed == 0
    assert (many.round_ms - many.without_ms) / (few.round_ms - few.without_ms) < 8

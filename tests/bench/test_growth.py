"""What keeps decisions fast, measured so that a busy machine cannot change it: Python calls, and growth with nodes."""

from __future__ import annotations

import gc
import math
import statistics
import sys
import time
from collections.abc import Callable
from types import FrameType

import pytest

from vcray.bench import helm_policy, prepared, run_allocate
from vcray.core.session import Session, open_session, run

CALLS_A_POD = 20
CALLS_A_TURN = 500
CALLS_A_SINGLE_TURN = 350
"""Ceilings for gangs of 64 with 20 shapes, and for single pods of 20 shapes; today 10 to 14, 343 and 227."""


class Counter:
    """Counts Python-level calls while it is on."""

    def __init__(self) -> None:
        self.calls = 0

    def __call__(self, frame: FrameType, event: str, arg: object) -> None:
        self.calls += event == "call"

    def during(self, work: Callable[[], object]) -> int:
        before = self.calls
        gc.collect()
        gc.disable()  # its callbacks, hypothesis has one, would be counted
        sys.setprofile(self)
        try:
            work()
        finally:
            sys.setprofile(None)
            gc.enable()
        return self.calls - before


def session(nodes: int, pods: int, gang: int, shapes: int) -> Session:
    return open_session(prepared(nodes, pods, gang, shapes), helm_policy())


def calls_a_turn(nodes: int, pods: int = 2560, gang: int = 64, shapes: int = 20) -> tuple[float, float]:
    """Calls a turn inside turns, and calls a pod in the whole round."""
    opened = session(nodes, pods, gang, shapes)
    counter = Counter()
    marks: list[int] = []
    opened.watch = lambda what, job: marks.append(counter.calls)
    total = counter.during(lambda: run(opened))
    turns = [end - start for start, end in zip(marks[::2], marks[1::2], strict=True)]
    assert sum(len(commit.tasks) for commit in opened.ledger.commits) == pods
    return sum(turns) / len(turns), total / pods


def test_a_pod_of_a_gang_costs_few_python_calls() -> None:
    turn, pod = calls_a_turn(1000)

    assert pod < CALLS_A_POD, f"{pod:.1f} Python calls a pod, {turn:.0f} a turn"
    assert turn < CALLS_A_TURN, f"{pod:.1f} Python calls a pod, {turn:.0f} a turn"


def test_a_single_pods_turn_costs_few_python_calls() -> None:
    turn, _ = calls_a_turn(1000, 1000, 1)

    assert turn < CALLS_A_SINGLE_TURN


def test_calls_do_not_grow_with_the_cluster() -> None:
    small, _ = calls_a_turn(400)
    large, _ = calls_a_turn(4000)

    assert large < 1.6 * small, f"{small:.0f} calls a turn with 400 nodes, {large:.0f} with 4000"


def test_calls_are_the_same_every_time() -> None:
    calls_a_turn(100, 256, 64, 2)

    assert calls_a_turn(100, 256, 64, 2) == calls_a_turn(100, 256, 64, 2)


def turn_median(nodes: int) -> float:
    """Processor seconds of the median gang's turn: other programs on the machine hardly touch it."""
    opened = session(nodes, 4096, 64, 8)
    marks: list[float] = []
    opened.watch = lambda what, job: marks.append(time.process_time())
    run(opened)
    return statistics.median(end - start for start, end in zip(marks[::2], marks[1::2], strict=True))


@pytest.mark.bench
def test_a_gangs_turn_grows_slower_than_the_root_of_the_cluster() -> None:
    times = {nodes: min(turn_median(nodes) for _ in range(2)) for nodes in (1_000, 100_000)}

    exponent = math.log(times[100_000] / times[1_000]) / math.log(100)

    assert exponent <= 0.5, f"exponent {exponent:.2f} from {times}"


@pytest.mark.parametrize("size", [(0, 1, 1, 1), (1, 1, 0, 1)])
def test_sizes_below_one_are_refused(size: tuple[int, int, int, int]) -> None:
    with pytest.raises(ValueError, match="at least 1"):
        run_allocate(*size)


def test_pods_that_cannot_fit_are_refused() -> None:
    with pytest.raises(ValueError, match="use fewer pods or more nodes"):
        run_allocate(1, 10_000, 64, 4)


def test_the_result_tells_the_sizes_and_that_every_pod_was_placed() -> None:
    result = run_allocate(50, 100, 16, 3)

    assert (result.nodes, result.pods, result.gang, result.shapes, result.placed) == (50, 100, 16, 3, 100)
    assert result.pods_per_s > 0
    assert result.gang_p50_us <= result.gang_p99_us

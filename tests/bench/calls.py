"""Python-level calls as a measure: unlike time, they are the same on a busy machine."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable
from types import FrameType
from typing import TypeVar

T = TypeVar("T")


def calls_during(work: Callable[[], T]) -> tuple[int, T]:
    """How many calls the work takes, and its result. Garbage collection waits: its callbacks would be counted."""
    calls = 0

    def count(frame: FrameType, event: str, arg: object) -> None:
        nonlocal calls
        calls += event == "call"

    gc.collect()
    gc.disable()
    sys.setprofile(count)
    try:
        result = work()
    finally:
        sys.setprofile(None)
        gc.enable()
    return calls, result

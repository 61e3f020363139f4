"""How a process of vcray looks for garbage in cycles: rarely.

Nearly all that a round makes is freed by reference counts, and what the cache holds lives on: looking through it finds next to nothing.
With Python's own thresholds (700, 10, 10) the decision that `vcray bench reclaim --nodes 500 --pods 4000` measures takes
0.69 s, with these 0.63 s.
"""

from __future__ import annotations

import gc
from typing import Final

NEW_OBJECTS: Final = 50_000
"""New containers between two looks at the youngest: some rounds' worth, and a few megabytes at most that are freed late."""

YOUNG_LOOKS: Final = 20
"""Looks at the youngest between two at those that outlived one."""

OLD_LOOKS: Final = 100
"""Looks at those between two at all objects, which takes as long as the cluster is large."""


def collect_rarely() -> None:
    """Set the thresholds of this process; for its entry point to call."""
    gc.set_threshold(NEW_OBJECTS, YOUNG_LOOKS, OLD_LOOKS)

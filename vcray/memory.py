"""How a process of vcray looks for garbage in cycles: rarely.

Nearly all that a round makes is freed by reference counts, and what the cache holds lives on. Looking through all new objects each
700 of them, Python's default, takes a tenth of a round and finds next to nothing (`vcray bench reclaim`).
"""

from __future__ import annotations

import gc
from typing import Final

NEW_OBJECTS: Final = 50_000
"""New container objects between two looks at the youngest."""


def collect_rarely() -> None:
    """Set the thresholds of this process."""
    gc.set_threshold(NEW_OBJECTS, 20, 100)

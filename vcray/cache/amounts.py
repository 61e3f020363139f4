"""Amounts of resources as sorted pairs, bounded so that sums cannot wrap."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, TypeAlias

Amounts: TypeAlias = tuple[tuple[str, int], ...]
"""Sorted (resource, amount) pairs in the units of `core.space`."""

MOST: Final = 2**50
"""No amount counts for more (1 PiB): sums of thousands of them stay far from where int64 wraps."""


def bounded(amounts: Mapping[str, int]) -> Amounts:
    """Amounts as sorted pairs, none larger than `MOST`."""
    return tuple(sorted((name, min(amount, MOST)) for name, amount in amounts.items()))

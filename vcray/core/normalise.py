"""Scores that are normalised over the nodes being scored: what they add, and until when it stays true.

A preference's value on a node never moves, but the scale does: when the last node at the largest or smallest value
fills up. So the extremes and how many nodes hold them are counted along, and only their disappearance costs a new pass.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from vcray.core.arrays import Bool, Int
from vcray.core.hooks import DomainTerm, Preference, Scale

MOST = 1 << 20
"""Points are clipped here either way, so that no weight makes a key leave int64."""


def scaled(raw: Int, scale: Scale, low: int, high: int) -> Int:
    """Raw integers as 0..100 by the extremes of the scored nodes, truncating as Go does; min-max in float64."""
    if scale is Scale.MIN_MAX:
        if high == low:
            return np.zeros_like(raw)
        return np.trunc(100.0 * ((raw - low) / (high - low))).astype(np.int64)
    if high == 0:
        return np.zeros_like(raw) if scale is Scale.MAX else np.full_like(raw, 100)
    if scale is Scale.SPREAD:
        return 100 * (high + low - raw) // high
    share = 100 * raw // high
    return share if scale is Scale.MAX else 100 - share


class Normaliser:
    """Preferences over a group of nodes. `added` (N,): points in whole numbers, 0..100 times the weights."""

    __slots__ = ("_extremes", "added", "preferences")

    def __init__(self, preferences: Sequence[Preference], feasible: Bool) -> None:
        self.preferences = preferences
        self._extremes: list[list[int]] = []
        self.rebuild(feasible)

    def rebuild(self, feasible: Bool) -> None:
        """Take the scale afresh from the feasible nodes."""
        self.added: Int = np.zeros(len(feasible), dtype=np.int64)
        self._extremes = []
        for preference in self.preferences:
            among = preference.raw[feasible]
            if not len(among):
                self._extremes.append([0, 0, 0, 0])
                continue
            low, high = int(among.min()), int(among.max())
            held = [low, high, int((among == low).sum()), int((among == high).sum())]
            self._extremes.append(held)
            self.added += preference.weight * scaled(preference.raw, preference.scale, low, high)
        np.clip(self.added, -MOST, MOST, out=self.added)

    def moved(self, flips: Iterable[tuple[int, bool]]) -> bool:
        """Nodes that joined (True) or left the group; True when the scale no longer holds and must be rebuilt."""
        stale = False
        for node, joined in flips:
            for preference, held in zip(self.preferences, self._extremes, strict=True):
                value = int(preference.raw[node])
                if joined and not held[0] <= value <= held[1]:
                    stale = True
                step = 1 if joined else -1
                held[2] += step * (value == held[0])
                held[3] += step * (value == held[1])
                stale = stale or held[2] <= 0 or held[3] <= 0
        return stale

    def valid(self, picks: Sequence[int], full: Sequence[int]) -> int:
        """How many of the picks keep the scale: up to and including the one that fills the last node at an extreme."""
        last = {node: position for position, node in enumerate(picks)}
        filled = sorted((last[node], node) for node in full if node in last)
        left = [held[2:] for held in self._extremes]
        for position, node in filled:
            for preference, held, rest in zip(self.preferences, self._extremes, left, strict=True):
                value = int(preference.raw[node])
                for side in (0, 1):
                    rest[side] -= value == held[side]
                    if rest[side] <= 0:
                        return position + 1
        return len(picks)


def term_points(terms: Iterable[DomainTerm], allowed: Bool) -> Int:
    """(N,) points of domain terms, normalised over the allowed nodes that they count."""
    points = np.zeros(len(allowed), dtype=np.int64)
    for term in terms:
        raw = term.raw
        if raw is None or not term.weight:
            continue
        counted = allowed if term.counted is None else allowed & term.counted
        among = raw[counted]
        if not len(among):
            continue
        part = scaled(raw, term.scale, int(among.min()), int(among.max()))
        points += term.weight * np.where(counted, part, 0)
    return np.clip(points, -MOST, MOST)

"""Deserved shares of queues: the cluster poured out by weight, round after round, until nobody can take more.

In every round each queue that is not yet satisfied is offered its part by weight of what is left of every resource, cut to
what it may have and what it asks for, but never below its guarantee. What one queue cannot use of one resource is
offered again to the others in the next round. Volcano's rule in Volcano's order, all queues and resources at once;
float64, since parts of nodes are shared out in fractions.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from vcray.core.arrays import Bool, Float
from vcray.core.space import PODS

EPSILON = 0.1
"""Volcano's smallest amount that counts, in the units of `core.space`."""


@dataclass(frozen=True, slots=True, eq=False)
class Claims:
    """What queues bring to the table; (R, Q) float64 except `weight` (Q,) and `total` (R,)."""

    total: Float
    weight: Float
    request: Float
    real: Float
    guarantee: Float


def deserved(claims: Claims) -> Float:
    """(R, Q) deserved amounts.

    Where all queues still unmet have weight zero (only an object older than the schema's minimum can say so) they count
    as equal; Volcano gives them nothing (volcano-sh/volcano#1083). Queues must come in an order that does not
    depend on their rows, since sums of fractions do."""
    share = np.zeros_like(claims.request)
    remaining = claims.total.astype(np.float64)
    unmet = np.ones(len(claims.weight), dtype=bool)
    fresh = bool(remaining[PODS:].any())
    while unmet.any():
        weight = claims.weight if claims.weight[unmet].any() else np.ones_like(claims.weight)
        offered = share + remaining[:, None] * weight[None, :] / float(weight[unmet].sum())
        offered = np.maximum(np.minimum(np.minimum(offered, claims.real), claims.request), claims.guarantee)
        offered = np.where(unmet[None, :], offered, share)
        still = np.zeros_like(unmet) if fresh else (offered == share).all(axis=0)
        fresh = False
        grown = offered - share
        share = offered
        unmet &= ~(_within(claims.request, share) | still)
        left = np.maximum(remaining + _sum(np.maximum(-grown, 0.0)) - _sum(np.maximum(grown, 0.0)), 0.0)
        if _empty(left) or bool((left == remaining).all()):
            break
        remaining = left
    return share


def _sum(parts: Float) -> Float:
    """(R,) sum over queues from left to right: pairwise summation would change the last bit with their number."""
    total: Float = np.add.accumulate(parts, axis=1)[:, -1]
    return total


def _within(part: Float, whole: Float) -> Bool:
    """(Q,) part <= whole on every resource, within Volcano's epsilon."""
    fits: Bool = np.logical_and.reduce(part - whole < EPSILON, axis=0)
    return fits


def _empty(amounts: Float) -> bool:
    """Nothing left but pods."""
    return not any(amount >= EPSILON for row, amount in enumerate(amounts.tolist()) if row != PODS)

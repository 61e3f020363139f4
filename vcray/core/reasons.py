"""Why a pod does not fit and why a PodGroup waits, in Volcano's sentences.

The texts are compared round by round and must not move for nothing: counts are taken over all nodes, strings are sorted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

import numpy as np

from vcray.core.arrays import Int
from vcray.core.classes import Class
from vcray.core.policy import Chains
from vcray.core.space import CPU, MEMORY
from vcray.core.tables import Status
from vcray.core.view import View

STATUS_NAMES = {status: status.name.capitalize() for status in Status}


def explain(view: View, chains: Chains, cls: Class, rows: Int | None = None) -> str:
    """`0/<n> nodes are unavailable: <count reason, ...>.` Only of some node rows, where these are given.

    A node without room says only `Insufficient <resource>`, the first that is short; others say what their plugins
    refuse, until a reason that eviction cannot cure; plugins are not asked when no node is left to ask about."""
    nodes, shape = view.snapshot.nodes, cls.shape
    alive = np.ones(len(nodes), dtype=np.bool_)
    if rows is not None:
        alive[:] = False
        alive[rows] = True
    within = alive.copy()
    total = int(alive.sum())
    counts: Counter[str] = Counter()
    if cls.fits and not shape.spec.hold:
        for row, name in _short_order(cls, view.space.names):
            short = alive & (view.nodes.future[row] < shape.req[row])
            _count(counts, f"Insufficient {name}", int(np.count_nonzero(short)))
            alive &= ~short
            if not alive.any():
                break
    told = ~alive
    for why in chains.whys if alive.any() else ():
        for reject in why(view, shape):
            hit = alive & reject.where
            _count(counts, reject.reason, int(np.count_nonzero(hit)))
            told |= hit
            if not reject.curable:
                alive &= ~hit
    for row, text in {**cls.refused[True], **cls.refused[False]}.items():
        if alive[row] and not told[row]:
            _count(counts, text, 1)
            told[row] = True
    _count(counts, "node(s) were refused without a reason", int((within & ~told).sum()))
    return fit_error(total, counts)


def _count(counts: Counter[str], reason: str, nodes: int) -> None:
    if nodes:
        counts[reason] += nodes


def _short_order(cls: Class, names: tuple[str, ...]) -> list[tuple[int, str]]:
    """Resources in the order in which a shortage is named: cpu, memory, then by name."""
    rows = [row for row, _ in cls.fit]
    return [
        (row, names[row])
        for row in sorted(rows, key=lambda row: (row not in (CPU, MEMORY), row == MEMORY, names[row]))
    ]


def fit_error(nodes: int, counts: Mapping[str, int]) -> str:
    """The sentence from counts by reason."""
    head = f"0/{nodes} nodes are unavailable"
    return f"{head}: {histogram(counts)}." if counts else head


def histogram(counts: Mapping[str, int]) -> str:
    """`2 a, 7 b`: sorted as strings, as Volcano does, so that equal states give equal texts."""
    return ", ".join(sorted(f"{count} {name}" for name, count in counts.items()))


def no_hypernode(limit: int | None) -> str:
    """What a pod says whose job or sub-group may be in no HyperNode."""
    return f"no HyperNode up to tier {limit} has room for all pods that must be near each other"


def role_failed(task: str, role: str) -> str:
    """What a task says that was not tried because an equal one of its role had failed."""
    return f"Task {task} with role spec {role} has already predicated failed, skip"


def group_sentence(
    ready: bool, statuses: Mapping[Status, int], minimum: int, pending: Mapping[str, int]
) -> str:
    """A PodGroup's sentence: counts by status with the minimum, and how many wait for which reason."""
    counts = {STATUS_NAMES[status]: count for status, count in statuses.items() if count}
    text = f"pod group is {'' if ready else 'not '}ready, {histogram({**counts, 'minAvailable': minimum})}"
    reasons = {reason: count for reason, count in pending.items() if count}
    return f"{text}; Pending: {histogram(reasons)}" if reasons else text


def origin_sentence(origin: tuple[str, str] | None) -> str:
    """What the sentence ends with: one task and its own reason, where one has any."""
    return "" if origin is None else f". Origin reason is {origin[0]}: {origin[1]}"

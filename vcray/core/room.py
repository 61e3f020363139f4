"""How many pods could go inside a HyperNode at most: cheap, and never too few, so that hopeless dry runs are left out."""

from __future__ import annotations

from collections import Counter

import numpy as np

from vcray.core.arrays import Int
from vcray.core.choose import Scope
from vcray.core.merge import NONE
from vcray.core.session import Session

BOUNDLESS = 2**31


def room_for(session: Session, tasks: Int, scope: Scope) -> int:
    """Of these pending tasks (rows) so many at most find a place inside the scope, now or when what is ending has gone."""
    table = session.view.snapshot.tasks
    shapes = Counter(table.shape[tasks].tolist())
    job = int(table.job[tasks[0]]) if len(tasks) else 0
    total = 0
    for row, count in shapes.items():
        total += min(count, _room(session, job, row, scope, count))
    return total


def _room(session: Session, job: int, shape_row: int, scope: Scope, most: int) -> int:
    """Copies of one shape that fit on the nodes that would take one more."""
    view = session.view
    cls = session.placer.class_of(job, view.shapes[shape_row])
    if cls.moves:
        return BOUNDLESS
    open_ = _open(cls.group(False).key, scope)
    if session.ledger.frees and cls.fits:
        open_ = np.union1d(open_, _open(cls.group(True).key, scope))
    if not cls.fits or not len(open_):
        return BOUNDLESS if len(open_) else 0
    copies = np.full(len(open_), most, dtype=np.int64)
    for r, amount in cls.fit:
        if amount:
            np.minimum(copies, view.nodes.future[r][open_] // amount, out=copies)
    return int(copies.sum())


def _open(keys: Int, scope: Scope) -> Int:
    if scope.rows is None:
        return np.flatnonzero(keys > NONE)
    return scope.rows[keys[scope.rows] > NONE]

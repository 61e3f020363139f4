"""Pods of a gang that request nothing: backfill places them after the others, within the same hard topology."""

from __future__ import annotations

import numpy as np

from vcray.core.arrays import Int
from vcray.core.session import Session
from vcray.core.space import PODS
from vcray.core.subjobs import Parts, SubJob
from vcray.core.tables import Status


def lets_all(session: Session, tasks: Int, hypernode: int) -> bool:
    """Are there slots for all the tasks, of one job, inside a HyperNode, and nodes whose objects let each in?"""
    view, table = session.view, session.view.snapshot.tasks
    rows = view.hypernodes.rows(hypernode)
    if int(np.maximum(view.nodes.idle[PODS, rows], 0).sum()) < len(tasks):
        return False
    job = int(table.job[tasks[0]])
    shapes = np.unique(table.shape[tasks]).tolist()
    return all(session.placer.class_of(job, view.shapes[shape]).static[rows].any() for shape in shapes)


def leaves_room(session: Session, part: Parts | SubJob, tasks: Int, hypernode: int) -> bool:
    """With the others inside a HyperNode, could those of the part's `tasks` that request nothing and wait be near them as its
    hard topology wants?"""
    view, tree = session.view, session.view.hypernodes
    if part.limit is None or part.limit >= tree.highest:
        return True
    table = view.snapshot.tasks
    waits = (
        (view.status[tasks] == Status.PENDING) & view.best_effort[table.shape[tasks]] & ~table.gated[tasks]
    )
    mates = tasks[waits]
    if not len(mates):
        return True
    around = tree.around(tree.lca(part.allocated, hypernode), part.limit)
    return any(lets_all(session, mates, row) for row in around)

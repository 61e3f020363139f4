"""What groups hold before their pods do: the sums that the enqueue gate of shares looks at.

A group that was let in and has not placed its pods yet holds the unplaced part of its `minResources`; what a group has placed
above its minimum (elastic) can be taken back, so it is not held against others.
"""

from __future__ import annotations

import numpy as np

from vcray.core.arrays import Bool, Int
from vcray.core.tables import ALLOCATED_STATUS, MISSING, Phase
from vcray.core.view import View


def started(view: View) -> Bool:
    """(J,) groups that are Running with at least `minMember` tasks holding a node."""
    held = view.jobs.count[list(ALLOCATED_STATUS)].sum(axis=0)
    enough: Bool = (view.jobs.phase == Phase.RUNNING) & (held >= view.snapshot.jobs.min_available)
    return enough


def unplaced(view: View) -> Int:
    """(R, J) minimum not placed yet, without the requests of gated pods, for every group."""
    jobs = view.snapshot.jobs
    minimum = np.where(jobs.min_resources_named, jobs.min_resources, 0)
    missing = np.maximum(minimum - view.jobs.allocated, 0)
    return np.where(jobs.min_resources_named, np.maximum(missing - jobs.requested_gated, 0), 0)


def inqueue_by_queue(view: View) -> Int:
    """(R, Q) what admitted groups of each queue still have to place."""
    holding = (view.jobs.phase == Phase.INQUEUE) | started(view)
    return _by_queue(view, np.where(holding, unplaced(view), 0))


def elastic_by_queue(view: View) -> Int:
    """(R, Q) what groups of each queue hold above their minimum; all of it where there is no minimum."""
    jobs = view.snapshot.jobs
    minimum = np.where(jobs.min_resources_named, jobs.min_resources, 0)
    return _by_queue(view, np.maximum(view.jobs.allocated - minimum, 0))


def _by_queue(view: View, per_job: Int) -> Int:
    """(R, Q) sums of (R, J) amounts over the groups of each queue; groups without a queue are left out."""
    queues = view.snapshot.jobs.queue
    known = np.flatnonzero(queues != MISSING)
    out = np.zeros((per_job.shape[0], len(view.snapshot.queues)), dtype=np.int64)
    np.add.at(out.T, queues[known], per_job[:, known].T)
    return out

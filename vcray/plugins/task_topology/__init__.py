"""Volcano's `task-topology`: tasks of a job that belong together share a node, others keep apart.

A PodGroup says by annotation which of its tasks (roles) want to be together and which do not: `volcano.sh/task-topology-affinity`
and `-anti-affinity` hold lists of names, `a,b;c`; a list of one name speaks of that task's own pods. Pods of these tasks are put
into *buckets*, each meant for one node. Pods go bucket by bucket, and a node is better the more of the pod's bucket is there or
still fits. What was placed and undone in a round does not count.
"""

from __future__ import annotations

import numpy as np
from pydantic import Field

from vcray.core.arrays import Float, Int
from vcray.core.plugin import Args, Plugin
from vcray.core.space import CPU, MEMORY
from vcray.core.tables import MISSING, Status
from vcray.core.view import View
from vcray.plugins.task_topology.buckets import Bucket, Buckets, wishes_of


class TaskTopologyArgs(Args):
    """`task-topology.weight` multiplies the score."""

    weight: int = Field(1, alias="task-topology.weight")


class TaskTopology(Plugin[TaskTopologyArgs]):
    """Orders tasks by bucket and brings a bucket's tasks to one node."""

    steady = True
    args_model = TaskTopologyArgs

    def open(self, view: View) -> None:
        """Buckets of the jobs that have wishes and pending tasks; the place of each task in the order."""
        snapshot = view.snapshot
        self.buckets_: dict[int, Buckets] = {}
        self.rank_: Int = np.zeros(len(snapshot.tasks), dtype=np.int64)
        for job, notes in enumerate(snapshot.jobs.notes):
            if not notes or not view.jobs.count[Status.PENDING, job]:
                continue
            tasks = view.tasks_of_job[job].tolist()
            roles = {task: snapshot.roles[int(snapshot.tasks.role[task])] for task in tasks}
            wishes = wishes_of(dict(notes), set(roles.values()))
            if wishes is not None:
                made = self.buckets_[job] = Buckets(view, wishes, roles)
                for task, rank in made.ranks().items():
                    self.rank_[task] = rank

    def task_order(self, view: View, tasks: Int) -> Int:
        """Tasks in a bucket first, those of the bigger bucket, of the older one, then by the order that the job states."""
        return self.rank_[tasks]

    def scores_tasks(self, view: View, job: int) -> bool:
        """Only jobs that have buckets."""
        return job in self.buckets_ and bool(self.args.weight)

    def task_score(self, view: View, task: int) -> Float:
        """See the module; 0 everywhere for a task without a bucket, and where the task finds no room even later."""
        buckets = self.buckets_[int(view.snapshot.tasks.job[task])]
        bucket = buckets.of.get(task)
        size = len(view.snapshot.nodes)
        if bucket is None:
            return np.zeros(size)
        score = np.zeros(size, dtype=np.int64)
        anti = buckets.wishes.anti(buckets.roles[task])
        for other, role in buckets.roles.items():
            node = view.node[other]
            if node == MISSING:
                continue
            if buckets.of.get(other) is bucket:
                score[node] += 1
            if role in anti and buckets.was_pending[other]:
                score[node] -= 1
        score += self._together(view, bucket, task)
        room = view.nodes.idle + view.nodes.releasing
        shape = view.shapes[int(view.snapshot.tasks.shape[task])]
        for row in {CPU, MEMORY, *shape.nonzero}:
            score[room[row] < shape.req[row]] = 0
        scaled: Float = score * self.args.weight * 100.0 / buckets.largest
        return scaled

    @staticmethod
    def _together(view: View, bucket: Bucket, task: int) -> Int:
        """(N,) how many of the bucket's waiting tasks, this one included, a node could take; the last in order stay out first."""
        table = view.snapshot.tasks
        waiting = [other for other in bucket.tasks if view.node[other] == MISSING]
        left = sum(
            (view.shapes[int(table.shape[other])].request for other in waiting),
            start=np.zeros(len(view.space), dtype=np.int64),
        )
        room = view.nodes.idle + view.nodes.releasing
        count = np.full(room.shape[1], len(waiting), dtype=np.int64)
        open_ = np.arange(room.shape[1])
        for other in [None, *(each for each in reversed(waiting) if each != task)]:
            if other is not None:
                left = left - view.shapes[int(table.shape[other])].request
                count[open_] -= 1
            rows = sorted({CPU, MEMORY, *np.flatnonzero(left).tolist()})
            short = np.zeros(len(open_), dtype=np.bool_)
            for row in rows:
                short |= room[row, open_] < left[row]
            open_ = open_[short]
            if not len(open_):
                break
        return count

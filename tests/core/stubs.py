"""Plugins of a few lines, so that kernel tests do not rest on the real ones."""

from __future__ import annotations

from vcray.core.arrays import BoolLike, FloatLike, Int, IntLike, ratio, where
from vcray.core.hooks import Vote
from vcray.core.plugin import Args, Plugin
from vcray.core.tables import READY_STATUS, Status
from vcray.core.view import Rows, Shape, View


class Gang(Plugin[Args]):
    """minAvailable, without roles."""

    def _ready(self, view: View, job: int) -> int:
        held = sum(int(view.jobs.count[status, job]) for status in READY_STATUS)
        return held + int(view.jobs.pending_best_effort[job])

    def gang_need(self, view: View, job: int, tasks: Int) -> int:
        return max(1, int(view.snapshot.jobs.min_available[job]) - self._ready(view, job))

    def job_ready(self, view: View, job: int) -> bool:
        return self._ready(view, job) >= int(view.snapshot.jobs.min_available[job])

    def job_pipelined(self, view: View, job: int) -> Vote:
        held = self._ready(view, job) + int(view.jobs.count[Status.PIPELINED, job])
        return Vote.PERMIT if held >= int(view.snapshot.jobs.min_available[job]) else Vote.REJECT


class Priority(Plugin[Args]):
    """Higher first."""

    def job_order(self, view: View, jobs: IntLike) -> IntLike:
        if isinstance(jobs, int):
            return -int(view.snapshot.jobs.priority[jobs])
        return -view.snapshot.jobs.priority[jobs].astype("int64")


class Pack(Plugin[Args]):
    """Fuller nodes first, by Volcano's sum."""

    def node_score(self, view: View, rows: Rows, shape: Shape) -> FloatLike | None:
        total: FloatLike = 0.0
        for r in shape.nonzero_but_pods:
            after = ratio(rows.used[r] + shape.req[r], rows.allocatable[r])
            total = total + where(after <= 1, after, 0.0)
        return total / max(len(shape.nonzero_but_pods), 1) * 100


class Spread(Plugin[Args]):
    """Emptier nodes first, by kube-scheduler's reading."""

    def node_score(self, view: View, rows: Rows, shape: Shape) -> FloatLike | None:
        total: FloatLike = 0.0
        for r in (0, 1):
            total = total + ratio(rows.requested_floor[r] + shape.spec.floor[r], rows.kube_allocatable[r])
        return 100 - total * 50


class Ports(Plugin[Args]):
    """A host port is free or the node is out."""

    def node_filter(self, view: View, rows: Rows, shape: Shape) -> BoolLike | None:
        free: BoolLike = True
        if not shape.port_clashes:
            return None
        counts = rows.port_count
        for port in shape.port_clashes:
            free = free & (counts[port] == 0)
        return free

"""Volcano's `tdm`, time division multiplexing: nodes that belong to others most of the day take revocable pods in their hours.

A node with the label `volcano.sh/revocable-zone` is in a zone; the zone's hours are arguments. In these hours the node takes pods
that say they can be revoked, and prefers them; outside of them it takes nobody, and `shuffle` clears away what runs
there, a few pods of a job each period. On other nodes, pods that may not be evicted can preempt those that may.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import ClassVar, Final, Self

import numpy as np
from pydantic import Field, JsonValue

from vcray.api.duration import DurationError, duration_seconds
from vcray.api.names import REVOCABLE_ZONE
from vcray.core.arrays import Bool, BoolLike, FloatLike, Int, IntLike, where
from vcray.core.disruption import may_go, revocable
from vcray.core.hooks import Reject, Vote
from vcray.core.hours import Hours
from vcray.core.plugin import Args, Plugin
from vcray.core.selectors import label_column
from vcray.core.tables import MISSING, READY_STATUS, Status
from vcray.core.victims import Candidates, Claim
from vcray.core.view import Rows, Shape, View
from vcray.errors import Problem

FAMILY: Final = "tdm.revocable-zone."
EVICTION: Final = "tdm eviction"


class TdmArgs(Args):
    """Hours of each zone as `HH:MM-HH:MM`, and the period between evictions, a Go duration."""

    durations: ClassVar[tuple[str, ...]] = ("tdm.evict.period",)
    families: ClassVar[dict[str, type]] = {FAMILY: str}

    period: str = Field("1m", alias="tdm.evict.period")

    @classmethod
    def read(cls, given: Mapping[str, JsonValue], where: str) -> tuple[Self, list[Problem]]:
        """As `Args.read`; hours that cannot be read are told."""
        args, problems = super().read(given, where)
        what = "must be hours such as 22:00-06:00; the zone is never active"
        unread = [zone for zone, hours in args.hours().items() if hours is None]
        return args, [*problems, *(Problem("VC0108", f"{where}.{FAMILY}{zone}", what) for zone in unread)]

    def hours(self) -> dict[str, Hours | None]:
        """Hours by zone; None for what is no span of hours: such a zone is never active."""
        extra = self.model_extra or {}
        return {
            key.removeprefix(FAMILY): Hours.parse(str(value))
            for key, value in sorted(extra.items())
            if key.startswith(FAMILY)
        }

    def seconds(self) -> float:
        """The period; a minute for what is no duration."""
        try:
            return duration_seconds(self.period)
        except DurationError:
            return 60.0


class Tdm(Plugin[TdmArgs]):
    """Nodes of others, in their idle hours."""

    steady = True
    args_model = TdmArgs

    def open(self, view: View) -> None:
        """Zones of nodes and whether they are active now."""
        snapshot = view.snapshot
        self.hours_ = self.args.hours()
        now, offset = snapshot.now, snapshot.timing.utc_offset
        self.active_ = {
            name: hours is not None and hours.hold(now, offset) for name, hours in self.hours_.items()
        }
        self.zones_ = _zones(view)
        zoned = self.zones_ != ""
        active = [zone for zone, now_active in self.active_.items() if now_active]
        self.closed_ = zoned & ~np.isin(self.zones_, active)
        self.opened_ = zoned & ~self.closed_
        self.ordinary_ = ~zoned
        self.any_ = bool(zoned.any())
        self.named_ = False

    def node_filter(self, view: View, rows: Rows, shape: Shape) -> BoolLike | None:
        """Nodes of active zones are for revocable pods; those of other zones for nobody."""
        if not self.any_:
            return None
        allowed = ~self.closed_ if revocable(shape.spec.notes) else self.ordinary_
        taken = rows.take(allowed)
        return taken if isinstance(taken, np.ndarray) else bool(taken)  # type: ignore[return-value]

    def node_score(self, view: View, rows: Rows, shape: Shape) -> FloatLike | None:
        """100 for a revocable pod on a node of an active zone."""
        if not self.any_ or not revocable(shape.spec.notes):
            return None
        return where(rows.take(self.opened_) > 0, 100.0, 0.0)

    def why(self, view: View, shape: Shape) -> Iterator[Reject]:
        """Zones that are not active, then nodes that take revocable pods only."""
        for zone in sorted(set(self.zones_[self.closed_].tolist())):
            where_ = self.zones_ == zone
            if zone not in self.hours_:
                yield Reject(
                    where_, f"plugin tdm predicates revocable zone {zone} not support", curable=False
                )
            else:
                spelt = (self.args.model_extra or {}).get(FAMILY + zone)
                what = f"plugin tdm predicates current time beyond revocable zone {zone}:{spelt}"
                yield Reject(where_, what, curable=False)
        if self.opened_.any() and not revocable(shape.spec.notes):
            what = "plugin tdm predicates task is not allow to dispatch to revocable node"
            yield Reject(self.opened_, what, curable=False)

    def preemptable(self, view: View, claim: Claim, candidates: Candidates) -> Bool:
        """For a pod that cannot be evicted itself: preemptable pods on ordinary nodes, as many of a job as its budget allows."""
        tasks, facts = view.snapshot.tasks, view.snapshot.pod_facts
        claimant = facts[int(tasks.facts[claim.tasks[0]])]
        if claimant.preemptable or revocable(claimant.notes):
            return np.zeros(len(candidates), dtype=np.bool_)
        eligible = self._evictable(view, candidates.task) & self.ordinary_[candidates.node]
        return self._within_budget(view, candidates, eligible)

    def victim_tasks(self, view: View, tasks: Int) -> Bool:
        """Once a period: preemptable pods on nodes of zones that are not active, as many of a job as its budget allows."""
        out = np.zeros(len(tasks), dtype=np.bool_)
        if not self.any_ or self._next_eviction(view) > view.snapshot.now:
            return out
        table = view.snapshot.tasks
        order = sorted(
            range(len(tasks)), key=lambda i: (int(table.priority[tasks[i]]), table.names[int(tasks[i])])
        )
        rows = tasks[order]
        node = table.node[rows].astype(np.int64)
        zone = np.array([self._number(row) for row in node.tolist()], dtype=np.int64)
        stable = np.argsort(
            zone, kind="stable"
        )  # a zone is a group of its own: its budgets are counted by zone and job
        rows, zone, node = rows[stable], zone[stable], node[stable]
        job = table.job[rows].astype(np.int64)
        none = np.zeros((0, len(rows)), dtype=np.int64)
        walked = Candidates(rows, zone + 1, job, job, node, none)
        named = self._within_budget(view, walked, self._evictable(view, rows) & (zone != MISSING))
        out[np.array(order, dtype=np.int64)[stable]] = named
        self.named_ = bool(named.any())
        return out

    def job_order(self, view: View, jobs: IntLike) -> IntLike:
        """Jobs that may not be evicted first."""
        table = view.snapshot.jobs.preemptable
        return table[jobs].astype(np.int64) if isinstance(jobs, np.ndarray) else int(table[jobs])

    def job_pipelined(self, view: View, job: int) -> Vote:
        """Permit when ready, promised and best-effort tasks make up the minimum, else reject."""
        count: list[int] = view.jobs.count[:, job].tolist()
        occupied = sum(count[status] for status in READY_STATUS) + count[Status.PIPELINED]
        occupied += int(view.jobs.pending_best_effort[job])
        enough = occupied >= int(view.snapshot.jobs.min_available[job])
        return Vote.PERMIT if enough else Vote.REJECT

    def job_starving(self, view: View, job: int) -> bool:
        """A job that may not be evicted and has pending pods."""
        waits = bool(view.jobs.count[Status.PENDING, job])
        return waits and not view.snapshot.jobs.preemptable[job]

    def wakes_at(self, view: View) -> float | None:
        """When a zone opens or closes, or the next eviction is due."""
        now, offset = view.snapshot.now, view.snapshot.timing.utc_offset
        moments = [hours.next_change(now, offset) for hours in self.hours_.values() if hours is not None]
        if self.named_ or self._next_eviction(view) > now:
            moments.append(now + self.args.seconds() if self.named_ else self._next_eviction(view))
        return min(moments, default=None) if self.any_ else None

    def ran(self, view: View) -> Sequence[str]:
        """Evictions count as run when they named somebody."""
        return (EVICTION,) if self.named_ else ()

    def _next_eviction(self, view: View) -> float:
        last = view.snapshot.timing.last(EVICTION)
        return view.snapshot.now if last is None else last + self.args.seconds()

    def _number(self, node: int) -> int:
        """The number of a node's zone if it is configured and not active, MISSING otherwise."""
        zone = str(self.zones_[node]) if node != MISSING else ""
        return list(self.hours_).index(zone) if zone in self.hours_ and not self.active_[zone] else MISSING

    @staticmethod
    def _evictable(view: View, tasks: Int) -> Bool:
        """Tasks that run and may be evicted."""
        preemptable = np.array([facts.preemptable for facts in view.snapshot.pod_facts], dtype=np.bool_)
        running: Bool = view.status[tasks] == Status.RUNNING
        return running & preemptable[view.snapshot.tasks.facts[tasks]]

    @staticmethod
    def _within_budget(view: View, candidates: Candidates, eligible: Bool) -> Bool:
        """Of each job and group the first ones that its budget lets go."""
        if not len(candidates):
            return eligible
        before = candidates.running(candidates.job, eligible[None, :].astype(np.int64), inclusive=False)[0]
        limits = {job: may_go(view, job) for job in np.unique(candidates.job).tolist()}
        limit = np.array([limits[job] for job in candidates.job.tolist()], dtype=np.int64)
        within: Bool = eligible & (before < limit)
        return within


def _zones(view: View) -> np.ndarray[tuple[int], np.dtype[np.str_]]:
    """(N,) each node's zone, empty for none."""
    labels, size = view.snapshot.nodes.labels, len(view.snapshot.nodes)
    row = labels.keys.get(REVOCABLE_ZONE)
    values = () if row is None else labels.values[row]
    return np.array([*values, ""], dtype=np.str_)[
        label_column(labels, REVOCABLE_ZONE, size)
    ]  # MISSING is the last

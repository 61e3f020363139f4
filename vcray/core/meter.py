"""What a round shows of itself beside its decisions: durations, counts, and the figures of queues and jobs.

A caller that wants them passes a `Meter` with a clock to `decide`; without one nothing is measured and nothing is collected.
Nothing here ever feeds back into a decision.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from vcray.core.arrays import Float, Int
from vcray.core.decisions import Amounts
from vcray.core.queuesums import pending_by_queue
from vcray.core.tables import MISSING, READY_STATUS, Status

if TYPE_CHECKING:
    from vcray.core.cards import CardFigures
    from vcray.core.ledger import Ledger, Undone
    from vcray.core.policy import Chains
    from vcray.core.view import View

UNLIMITED = 2**62
"""An amount from here on stands for no limit."""


@dataclass(frozen=True, slots=True)
class Figures:
    """What one plugin knows of a queue at the end of a session (hook `queue_figures`); None: not its business.

    Vectors are (R,); one that starts from a list of names may leave the others 0. `UNLIMITED` stands for no limit. `allocated` and
    `request` only where they are not those of the queue's own jobs (a tree)."""

    allocated: Int | None = None
    request: Int | None = None
    inqueue: Int | None = None
    deserved: Int | None = None
    capacity: Int | None = None
    real_capacity: Int | None = None
    share: float | None = None
    weight: int | None = None
    overused: bool | None = None


@dataclass(frozen=True, slots=True)
class QueueFigures:
    """A queue at the end of a session. `request`: allocated and pending pods; None: no plugin tells."""

    queue: str
    allocated: Amounts
    request: Amounts
    inqueue: Amounts
    deserved: Amounts | None
    capacity: Amounts | None
    real_capacity: Amounts | None
    share: float | None
    weight: int | None
    overused: bool | None


class Meter:
    """Filled by one session. `clock` gives seconds; `collects`: are figures of queues and jobs wanted?

    Actions count in `attempts` (nodes that preempt tried), `victims` (of the last node that preempt looked at; None: it
    looked at none) and `transactions` (by action: statements committed with at least one eviction)."""

    def __init__(self, clock: Callable[[], float] | None = None) -> None:
        self.collects = clock is not None
        self.clock: Callable[[], float] = clock or _still
        self.repeats = False
        """Was the round decided as the one before, so that all figures are as they were?"""
        self.opened: list[tuple[str, float]] = []
        """(plugin, seconds) of opening."""
        self.closed: list[tuple[str, float]] = []
        self.acted: list[tuple[str, float]] = []
        """(action, seconds) of running."""
        self.attempts = 0
        self.victims: int | None = None
        self.transactions: Counter[str] = Counter()
        self.queues: tuple[QueueFigures, ...] = ()
        self.shares: Float | None = None
        """(J,) shares of jobs (hook `job_shares`), by row of the snapshot."""
        self.placed: tuple[str, ...] = ()
        """Jobs of which a pod got a node or the promise of one."""
        self.bound: dict[str, int] = {}
        """Uid -> creation (seconds) of the pods whose bindings leave."""
        self.short: Int = np.zeros(0, np.int64)
        """(J,) pods that a job lacks to its minimum, 0 when it has enough, -1 without pods or queue; by row."""
        self.cards: dict[str, Sequence[CardFigures]] = {}
        """Cards by node (hook `card_figures`)."""

    def restart(self) -> None:
        """Forget all: the session was begun anew."""
        self.__dict__.update(Meter(self.clock if self.collects else None).__dict__)


def _still() -> float:
    return 0.0


def collect(meter: Meter, view: View, chains: Chains, ledger: Ledger) -> None:
    """Take down the figures of all queues and jobs as the session leaves them."""
    tasks = view.snapshot.tasks
    rows = [task for committed in ledger.commits for task in committed.tasks]
    meter.bound = {tasks.uids[row]: int(tasks.created[row]) for row in rows}
    meter.short = _short(view, ledger.undone)
    meter.placed = _placed(view)
    for hook in reversed(chains.cards):
        meter.cards.update(hook(view))
    queues = view.snapshot.queues
    request = view.queues.allocated + pending_by_queue(view)
    meter.queues = tuple(
        _figures(view, chains, queue, request[:, queue])
        for queue in sorted(range(len(queues)), key=queues.names.__getitem__)
    )
    meter.shares = next((hook(view) for hook in chains.shares), None)


def _placed(view: View) -> tuple[str, ...]:
    tasks, names = view.snapshot.tasks, view.snapshot.jobs.names
    moved = (view.status != tasks.status) & np.isin(
        view.status, (Status.ALLOCATED, Status.PIPELINED, Status.BINDING)
    )
    return tuple(sorted(names[job] for job in np.unique(tasks.job[moved]).tolist()))


def _short(view: View, undone: Mapping[int, Undone]) -> Int:
    """What gang says of each job: its minimum less the pods that run, and less those that only wait for the others."""
    jobs, tasks, count = view.snapshot.jobs, view.snapshot.tasks, view.jobs.count
    held = count[list(READY_STATUS)].sum(axis=0)
    rows = np.array([task for task, last in undone.items() if last.status is Status.ALLOCATED], np.int64)
    rows = rows[view.status[rows] == Status.PENDING]
    promised = np.bincount(tasks.job[rows], minlength=len(jobs))
    lacking = held + view.jobs.pending_best_effort < jobs.min_available
    lacks = np.where(lacking, np.maximum(jobs.min_available - held - promised, 0), 0)
    present = (count.sum(axis=0) > 0) & (jobs.queue != MISSING)
    found: Int = np.where(present, lacks, -1).astype(np.int64)
    return found


def _figures(view: View, chains: Chains, queue: int, request: Int) -> QueueFigures:
    told = [figures for hook in chains.figures if (figures := hook(view, queue)) is not None]
    names = view.space.names

    def amounts(vector: Int | None) -> Amounts | None:
        if vector is None:
            return None
        column = vector.tolist()
        return tuple(sorted((names[r], amount) for r, amount in enumerate(column) if amount))

    def first(field: str) -> object:
        return next((value for each in told if (value := getattr(each, field)) is not None), None)

    def vector(field: str) -> Amounts | None:
        return amounts(first(field))  # type: ignore[arg-type]

    return QueueFigures(
        queue=view.snapshot.queues.names[queue],
        allocated=vector("allocated") or amounts(view.queues.allocated[:, queue]) or (),
        request=vector("request") or amounts(request) or (),
        inqueue=vector("inqueue") or (),
        deserved=vector("deserved"),
        capacity=vector("capacity"),
        real_capacity=vector("real_capacity"),
        share=first("share"),  # type: ignore[arg-type]
        weight=first("weight"),  # type: ignore[arg-type]
        overused=first("overused"),  # type: ignore[arg-type]
    )

"""Volcano's `usage`: nodes that are really busy take nobody, and idle ones are preferred.

A metrics source measures nodes now and then (`vcray.core.usage`). Until a new pod shows in its averages, an estimate of what it
will use, a shadow, is added to the measured load. Measurements older than five minutes say nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import ClassVar

import numpy as np

from vcray.core.arrays import Bool, BoolLike, FloatLike, where
from vcray.core.hooks import Reject
from vcray.core.plugin import Plugin
from vcray.core.space import CPU, MEMORY
from vcray.core.tables import Status
from vcray.core.usage import FRESH_S, UsageTable
from vcray.core.view import Rows, Shape, View
from vcray.plugins.usage.arguments import Estimator, Thresholds, UsageArgs
from vcray.plugins.usage.load import Loads, Shadow, column

STARTING = (Status.ALLOCATED, Status.BINDING, Status.BOUND)


class Usage(Plugin[UsageArgs]):
    """Measured load of nodes."""

    observes: ClassVar[bool] = True
    args_model = UsageArgs

    def open(self, view: View) -> None:
        """Measured loads by row, and shadows of pods that no measurement shows yet."""
        snapshot, args = view.snapshot, self.args
        table = snapshot.details.usage or UsageTable()
        weight, cpu, memory = args.weights()
        self.factor_ = 100.0 * weight if cpu + memory else 0.0
        self.estimator_, limits = Estimator.of(args.estimator), Thresholds.of(args.thresholds)
        self.loads_ = Loads(view, cpu, memory)
        self.hot_cpu_ = self.loads_.known & (self.loads_.cpu > limits.cpu)
        self.hot_memory_ = self.loads_.known & (self.loads_.memory > limits.memory)
        self.cool_: Bool = ~(self.hot_cpu_ | self.hot_memory_)
        self.all_cool_ = bool(self.cool_.all())
        self.reserves_ = self.loads_.any and bool(self.factor_)
        self.shadow_of_: dict[int, tuple[float, float]] = {}
        for task in _unseen(view, table.interval) if self.reserves_ else ():
            self._add(view, task, int(snapshot.tasks.node[task]))

    def node_filter(self, view: View, rows: Rows, shape: Shape) -> BoolLike | None:
        """Nodes whose measured load is within the thresholds, or unknown."""
        if self.all_cool_:
            return None
        taken = rows.take(self.cool_)
        return taken if isinstance(taken, np.ndarray) else bool(taken)  # type: ignore[return-value]

    def node_score(self, view: View, rows: Rows, shape: Shape) -> FloatLike | None:
        """Free share of cpu and memory, shadows counted, times 100 and the weight; 0 for a node of unknown load."""
        if not self.reserves_:
            return None
        shadow = self._assumed(rows, shape)
        return where(rows.take(self.loads_.known) > 0, self.loads_.free(rows, shadow) * self.factor_, 0.0)

    def why(self, view: View, shape: Shape) -> Iterator[Reject]:
        """Busy nodes, by cpu first."""
        yield Reject(self.hot_cpu_, "the CPU load of the node exceeds the upper limit.", curable=False)
        yield Reject(self.hot_memory_, "the memory load of the node exceeds the upper limit.", curable=False)

    def reserves(self, view: View, shape: Shape) -> bool:
        """Every pod casts a shadow, if loads are known at all."""
        return self.reserves_

    def reserve(self, view: View, task: int, node: int, promised: bool) -> Callable[[], None] | str:
        """A pod that comes casts a shadow; never refuses."""
        return self._add(view, task, node)

    def release(self, view: View, task: int, node: int) -> Callable[[], None]:
        """A pod that goes takes its shadow, if it had one, with it."""
        undo = self._keep(task, node)
        cpu, memory = self.shadow_of_.pop(task, (0.0, 0.0))
        loads = self.loads_
        loads.shadow_cpu[node] = max(0.0, loads.shadow_cpu[node] - cpu)
        loads.shadow_memory[node] = max(0.0, loads.shadow_memory[node] - memory)
        return undo

    def bind_notes(self, view: View, task: int, node: int) -> Mapping[str, str]:
        """Nothing is written to the pod."""
        return {}

    def wakes_at(self, view: View) -> float | None:
        """When the measurement of a busy node grows too old to hold."""
        stale = self.loads_.at[~self.cool_] + FRESH_S
        return float(np.nextafter(stale.min(), np.inf)) if len(stale) else None

    # ---- shadows ----

    def _add(self, view: View, task: int, node: int) -> Callable[[], None]:
        undo = self._keep(task, node)
        shape = view.shapes[int(view.snapshot.tasks.shape[task])]
        loads = self.loads_
        cpu, memory = self._guess(shape, loads.busy(node) >= self.estimator_.risk_threshold)
        loads.shadow_cpu[node] += cpu
        loads.shadow_memory[node] += memory
        self.shadow_of_[task] = (cpu, memory)
        return undo

    def _keep(self, task: int, node: int) -> Callable[[], None]:
        """What puts a node's shadows back as they are now, to the bit."""
        loads, before = self.loads_, self.shadow_of_.get(task)
        cpu, memory = float(loads.shadow_cpu[node]), float(loads.shadow_memory[node])

        def undo() -> None:
            loads.shadow_cpu[node], loads.shadow_memory[node] = cpu, memory
            if before is None:
                self.shadow_of_.pop(task, None)
            else:
                self.shadow_of_[task] = before

        return undo

    def _guess(self, shape: Shape, risky: bool) -> tuple[float, float]:
        """What a pod will use of cpu and memory."""
        estimator = self.estimator_
        risk = estimator.risk_factor if risky else 1.0
        if shape.best_effort:
            return estimator.be_cpu * risk, estimator.be_mem * risk
        cpu, memory = shape.spec.limits
        return estimator.guess(shape.req[CPU], cpu, risk), estimator.guess(shape.req[MEMORY], memory, risk)

    def _assumed(self, rows: Rows, shape: Shape) -> Shadow:
        """Shadows at the rows, with those of the pods that are assumed there, added one by one as real ones are."""
        loads = self.loads_
        shadow = Shadow(column(rows, loads.shadow_cpu), column(rows, loads.shadow_memory))
        copies = rows.copies
        if copies is None:
            return shadow
        calm, risky = self._guess(shape, False), self._guess(shape, True)
        most = int(copies.max()) if isinstance(copies, np.ndarray) else copies
        for number in range(most):
            load = loads.mean(rows, shadow)
            over = load >= self.estimator_.risk_threshold
            cpu, memory = where(over, risky[0], calm[0]), where(over, risky[1], calm[1])
            more = copies > number
            shadow = Shadow(shadow.cpu + where(more, cpu, 0.0), shadow.memory + where(more, memory, 0.0))
        return shadow


def _unseen(view: View, interval: float) -> list[int]:
    """Tasks on nodes that no measurement shows yet, in an order that rows do not tell: bound, or running for less than
    an interval."""
    tasks, now = view.snapshot.tasks, view.snapshot.now
    young = (tasks.started == 0) | (now - tasks.started < interval)
    unseen = np.isin(tasks.status, STARTING) | ((tasks.status == Status.RUNNING) & young)
    rows = np.flatnonzero(unseen & (tasks.node >= 0)).tolist()
    return sorted(rows, key=tasks.names.__getitem__)

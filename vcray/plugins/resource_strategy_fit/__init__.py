"""Volcano's `resource-strategy-fit`: pack pods by some resources and spread them by others, and spare scarce ones.

The strategy score is the weighted mean, over the resources that a pod requests and that have a strategy, of the share in use
after the pod (MostAllocated) or of the share left free (LeastAllocated). SRA prefers nodes without the scarce resources.
The proportional rule keeps cpu and memory idle beside idle scarce devices, against pods that want none of those.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from vcray.api import names
from vcray.core.arrays import BoolLike, FloatLike, IntLike, ratio, where
from vcray.core.hooks import Reject
from vcray.core.plugin import Plugin
from vcray.core.space import CPU, MEMORY
from vcray.core.view import Rows, Shape, View
from vcray.plugins.resource_strategy_fit.arguments import (
    DEFAULT_WEIGHT,
    Proportional,
    ResourceStrategyFitArgs,
    Sra,
    Strategies,
    of_pod,
)


class ResourceStrategyFit(Plugin[ResourceStrategyFitArgs]):
    """A strategy for each resource."""

    steady = True
    args_model = ResourceStrategyFitArgs

    def open(self, view: View) -> None:
        """Resource rows of what the arguments name."""
        args = self.args
        self.weight_ = args.weight if args.weight >= 0 else DEFAULT_WEIGHT
        self.strategies_ = Strategies.of(args.resources)
        sra = Sra.of(args.sra)
        self.sra_weight_ = sra.weight if sum(sra.weights.values()) else 0
        self.sra_total_ = sum(sra.weights.values())
        rows = ((view.space.row(name), weight) for name, weight in sra.weights.items())
        self.sra_rows_ = tuple((row, weight) for row, weight in rows if row is not None)
        kept = (
            (view.space.row(name), name, cpu, mem) for name, cpu, mem in Proportional.of(args.proportional)
        )
        self.kept_ = tuple(_Kept(row, name, cpu, mem) for row, name, cpu, mem in kept if row is not None)
        self.plans_: dict[int, _Plan] = {}

    def node_filter(self, view: View, rows: Rows, shape: Shape) -> BoolLike | None:
        """A pod without scarce resources must leave what idle ones need beside them."""
        if not self.kept_ or any(shape.req[kept.row] for kept in self.kept_):
            return None
        accepted: BoolLike | None = None
        for kept in self.kept_:
            leaves = _leaves(kept, rows.idle, rows.allocatable, shape)
            accepted = leaves if accepted is None else accepted & leaves
        return accepted

    def node_score(self, view: View, rows: Rows, shape: Shape) -> FloatLike | None:
        """The strategy's score plus SRA's; None when neither has anything to say of the shape."""
        plan = self.plans_.get(shape.row) or self._plan(view, shape)
        total: FloatLike | None = None
        if plan.parts:
            total = _strategy(plan, rows) * (100 * self.weight_)
        if self.sra_weight_:
            spared = self._spared(rows, shape) * (100 * self.sra_weight_)
            total = spared if total is None else total + spared
        return total

    def why(self, view: View, shape: Shape) -> Iterator[Reject]:
        """Nodes that must keep room beside idle devices."""
        if any(shape.req[kept.row] for kept in self.kept_):
            return
        for kept in self.kept_:
            leaves = _leaves(kept, view.nodes.idle, view.snapshot.nodes.allocatable, shape)  # type: ignore[arg-type]
            what = f"proportional of resource {kept.name} check failed"
            yield Reject(~leaves, what, curable=False)  # type: ignore[arg-type]

    def _plan(self, view: View, shape: Shape) -> _Plan:
        notes = dict(shape.spec.notes)
        kind = notes.get(names.RESOURCE_STRATEGY_SCORING_TYPE)
        strategies = self.strategies_
        if kind is not None:
            strategies = of_pod(kind, notes.get(names.RESOURCE_STRATEGY_WEIGHT, ""))
        parts = []
        for row in shape.nonzero if self.weight_ else ():
            strategy = strategies.get(view.space.names[row])
            if strategy is not None and strategy.weight:
                parts.append(_Part(row, shape.req[row], strategy.weight, strategy.most))
        plan = self.plans_[shape.row] = _Plan(sum(part.weight for part in parts), tuple(parts))
        return plan

    def _spared(self, rows: Rows, shape: Shape) -> FloatLike:
        """Share of the scarce resources, by weight, that a node does not have; 0 where a requested one is missing."""
        whole = rows.allocatable
        held: IntLike = 0
        for row, weight in self.sra_rows_:
            held = held + weight * (whole[row] > 0)
        lacking: BoolLike = False
        for row in shape.nonzero:
            lacking = lacking | (whole[row] == 0)
        return where(lacking, 0.0, 1 - held / self.sra_total_)


class _Kept(NamedTuple):
    """A scarce resource and the milli-cpu and 10**6 bytes to leave beside each idle milli of it."""

    row: int
    name: str
    cpu: float
    memory: float


class _Part(NamedTuple):
    """A requested resource with a strategy."""

    row: int
    request: int
    weight: int
    most: bool


class _Plan(NamedTuple):
    """What a shape is scored by, and the sum of the weights."""

    weighed: int
    parts: tuple[_Part, ...]


def _strategy(plan: _Plan, rows: Rows) -> FloatLike:
    """0..1 by the plan; 0 where the pod would overfill the node."""
    used, allocatable = rows.used, rows.allocatable
    total: FloatLike = 0.0
    over: BoolLike = False
    for row, request, weight, most in plan.parts:
        after, whole = used[row] + request, allocatable[row]
        total = total + ratio((after if most else whole - after) * weight, whole)
        over = over | ((after > whole) & (whole > 0))
    if plan.weighed > 0:
        total = total / plan.weighed
    return where(over, 0.0, total)


def _leaves(kept: _Kept, idle: Sequence[IntLike], allocatable: Sequence[IntLike], shape: Shape) -> BoolLike:
    """Does the pod leave enough beside the idle devices, where there are any such devices?"""
    devices = idle[kept.row]
    cpu = idle[CPU] - shape.req[CPU] >= devices * kept.cpu
    memory = idle[MEMORY] - shape.req[MEMORY] >= devices * kept.memory * 1e6
    return (cpu & memory) | (allocatable[kept.row] <= 0)

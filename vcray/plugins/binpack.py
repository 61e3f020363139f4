"""Volcano's `binpack`: prefer the nodes that a pod fills up most, so that whole nodes stay free for big pods.

Score = weighted mean share in use after the pod, over the resources that it requests and that have a weight, times
100 times `binpack.weight`. `used` is Volcano's own reading of a node: terminating pods count, promised ones do not.
A node that the pod would overfill (it waits for room there) scores 0.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, NamedTuple, Self

from pydantic import Field, JsonValue

from vcray.config.nested import listed_names, unlisted_weights
from vcray.core.arrays import BoolLike, FloatLike, ratio, where
from vcray.core.plugin import Args, Plugin
from vcray.core.view import Rows, Shape, View
from vcray.errors import Problem

_FAMILY = "binpack.resources."


class BinpackArgs(Args):
    """Weights; a negative resource weight counts as 1, a negative `binpack.weight` prefers empty nodes."""

    families: ClassVar[dict[str, type]] = {_FAMILY: int}
    minimums: ClassVar[dict[str, float]] = {"binpack.cpu": 0, "binpack.memory": 0, _FAMILY: 0}

    weight: int = Field(1, alias="binpack.weight")
    cpu: int = Field(1, alias="binpack.cpu")
    memory: int = Field(1, alias="binpack.memory")
    resources: str = Field("", alias="binpack.resources")

    @classmethod
    def read(cls, given: Mapping[str, JsonValue], where: str) -> tuple[Self, list[Problem]]:
        """As `Args.read`; the weight of a resource that is not listed is told."""
        args, problems = super().read(given, where)
        weighed = args.model_extra or {}
        return args, [
            *problems,
            *unlisted_weights(weighed, _FAMILY, args.resources, "binpack.resources", where),
        ]


class Binpack(Plugin[BinpackArgs]):
    """Packs pods onto few nodes."""

    steady = True
    args_model = BinpackArgs

    def open(self, view: View) -> None:
        """Weight of each resource row that has one; `binpack.cpu` and `binpack.memory` beat the list of resources."""
        args, extra = self.args, self.args.model_extra or {}
        weights = {name: _weight(extra.get(_FAMILY + name, 1)) for name in listed_names(args.resources)}
        weights |= {"cpu": _weight(args.cpu), "memory": _weight(args.memory)}
        rows = ((view.space.row(name), weight) for name, weight in weights.items())
        self.weights_ = {row: weight for row, weight in rows if row is not None}
        nodes = view.snapshot.nodes
        self.everywhere_ = frozenset(r for r in self.weights_ if bool((nodes.allocatable[r] > 0).all()))
        self.plans_: dict[int, _Plan] = {}

    def node_score(self, view: View, rows: Rows, shape: Shape) -> FloatLike | None:
        """See the module; None when the pod requests nothing that has a weight."""
        if not self.args.weight:
            return None
        plan = self.plans_.get(shape.row) or self._plan(shape)
        if not plan.weighed:
            return None
        used, allocatable = rows.used, rows.allocatable
        total: FloatLike = 0.0
        over: BoolLike = False
        for r, request, weight, everywhere in plan.parts:
            after, whole = used[r] + request, allocatable[r]
            if everywhere:
                total = total + after * weight / whole
                over = over | (after > whole)
            else:
                total = total + ratio(after * weight, whole)
                over = over | ((after > whole) & (whole > 0))
        return where(over, 0.0, total / plan.weighed * (100 * self.args.weight))

    def _plan(self, shape: Shape) -> _Plan:
        weights = [(r, self.weights_[r]) for r in shape.nonzero if r in self.weights_]
        parts = tuple((r, shape.req[r], weight, r in self.everywhere_) for r, weight in weights if weight)
        plan = self.plans_[shape.row] = _Plan(sum(weight for _, weight in weights), parts)
        return plan


class _Plan(NamedTuple):
    """What a shape asks for that has a weight: sum of the weights, and (row, request, weight, on every node)."""

    weighed: int
    parts: tuple[tuple[int, int, int, bool], ...]


def _weight(given: object) -> int:
    """A weight as Volcano reads it: a whole number, 1 when negative."""
    return given if isinstance(given, int) and given >= 0 else 1

"""Volcano's `binpack`: prefer the nodes that a pod fills up most, so that whole nodes stay free for big pods.

Score = weighted mean share in use after the pod, over the resources that it requests and that have a weight, times
100 times `binpack.weight`. `used` is Volcano's own reading of a node: terminating pods count, promised ones do not.
A node that the pod would overfill (it waits for room there) scores 0.
"""

from __future__ import annotations

from typing import ClassVar

from pydantic import Field

from vcray.core.arrays import BoolLike, FloatLike, ratio, where
from vcray.core.plugin import Args, Plugin
from vcray.core.view import Rows, Shape, View

_FAMILY = "binpack.resources."


class BinpackArgs(Args):
    """Weights; a negative resource weight counts as 1, a negative `binpack.weight` prefers empty nodes."""

    families: ClassVar[dict[str, type]] = {_FAMILY: int}

    weight: int = Field(1, alias="binpack.weight")
    cpu: int = Field(1, alias="binpack.cpu")
    memory: int = Field(1, alias="binpack.memory")
    resources: str = Field("", alias="binpack.resources")


class Binpack(Plugin[BinpackArgs]):
    """Packs pods onto few nodes."""

    args_model = BinpackArgs

    def open(self, view: View) -> None:
        """Weight of each resource row that has one; `binpack.cpu` and `binpack.memory` beat the list of resources."""
        args, extra = self.args, self.args.model_extra or {}
        weights = {
            name: _weight(extra.get(_FAMILY + name, 1))
            for name in (part.strip() for part in args.resources.split(","))
            if name
        }
        weights |= {"cpu": _weight(args.cpu), "memory": _weight(args.memory)}
        rows = ((view.space.row(name), weight) for name, weight in weights.items())
        self.weights_ = {row: weight for row, weight in rows if row is not None}
        nodes = view.snapshot.nodes
        self.everywhere_ = frozenset(r for r in self.weights_ if bool((nodes.allocatable[r] > 0).all()))

    def node_score(self, view: View, rows: Rows, shape: Shape) -> FloatLike | None:
        """See the module; None when the pod requests nothing that has a weight."""
        if not self.args.weight:
            return None
        used, allocatable = rows.used, rows.allocatable
        total: FloatLike = 0.0
        over: BoolLike = False
        weighed = 0
        for r in shape.nonzero:
            weight = self.weights_.get(r)
            if weight is None:
                continue
            weighed += weight
            if weight:
                after, whole = used[r] + shape.req[r], allocatable[r]
                if r in self.everywhere_:
                    total = total + after * weight / whole
                    over = over | (after > whole)
                else:
                    total = total + ratio(after * weight, whole)
                    over = over | ((after > whole) & (whole > 0))
        if not weighed:
            return None
        return where(over, 0.0, total / weighed * (100 * self.args.weight))


def _weight(given: object) -> int:
    """A weight as Volcano reads it: a whole number, 1 when negative."""
    return given if isinstance(given, int) and given >= 0 else 1

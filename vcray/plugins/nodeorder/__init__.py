"""Volcano's `nodeorder`: the scores of kube-scheduler, each 0..100 times a whole weight, added.

What a node's fullness and images tell is a row hook; preferred node affinity and soft taints are preferences, preferred pod
affinity and soft spread are domain terms, which the kernel normalises over the group of nodes being scored.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pydantic import Field

from vcray.core.arrays import Bool, FloatLike, Int
from vcray.core.domains import DomainIndex
from vcray.core.hooks import DomainTerm, Preference, Scale
from vcray.core.plugin import Args, Plugin
from vcray.core.space import CPU, MEMORY
from vcray.core.view import Rows, Shape, View
from vcray.plugins.nodeorder.domain_scores import PreferredAffinity, SoftSpread
from vcray.plugins.nodeorder.resources import CAREFUL, PLAIN
from vcray.plugins.nodeorder.static import image_locality, preferred_affinity, soft_taints

GPU = "nvidia.com/gpu"


class NodeorderArgs(Args):
    """Weights of the scores; 0 leaves one out."""

    least: int = Field(1, alias="leastrequested.weight")
    most: int = Field(0, alias="mostrequested.weight")
    node_affinity: int = Field(2, alias="nodeaffinity.weight")
    pod_affinity: int = Field(2, alias="podaffinity.weight")
    balanced: int = Field(1, alias="balancedresource.weight")
    taints: int = Field(3, alias="tainttoleration.weight")
    images: int = Field(1, alias="imagelocality.weight")
    spread: int = Field(2, alias="podtopologyspread.weight")


class Nodeorder(Plugin[NodeorderArgs]):
    """kube-scheduler's scores, as Volcano weighs them."""

    steady = True
    args_model = NodeorderArgs

    def open(self, view: View) -> None:
        """Index topology domains and preferred terms of running pods for this session."""
        nodes = view.snapshot.nodes
        domains = DomainIndex(nodes)
        self.gpu_ = view.space.row(GPU)
        everywhere = bool((nodes.kube_allocatable[[CPU, MEMORY]] > 0).all())
        self.fullness_ = PLAIN if everywhere else CAREFUL
        self.images_: dict[int, Int | None] = {}
        self.affinity_ = PreferredAffinity(nodes, domains)
        self.spread_ = SoftSpread(nodes, domains)

    def node_score(self, view: View, rows: Rows, shape: Shape) -> FloatLike:
        """Least allocated, most allocated, balanced allocation and image locality."""
        args, fullness = self.args, self.fullness_
        score: Any = 0.0
        if args.least:
            score = fullness.least_allocated(rows, shape) * args.least
        if args.most:
            score = score + fullness.most_allocated(rows, shape) * args.most
        if args.balanced and (shape.req[CPU] or shape.req[MEMORY] or self._wants_gpu(shape)):
            gpu = self.gpu_ if self._wants_gpu(shape) else None
            score = score + fullness.balanced_allocation(rows, shape, gpu) * args.balanced
        if args.images and shape.spec.images:
            column = self._images(view, shape)
            if column is not None:
                score = score + rows.take(column) * args.images
        total: FloatLike = score
        return total

    def node_preference(self, view: View, shape: Shape) -> Sequence[Preference]:
        """Preferred node affinity, and the count of soft taints that are not tolerated."""
        nodes, args, out = view.snapshot.nodes, self.args, []
        if args.node_affinity and (wanted := preferred_affinity(nodes, shape.spec)) is not None:
            out.append(Preference(wanted, Scale.MAX, args.node_affinity))
        if args.taints and (taints := soft_taints(nodes, shape.spec)) is not None:
            out.append(Preference(taints, Scale.REVERSED_MAX, args.taints))
        return out

    def domain_terms(self, view: View, shape: Shape, candidates: Bool) -> Sequence[DomainTerm]:
        """Preferred pod affinity of both sides, and soft or default topology spread."""
        args, out = self.args, []
        if args.pod_affinity and (raw := self.affinity_.score(view, shape)) is not None:
            out.append(DomainTerm(raw=raw, scale=Scale.MIN_MAX, weight=args.pod_affinity))
        if args.spread and shape.spec.spread and (soft := self.spread_.soft(shape)) is not None:
            raw = self.spread_.score(view, soft, candidates)
            out.append(DomainTerm(raw=raw, counted=soft.labelled, scale=Scale.SPREAD, weight=args.spread))
        return out

    def moves_itself(self, view: View, shape: Shape) -> bool:
        """A soft spread always: even its number of domains follows the nodes that are left."""
        return bool(
            (self.args.pod_affinity and self.affinity_.moves_itself(shape))
            or (self.args.spread and self.spread_.soft(shape) is not None)
        )

    def _wants_gpu(self, shape: Shape) -> bool:
        return self.gpu_ is not None and shape.req[self.gpu_] > 0

    def _images(self, view: View, shape: Shape) -> Int | None:
        if shape.row not in self.images_:
            self.images_[shape.row] = image_locality(view.snapshot.nodes, shape.spec)
        return self.images_[shape.row]

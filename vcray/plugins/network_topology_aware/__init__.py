"""Volcano's `network-topology-aware`: pods that talk much to each other come near each other in the network.

A job, or a sub-group of it, with `networkTopology` is kept inside HyperNodes of a tier that it allows: the plugin offers those
that could hold it, narrow tiers first, and rates them by how full they become, so that whole HyperNodes stay free. Among nodes it
prefers those close to where the rest of the part already is. Pods without a topology are packed by HyperNode too, wide tiers
counting less. `used` of a HyperNode counts promised pods and leaves out evicted ones.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import ClassVar, Self, TypeAlias

import numpy as np
from pydantic import Field, JsonValue, field_validator

from vcray.config.nested import listed_names, unlisted_weights
from vcray.core.arrays import Int
from vcray.core.hypernodes import HyperNodes
from vcray.core.parthooks import CellScore, DomainScores, Purpose
from vcray.core.plugin import Args, Plugin
from vcray.core.space import CPU, MEMORY
from vcray.core.subjobs import Parts, SubJob
from vcray.core.tables import MISSING, Status
from vcray.core.view import Shape, View
from vcray.errors import Problem
from vcray.plugins.network_topology_aware.nearness import Nearness
from vcray.plugins.network_topology_aware.packing import Packing, TierPacking, Weighing, rating

_FAMILY = "hypernode.binpack.resources."
_FADING = 0.8
_DOMAINS = 8
Asked: TypeAlias = tuple[Int, set[int]]
"""Amounts (R,) and the rows that are named."""


class NetworkTopologyAwareArgs(Args):
    """Weights (a negative one counts as 1), the packing of pods without a topology, and how many HyperNodes a claim may try."""

    families: ClassVar[dict[str, type]] = {_FAMILY: int}
    minimums: ClassVar[dict[str, float]] = {
        "weight": 0,
        "hypernode.binpack.cpu": 0,
        "hypernode.binpack.memory": 0,
        _FAMILY: 0,
        "hypernode.binpack.normal-pod.fading": 0,
        "hypernode.gradient.evict.max-hypernodes": 1,
    }

    weight: int = 1
    cpu: int = Field(1, alias="hypernode.binpack.cpu")
    memory: int = Field(1, alias="hypernode.binpack.memory")
    resources: str = Field("", alias="hypernode.binpack.resources")
    normal_pod: bool = Field(True, alias="hypernode.binpack.normal-pod.enable")
    fading: float = Field(_FADING, alias="hypernode.binpack.normal-pod.fading")
    domains: int = Field(_DOMAINS, alias="hypernode.gradient.evict.max-hypernodes")

    @classmethod
    def read(cls, given: Mapping[str, JsonValue], where: str) -> tuple[Self, list[Problem]]:
        """As `Args.read`; the weight of a resource that is not listed is told."""
        args, problems = super().read(given, where)
        weighed = args.model_extra or {}
        return args, [
            *problems,
            *unlisted_weights(weighed, _FAMILY, args.resources, "hypernode.binpack.resources", where),
        ]

    @field_validator("weight", "cpu", "memory")
    @classmethod
    def _no_negative_weight(cls, value: int) -> int:
        return value if value >= 0 else 1

    @field_validator("fading")
    @classmethod
    def _no_negative_fading(cls, value: float) -> float:
        return value if value >= 0 else _FADING

    @field_validator("domains")
    @classmethod
    def _at_least_one_domain(cls, value: int) -> int:
        return value if value > 0 else _DOMAINS


class NetworkTopologyAware(Plugin[NetworkTopologyAwareArgs]):
    """Keeps parts of jobs inside HyperNodes and packs HyperNodes."""

    steady = True
    args_model = NetworkTopologyAwareArgs

    def open(self, view: View) -> None:
        """Weight of each resource row that has one."""
        args, extra = self.args, self.args.model_extra or {}
        weights: dict[str, int] = {}
        for name in listed_names(args.resources):
            given = extra.get(_FAMILY + name, 1)
            weights[name] = given if isinstance(given, int) and given >= 0 else 1
        weights |= {"cpu": args.cpu, "memory": args.memory}
        rows = ((view.space.row(name), weight) for name, weight in weights.items())
        self.weights_ = {row: weight for row, weight in rows if row is not None}
        self.weighings_: dict[tuple[int, ...], Weighing] = {}
        self.requests_: dict[int, list[int]] = {}
        self.tiers_: TierPacking | None = None

    # ---- which HyperNodes ----

    def domains(
        self, view: View, part: Parts | SubJob, root: int, purpose: Purpose
    ) -> Sequence[Sequence[int]]:
        """HyperNodes by tier, narrow first; wide first and few for an eviction. Without a known tier: the root alone.

        Where none holds all pending pods of a sub-group, its elastic ones included, those that hold enough for it to start."""
        if part.limit is None:
            return [[root]]
        tree, limit = view.hypernodes, part.limit
        start = _start(tree, part.allocated, root, limit)
        if start == MISSING:
            return []
        found = tree.inside(start)
        found = found[tree.tiers[found] <= limit]
        if part.allocated == MISSING:
            needs = [_asks(view, part)]
            if isinstance(part, SubJob) and purpose is Purpose.ALLOCATE:
                needs.append(_least(view, part))
            fitting = (found[self._fits(view, need, found, purpose)] for need in needs)
            found = next((rows for rows in fitting if len(rows)), found[:0])
        tiers = tree.tiers[found]
        ordered = [found[tiers == tier].tolist() for tier in sorted({*tiers.tolist()})]
        if purpose is Purpose.ALLOCATE:
            return ordered
        return _few(ordered[::-1], self.args.domains)

    def _fits(self, view: View, asked: Asked, found: Int, purpose: Purpose) -> Int:
        """(k,) bool: could each hold that much by its sums, as they stood when the session opened?"""
        need, named = asked
        rows = sorted({CPU, MEMORY, *named})
        use = view.hyperuse
        if purpose is Purpose.EVICT:
            offers = [use.allocatable()]
        else:
            offers = [use.idle(), use.future()]
        able = np.zeros(len(found), dtype=np.bool_)
        for offer in offers:
            enough = np.ones(len(found), dtype=np.bool_)
            for row in rows:
                enough &= offer[row, found] >= need[row]
            able |= enough
        return able  # type: ignore[return-value]

    def domain_order(self, view: View, subjob: SubJob, domains: Sequence[int]) -> DomainScores:
        """How full each becomes with all tasks of the part; ties go to where more of its tasks are."""
        request = self.requests_.get(subjob.number)
        if request is None:
            request = self.requests_[subjob.number] = _sum(view, subjob.tasks).tolist()
        weighing = self._weighing(request)
        rows = np.array(domains, dtype=np.int64)
        use = view.hyperuse
        score = rating(weighing, use.used()[:, rows], use.allocatable()[:, rows])
        tree = view.hypernodes
        inside = np.zeros(len(tree.names))
        for task in subjob.tasks.tolist():
            if view.node[task] != MISSING:
                inside[list(tree.holders[int(tree.cell[view.node[task]])])] += 1
        there = inside[rows]
        scale = 100.0 * self.args.weight
        return DomainScores(score * scale, there / len(subjob.tasks) * scale)

    # ---- which nodes ----

    def cell_scores(self, view: View, shape: Shape, subjob: SubJob | None, running: int) -> CellScore | None:
        """Near the rest of the part; for pods without a topology, into HyperNodes that are full already."""
        if subjob is not None and subjob.near:
            return None if running == MISSING else Nearness(view, subjob, running, self.args.weight)
        if not self.args.normal_pod or not view.hypernodes.table.names:
            return None
        if self.tiers_ is None:
            self.tiers_ = TierPacking(view.hypernodes, self.args.fading)
        if not self.tiers_.total:
            return None
        return Packing(view, self.tiers_, self._weighing(shape.req), self.args.weight)

    def _weighing(self, request: Sequence[int]) -> Weighing:
        key = tuple(request)
        known = self.weighings_.get(key)
        if known is None:
            parts = tuple(
                (row, key[row], weight) for row, weight in sorted(self.weights_.items()) if key[row]
            )
            known = self.weighings_[key] = Weighing(parts, sum(weight for _, _, weight in parts))
        return known


def _start(tree: HyperNodes, allocated: int, root: int, limit: int) -> int:
    """Where to search: the root, or, for a part that is somewhere already, what is allowed around that; MISSING: nowhere."""
    if allocated == MISSING:
        return root
    if tree.tier[allocated] > limit:
        return MISSING
    [around] = tree.around(allocated, limit)
    if root in tree.ancestors(around):
        return around
    return root if around in tree.ancestors(root) else MISSING


def _asks(view: View, part: Parts | SubJob) -> Asked:
    """What a part asks for: a job's minResources, a sub-group's pending pods."""
    if isinstance(part, Parts):
        jobs = view.snapshot.jobs
        named = np.flatnonzero(jobs.min_resources_named[:, part.job]).tolist()
        return jobs.min_resources[:, part.job], set(named)
    pending = part.tasks[view.status[part.tasks] == Status.PENDING]
    total = _sum(view, pending)
    return total, set(np.flatnonzero(total).tolist())


def _least(view: View, part: SubJob) -> Asked:
    """What as many of its pending pods as make a part ready ask for at least."""
    pending = part.tasks[view.status[part.tasks] == Status.PENDING]
    each = np.sort(view.requests[:, view.snapshot.tasks.shape[pending]], axis=1)
    total: Int = each[:, : max(1, part.least)].sum(axis=1)
    return total, set(np.flatnonzero(total).tolist())


def _sum(view: View, tasks: Int) -> Int:
    """(R,) requests of some tasks together."""
    total = np.zeros(len(view.space), dtype=np.int64)
    for row, count in Counter(view.snapshot.tasks.shape[tasks].tolist()).items():
        total += view.shapes[row].request * count
    return total


def _few(groups: Sequence[Sequence[int]], most: int) -> list[list[int]]:
    """The first groups up to so many HyperNodes in all; of the group that goes over it the last ones."""
    kept: list[list[int]] = []
    for group in groups:
        if most <= 0:
            break
        kept.append(list(group[-most:]))
        most -= len(kept[-1])
    return kept

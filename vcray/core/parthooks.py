"""Hooks about parts of jobs (`vcray.core.subjobs`) and about HyperNodes (`vcray.core.hypernodes`), one protocol each.

They extend `vcray.core.hooks` for plugins that care about the network; a plugin implements any of them as methods. `PartChains`
is one session of them: per hook the methods that the configuration switches on, and how their answers combine.
"""

# mypy: disable-error-code="type-abstract"
from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Final, Protocol, TypeVar, cast, runtime_checkable

import numpy as np

from vcray.core.arrays import Float, Int
from vcray.core.hooks import Vote
from vcray.core.subjobs import Parts, SubJob

if TYPE_CHECKING:
    from vcray.config.scheduler import PluginConfig
    from vcray.core.view import Shape, View


class Purpose(Enum):
    """What HyperNodes are looked for: room that is there, or room to make by eviction."""

    ALLOCATE = "allocate"
    EVICT = "evict"


@dataclass(frozen=True, slots=True)
class DomainScores:
    """`score` (k,) of each HyperNode; `shared` (k,) is added where two or more have the highest score, so it decides ties."""

    score: Float
    shared: Float


class CellScore(Protocol):
    """Scores of nodes by cell (`HyperNodes.cell`) that placing pods moves. `counts`: the number of candidates matters."""

    counts: bool

    def points(self, candidates: Int) -> Float:
        """(C,) present scores, weight included; `candidates` (C,) nodes of each cell that could take the pod."""
        ...

    def take(self, cell: int) -> Int | None:
        """One more pod of the shape is assumed in the cell. The cells whose scores that moves, None for all."""
        ...


@runtime_checkable
class SubJobReady(Protocol):
    """May the part count as placed? Asked of jobs with sub-groups; without them `job_ready` answers. Combined: and."""

    def subjob_ready(self, view: View, subjob: SubJob) -> bool: ...


@runtime_checkable
class SubJobNeed(Protocol):
    """How many of these pending tasks of the part (rows, in order) until `subjob_ready`; at least 1. Combined: max."""

    def subjob_need(self, view: View, subjob: SubJob, tasks: Int) -> int: ...


@runtime_checkable
class SubJobPipelined(Protocol):
    """May the part keep promises on resources being freed? Combined: votes by tier."""

    def subjob_pipelined(self, view: View, subjob: SubJob) -> Vote: ...


@runtime_checkable
class SubJobOrder(Protocol):
    """Smaller first, of the parts of one job. Combined: lexicographic, then the first label value as a number, then name."""

    def subjob_order(self, view: View, subjob: SubJob) -> float: ...


@runtime_checkable
class Domains(Protocol):
    """HyperNodes inside `root` (rows) that may hold a job (`Parts`) or a part of it, in groups to be tried one after the other.

    Combined: the first plugin that has the hook decides; nobody: the root alone."""

    def domains(
        self, view: View, part: Parts | SubJob, root: int, purpose: Purpose
    ) -> Sequence[Sequence[int]]: ...


@runtime_checkable
class DomainOrder(Protocol):
    """How well each of some HyperNodes (rows) suits a part; the highest is taken. Combined: sum, then name."""

    def domain_order(self, view: View, subjob: SubJob, domains: Sequence[int]) -> DomainScores: ...


@runtime_checkable
class CellScores(Protocol):
    """A score by cell for a pod of the shape; `subjob`: its part, None when it has none; `running`: the HyperNode over the part's
    pods so far, MISSING before the first. None: nothing to say. Combined: sum."""

    def cell_scores(
        self, view: View, shape: Shape, subjob: SubJob | None, running: int
    ) -> CellScore | None: ...


@runtime_checkable
class TaskScores(Protocol):
    """Scores that tell equal pods of a job apart; its pods are then placed one at a time.

    `scores_tasks`: does the plugin score this job's tasks at all? `task_score`: (N,) with the weight in it. Combined: sum."""

    def scores_tasks(self, view: View, job: int) -> bool: ...
    def task_score(self, view: View, task: int) -> Float: ...


COMBINE: Final[Mapping[str, tuple[str, str]]] = {
    "subjob_ready": ("enabledSubJobReady", "and over all tiers"),
    "subjob_need": ("enabledSubJobReady", "max"),
    "subjob_pipelined": ("enabledSubJobPipelined", "votes by tier"),
    "subjob_order": ("enabledSubJobOrder", "lexicographic, then first label value, then name"),
    "domains": ("enabledHyperNodeGradient", "the first plugin that has it decides"),
    "domain_order": ("enabledHyperNodeOrder", "sum"),
    "cell_scores": ("enableNodeOrder", "sum"),
    "scores_tasks": ("enableNodeOrder", "any"),
    "task_score": ("enableNodeOrder", "sum"),
}
"""Hook -> flag of the configuration that switches it, and how answers combine."""

P = TypeVar("P")


class PartChains:
    """One session of these hooks. `tiers`: the opened plugins with their entries in the configuration."""

    def __init__(self, tiers: Sequence[Sequence[tuple[object, PluginConfig]]]) -> None:
        self._tiers = tiers
        self.readies = [p.subjob_ready for p in self._all(SubJobReady, "subjob_ready")]
        self.needs = [p.subjob_need for p in self._all(SubJobNeed, "subjob_need")]
        self.orders = [p.subjob_order for p in self._all(SubJobOrder, "subjob_order")]
        self.domains = [p.domains for p in self._all(Domains, "domains")]
        self.domain_orders = [p.domain_order for p in self._all(DomainOrder, "domain_order")]
        self.cells = [p.cell_scores for p in self._all(CellScores, "cell_scores")]
        self.taskers = self._all(TaskScores, "task_score")
        self._pipelined = [
            [p.subjob_pipelined for p in self._tier(tier, SubJobPipelined, "subjob_pipelined")]
            for tier in tiers
        ]

    def _all(self, hook: type[P], name: str) -> list[P]:
        return [plugin for tier in self._tiers for plugin in self._tier(tier, hook, name)]

    @staticmethod
    def _tier(tier: Sequence[tuple[object, PluginConfig]], hook: type[P], name: str) -> list[P]:
        flag = COMBINE[name][0]
        return [
            cast(P, plugin)
            for plugin, config in tier
            if callable(getattr(type(plugin), name, None)) and config.enabled(flag)
        ]

    def ready(self, view: View, subjob: SubJob) -> bool:
        """All plugins agree."""
        return all(hook(view, subjob) for hook in self.readies)

    def need(self, view: View, subjob: SubJob, tasks: Int) -> int:
        """The largest answer, 1 when nobody answers."""
        return max((hook(view, subjob, tasks) for hook in self.needs), default=1)

    def pipelined(self, view: View, subjob: SubJob) -> bool:
        """A rejection met first ends it; a tier with a permit decides; nobody: yes."""
        for tier in self._pipelined:
            votes = [hook(view, subjob) for hook in tier]
            if Vote.REJECT in votes:
                return False
            if Vote.PERMIT in votes:
                return True
        return True

    def key(self, view: View, subjob: SubJob) -> tuple[object, ...]:
        """The place of a part among those of its job; smaller first."""
        return (*(hook(view, subjob) for hook in self.orders), subjob.order, subjob.name)

    def gradients(
        self, view: View, part: Parts | SubJob, root: int, purpose: Purpose = Purpose.ALLOCATE
    ) -> list[list[int]]:
        """Groups of HyperNodes to try in turn: all of a group are looked at before one of it is chosen."""
        if not self.domains:
            return [[root]]
        return [list(group) for group in self.domains[0](view, part, root, purpose)]

    def scores(self, view: View, subjob: SubJob, domains: Sequence[int]) -> DomainScores:
        """Sums over the plugins."""
        score, shared = np.zeros(len(domains)), np.zeros(len(domains))
        for hook in self.domain_orders:
            part = hook(view, subjob, domains)
            score, shared = score + part.score, shared + part.shared
        return DomainScores(score, shared)

    def apart(self, view: View, job: int) -> list[TaskScores]:
        """The plugins that score each task of the job by itself."""
        return [plugin for plugin in self.taskers if plugin.scores_tasks(view, job)]

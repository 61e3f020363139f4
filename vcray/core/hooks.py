"""Every hook, one protocol each: the plugin author's page.

Hooks are pure functions of the view (snapshot plus the session's ledger, read only). A *row hook* may be called with the
whole node table, with some rows, or with one row of Python numbers; it may only use facts of that row, through `rows`.
A plugin implements any of them as methods of one `Plugin` class. How the answers of several plugins combine stands
with each; `vcray.core.combine` holds the table.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum, IntEnum
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from vcray.core.arrays import Bool, BoolLike, Float, FloatLike, Int, IntLike

if TYPE_CHECKING:
    from vcray.core.cards import CardFigures
    from vcray.core.decisions import Preparation
    from vcray.core.meter import Figures
    from vcray.core.snapshot import Snapshot
    from vcray.core.tables import ShapeSpec
    from vcray.core.victims import Candidates, Claim
    from vcray.core.view import Rows, Shape, View


class Vote(IntEnum):
    """A plugin's say where Volcano lets it abstain."""

    REJECT = -1
    ABSTAIN = 0
    PERMIT = 1


class Scale(Enum):
    """How the kernel turns raw integers of the scored nodes into 0..100 (int64, truncating division; MIN_MAX in float64,
    truncated, as kube-scheduler does it: 29 of 100 is 28)."""

    MAX = "max"  # 100 * raw / max; 0 for all when max is 0
    REVERSED_MAX = "reversed max"  # 100 - 100 * raw / max; 100 for all when max is 0
    MIN_MAX = "min max"  # 100 * (raw - min) / (max - min); 0 for all when equal
    SPREAD = "spread"  # 100 * (max + min - raw) / max; 100 for all when max is 0


@dataclass(frozen=True, slots=True)
class Preference:
    """A score that is normalised over the candidate group and does not move when pods are placed."""

    raw: Int  # (N,)
    scale: Scale
    weight: int


@dataclass(frozen=True, slots=True)
class DomainTerm:
    """A rule across nodes (inter-pod affinity, topology spread), seen from all nodes at one moment.

    `ok` (N,) where the pod may go, None for everywhere; `raw` (N,) integers to scale over the scored nodes,
    None when the term only filters; `counted` (N,) nodes that take part in `raw`, the others score 0."""

    ok: Bool | None = None
    raw: Int | None = None
    counted: Bool | None = None
    scale: Scale = Scale.MIN_MAX
    weight: int = 0


@dataclass(frozen=True, slots=True)
class Reject:
    """Nodes that refuse a shape and why, one reason; `curable`: evicting pods could help (Volcano's Unschedulable).

    A reject that is not curable ends the search of that node: later reasons for it are not reported."""

    where: Bool  # (N,)
    reason: str
    curable: bool


@dataclass(frozen=True, slots=True)
class Answer:
    """A vote with the event text that explains a rejection (empty for none)."""

    vote: Vote
    message: str = ""


@runtime_checkable
class ClassKey(Protocol):
    """What a plugin adds to the placement class of a job's pods, by value: it outlives the session. Combined: tuple. Asked
    once a job; the plugin's hooks on nodes find it in `shape.keys`."""

    def class_key(self, view: View, job: int) -> object: ...


@runtime_checkable
class NodeStatic(Protocol):
    """(N,) nodes that may take the shape as far as node objects alone tell; None: all. Combined: and.

    Asked once per class and node generation; must not move on placement."""

    def node_static(self, view: View, shape: Shape) -> Bool | None: ...


@runtime_checkable
class NodeFilter(Protocol):
    """Row hook: may this node, in this state, take one more? None: yes. Combined: and, after the fit test.

    One that refuses j copies must refuse j + 1 (`rows.copies`)."""

    def node_filter(self, view: View, rows: Rows, shape: Shape) -> BoolLike | None: ...


@runtime_checkable
class NodeScore(Protocol):
    """Row hook: score with its weight in it; None: nothing to say. Combined: float sum in policy order."""

    def node_score(self, view: View, rows: Rows, shape: Shape) -> FloatLike | None: ...


@runtime_checkable
class NodePreference(Protocol):
    """Scores normalised by the kernel over the candidate group. Asked once a class. Combined: integer sum."""

    def node_preference(self, view: View, shape: Shape) -> Sequence[Preference]: ...


@runtime_checkable
class DomainTerms(Protocol):
    """Rules across nodes; asked before each proposal. `candidates` (N,) is the group being scored (idle, then future):
    scores that count distinct domains count those among it. Combined: ok by and; scores summed."""

    def domain_terms(self, view: View, shape: Shape, candidates: Bool) -> Sequence[DomainTerm]: ...


@runtime_checkable
class MovesItself(Protocol):
    """Does placing the shape change its own domain terms? Then one pick at a time. Combined: any."""

    def moves_itself(self, view: View, shape: Shape) -> bool: ...


@runtime_checkable
class ValidPrefix(Protocol):
    """How many of the proposed nodes (in order) stay valid once the earlier ones are placed. Combined: min."""

    def valid_prefix(self, view: View, shape: Shape, nodes: Int) -> int: ...


@runtime_checkable
class GangNeed(Protocol):
    """How many of these pending tasks (rows, in order) until `job_ready`; at least 1. Combined: max."""

    def gang_need(self, view: View, job: int, tasks: Int) -> int: ...


@runtime_checkable
class JobValid(Protocol):
    """A sentence saying why the job cannot be scheduled at all, None when it can. Combined: first sentence."""

    def job_valid(self, view: View, job: int) -> str | None: ...


@runtime_checkable
class JobReady(Protocol):
    """May the job's placements be committed? Combined: and over all tiers."""

    def job_ready(self, view: View, job: int) -> bool: ...


@runtime_checkable
class JobPipelined(Protocol):
    """May the job keep promises on resources being freed? Combined: votes by tier."""

    def job_pipelined(self, view: View, job: int) -> Vote: ...


@runtime_checkable
class KeepsHoles(Protocol):
    """Started jobs (rows) that lost pods -> until when (seconds) room is kept for these (`core.holes`). Combined: the latest."""

    def holes(self, view: View) -> Mapping[int, float]: ...


@runtime_checkable
class JobStarving(Protocol):
    """May the job take from others (preempt, reclaim)? Combined: and within a tier; the first tier with any implementer
    decides; none: no."""

    def job_starving(self, view: View, job: int) -> bool: ...


@runtime_checkable
class JobEnqueueable(Protocol):
    """May a pending job be admitted (Inqueue)? Combined: votes by tier; the first rejection's message is an event."""

    def job_enqueueable(self, view: View, job: int) -> Answer: ...


@runtime_checkable
class JobEnqueued(Protocol):
    """The job was admitted in this session: charge it. All are called."""

    def job_enqueued(self, view: View, job: int) -> None: ...


@runtime_checkable
class JobOrder(Protocol):
    """Smaller first; `jobs`: rows (build) or one row (after a turn). Combined: lexicographic, then creation, then name."""

    def job_order(self, view: View, jobs: IntLike) -> FloatLike | IntLike: ...


@runtime_checkable
class TaskOrder(Protocol):
    """Smaller first; array of task rows. Combined: lexicographic, then pod index, creation, uid."""

    def task_order(self, view: View, tasks: Int) -> Float | Int: ...


@runtime_checkable
class QueueOrder(Protocol):
    """Columns of keys for one queue, compared left to right, smaller first. Combined: concatenated in policy order,
    then creation, then name."""

    def queue_order(self, view: View, queue: int) -> Sequence[float]: ...


@runtime_checkable
class QueueOverused(Protocol):
    """Is the queue past its share? Then it is dropped for this action. Combined: or."""

    def queue_overused(self, view: View, queue: int) -> bool: ...


@runtime_checkable
class QueueAllows(Protocol):
    """How many of `count` more pods of the shape the queue may take now. Combined: min."""

    def queue_allows(self, view: View, queue: int, shape: Shape, count: int) -> int: ...


@runtime_checkable
class Why(Protocol):
    """Reasons of this plugin for refusing nodes, in the order of its checks. Asked only for a job that failed."""

    def why(self, view: View, shape: Shape) -> Iterator[Reject]: ...


@runtime_checkable
class Preemptable(Protocol):
    """(k,) which candidates a claim of `preempt` may take; None abstains. Combined: tiers (`vcray.core.verdicts`)."""

    def preemptable(self, view: View, claim: Claim, candidates: Candidates) -> Bool | None: ...


@runtime_checkable
class Reclaimable(Protocol):
    """(k,) which candidates a claim of `reclaim` may take; None abstains. Combined: tiers (`vcray.core.verdicts`)."""

    def reclaimable(self, view: View, claim: Claim, candidates: Candidates) -> Bool | None: ...


@runtime_checkable
class Evictable(Protocol):
    """(k,) which candidates a claim of `gangpreempt` or `gangreclaim` (`claim.kind`) may take; None abstains (Volcano's
    UnifiedEvictable). Combined: tiers (`vcray.core.verdicts`)."""

    def evictable(self, view: View, claim: Claim, candidates: Candidates) -> Bool | None: ...


@runtime_checkable
class ClaimKey(Protocol):
    """All that the plugin's say on victims reads of a claimant beside its queue and shape, as a hashable value.

    Claims for equal pods of one queue with equal keys are judged alike, so a verdict serves the next of them too: one that found
    nobody, and on one node those behind the ones taken. Without it no two claims are alike. Combined: tuple."""

    def claim_key(self, view: View, claim: Claim) -> object: ...


@runtime_checkable
class QueuePreemptive(Protocol):
    """May the queue take from others for a request (R,)? Combined: and; nobody: yes."""

    def queue_preemptive(self, view: View, queue: int, request: Int) -> bool: ...


@runtime_checkable
class VictimOrder(Protocol):
    """Columns of keys for a queue that victims are in, seen from the claimant's queue; smaller goes first. Combined:
    concatenated; then the inverse of `queue_order`, creation and name."""

    def victim_order(self, view: View, claimant: int, queue: int) -> Sequence[float]: ...


@runtime_checkable
class VictimTasks(Protocol):
    """(k,) which of these running tasks (rows) `shuffle` evicts. Combined: or within a tier; the first tier that names any."""

    def victim_tasks(self, view: View, tasks: Int) -> Bool: ...


@runtime_checkable
class Reserve(Protocol):
    """State that is no sum (devices, cpus of a NUMA node, volumes): reserve what a task needs on a node.

    `reserves` tells whether pods of a shape need this at all; such pods are placed one at a time. `reserve` is called when
    the ledger places or promises a task; it returns what undoes it, or a sentence that refuses the node. `release` is called
    when the ledger evicts a task that holds a node and returns what undoes that. `bind_notes` are the annotations that the
    pod gets with its binding. Combined: any; all are called in policy order, the first refusal undoes the others; merged."""

    def reserves(self, view: View, shape: Shape) -> bool: ...
    def reserve(self, view: View, task: int, node: int, promised: bool) -> Callable[[], None] | str: ...
    def release(self, view: View, task: int, node: int) -> Callable[[], None]: ...
    def bind_notes(self, view: View, task: int, node: int) -> Mapping[str, str]: ...


@runtime_checkable
class BindBefore(Protocol):
    """What must be written and come true before a pod of a shape that reserves is bound (PreBind); None for nothing. Asked
    at the end of a session, for pods that are bound. Combined: joined in policy order."""

    def bind_before(self, view: View, task: int, node: int) -> Preparation | None: ...


@runtime_checkable
class FiguresOfQueue(Protocol):
    """What the plugin knows of a queue at the end of a session, for metrics. Combined: per figure, the first that tells."""

    def queue_figures(self, view: View, queue: int) -> Figures | None: ...


@runtime_checkable
class SharesOfJobs(Protocol):
    """(J,) shares of all jobs at the end of a session, for metrics. Combined: the first that tells."""

    def job_shares(self, view: View) -> Float: ...


@runtime_checkable
class FiguresOfCards(Protocol):
    """Node -> its cards at the end of a session, for metrics; the same tuple as before where nothing is held. Combined: the
    first that tells of a node."""

    def card_figures(self, view: View) -> Mapping[str, Sequence[CardFigures]]: ...


@runtime_checkable
class WakesAt(Protocol):
    """The next moment (seconds, after `snapshot.now`) at which time alone changes an answer of the plugin; None for none.

    A round runs then, changes or not. Combined: min. Asked at the end of a session."""

    def wakes_at(self, view: View) -> float | None: ...


@runtime_checkable
class Ran(Protocol):
    """Names of periodic work that the plugin did in this session; the next one finds when in `snapshot.timing`.

    Combined: all, sorted. Asked at the end of a session."""

    def ran(self, view: View) -> Sequence[str]: ...


@runtime_checkable
class Charges(Protocol):
    """What pods of a shape are charged in place of their requests: resource -> whole units, 0 for one that nodes and queues
    pass by; None: what they request. Asked before the session opens, so of a plugin that was not opened. Combined: merged in
    policy order (`vcray.core.charges`).

    `offers`: resource -> (N,) what nodes have of it beyond what they list, where a ledger of the plugin knows better.
    Combined: added."""

    def charges(self, snapshot: Snapshot, spec: ShapeSpec) -> Mapping[str, int] | None: ...
    def offers(self, snapshot: Snapshot) -> Mapping[str, Int]: ...


class Closing(Protocol):
    """A session's end: what the actions learnt of a job, and where plugins put their words. Not a hook."""

    def fit_error(self, job: int) -> str:
        """Why the job's pods do not all run, as one sentence (Volcano's job fit error)."""
        ...

    def undone(self, job: int) -> int:
        """Pending tasks of the job whose last placement of this session was an allocation that was rolled back."""
        ...

    def condition(self, job: int, type: str, reason: str, message: str) -> None:
        """Set a PodGroup condition with status True in place of the one of that type."""
        ...


@runtime_checkable
class Close(Protocol):
    """The session ends: what the plugin says of it (PodGroup conditions). All are called, in policy order."""

    def close(self, view: View, closing: Closing) -> None: ...

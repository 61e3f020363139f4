"""The oracle's hierarchical drf: a tree that annotations of queues spell, asked afresh every time.

Choices: a queue without the annotation is a branch of its own; of several weights for one node that of the first queue by name
holds; children are summed in name order, jobs last; of two queues on one path the upper one goes first.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from tests.oracle.facts import Amounts, Cluster, Job, Pod, Queue, plus, total_of

PATH, WEIGHTS = "volcano.sh/hierarchy", "volcano.sh/hierarchy-weights"


@dataclass(eq=False)
class Branch:
    """A node of the tree with the queues whose jobs hang here."""

    weight: float = 1.0
    children: dict[str, Branch] = field(default_factory=dict)
    queues: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class State:
    """What a branch counts as holding, its share, and whether nothing below it can grow."""

    held: Amounts
    share: float
    saturated: bool


class Hierarchy:
    """The tree of one session. `without` and `extra`: pods taken away and requests added for a what-if."""

    def __init__(self, cluster: Cluster, total: Amounts) -> None:
        self.cluster = cluster
        self.total = {name: value for name, value in total.items() if value > 0}
        self.root = Branch()
        self.paths: dict[str, list[Branch]] = {}
        for name, queue in sorted(cluster.queues.items()):
            if any(job.queue == name for job in cluster.jobs.values()):
                self._grow(queue)

    def _grow(self, queue: Queue) -> None:
        parts = [part for part in queue.notes.get(PATH, "").split("/")[1:] if part]
        weights = queue.notes.get(WEIGHTS, "").split("/")[1:]
        at, path = self.root, []
        for level, part in enumerate(parts or [f"('queue', '{queue.name}')"]):
            weight = _number(weights[level]) if parts and level < len(weights) else 1.0
            at = at.children.setdefault(part, Branch(weight))
            path.append(at)
        at.queues.append(queue.name)
        self.paths[queue.name] = path

    def key(
        self, queue: str, extra: tuple[Job, Amounts] | None = None, without: Pod | None = None
    ) -> list[tuple[bool, float]]:
        """Level by level: can the branch grow, and its share by weight."""
        full = self._full(extra, without)
        states = [(branch, self._state(branch, full, extra, without)) for branch in self.paths.get(queue, [])]
        return [(state.saturated, state.share / branch.weight) for branch, state in states]

    def goes_before(self, job: Job, request: Amounts, victim_queue: str, victim: Pod) -> bool:
        """With its request the claimant's queue before the victim's without the victim, level by level?"""
        mine = self.key(job.queue, (job, request), victim)
        theirs = self.key(victim_queue, (job, request), victim)
        for one, other in zip(mine, theirs, strict=False):
            if one != other:
                return one < other
        return False

    def _held(self, job: Job, extra: tuple[Job, Amounts] | None, without: Pod | None) -> Amounts:
        held = job.claimed()
        if extra is not None and extra[0] is job:
            held = plus(held, extra[1])
        if without is not None and without in job.pods:
            held = {name: value - without.request.get(name, 0) for name, value in held.items()}
        return held

    def _full(self, extra: tuple[Job, Amounts] | None, without: Pod | None) -> set[str]:
        sums = total_of(self._held(job, extra, without) for job in self.cluster.jobs.values())
        return {name for name, value in self.total.items() if sums.get(name, 0) >= value}

    def _state(
        self, branch: Branch, full: set[str], extra: tuple[Job, Amounts] | None, without: Pod | None
    ) -> State:
        below = [self._state(child, full, extra, without) for _, child in sorted(branch.children.items())]
        jobs = [job for _, job in sorted(self.cluster.jobs.items()) if job.queue in branch.queues]
        below += [self._leaf(job, full, extra, without) for job in jobs]
        if not below:
            return State({}, 0.0, False)
        hungry = [state.share for state in below if state.share > 0 and not state.saturated]
        least = min(1.0, *hungry) if hungry else 1.0
        held: Amounts = dict.fromkeys(self.total, 0.0)
        for state in below:
            if state.share > 0:
                factor = 1.0 if state.saturated else least / state.share
                for name in held:
                    held[name] += state.held.get(name, 0.0) * factor
        return State(held, self._share(held), all(state.saturated for state in below))

    def _leaf(
        self, job: Job, full: set[str], extra: tuple[Job, Amounts] | None, without: Pod | None
    ) -> State:
        held = self._held(job, extra, without)
        asked = total_of(pod.request for pod in job.pods)
        done = any(
            held.get(name, 0) > 0
            and (held[name] >= asked.get(name, 0) or (asked.get(name, 0) > 0 and name in full))
            for name in self.total
        )
        return State(held, self._share(held), done)

    def _share(self, held: Amounts) -> float:
        return max((held.get(name, 0) / value for name, value in self.total.items()), default=0.0)


def _number(text: str) -> float:
    try:
        return max(float(text), 1.0)
    except ValueError:
        return 1.0

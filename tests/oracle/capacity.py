"""The oracle's capacity: stated shares of queues, side by side or as a tree.

Choices: in a tree siblings are compared level by level below the lowest common queue (share, then who deserves anything, then
age, then name), so that a branch keeps together; shares of inner queues are those of the session's start. A queue that is
not open, sits wrongly in the tree or has queues below it takes nothing; it stops nobody else.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import inf
from typing import Any

from tests.oracle.facts import Amounts, Cluster, Job, Pod, Queue, minus, plus, positive, total_of
from tests.oracle.shares import (
    admitted_at_open,
    cluster_total,
    deduct,
    real_capability,
    share_of,
    within,
)

EPSILON = 0.1


@dataclass(eq=False)
class Capacity:
    """One session of it. `above`: the queues over a queue, nearest first, root last; empty without a tree."""

    cluster: Cluster
    tree: bool
    level: int = 0
    above: dict[str, list[str]] = field(default_factory=dict)
    wrong: set[str] = field(default_factory=set)
    real: dict[str, Amounts] = field(default_factory=dict)
    deserved: dict[str, Amounts] = field(default_factory=dict)
    admitted: dict[str, Amounts] = field(default_factory=dict)
    frozen: dict[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        queues = self.cluster.queues
        self.above = {name: self._climb(queue) if self.tree else [] for name, queue in queues.items()}
        inner = {queue.parent for name, queue in queues.items() if name != "root"} | {"root"}
        self.inner = {name for name in queues if name in inner} if self.tree else set()
        (self._tree_limits if self.tree else self._flat_limits)()
        for name in queues:
            self.admitted[name] = {}
        for job in self.cluster.jobs.values():
            if job.min_resources is not None:
                self._admit(job.queue, admitted_at_open(job))
        self.frozen = {name: self.share(name) for name in queues}

    def _climb(self, queue: Queue) -> list[str]:
        queues, found, at = self.cluster.queues, [], queue
        while at.name != "root":
            if at.parent not in queues:
                if "root" not in queues:  # nobody can tell a top queue from one whose parent is gone
                    return found
                self.wrong.add(queue.name)
                return [*found, "root"]
            if at.parent in (queue.name, *found):
                self.wrong.add(queue.name)
                return found
            at = queues[at.parent]
            found.append(at.name)
        return found

    # ---- limits ----

    def _flat_limits(self) -> None:
        queues = self.cluster.queues
        total = cluster_total(self.cluster)
        reserved = total_of(queue.guarantee for queue in queues.values())
        for name, queue in queues.items():
            self.real[name] = real_capability(total, reserved, queue)
            cut = dict(queue.deserved)
            for resource in {"cpu", "memory", *cut}:
                known = resource in ("cpu", "memory") or total.get(resource) or queue.guarantee.get(resource)
                if known:
                    cut[resource] = min(cut.get(resource, 0), self.real[name].get(resource, 0))
            self.deserved[name] = _largest(cut, queue.guarantee)

    def _tree_limits(self) -> None:
        queues = self.cluster.queues
        for name, queue in queues.items():
            self.deserved[name] = _largest(queue.deserved, queue.guarantee)
        children = {name: [c for c in queues if self.above[c][:1] == [name]] for name in queues}
        order = sorted(queues, key=lambda name: len(self.above[name]))
        for name in order:
            queue, up = queues[name], self.above[name][:1]
            limit = {k: v for k, v in queue.capability.items() if k not in ("cpu", "memory") or v > 0}
            if not up:
                self.real[name] = dict(limit)
                continue
            parent = self.real[up[0]]
            kept = total_of(queues[c].guarantee for c in children[up[0]] if c not in self.wrong)
            own = queue.guarantee if name not in self.wrong else {}
            real = {}
            for resource, whole in parent.items():
                real[resource] = max(whole - kept.get(resource, 0), 0) + own.get(resource, 0)
            for resource, most in limit.items():
                real[resource] = min(real.get(resource, inf), most)
            self.real[name] = real
        if "root" in queues:
            top = [c for c in children["root"] if c not in self.wrong]
            self.deserved["root"] = total_of(self.deserved[c] for c in top)

    # ---- sums ----

    def held_by(self, name: str) -> list[Job]:
        """Jobs charged to a queue: its own, and in a tree those below."""
        return [j for j in self.cluster.jobs.values() if name == j.queue or name in self.above[j.queue]]

    def held(self, name: str) -> Amounts:
        return total_of(job.claimed() for job in self.held_by(name))

    def share(self, name: str) -> float:
        if not self.deserves(name):
            return 1.0
        return share_of(self.held(name), self.deserved[name])

    def deserves(self, name: str) -> bool:
        return any(v >= EPSILON for k, v in self.deserved[name].items() if k != "pods")

    # ---- order and room ----

    def key(self, queue: Queue) -> tuple[Any, ...]:
        """Priority, leaves first, then level by level from below root."""
        path = [*reversed(self.above[queue.name]), queue.name]
        levels: list[Any] = []
        for name in path:
            at = self.cluster.queues[name]
            share = self.share(name) if name == queue.name else self.frozen[name]
            levels.append((share, not self.deserves(name), at.created, at.name))
        return (-queue.priority, queue.name in self.inner, *levels)

    def takes(self, name: str) -> bool:
        queue = self.cluster.queues[name]
        return queue.open and name not in self.wrong and name not in self.inner

    def allows(self, job: Job, pod: Pod) -> bool:
        return self.takes(job.queue) and all(
            self._room(name, plus(self.held(name), pod.request), pod.request)
            for name in (job.queue, *self.above[job.queue])
        )

    def _room(self, name: str, after: Amounts, asked: Amounts) -> bool:
        limits = {resource: self._most(name, resource) for resource in asked}
        return within(after, limits, asked)

    def _most(self, name: str, resource: str) -> float:
        if self.tree:
            return self.real[name].get(resource, inf)
        return self.real[name].get(resource, 0)

    def admits(self, job: Job) -> bool:
        asked = job.min_resources or {}
        if not self.takes(job.queue):
            return False
        for name in (job.queue, *self.above[job.queue]):
            elastic = total_of(
                positive(minus(other.allocated(), other.min_resources or {})) for other in self.held_by(name)
            )
            sums = minus(plus(plus(asked, self.held(name)), self.admitted[name]), elastic)
            if not self._room(name, sums, asked):
                return False
        return True

    def admit(self, job: Job) -> None:
        if job.min_resources is not None:
            self._admit(job.queue, deduct(job.min_resources, job.gated_request()))

    def _admit(self, queue: str, amounts: Amounts) -> None:
        for name in (queue, *self.above[queue]):
            self.admitted[name] = plus(self.admitted[name], amounts)

    # ---- taking back ----

    def may_take(self, queue: Queue, asked: Amounts) -> bool:
        """Within the limit of all asked, within deserved of one; a near queue above may vouch for it."""
        after = plus(self.held(queue.name), asked)
        if not self.takes(queue.name) or not self._room(queue.name, after, asked):
            return False
        near = [name for name in self.above[queue.name][: self.level] if name != "root"]
        return any(
            self.held(name).get(resource, 0) + value <= self.deserved[name].get(resource, 0)
            for name in (queue.name, *near)
            for resource, value in asked.items()
            if value > 0 and resource != "pods"
        )

    def gives(self, claimant: Queue, asked: Amounts, candidates: list[tuple[str, Pod]]) -> list[Pod]:
        """Of the pods of one node (with their queue), in order, those that may be taken back."""
        if claimant.name in self.wrong or claimant.name in self.inner:
            return []
        held: dict[str, Amounts] = {}
        found = []
        for name, pod in candidates:
            if not any(pod.request.get(k, 0) > 0 and v > 0 for k, v in asked.items() if k != "pods"):
                continue
            chain = [name]
            for distance in range(1, self.level + 1):
                mine, theirs = self._at(claimant.name, distance), self._at(name, distance)
                if theirs is not None and theirs != mine:
                    chain.append(theirs)
            sure = [at for at in (name, *self.above[name]) if at not in self.above[claimant.name]]
            for at in {*chain, *sure}:
                held.setdefault(at, self.held(at))
            broken = any(self._breaks(at, minus(held[at], pod.request)) for at in sure)
            if not broken and self._goes(claimant, asked, pod.request, chain, held):
                found.append(pod)
                for at in {*chain, *sure}:
                    held[at] = minus(held[at], pod.request)
        return found

    def _at(self, name: str, distance: int) -> str | None:
        above = self.above[name]
        found = above[distance - 1] if distance <= len(above) else None
        return None if found == "root" else found

    def _goes(
        self, claimant: Queue, asked: Amounts, request: Amounts, chain: list[str], held: dict[str, Amounts]
    ) -> bool:
        own = chain[0]
        if self._outside(own, request):
            if self.level and self._under_one_roof(claimant, own, asked):
                return False
        elif not self._over(own, request, held[own]):
            return False
        return all(self._outside(at, request) or self._over(at, request, held[at]) for at in chain[1:])

    def _breaks(self, name: str, left: Amounts) -> bool:
        """Would the queue hold less than it is sure of? One that sits wrongly in the tree is sure of nothing."""
        sure = {} if self.tree and name in self.wrong else self.cluster.queues[name].guarantee
        return any(v > 0 and left.get(k, 0) < v for k, v in sure.items())

    def _outside(self, name: str, request: Amounts) -> bool:
        """Nothing that the pod holds is deserved by the queue, pods included."""
        return not any(v > 0 and self.deserved[name].get(k, 0) > 0 for k, v in request.items())

    def _over(self, name: str, request: Amounts, held: Amounts) -> bool:
        deserved = self.deserved[name]
        for resource, value in request.items():
            if value <= 0 or resource == "pods":
                continue
            counted = deserved.get(resource, 0) > 0 if resource in ("cpu", "memory") else resource in deserved
            if counted and held.get(resource, 0) > deserved.get(resource, 0):
                return True
        return False

    def _under_one_roof(self, claimant: Queue, name: str, asked: Amounts) -> bool:
        if any(v > 0 and self.deserved[claimant.name].get(k, 0) > 0 for k, v in asked.items()):
            return False
        near = range(1, self.level + 1)
        mine = {self._at(claimant.name, distance) for distance in near} - {None}
        return any(self._at(name, distance) in mine for distance in near)

    def nearness(self, claimant: str, name: str) -> int:
        """Depth of the lowest queue over both: deeper ones give first."""
        mine = [*reversed(self.above[claimant]), claimant]
        theirs = [*reversed(self.above[name]), name]
        common = 0
        for one, other in zip(mine, theirs, strict=False):
            if one != other:
                break
            common += 1
        return common if self.tree else 0


def _largest(left: Amounts, right: Amounts) -> Amounts:
    """Greater of both a dimension; a right side of 0 names nothing."""
    return {
        name: max(left.get(name, 0), right.get(name, 0))
        for name in {*left, *(k for k, v in right.items() if v)}
    }

"""The oracle's preempt and reclaim: who claims, on which nodes, who must go, one node and one victim at a time.

Choices where Volcano is random or faulty: what fits somewhere as things are is promised and nobody is evicted; preempt walks
nodes by score, reclaim by rank; victims go least valuable first and only as many as the claimant needs (the shortest
stretch by amounts, then the most valuable of it that are not needed after all are spared); a claim counts only if quota, room and
predicates then let the claimant in; share plugins and priority's "not higher" are asked again about the winners, whatever
their tier; for preempt a tier that only protects names nobody; a queue that is full takes nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cmp_to_key
from typing import TYPE_CHECKING

from tests.oracle import filters, shares
from tests.oracle.facts import (
    BEING_PLACED,
    Amounts,
    Job,
    Node,
    Object,
    Pod,
    Queue,
    minus,
    plus,
    pod_index,
    total_of,
)

if TYPE_CHECKING:
    from tests.oracle.scheduler import Scheduler

EPSILON = 0.1
Judge = Callable[["Claim", list[tuple[Job, Pod]]], "list[Pod] | None"]


@dataclass(frozen=True, eq=False)
class Claim:
    """A pod that asks for room, and how: `preempt` or `reclaim`; `again`: a share plugin is asked about winners."""

    kind: str
    job: Job
    pod: Pod
    again: bool = False


class Claims:
    """The two actions of one session."""

    def __init__(self, scheduler: Scheduler) -> None:
        self.s = scheduler

    # ---- actions ----

    def preempt(self) -> None:
        """Starving jobs against others of their queue, then their tasks against their own."""
        by_queue = self._claimants()
        while by_queue:
            name = min(by_queue, key=lambda q: self.s.queue_key(self.s.cluster.queues[q]))
            jobs, seen = by_queue.pop(name), []
            while jobs:
                job = min(jobs, key=self.s.job_key)
                jobs.remove(job)
                seen.append(job)
                self._for_job("preempt", job, [j for j in self.s.cluster.jobs.values() if j.queue == name])
            for job in seen:
                self._within(job)

    def reclaim(self) -> None:
        """Starving jobs, one a turn, against running pods of other queues."""
        by_queue = self._claimants()
        while by_queue:
            name = min(by_queue, key=lambda q: self.s.queue_key(self.s.cluster.queues[q]))
            if not by_queue[name] or self.s.overused(name):
                del by_queue[name]
                continue
            job = min(by_queue[name], key=self.s.job_key)
            by_queue[name].remove(job)
            others = [
                other
                for other in self.s.cluster.jobs.values()
                if other.queue != name and self.s.cluster.queues[other.queue].reclaimable
            ]
            self._for_job("reclaim", job, others)

    def _claimants(self) -> dict[str, list[Job]]:
        found: dict[str, list[Job]] = {}
        for job in self.s.cluster.jobs.values():
            waits = any(pod.status == "Pending" and not pod.gated for pod in job.pods)
            admitted = job.phase not in ("", "Pending")
            if waits and admitted and self.starving(job) and self.s.job_valid(job):
                found.setdefault(job.queue, []).append(job)
        return found

    def starving(self, job: Job) -> bool:
        for tier in self.s.tiers("enableJobStarving"):
            named = [plugin["name"] for plugin in tier if plugin["name"] in ("priority", "gang")]
            if named:
                held = job.count(*BEING_PLACED, "Succeeded", "Pipelined")
                return all(held < (len(job.pods) if n == "priority" else job.min_available) for n in named)
        return False

    def _tasks(self, job: Job) -> list[Pod]:
        return self.s.in_task_order([p for p in job.pods if p.status == "Pending" and not p.gated])

    def _for_job(self, kind: str, job: Job, others: list[Job]) -> None:
        mark = len(self.s.journal)
        for pod in self._tasks(job):
            if not self.starving(job):
                break
            if kind == "preempt" and not self._may_preempt(pod):
                continue
            if kind == "reclaim" and (pod.never_preempts or not self.s.may_take(job, pod)):
                continue
            self._claim(Claim(kind, job, pod), [other for other in others if other is not job], True)
        fits = self.s.to_come and not any(pod.evicted for pod, _ in self.s.journal[mark:])
        if fits or not self.s.job_pipelined(job):
            self.s.undo(mark)

    def _within(self, job: Job) -> None:
        for pod in self._tasks(job):
            if not self._may_preempt(pod) or not self._claim(Claim("preempt", job, pod), [job], False):
                return

    def _may_preempt(self, pod: Pod) -> bool:
        if pod.never_preempts:
            return False
        node = self.s.nominated(pod)
        return node is None or not self.s.is_cleared_for(pod, node, before=True)

    # ---- one claim ----

    def _claim(self, claim: Claim, others: list[Job], free_too: bool) -> bool:
        s, pod = self.s, claim.pod
        if free_too and s.allocatable(claim.job, pod):
            able = s.passes if pod.best_effort else s.possible
            group = [node for node in s.cluster.nodes.values() if able(pod, node)]
            idle = [node for node in group if not pod.best_effort and filters.fits(pod.request, node.idle())]
            if group:
                s.put(pod, s.best(pod, idle or group), "Pipelined")
                return True
        return any(self._on_node(claim, others, node) for node in self._walk(claim, others))

    def _walk(self, claim: Claim, others: list[Job]) -> list[Node]:
        s = self.s
        allowed = [node for node in s.cluster.nodes.values() if s.allowed_by_object(claim.pod, node)]
        if claim.kind == "reclaim":
            fixed = sorted(allowed, key=lambda node: -s.rank[node.name])
            return sorted(fixed, key=lambda node: self._price(claim, others, node))
        return s.ranked(claim.pod, allowed) if allowed else []

    def _price(self, claim: Claim, others: list[Job], node: Node) -> int:
        """What those cost in all who would go there first; what is cheaper than nothing saves nothing."""
        victims = self._victims(claim, others, node)
        going = self._fewest(claim.pod, node, victims) or victims[:1]
        return sum(max(0, deletion_cost(victim)) for victim in going)

    def _victims(self, claim: Claim, others: list[Job], node: Node) -> list[Pod]:
        """Those who may go on a node, least valuable first; none where all are too few."""
        pod = claim.pod
        candidates = self._candidates(claim, others, node)
        chosen = self._allowed(claim, candidates)
        victims = [victim for _, victim in candidates if victim in chosen]
        room = plus(node.future_idle(), total_of(victim.request for victim in victims))
        return victims if pod.best_effort or filters.fits(pod.request, room) else []

    def _on_node(self, claim: Claim, others: list[Job], node: Node) -> bool:
        pod = claim.pod
        victims = self._victims(claim, others, node)
        if not victims:
            return False
        mark = len(self.s.journal)
        fewest = self._fewest(pod, node, victims)
        if fewest:
            if self._redo(claim, node, mark, fewest):
                return True
            self.s.undo(mark)
        taken: list[Pod] = []
        for victim in victims:
            self.s.evict(victim, claim.kind)
            taken.append(victim)
            if self._settle(claim, node):
                break
        else:
            self.s.undo(mark)
            return False
        for victim in reversed(taken[:-1]):
            fewer = [other for other in taken if other is not victim]
            if self._redo(claim, node, mark, fewer):
                taken = fewer
            else:
                self._redo(claim, node, mark, taken)
        return True

    def _redo(self, claim: Claim, node: Node, mark: int, victims: list[Pod]) -> bool:
        self.s.undo(mark)
        for victim in victims:
            self.s.evict(victim, claim.kind)
        return self._settle(claim, node)

    def _settle(self, claim: Claim, node: Node) -> bool:
        s, pod = self.s, claim.pod
        fits = pod.best_effort or filters.fits(pod.request, node.future_idle())
        if s.allocatable(claim.job, pod) and fits and s.passes(pod, node):
            s.put(pod, node, "Pipelined")
            return True
        return False

    def _fewest(self, pod: Pod, node: Node, victims: list[Pod]) -> list[Pod]:
        """The shortest stretch that gives enough, without its members that it does not need, most valuable first."""
        if pod.best_effort:
            return []
        future = node.future_idle()
        if filters.fits(pod.request, future):
            return []
        taken: list[Pod] = []
        for victim in victims:
            taken.append(victim)
            if filters.fits(pod.request, plus(future, total_of(v.request for v in taken))):
                break
        for victim in reversed(taken[:-1]):
            without = [other for other in taken if other is not victim]
            if filters.fits(pod.request, plus(future, total_of(v.request for v in without))):
                taken = without
        return taken

    # ---- who ----

    def _candidates(self, claim: Claim, others: list[Job], node: Node) -> list[tuple[Job, Pod]]:
        statuses = ("Running",) if claim.kind == "reclaim" else ("Running", "Bound")
        found = [
            (job, pod)
            for job in others
            for pod in job.pods
            if pod.node == node.name and pod.status in statuses and pod.preemptable
            if pod.best_effort or not claim.pod.best_effort
        ]
        return self._least_valuable_first(claim, found)

    def _least_valuable_first(self, claim: Claim, pairs: list[tuple[Job, Pod]]) -> list[tuple[Job, Pod]]:
        """By queue (nearest, then the inverse of the queue order), job order reversed without its age, task order reversed."""
        s = self.s
        names = sorted({job.queue for job, _ in pairs})
        queues = sorted((s.cluster.queues[name] for name in names), key=s.queue_key, reverse=True)
        if s.capacity is not None:
            capacity = s.capacity
            queues.sort(key=lambda queue: -capacity.nearness(claim.job.queue, queue.name))
        place = {queue.name: row for row, queue in enumerate(queues)}
        pairs = self._cheap_first(sorted(pairs, key=lambda pair: self._task_key(*pair), reverse=True))

        def compare(left: tuple[Job, Pod], right: tuple[Job, Pod]) -> int:
            one, other = place[left[0].queue], place[right[0].queue]
            if one != other:
                return one - other
            a, b = s.job_key(left[0])[:-2], s.job_key(right[0])[:-2]
            return 0 if a == b else -1 if a > b else 1

        return sorted(pairs, key=cmp_to_key(compare))

    def _cheap_first(self, pairs: list[tuple[Job, Pod]]) -> list[tuple[Job, Pod]]:
        """In the places of each job: of equal priority, those first whose deletion costs less."""
        out = list(pairs)
        for job in {id(job): job for job, _ in pairs}.values():
            places = [at for at, pair in enumerate(pairs) if pair[0] is job]
            mine = [pairs[at] for at in places]
            mine.sort(key=lambda pair: (-self._task_key(*pair)[0], deletion_cost(pair[1])))
            for at, pair in zip(places, mine, strict=True):
                out[at] = pair
        return out

    def _task_key(self, job: Job, pod: Pod) -> tuple[float, int, float, str]:
        """Priority, then the number in the name where all of the job that hold a node have one, then age."""
        numbers = [pod_index(member.name) for member in job.pods if member.status in ("Running", "Bound")]
        number = 0 if None in numbers else pod_index(pod.name) or 0
        by_priority = self.s.enabled("priority", "enableTaskOrder") is not None
        return (-pod.priority if by_priority else 0, number, pod.created, pod.uid)

    def _allowed(self, claim: Claim, candidates: list[tuple[Job, Pod]]) -> list[Pod]:
        flag = "enablePreemptable" if claim.kind == "preempt" else "enableReclaimable"
        chosen: list[Pod] = []
        for tier in self.s.tiers(flag):
            listed: list[Pod] = []
            ended, only_kept = False, claim.kind == "preempt"
            for plugin in tier:
                named = self._asked(plugin, claim, candidates)
                if named is None:
                    continue
                only_kept = only_kept and plugin["name"] == "conformance"
                if not named:
                    ended = True
                    break
                listed = [pod for pod in listed if pod in named] if listed else named
            if listed and not ended and not only_kept:
                chosen = listed
                break
        for plugin in [plugin for tier in self.s.tiers(flag) for plugin in tier]:
            if plugin["name"] in ("proportion", "capacity", *self.s.also_vetoes):
                winners = [pair for pair in candidates if pair[1] in chosen]
                named = self._asked(plugin, Claim(claim.kind, claim.job, claim.pod, True), winners)
                if winners and named is not None:
                    chosen = [pod for pod in chosen if pod in named]
        return chosen

    def _asked(self, plugin: Object, claim: Claim, pairs: list[tuple[Job, Pod]]) -> list[Pod] | None:
        """A plugin's answer: the pods that may go, None when it does not say."""
        if claim.kind == "preempt":
            judge = {
                "priority": self._priority,
                "gang": self._gang,
                "conformance": self._conformance,
                "drf": self._drf,
            }.get(plugin["name"])
        else:
            judge = {
                "gang": self._gang,
                "conformance": self._conformance,
                "drf": self._hierarchy if plugin.get("enableHierarchy") else None,
                "proportion": self._proportion,
                "capacity": self._capacity,
            }.get(plugin["name"])
        return None if judge is None else judge(claim, pairs)

    def _priority(self, claim: Claim, pairs: list[tuple[Job, Pod]]) -> list[Pod]:
        def lower(job: Job, pod: Pod) -> bool:
            gap = claim.pod.priority - pod.priority if job is claim.job else claim.job.priority - job.priority
            return gap >= (0 if claim.again else 1)

        return [pod for job, pod in pairs if lower(job, pod)]

    def _gang(self, claim: Claim, pairs: list[tuple[Job, Pod]]) -> list[Pod]:
        spare: dict[str, int] = {}
        of_role: dict[tuple[str, str], int] = {}
        found = []
        for job, pod in pairs:
            if job.id not in spare:
                ready = [p for p in job.pods if p.status in BEING_PLACED | {"Succeeded"}]
                dying = [p for p in ready if p.object["metadata"].get("deletionTimestamp")]
                spare[job.id] = len(ready) - len(dying) - job.min_available
                if job.min_available >= sum(job.role_minimum.values()):
                    for role, least in job.role_minimum.items():
                        of_role[job.id, role] = sum(p.role == role for p in ready) - least
            if job.role_minimum.get(pod.role) and (job.id, pod.role) in of_role:
                of_role[job.id, pod.role] -= 1
                if of_role[job.id, pod.role] < 0:
                    continue
            if spare[job.id] > 0:
                found.append(pod)
            spare[job.id] -= 1
        return found

    def _conformance(self, claim: Claim, pairs: list[tuple[Job, Pod]]) -> list[Pod]:
        return [pod for _, pod in pairs if not pod.critical]

    def _drf(self, claim: Claim, pairs: list[tuple[Job, Pod]]) -> list[Pod]:
        mine = shares.share_of(plus(claim.job.claimed(), claim.pod.request), self.s.total)
        left: dict[str, Amounts] = {}
        found = []
        for job, pod in pairs:
            left[job.id] = minus(left.get(job.id, job.claimed()), pod.request)
            theirs = shares.share_of(left[job.id], self.s.total)
            if mine < theirs or abs(mine - theirs) <= 1e-6:
                found.append(pod)
        return found

    def _hierarchy(self, claim: Claim, pairs: list[tuple[Job, Pod]]) -> list[Pod]:
        """Each candidate alone."""
        tree = self.s.hierarchy
        return [p for job, p in pairs if tree.goes_before(claim.job, claim.pod.request, job.queue, p)]

    def _proportion(self, claim: Claim, pairs: list[tuple[Job, Pod]]) -> list[Pod]:
        left: dict[str, Amounts] = {}
        found = []
        for job, pod in pairs:
            queue = self.s.cluster.queues[job.queue]
            held = left.setdefault(job.queue, shares.claimed(self.s.cluster, queue))
            left[job.queue] = minus(held, pod.request)
            broken = any(
                pod.request.get(name, 0) > 0 and left[job.queue].get(name, 0) < sure
                for name, sure in queue.guarantee.items()
            )
            if self._is_over(held, self.s.share[job.queue].deserved) and not broken:
                found.append(pod)
        return found

    def _is_over(self, held: Amounts, deserved: Amounts) -> bool:
        return any(value - deserved.get(name, 0) >= EPSILON for name, value in held.items())

    def _capacity(self, claim: Claim, pairs: list[tuple[Job, Pod]]) -> list[Pod]:
        assert self.s.capacity is not None
        claimant: Queue = self.s.cluster.queues[claim.job.queue]
        named = [(job.queue, pod) for job, pod in pairs]
        return self.s.capacity.gives(claimant, claim.pod.request, named)


def deletion_cost(pod: Pod) -> int:
    notes = pod.object["metadata"].get("annotations") or {}
    try:
        return int(notes.get("controller.kubernetes.io/pod-deletion-cost", 0))
    except ValueError:
        return 0

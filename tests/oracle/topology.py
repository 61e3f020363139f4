"""The oracle's HyperNodes: the tree, its sums, who may hold a job, how HyperNodes and nodes are scored.

Jobs with a topology are one part each; sub-groups are not in the random clusters. Choices: of equal solutions the one whose
HyperNode could score best, then by name; of equal HyperNodes the one with more of the job's tasks, then by name.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.oracle.facts import Amounts, Job, Node, Object, Pod, total_of

if TYPE_CHECKING:
    from tests.oracle.scheduler import Scheduler

TOP = "<cluster-top-hypernode>"


class Topology:
    """One session. `held`: the HyperNode over the tasks of each job that has a topology, None for none."""

    def __init__(self, scheduler: Scheduler, hypernodes: list[Object]) -> None:
        self.s = scheduler
        self.names = sorted(item["metadata"]["name"] for item in hypernodes)
        self.tiers = {item["metadata"]["name"]: item["spec"]["tier"] for item in hypernodes}
        self.tier_names = {
            item["spec"]["tierName"]: item["spec"]["tier"]
            for item in hypernodes
            if item["spec"].get("tierName")
        }
        self.lowest = min(self.tiers.values(), default=1)
        self.highest = max(self.tiers.values(), default=0) + 1
        self.tiers[TOP] = self.highest
        self.parent: dict[str, str] = {}
        own: dict[str, set[str]] = {}
        for item in hypernodes:
            name = item["metadata"]["name"]
            for member in item["spec"]["members"]:
                found = member["selector"]["exactMatch"]["name"]
                if member["type"] == "HyperNode":
                    self.parent[found] = name
                else:
                    own.setdefault(name, set()).add(found)
        nodes = scheduler.cluster.nodes
        self.nodes = {TOP: set(nodes)}
        for name in self.names:
            self.parent.setdefault(name, TOP)
            self.nodes[name] = {n for h in self.inside(name) for n in own.get(h, ()) if n in nodes}
        self.idle = {h: total_of(nodes[n].idle() for n in found) for h, found in self.nodes.items()}
        self.future = {h: total_of(nodes[n].future_idle() for n in found) for h, found in self.nodes.items()}
        self.held = {
            job.id: self._covering([p.node for p in job.pods if p.status in ("Bound", "Running", "Binding")])
            for job in scheduler.cluster.jobs.values()
            if job.topology is not None
        }

    # ---- the tree ----

    def inside(self, name: str) -> list[str]:
        """A HyperNode and all below it, by name, the top last."""
        if name == TOP:
            return [*self.names, TOP]
        return [other for other in self.names if name in self.above(other)]

    def above(self, name: str) -> list[str]:
        """A HyperNode and all above it, the top last."""
        path = [name]
        while path[-1] != TOP:
            path.append(self.parent.get(path[-1], TOP))
        return path

    def lca(self, one: str | None, other: str | None) -> str | None:
        if one is None or other is None:
            return one or other
        return next(name for name in self.above(one) if name in self.above(other))

    def leaf(self, node: str) -> str | None:
        if not self.names:
            return TOP
        return next((h for h in self.names if self.tiers[h] == self.lowest and node in self.nodes[h]), None)

    def _covering(self, nodes: list[str | None]) -> str | None:
        """The HyperNode of the lowest tier that holds all of them."""
        wanted = {node for node in nodes if node in self.s.cluster.nodes}
        if not wanted:
            return None
        holding = [h for h in (*self.names, TOP) if wanted <= self.nodes[h]]
        return min(holding, key=lambda h: (self.tiers[h], h))

    # ---- jobs ----

    def limit(self, job: Job) -> int | None:
        """The highest tier that a job may spread over; None when it names none that is known."""
        topology = job.topology or {}
        if topology.get("mode", "hard") == "soft":
            return self.highest
        if topology.get("highestTierAllowed") is not None:
            return int(topology["highestTierAllowed"])
        return self.tier_names.get(topology.get("highestTierName", ""))

    def gradients(self, job: Job, root: str, whole: bool) -> list[list[str]]:
        """HyperNodes by tier that may hold the job; `whole`: by its minResources, else by its pending pods."""
        limit, held = self.limit(job), self.held[job.id]
        assert limit is not None
        start: str | None = root
        if held is not None:
            start = self.around(held, root, limit)
        if start is None:
            return []
        found = [h for h in self.inside(start) if self.tiers[h] <= limit]
        if held is None and whole:
            found = self._holding(found, job.min_resources or {})
        elif held is None:
            found = self._holding(found, self._pending(job)) or self._holding(found, self._minimum(job))
        return [
            [h for h in found if self.tiers[h] == tier] for tier in sorted({self.tiers[h] for h in found})
        ]

    def lets(self, job: Job, node: str) -> bool:
        """May a pod that requests nothing be on the node?"""
        limit, held = self.limit(job) if job.topology is not None else None, self.held.get(job.id)
        if limit is None or limit >= self.highest:
            return True
        if held is not None:
            around = self.around(held, TOP, limit)
            return around is not None and node in self.nodes[around]
        allowed = [h for h in self.names if self.tiers[h] <= limit]
        waiting = [pod for pod in job.pods if pod.status == "Pending"]
        better = [h for h in allowed if self.lets_all(waiting, h)]
        return any(node in self.nodes[h] for h in better or allowed)

    def lets_all(self, waiting: list[Pod], hypernode: str) -> bool:
        """Are there slots for all these pods, and nodes that would let each in?"""
        nodes = [self.s.cluster.nodes[name] for name in self.nodes[hypernode]]
        slots = sum(max(0, node.idle().get("pods", 0)) for node in nodes)
        return slots >= len(waiting) and all(
            any(self.s.allowed_by_object(pod, node) for node in nodes) for pod in waiting
        )

    def joins(self, job: Job, pod: Pod) -> None:
        """A pod that requests nothing was given a node."""
        if job.topology is not None and pod.node is not None:
            self.held[job.id] = self.lca(self.held[job.id], self._covering([pod.node]))

    def around(self, held: str, root: str, limit: int) -> str | None:
        if self.tiers[held] > limit:
            return None
        around = [h for h in self.above(held) if self.tiers[h] <= limit][-1]
        if root in self.above(around):
            return around
        return root if around in self.above(root) else None

    def _holding(self, hypernodes: list[str], need: Amounts) -> list[str]:
        rows = {"cpu", "memory", *need}
        return [
            h
            for h in hypernodes
            if any(
                all(need.get(k, 0) <= sums.get(k, 0) for k in rows) for sums in (self.idle[h], self.future[h])
            )
        ]

    @staticmethod
    def _minimum(job: Job) -> Amounts:
        """The least that as many pending pods as the job needs can ask for, resource by resource."""
        requests = [pod.request for pod in job.pods if pod.status == "Pending"]
        names = {name for request in requests for name in request}
        count = max(1, job.min_available)
        sums = {name: sum(sorted(request.get(name, 0) for request in requests)[:count]) for name in names}
        return {name: amount for name, amount in sums.items() if amount}

    @staticmethod
    def _pending(job: Job) -> Amounts:
        total = total_of(pod.request for pod in job.pods if pod.status == "Pending")
        return {name: amount for name, amount in total.items() if amount}

    # ---- scores ----

    def _arguments(self) -> Object:
        return self.s.enabled("network-topology-aware", "enabledHyperNodeOrder") or {}

    def _rating(self, hypernode: str, request: Amounts) -> float:
        """Weighted mean share in use with the request; 0 where it overflows."""
        nodes = [self.s.cluster.nodes[n] for n in self.nodes[hypernode]]
        used = total_of(node.requested() for node in nodes)
        whole = total_of(node.allocatable for node in nodes)
        parts = [(name, request[name]) for name in ("cpu", "memory") if request.get(name)]
        if not parts:
            return 0.0
        mean = 0.0
        for name, amount in parts:
            after = used.get(name, 0) + amount
            if after > whole.get(name, 0):
                return 0.0
            mean += after / whole[name]
        return mean / len(parts)

    def order(self, job: Job, hypernode: str) -> tuple[float, float]:
        """Score of a HyperNode for all tasks of the job, and by how many of them are there."""
        asked = total_of(pod.request for pod in job.pods)
        there = sum(pod.node in self.nodes[hypernode] for pod in job.pods if pod.node)
        return self._rating(hypernode, asked) * 100.0, there / len(job.pods) * 100.0

    def node_scores(
        self, pod: Pod, job: Job | None, running: str | None, group: list[Node]
    ) -> dict[str, float]:
        """By node: near the job's tasks so far, or for a pod without a topology into HyperNodes that are full."""
        if job is not None and job.topology is not None:
            return {} if running is None else self._near(job, running, group)
        if not self.names:
            return {}
        return {node.name: self._packed(pod, node) for node in group}

    def _near(self, job: Job, running: str, group: list[Node]) -> dict[str, float]:
        scores = {}
        span = self.highest - self.lowest
        for node in group:
            leaf = self.leaf(node.name)
            if leaf is None:
                scores[node.name] = 0.0
            elif leaf == running:
                scores[node.name] = 1.0
            else:
                joined = self.lca(leaf, running)
                assert joined is not None
                scores[node.name] = (self.highest - self.tiers[joined]) / span if span else 1.0
        best = [name for name, score in scores.items() if score == max(scores.values())]
        if len(best) > 1:
            places = [self.leaf(p.node) for p in job.pods if p.node in self.s.cluster.nodes]
            for name in best:
                leaf = self.leaf(name)
                if leaf is not None:
                    scores[name] += places.count(leaf) / len(job.pods)
        return {name: score * 100.0 for name, score in scores.items()}

    def _packed(self, pod: Pod, node: Node) -> float:
        total = weights = 0.0
        for tier in range(self.lowest, self.highest + 1):
            weight = 0.8 ** (tier - 1)
            here = [h for h in (*self.names, TOP) if self.tiers[h] == tier and node.name in self.nodes[h]]
            total += (self._rating(here[0], pod.request) if here else 1.0) * weight
            weights += weight
        return total / weights * 100.0


class NearTurn:
    """A turn of a job whose topology names a tier: dry runs in every HyperNode of a tier, the best one is kept."""

    def __init__(self, scheduler: Scheduler, job: Job, tasks: list[Pod]) -> None:
        self.s = scheduler
        self.t = scheduler.topology
        self.job = job
        self.tasks = tasks

    def run(self) -> bool:
        s, job = self.s, self.job
        held = self.t.held[job.id]
        groups = self.t.gradients(job, TOP, True)
        mates = any(pod.best_effort for pod in job.pods)
        for group, careful in [(group, True) for group in groups if mates] + [
            (group, False) for group in groups
        ]:
            best: tuple[float, str, list[tuple[Pod, str, str]], list[Pod], str | None] | None = None
            for hypernode in sorted(group, key=lambda h: (-self._bound(h), h)):
                mark, failed = len(s.journal), set(s.failed_roles.get(job.id, ()))
                found = self._place(hypernode)
                if found is not None and not (careful and not self._leaves_room(hypernode, held)):
                    score, left = found
                    steps = [(pod, str(pod.node), pod.status) for pod, _ in s.journal[mark:]]
                    if best is None or score > best[0]:
                        best = (score, hypernode, steps, left, self.t.held[job.id])
                s.undo(mark)
                s.failed_roles[job.id] = failed
                self.t.held[job.id] = held
            if best is not None:
                return self._keep(best[1], best[2], best[3], best[4])
        self.tasks.clear()
        return False

    def _leaves_room(self, hypernode: str, held: str | None) -> bool:
        """Could its pods that request nothing be near the others, were these inside the HyperNode?"""
        limit = self.t.limit(self.job)
        assert limit is not None
        mates = [p for p in self.job.pods if p.status == "Pending" and p.best_effort and not p.gated]
        if not mates or limit >= self.t.highest:
            return True
        joined = self.t.lca(held, hypernode)
        around = None if joined is None else self.t.around(joined, TOP, limit)
        return around is not None and self.t.lets_all(mates, around)

    def _keep(
        self, hypernode: str, steps: list[tuple[Pod, str, str]], left: list[Pod], held: str | None
    ) -> bool:
        s, job = self.s, self.job
        for pod, node, status in steps:
            s.put(pod, s.cluster.nodes[node], status)
        self.tasks[:] = left
        self.t.held[job.id] = self.t.lca(self.t.held[job.id], held)
        if not s.job_ready(job):
            return False
        s.bind([pod for pod, _, status in steps if status == "Allocated"])
        return bool(left)

    def _bound(self, hypernode: str) -> float:
        return max(self.t.order(self.job, h)[0] for h in self.t.inside(hypernode))

    def _place(self, inside: str) -> tuple[float, list[Pod]] | None:
        """Place tasks in the best HyperNode inside; the score and the tasks left, None when it cannot stay."""
        job = self.job
        for group in self.t.gradients(job, inside, False):
            scores = {h: self.t.order(job, h) for h in group}
            for hypernode in sorted(group, key=lambda h: (-scores[h][0], -scores[h][1], h)):
                left = self._try(hypernode)
                if left is not None:
                    return scores[hypernode][0], left
        return None

    def _try(self, hypernode: str) -> list[Pod] | None:
        s, job = self.s, self.job
        if hypernode != TOP and not self.t.nodes[hypernode]:
            return None
        mark, left = len(s.journal), list(self.tasks)
        s.failed_roles[job.id] = set()
        s.fill(job, left, self.t.nodes[hypernode])
        if len(s.journal) > mark and (s.job_ready(job) or s.job_pipelined(job)):
            self.t.held[job.id] = self.t.lca(self.t.held[job.id], hypernode)
            return left
        s.undo(mark)
        return None

"""Random clusters that are nearly full, with queues, priorities, gangs and budgets, and policies that evict."""

from __future__ import annotations

import random
from dataclasses import dataclass, replace

from tests.core.world import Job, Node, Pod, Queue, snapshot
from vcray.config.scheduler import load_scheduler_config
from vcray.core.budgets import Budget, BudgetTable
from vcray.core.policy import Policy, build_policy
from vcray.core.snapshot import Snapshot
from vcray.core.tables import HostPort, Phase, PodFacts, Requirement, Status
from vcray.registry import discover

APPS = ("red", "blue")


@dataclass
class Crowd:
    """A cluster as Python values, and the policy that runs on it."""

    number: int
    conf: str
    nodes: list[Node]
    jobs: list[Job]
    queues: list[Queue]
    budgets: tuple[Budget, ...]
    guarantee: dict[str, float]
    """Cpus that each queue is sure of."""
    deserved: dict[str, float]

    def snapshot(self) -> Snapshot:
        """All tables."""
        made = snapshot(self.nodes, self.jobs, self.queues)
        cpu = made.space.rows["cpu"]
        for row, queue in enumerate(self.queues):
            for table, named, amounts in (
                (made.queues.guarantee, made.queues.guarantee_named, self.guarantee),
                (made.queues.deserved, made.queues.deserved_named, self.deserved),
            ):
                table[cpu, row] = round(amounts[queue.name] * 1000)
                named[cpu, row] = amounts[queue.name] > 0
        if not self.budgets:
            return made
        return replace(made, details=replace(made.details, budgets=BudgetTable(self.budgets)))

    def policy(self) -> Policy:
        """The policy of its configuration."""
        return build_policy(load_scheduler_config(self.conf), discover())


def conf(rng: random.Random, action: str, share: str) -> str:
    """Plugins in one of several tiers; the share plugin may stand in either."""
    first = ["priority", "gang", "conformance"]
    second = ["drf", "predicates", "nodeorder", "binpack"]
    rng.choice((first, second)).append(share)
    if rng.random() < 0.25:
        rng.choice((first, second)).append("pdb")
    if rng.random() < 0.3:
        first.remove("priority")
        second.insert(0, "priority")

    def listed(names: list[str]) -> str:
        flags = ", enablePreemptable: false" if rng.random() < 0.5 else ""
        return ", ".join(f"{{name: {name}{flags if name in ('gang', 'drf') else ''}}}" for name in names)

    tail = ""
    if action == "preempt" and rng.random() < 0.3:
        tail = (
            "configurations:\n- name: preempt\n  arguments: "
            "{enableTopologyAwarePreemption: true, minCandidateNodesPercentage: 100}\n"
        )
    return (
        f'actions: "allocate, {action}, backfill"\ntiers:\n- plugins: [{listed(first)}]\n'
        f"- plugins: [{listed(second)}]\n{tail}"
    )


def crowd(number: int, action: str | None = None) -> Crowd:
    """A random crowd."""
    rng = random.Random(number)
    share = rng.choice(("proportion", "capacity"))
    chosen = action or rng.choice(("preempt", "reclaim", "gangpreempt", "gangreclaim", "reclaim, preempt"))
    several = 2 if "reclaim" in chosen else 1
    queues = [Queue(name) for name in ("qa", "qb", "qc")[: rng.randrange(several, 4)]]
    nodes = [
        Node(f"n{i}", cpu=rng.choice((4, 6, 8)), gpu=rng.choice((0, 2)), pods=rng.choice((6, 110)))
        for i in range(rng.randrange(1, 6))
    ]
    total = sum(node.cpu for node in nodes)
    part = total / len(queues)
    deserved = {queue.name: float(round(part * rng.uniform(0.4, 1.1))) for queue in queues}
    sure = {
        name: float(rng.randrange(0, int(amount) + 1)) if rng.random() < 0.4 else 0.0
        for name, amount in deserved.items()
    }
    jobs = _running(rng, nodes, queues) + _pending(rng, queues)
    if rng.random() < 0.5:
        jobs = jobs[::-1]
    budgets = tuple(
        Budget(f"ns/{app}", (Requirement("app", "In", (app,)),), rng.randrange(0, 3)) for app in APPS
    )
    return Crowd(number, conf(rng, chosen, share), nodes, jobs, queues, budgets, sure, deserved)


def _kind(rng: random.Random) -> dict[str, object]:
    kind: dict[str, object] = {"cpu": rng.choice((0.5, 1, 2, 3)), "gpu": rng.choice((0, 0, 1))}
    if rng.random() < 0.15:
        kind["spec"] = {"ports": (HostPort("0.0.0.0", "TCP", 8000),)}
    if rng.random() < 0.08:
        kind["cpu"] = kind["gpu"] = 0
    return kind


def _pod(rng: random.Random, name: str, priority: int, kind: dict[str, object], **more: object) -> Pod:
    facts = PodFacts(
        priority=priority,
        preemptable=rng.random() > 0.05,
        never_preempts=rng.random() < 0.05,
        priority_class="system-node-critical" if rng.random() < 0.03 else "",
    )
    return Pod(
        name,
        priority=rng.choice((1, 1, priority)),
        facts=facts,
        labels={"app": rng.choice(APPS)},
        created=rng.randrange(3),
        **kind,  # type: ignore[arg-type]
        **more,  # type: ignore[arg-type]
    )


def _running(rng: random.Random, nodes: list[Node], queues: list[Queue]) -> list[Job]:
    room = {node.name: [node.cpu, node.gpu, float(node.pods), 1.0] for node in nodes}
    jobs: list[Job] = []
    for j in range(rng.randrange(6, 16)):
        priority, kind, pods = rng.choice((0, 0, 10, 20)), _kind(rng), []
        need = [float(kind.get("cpu", 0)), float(kind.get("gpu", 0)), 1.0, float("spec" in kind)]  # type: ignore[arg-type]
        for i in range(rng.randrange(1, 9)):
            node = rng.choice(nodes)
            left = room[node.name]
            if any(want > have for want, have in zip(need, left, strict=True)):
                continue
            room[node.name] = [have - want for want, have in zip(need, left, strict=True)]
            status = rng.choice((Status.RUNNING,) * 8 + (Status.BOUND, Status.RELEASING))
            pods.append(_pod(rng, f"r{j}-{i}", priority, kind, status=status, node=node.name))
        if pods:
            least = rng.randrange(0, len(pods) + 1) if rng.random() < 0.5 else 1
            queue = rng.choice((*queues[-1:] * 5, *queues)).name
            if rng.random() < 0.25:
                pods.append(_pod(rng, f"r{j}-new", priority, kind))
                least = len(pods)
            jobs.append(Job(f"r{j}", pods, least, queue, priority, rng.randrange(3), Phase.RUNNING))
    return jobs


def _pending(rng: random.Random, queues: list[Queue]) -> list[Job]:
    jobs = []
    for j in range(rng.randrange(1, 6)):
        priority, kind = rng.choice((0, 10, 20, 20)), _kind(rng)
        other = kind if rng.random() < 0.7 else _kind(rng)
        count = rng.randrange(1, 5)
        pods = [_pod(rng, f"p{j}-{i}", priority, rng.choice((kind, other))) for i in range(count)]
        least = count if rng.random() < 0.7 else rng.randrange(1, count + 1)
        jobs.append(Job(f"p{j}", pods, least, rng.choice(queues).name, priority, rng.randrange(3)))
    return jobs

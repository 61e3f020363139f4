"""Random small clusters with everything that placement looks at, from one integer."""

from __future__ import annotations

import random

from tests.core.world import Job, Node, Pod, Queue, snapshot
from vcray.core.snapshot import Snapshot
from vcray.core.tables import (
    HostPort,
    NodeTerm,
    PodTerm,
    Requirement,
    SpreadTerm,
    Status,
    Taint,
    Toleration,
)

ZONE, HOST = "zone", "kubernetes.io/hostname"
SOFT = Taint("old", "", "PreferNoSchedule")
HARD = Taint("gpu", "yes", "NoSchedule")


def random_spec(rng: random.Random, terms: bool) -> dict[str, object]:
    spec: dict[str, object] = {}
    if rng.random() < 0.2:
        spec["ports"] = (HostPort("0.0.0.0", "TCP", 8000 + rng.randrange(2)),)
    if rng.random() < 0.2:
        spec["node_selector"] = ((ZONE, rng.choice("ab")),)
    if rng.random() < 0.4:
        spec["node_preferred"] = tuple(
            NodeTerm((Requirement(ZONE, "In", (rng.choice("abc"),)),), rng.randrange(1, 50))
            for _ in range(rng.randrange(1, 3))
        )
    if rng.random() < 0.3:
        spec["tolerations"] = (Toleration("gpu", "Exists", "", ""),)
    if terms and rng.random() < 0.7:
        spec.update(_terms(rng))
    return spec


def _terms(rng: random.Random) -> dict[str, object]:
    """Selector 0 and 1 are two applications; a pod may be of either."""
    mine = tuple(s for s in (0, 1) if rng.random() < 0.5)
    spec: dict[str, object] = {"matches": mine}
    other = rng.randrange(2)
    if rng.random() < 0.3:
        spec["spread"] = (SpreadTerm(other, ZONE, 1, rng.random() < 0.5, self_match=other in mine),)
    if rng.random() < 0.3:
        key = rng.choice((ZONE, HOST))
        spec["anti_affinity"] = (PodTerm(other, key, self_match=other in mine),)
    elif rng.random() < 0.3:
        spec["affinity"] = (PodTerm(other, ZONE, self_match=other in mine),)
    if rng.random() < 0.3:
        weight = rng.choice((-1, 1)) * rng.randrange(1, 50)
        spec["preferred"] = (PodTerm(other, rng.choice((ZONE, HOST)), weight, other in mine),)
    return spec


def random_nodes(rng: random.Random) -> list[Node]:
    nodes = []
    for i in range(rng.randrange(1, 13)):
        name = f"n{i}"
        labels = {HOST: name}
        if rng.random() < 0.9:
            labels[ZONE] = rng.choice("abc")
        taints = tuple(taint for taint, p in ((SOFT, 0.3), (HARD, 0.15)) if rng.random() < p)
        nodes.append(
            Node(
                name,
                cpu=rng.choice((2, 4, 8)),
                mem=rng.choice((4, 8, 16)),
                gpu=rng.choice((0, 0, 2)),
                pods=rng.choice((4, 110)),
                labels=labels,
                taints=taints,
                ready=rng.random() < 0.95,
                cordoned=rng.random() < 0.05,
            )
        )
    return nodes


def random_pod(rng: random.Random, name: str, kinds: list[dict[str, object]]) -> Pod:
    kind = rng.choice(kinds)
    return Pod(name, **kind)  # type: ignore[arg-type]


def random_snapshot(seed: int, terms: bool = True, jobs: int = 6) -> Snapshot:
    """Running, ending and pending pods in gangs over two queues."""
    rng = random.Random(seed)
    nodes = random_nodes(rng)
    kinds: list[dict[str, object]] = [
        {
            "cpu": rng.choice((0.1, 0.5, 1, 2)),
            "mem": rng.choice((0.5, 1, 2)),
            "gpu": rng.choice((0, 0, 1)),
            "spec": random_spec(rng, terms),
        }
        for _ in range(rng.randrange(1, 5))
    ]
    if rng.random() < 0.4:
        kinds.append({"spec": random_spec(rng, terms)})
    made = [_running(rng, nodes, kinds)]
    for j in range(rng.randrange(1, jobs)):
        count = rng.randrange(1, 9)
        roles = [rng.choice(("", "w", "m")) for _ in range(count)]
        pods = []
        for i in range(count):
            pod = random_pod(rng, f"j{j}-p-{i}", kinds)
            pod.role, pod.index = roles[i], i
            pod.nominated = rng.choice(nodes).name if rng.random() < 0.05 else ""
            pod.gated = rng.random() < 0.05
            pods.append(pod)
        least = rng.randrange(0, count + 1) if rng.random() < 0.5 else count
        minimums = {r: rng.randrange(1, 3) for r in sorted(set(roles) - {""}) if rng.random() < 0.4}
        made.append(
            Job(
                f"j{j}",
                pods,
                least=least,
                roles=minimums,
                queue=rng.choice(("a", "b")),
                priority=rng.randrange(3),
                created=rng.randrange(3),
            )
        )
    queues = [Queue("root"), Queue("a", "root", priority=rng.randrange(2)), Queue("b", "root")]
    anti = tuple(PodTerm(s, key) for s in (0, 1) for key in (ZONE, HOST))
    return snapshot(nodes, made, queues, selectors=2, anti_terms=anti, preferred_terms=anti, seed=seed)


def _running(rng: random.Random, nodes: list[Node], kinds: list[dict[str, object]]) -> Job:
    pods = []
    for i in range(rng.randrange(0, 2 * len(nodes))):
        pod = random_pod(rng, f"run-p-{i}", kinds)
        pod.node = rng.choice(nodes).name
        pod.status = rng.choice((Status.RUNNING, Status.RUNNING, Status.BOUND, Status.RELEASING))
        pods.append(pod)
    return Job("run", pods, least=0, queue="a")


def preferring_snapshot(seed: int) -> Snapshot:
    """Gangs of one shape with several preferences on nodes of different size that fill up on the way."""
    rng = random.Random(seed)
    nodes = [
        Node(
            f"n{i}",
            cpu=rng.choice((1, 2, 3)),
            mem=rng.choice((8, 16)),
            labels={HOST: f"n{i}", ZONE: rng.choice("abcd")},
            taints=(SOFT,) if rng.random() < 0.3 else (),
        )
        for i in range(rng.randrange(3, 12))
    ]
    jobs = []
    for j in range(3):
        wanted = rng.sample("abcd", rng.randrange(1, 4))
        preferred = tuple(
            NodeTerm((Requirement(ZONE, "In", (zone,)),), rng.randrange(1, 30)) for zone in wanted
        )
        cpu, mem = rng.choice((0.5, 1)), rng.choice((0.5, 1, 2))
        pods = [
            Pod(f"j{j}-p-{i}", cpu, mem, spec={"node_preferred": preferred}, index=i)
            for i in range(rng.randrange(2, 14))
        ]
        jobs.append(Job(f"j{j}", pods, queue="a"))
    return snapshot(nodes, jobs, [Queue("a")], seed=seed)


def ending_snapshot(seed: int) -> Snapshot:
    """Full nodes on which pods are ending, and gangs that can only be promised their room."""
    rng = random.Random(seed)
    nodes = [
        Node(f"n{i}", cpu=rng.choice((3, 5, 8)), mem=rng.choice((8, 16)), labels={HOST: f"n{i}"})
        for i in range(rng.randrange(2, 8))
    ]
    held = []
    for node in nodes:
        ending = rng.randrange(0, int(node.cpu) + 1)
        held.append(Pod(f"{node.name}-end", ending, 4, status=Status.RELEASING, node=node.name))
        held.append(Pod(f"{node.name}-run", node.cpu - ending, 1, status=Status.RUNNING, node=node.name))
    jobs = [Job("held", held, least=0, queue="a")]
    for j in range(3):
        cpu, mem = rng.choice((0.5, 1)), rng.choice((0.25, 0.5, 1))
        pods = [Pod(f"j{j}-p-{i}", cpu, mem, index=i) for i in range(rng.randrange(2, 10))]
        jobs.append(Job(f"j{j}", pods, queue="a"))
    return snapshot(nodes, jobs, [Queue("a")], seed=seed)

"""`vcray bench mixed`: a busy cluster over many rounds, all usual actions and plugins on.

Jobs of every size arrive, run for a while and end: single pods, gangs, elastic jobs, in several queues and two priorities, more
than the cluster can hold, so that some wait, some are preempted and some reclaimed. Measured is the processor time of
each part of a round: taking in what changed, the snapshot, the decision. Nothing is written anywhere: decided pods run in the next
round, evicted ones come back waiting. The sequence follows from its numbers alone.
"""

from __future__ import annotations

import resource
import time
from dataclasses import dataclass, field
from random import Random

import numpy as np

from vcray.api.meta import JsonObject
from vcray.cache.cluster import ClusterCache
from vcray.cache.store import Event
from vcray.config.scheduler import load_scheduler_config
from vcray.core.decisions import Decisions
from vcray.core.policy import build_policy
from vcray.core.session import Carry, decide
from vcray.core.tables import PHASE_NAMES
from vcray.registry import discover

CONF = """
actions: "enqueue, allocate, backfill, reclaim, preempt"
tiers:
- plugins:
  - {name: priority}
  - {name: gang, enablePreemptable: false}
  - {name: conformance}
- plugins:
  - {name: overcommit}
  - {name: drf, enablePreemptable: false}
  - {name: predicates}
  - {name: proportion}
  - {name: nodeorder}
  - {name: binpack}
"""
SIZES = (1, 1, 1, 2, 4, 8, 16, 32)
CORES, GPUS = 64, 8
QUEUES = 8
LIVES = (3, 12)
"""A job that started ends after so many rounds."""


@dataclass(frozen=True, slots=True)
class MixedResult:
    """All rounds after the first third, while the cluster fills. Milliseconds of processor time a round; `placed` pods."""

    nodes: int
    rounds: int
    placed: int
    evicted: int
    waiting: int
    apply_ms: float
    snapshot_ms: float
    decide_ms: float
    decide_p99_ms: float
    pods_per_s: float
    peak_rss_mib: float


@dataclass(slots=True)
class _Job:
    group: JsonObject
    pods: dict[str, JsonObject]
    running: set[str] = field(default_factory=set)
    ends: int = 0


class _World:
    """The cluster as an API server would tell of it. `version` grows with every object."""

    def __init__(self, nodes: int, seed: int) -> None:
        self.cache = ClusterCache()
        self.random = Random(seed)
        self.version = 0
        self.jobs: dict[str, _Job] = {}
        self.made = 0
        self._events: list[Event] = []
        for number in range(QUEUES):
            self.tell("ADDED", _queue(f"q{number}", 1 + number % 3))
        for name, value in (("low", 10), ("high", 1000)):
            self.tell("ADDED", _priority(name, value))
        for number in range(nodes):
            self.tell("ADDED", _node(f"n{number:06d}"))
        self.flush()

    def tell(self, kind: str, item: JsonObject) -> None:
        """An event of the next batch."""
        self.version += 1
        metadata = item["metadata"]
        assert isinstance(metadata, dict)
        fresh: JsonObject = {**item, "metadata": {**metadata, "resourceVersion": str(self.version)}}
        self._events.append(Event(kind, str(item["kind"]), fresh))

    def flush(self) -> float:
        """Take the batch in; processor seconds."""
        started = time.process_time()
        self.cache.apply(self._events)
        self._events = []
        return time.process_time() - started

    def arrive(self) -> None:
        """One more job."""
        random = self.random
        name, size = f"job-{self.made:06d}", random.choice(SIZES)
        self.made += 1
        least = size if random.random() < 0.7 else max(1, size // 2)
        cpu, gpu = random.choice(((1, 0), (2, 0), (4, 1), (8, 1), (6, 2)))
        queue, priority = f"q{random.randrange(QUEUES)}", random.choice(("low", "low", "low", "high"))
        pods = {
            pod: _pod(pod, name, cpu, gpu, priority) for pod in (f"{name}-worker-{i}" for i in range(size))
        }
        group = _group(name, queue, least, priority, cpu * least, gpu * least)
        self.jobs[name] = _Job(group, pods)
        self.tell("ADDED", group)
        for pod in pods.values():
            self.tell("ADDED", pod)

    def end(self, now: int) -> None:
        """Jobs whose time is over go."""
        for name, job in [(n, job) for n, job in self.jobs.items() if job.running and job.ends <= now]:
            for item in (*job.pods.values(), job.group):
                self.tell("DELETED", item)
            del self.jobs[name]

    def carry_out(self, decisions: Decisions, now: int) -> tuple[int, int]:
        """Pods placed and evicted."""
        for update in decisions.groups:
            job = self.jobs[update.job.partition("/")[2]]
            self.tell("MODIFIED", {**job.group, "status": {"phase": PHASE_NAMES[update.status.phase]}})
        placed = 0
        for commit in decisions.commits:
            job = self.jobs[commit.job.partition("/")[2]]
            job.ends = job.ends or now + self.random.randint(*LIVES)
            for bind in commit.binds:
                name = bind.task.partition("/")[2]
                job.running.add(name)
                self.tell("MODIFIED", _running(job.pods[name], bind.node))
                placed += 1
        for evict in decisions.evictions:
            job = self.jobs[evict.job.partition("/")[2]]
            name = evict.task.partition("/")[2]
            job.running.discard(name)
            self.tell("MODIFIED", job.pods[name])
        return placed, len(decisions.evictions)


def run_mixed(nodes: int, rounds: int, arrivals: int) -> MixedResult:
    """Measure. `arrivals`: new jobs a round. ValueError when a size is below 1 or there are fewer than 6 rounds."""
    if min(nodes, arrivals) < 1 or rounds < 6:
        raise ValueError("at least 1 node, 1 arrival and 6 rounds are needed")
    world, carry = _World(nodes, seed=11), Carry()
    policy = build_policy(load_scheduler_config(CONF), discover())
    measured: list[tuple[float, float, float, int, int]] = []
    for now in range(rounds):
        for _ in range(arrivals):
            world.arrive()
        world.end(now)
        applied = world.flush()
        started = time.process_time()
        snapshot = world.cache.snapshot(1_790_000_000.0 + now, 1)
        frozen = time.process_time()
        decisions = decide(snapshot, policy, carry)
        decided = time.process_time()
        placed, evicted = world.carry_out(decisions, now)
        measured.append((applied, frozen - started, decided - frozen, placed, evicted))
    return _summed(nodes, rounds, measured[rounds // 3 :], world)


def _summed(
    nodes: int, rounds: int, rows: list[tuple[float, float, float, int, int]], world: _World
) -> MixedResult:
    table = np.array(rows)
    placed, total = int(table[:, 3].sum()), float(table[:, :3].sum())
    return MixedResult(
        nodes=nodes,
        rounds=rounds,
        placed=placed,
        evicted=int(table[:, 4].sum()),
        waiting=sum(len(job.pods) - len(job.running) for job in world.jobs.values()),
        apply_ms=round(float(table[:, 0].mean()) * 1000, 1),
        snapshot_ms=round(float(table[:, 1].mean()) * 1000, 1),
        decide_ms=round(float(table[:, 2].mean()) * 1000, 1),
        decide_p99_ms=round(float(np.percentile(table[:, 2], 99)) * 1000, 1),
        pods_per_s=round(placed / total, 1) if total else 0.0,
        peak_rss_mib=round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, 1),
    )


# ---- objects ----


def _object(version: str, kind: str, name: str, **parts: JsonObject) -> JsonObject:
    metadata: JsonObject = {
        "name": name,
        "uid": f"uid-{kind}-{name}",
        "creationTimestamp": "2026-01-01T00:00:00Z",
    }
    if kind in ("Pod", "PodGroup"):
        metadata["namespace"] = "bench"
    return {"apiVersion": version, "kind": kind, "metadata": metadata, **parts}


def _queue(name: str, weight: int) -> JsonObject:
    spec: JsonObject = {"weight": weight, "reclaimable": True}
    return _object("scheduling.volcano.sh/v1beta1", "Queue", name, spec=spec, status={"state": "Open"})


def _priority(name: str, value: int) -> JsonObject:
    return {**_object("scheduling.k8s.io/v1", "PriorityClass", name), "value": value}


def _node(name: str) -> JsonObject:
    amounts: JsonObject = {"cpu": str(CORES), "memory": "256Gi", "nvidia.com/gpu": str(GPUS), "pods": "110"}
    return _object("v1", "Node", name, spec={}, status={"allocatable": amounts, "conditions": []})


def _group(name: str, queue: str, least: int, priority: str, cpu: int, gpu: int) -> JsonObject:
    resources: JsonObject = {"cpu": str(cpu), **({"nvidia.com/gpu": str(gpu)} if gpu else {})}
    spec: JsonObject = {
        "minMember": least,
        "queue": queue,
        "priorityClassName": priority,
        "minResources": resources,
    }
    return _object("scheduling.volcano.sh/v1beta1", "PodGroup", name, spec=spec, status={})


def _pod(name: str, group: str, cpu: int, gpu: int, priority: str) -> JsonObject:
    requests: JsonObject = {
        "cpu": str(cpu),
        "memory": f"{2 * cpu}Gi",
        **({"nvidia.com/gpu": str(gpu)} if gpu else {}),
    }
    spec: JsonObject = {
        "schedulerName": "volcano",
        "priority": 1000 if priority == "high" else 10,
        "containers": [{"name": "main", "image": "train:1", "resources": {"requests": requests}}],
    }
    pod = _object("v1", "Pod", name, spec=spec, status={"phase": "Pending"})
    metadata = pod["metadata"]
    assert isinstance(metadata, dict)
    metadata["annotations"] = {"scheduling.k8s.io/group-name": group}
    return pod


def _running(pod: JsonObject, node: str) -> JsonObject:
    spec = pod["spec"]
    assert isinstance(spec, dict)
    return {**pod, "spec": {**spec, "nodeName": node}, "status": {"phase": "Running"}}

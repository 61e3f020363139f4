"""`vcray bench agent`: how long one single pod takes from its watch event to a node, at the agent's fast path.

Measured is what stands between the event and the binding request: the event becomes a row, the merge takes it in, a turn of
the fast path decides and assumes. Each pod is seen bound before the next comes, outside the measured time.
"""

from __future__ import annotations

import gc
import resource
import time
from dataclasses import dataclass

import numpy as np

from vcray.actors.agent import AgentPath
from vcray.actors.policies import policy_from
from vcray.api.meta import JsonObject
from vcray.api.names import AGENT_SCHEDULER_NAME, SCHEDULER_NAME
from vcray.cache.keeps import Keeps
from vcray.cache.merge import Merge
from vcray.cache.shard import CacheShard
from vcray.cache.store import Event
from vcray.config.scheduler import AGENT_CONF
from vcray.metrics import Metrics
from vcray.registry import discover

WARM_UP = 20


@dataclass(frozen=True, slots=True)
class AgentResult:
    """One run; times in milliseconds: `p50_ms` and `p99_ms` from event to decision, `turn_*` of the decision alone, `cpu_*`
    processor time from event to decision."""

    nodes: int
    running: int
    pods: int
    shapes: int
    placed: int
    p50_ms: float
    p99_ms: float
    turn_p50_ms: float
    turn_p99_ms: float
    cpu_p50_ms: float
    cpu_p99_ms: float
    peak_rss_mib: float


class _Cluster:
    """Nodes and running pods, with the fast path on them."""

    def __init__(self, nodes: int, running: int) -> None:
        registry = discover()
        self.path = AgentPath(
            policy_from(AGENT_CONF, registry), policy_from('actions: "backfill"', registry), Metrics()
        )
        self.merge = Merge()
        self._shard = CacheShard(0, Keeps(agents=frozenset({AGENT_SCHEDULER_NAME})))
        self._versions = 0
        self.see("Node", [_node(f"node-{index:05d}") for index in range(nodes)])
        places = [f"node-{index % nodes:05d}" for index in range(running)]
        self.see("Pod", [_pod(f"run-{at}", 0, SCHEDULER_NAME, node) for at, node in enumerate(places)])
        self.merge.snapshot(0.0, 0)

    def see(self, kind: str, objects: list[JsonObject]) -> None:
        """Tell of objects as the watch would."""
        for item in objects:
            self._versions += 1
            metadata = item["metadata"]
            assert isinstance(metadata, dict)
            metadata["resourceVersion"] = str(self._versions)
        delta = self._shard.apply([Event("MODIFIED", kind, item) for item in objects])
        self.path.saw(delta)
        self.merge.apply(delta)


def run_agent(nodes: int, running: int, pods: int, shapes: int) -> AgentResult:
    """Measure `pods` pods of `shapes` kinds, one after the other, with `running` pods there. ValueError for a size below 1."""
    if min(nodes, pods, shapes) < 1 or running < 0:
        raise ValueError("nodes, pods and shapes must be at least 1, running at least 0")
    cluster = _Cluster(nodes, running)
    times = np.zeros((3, pods))
    placed = 0
    gc.collect()
    gc.freeze()
    for index in range(-WARM_UP, pods):
        name, shape = f"pod-{index}", index % shapes
        pod = _pod(name, shape, AGENT_SCHEDULER_NAME, "")
        started, busy = time.perf_counter(), time.process_time()
        cluster.see("Pod", [pod])
        taken = time.perf_counter()
        order = cluster.path.turn(cluster.merge, float(index))
        ended, spent = time.perf_counter(), time.process_time() - busy
        binds = [] if order is None else [bind for commit in order.decisions.commits for bind in commit.binds]
        if index >= 0:
            times[:, index] = ended - started, ended - taken, spent
            placed += len(binds)
        cluster.see("Pod", [_pod(name, shape, AGENT_SCHEDULER_NAME, bind.node) for bind in binds])
    gc.unfreeze()
    (p50, turn_p50, cpu_p50), (p99, turn_p99, cpu_p99) = np.percentile(
        times * 1000, (50, 99), axis=1
    ).tolist()
    return AgentResult(
        nodes=nodes,
        running=running,
        pods=pods,
        shapes=shapes,
        placed=placed,
        p50_ms=round(p50, 3),
        p99_ms=round(p99, 3),
        turn_p50_ms=round(turn_p50, 3),
        turn_p99_ms=round(turn_p99, 3),
        cpu_p50_ms=round(cpu_p50, 3),
        cpu_p99_ms=round(cpu_p99, 3),
        peak_rss_mib=round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, 1),
    )


def _node(name: str) -> JsonObject:
    amounts: JsonObject = {"cpu": "64", "memory": "256Gi", "nvidia.com/gpu": "8", "pods": "110"}
    return {
        "kind": "Node",
        "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name}},
        "spec": {},
        "status": {"allocatable": amounts, "conditions": [{"type": "Ready", "status": "True"}]},
    }


def _pod(name: str, shape: int, scheduler: str, node: str) -> JsonObject:
    requests: JsonObject = {"cpu": f"{250 + 125 * (shape % 7)}m", "memory": f"{1 + shape % 5}Gi"}
    return {
        "kind": "Pod",
        "metadata": {"namespace": "bench", "name": name, "uid": f"uid-{name}"},
        "spec": {
            "schedulerName": scheduler,
            **({"nodeName": node} if node else {}),
            "containers": [{"name": "main", "image": "serve:1", "resources": {"requests": requests}}],
        },
        "status": {"phase": "Running" if node else "Pending"},
    }

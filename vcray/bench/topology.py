"""`vcray bench topology`: what the network costs. One `decide()` on an empty cluster of racks and spines, for several loads.

Nodes stand in racks of 16 (tier 1) and spines of 8 racks (tier 2); the last node belongs to no HyperNode. Loads: `off`: no
topology, the plugin off; `normal`: no topology, the plugin on, so that pods are packed by HyperNode; `hard`: every gang must
fit one rack or one spine, by its size; `soft`; `groups`: gangs in sub-groups of 8, each in one rack; `stuck`: gangs that must fit
a rack and cannot.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from vcray.bench.allocate import prepared
from vcray.config.scheduler import HELM_CONF, load_scheduler_config
from vcray.core.details import Details
from vcray.core.hypernodes import HyperNodeTable
from vcray.core.policy import Policy, build_policy
from vcray.core.session import decide
from vcray.core.snapshot import Snapshot
from vcray.core.tables import MISSING, Closeness, SubGroupPolicy
from vcray.registry import discover

RACK, SPINE = 16, 8
_KEY = "group"


@dataclass(frozen=True, slots=True)
class TopologyResult:
    """One load: pods placed, wall and processor time of the decision, and the rate."""

    load: str
    nodes: int
    pods: int
    gang: int
    shapes: int
    placed: int
    wall_s: float
    cpu_s: float
    pods_per_s: float


def run_topology(
    nodes: int, pods: int, gang: int, shapes: int, loads: tuple[str, ...]
) -> list[TopologyResult]:
    """Measure each load. ValueError for a load that is none, a size below 1, or pods that cannot all fit."""
    unknown = [load for load in loads if load not in LOADS]
    if unknown:
        raise ValueError(f"unknown load '{unknown[0]}'; there are {', '.join(LOADS)}")
    base = prepared(nodes, pods, gang, shapes)
    return [_measure(load, LOADS[load](base, gang), gang, shapes) for load in loads]


def _measure(load: str, snapshot: Snapshot, gang: int, shapes: int) -> TopologyResult:
    policy = topology_policy(load != "off")
    decide(snapshot, policy)
    gc.collect()
    cpu, wall = time.process_time(), time.perf_counter()
    decisions = decide(snapshot, policy)
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    placed = sum(len(commit.binds) for commit in decisions.commits)
    return TopologyResult(
        load=load,
        nodes=len(snapshot.nodes),
        pods=len(snapshot.tasks),
        gang=gang,
        shapes=shapes,
        placed=placed,
        wall_s=round(wall, 6),
        cpu_s=round(cpu, 6),
        pods_per_s=round(placed / wall, 1),
    )


def topology_policy(on: bool) -> Policy:
    """Volcano's Helm default, with network-topology-aware in its second tier when it is on."""
    conf = HELM_CONF
    if on:
        conf = conf.replace("- name: binpack", "- name: binpack\n  - name: network-topology-aware")
    return build_policy(load_scheduler_config(conf), discover())


def racks(snapshot: Snapshot) -> Snapshot:
    """The snapshot with racks and spines over all nodes but the last."""
    names = snapshot.nodes.names[:-1] or snapshot.nodes.names
    count = -(-len(names) // RACK)
    spines = -(-count // SPINE)
    rows = [f"rack-{i:05d}" for i in range(count)] + [f"spine-{i:05d}" for i in range(spines)]
    table = HyperNodeTable(
        names=tuple(rows),
        tiers=(1,) * count + (2,) * spines,
        parents=tuple(count + i // SPINE for i in range(count)) + (MISSING,) * spines,
        members=tuple(tuple(sorted(names[i * RACK : (i + 1) * RACK])) for i in range(count)) + ((),) * spines,
        tier_names=(("rack", 1), ("spine", 2)),
    )
    return replace(snapshot, details=Details(hypernodes=table))


def _plain(snapshot: Snapshot, gang: int) -> Snapshot:
    return racks(snapshot)


def _near(snapshot: Snapshot, closeness: Closeness) -> Snapshot:
    jobs = replace(snapshot.jobs, closeness=(closeness,) * len(snapshot.jobs))
    return replace(racks(snapshot), jobs=jobs)


def _hard(snapshot: Snapshot, gang: int) -> Snapshot:
    """One rack holds 16 nodes of 64 cpus and 8 GPUs; gangs of 64 of the shapes here fit it."""
    return _near(snapshot, Closeness(soft=False, tier=1 if gang <= 64 else 2))


def _soft(snapshot: Snapshot, gang: int) -> Snapshot:
    return _near(snapshot, Closeness(soft=True, tier=None))


def _groups(snapshot: Snapshot, gang: int) -> Snapshot:
    """Pods in sub-groups of 8 by a label, each near itself."""
    tasks = snapshot.tasks
    place = np.arange(len(tasks)) % gang // 8
    labels = tuple(((_KEY, str(i)),) for i in range(int(place.max()) + 1))
    policy = SubGroupPolicy("g", (), (_KEY,), 8, max(1, gang // 8), Closeness(soft=False, tier=1))
    jobs = replace(snapshot.jobs, subgroups=((policy,),) * len(snapshot.jobs))
    tasks = replace(tasks, labels=place.astype(np.int32))
    return replace(racks(snapshot), jobs=jobs, tasks=tasks, label_sets=labels)


def _stuck(snapshot: Snapshot, gang: int) -> Snapshot:
    """Every node has room for less than any pod asks for, in cpu, but for a few pods in each second rack."""
    table = snapshot.nodes
    used = table.allocatable.copy()
    used[0] -= 400
    used[0, :: 2 * RACK] -= 2_000
    used[2:] -= table.allocatable[2:] // 2
    used[1] -= table.allocatable[1] // 2
    full = replace(table, used=used, requested=used, requested_floor=used[:2])
    return _hard(replace(snapshot, nodes=full), gang)


LOADS: Final[dict[str, Callable[[Snapshot, int], Snapshot]]] = {
    "off": _plain,
    "normal": _plain,
    "hard": _hard,
    "soft": _soft,
    "groups": _groups,
    "stuck": _stuck,
}
"""What each load makes of an empty cluster with pending gangs."""

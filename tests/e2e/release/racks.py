"""Tainted nodes in a tree of HyperNodes, as Volcano's tests of network topologies expect them.

    three tiers:              s6
                      s4              s5
                  s0      s1      s2      s3
                 0  1    2  3    4  5    6  7

With four nodes there are s0, s1 and s4 alone.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tests.conformance.harness.base import wait_until
from tests.e2e.release.cluster import Release
from tests.e2e.release.context import Context
from tests.e2e.release.scheduling import nodes_of, task

Object = dict[str, Any]
HYPERNODES = "/apis/topology.volcano.sh/v1alpha1/hypernodes"
TOLERATION = {"key": "rack", "operator": "Equal", "value": "fake", "effect": "NoSchedule"}
TREE = {
    "s0": (1, ["rack-0", "rack-1"]),
    "s1": (1, ["rack-2", "rack-3"]),
    "s2": (1, ["rack-4", "rack-5"]),
    "s3": (1, ["rack-6", "rack-7"]),
    "s4": (2, ["s0", "s1"]),
    "s5": (2, ["s2", "s3"]),
    "s6": (3, ["s4", "s5"]),
}


def leaves(hypernode: str) -> list[str]:
    """The nodes below a HyperNode."""
    tier, members = TREE[hypernode]
    return members if tier == 1 else [node for each in members for node in leaves(each)]


def domains(tier: int = 1) -> list[list[str]]:
    """The nodes of each HyperNode of a tier."""
    return [leaves(name) for name, (its, _) in TREE.items() if its == tier]


@contextmanager
def racks(release: Release, count: int) -> Iterator[None]:
    """So many nodes `rack-0` … of 8 CPUs and the HyperNodes above them, while the block runs."""
    names = {f"rack-{number}" for number in range(count)}
    playing = release.add_nodes("rack", count, "--taint", "rack=fake:NoSchedule")
    wait_until(lambda: names <= set(release.nodes()), "the racks to be there")
    hypernodes = [name for name in TREE if set(leaves(name)) <= names]
    for name in hypernodes:
        tier, members = TREE[name]
        kind = "Node" if tier == 1 else "HyperNode"
        chosen = [{"type": kind, "selector": {"exactMatch": {"name": each}}} for each in members]
        body = {
            "apiVersion": "topology.volcano.sh/v1alpha1",
            "kind": "HyperNode",
            "metadata": {"name": name},
            "spec": {"tier": tier, "members": chosen},
        }
        release.client.create(HYPERNODES, body)
    time.sleep(0.5)  # the scheduler hears of them
    try:
        yield
    finally:
        for name in hypernodes:
            release.client.delete(f"{HYPERNODES}/{name}")
        playing.stop(20)
        wait_until(lambda: not names & set(release.nodes()), "the racks to go")


def topology(tier: int | None) -> Object:
    """A networkTopology: hard up to a tier, or soft."""
    return {"mode": "soft"} if tier is None else {"mode": "hard", "highestTierAllowed": tier}


def rack_task(context: Context, replicas: int, cpu: int, policy: Object | None = None) -> Object:
    """A task whose pods tolerate the racks' taint; `policy` is its partitionPolicy."""
    return task(context, replicas, cpu, policy=policy, tolerations=[TOLERATION])


def in_one_of(context: Context, job: str, tier: int = 1) -> bool:
    """Whether all pods of a job are on nodes of one HyperNode of a tier."""
    return any(set(nodes_of(context, job)) <= set(each) for each in domains(tier))

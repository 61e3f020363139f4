"""Chooses nodes for schedulers: each in turn filters, orders and cuts what those before it have left.

A node must pass every filter; the rest is ordered by the weighted sum of the scores, equal ones by name; then limits cut it.
More than 50 nodes are dealt out 50 at a time, in the order of their names, so a limit counts within each 50
(api-controllers.md 4.6).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from vcray.config.sharding import AllocationRate, NodeLimit, Policy, ShardScheduler, Warmup, rounded

BATCH: Final = 50
"""Nodes that are dealt out together."""


@dataclass(frozen=True, slots=True)
class ShardNode:
    """A node: `utilisation` is the part of its CPU that pods ask for, 0 to 1."""

    name: str
    utilisation: float
    labels: Mapping[str, str]


def assign(schedulers: Sequence[ShardScheduler], nodes: Iterable[ShardNode]) -> dict[str, list[str]]:
    """Scheduler -> names of its nodes, the best first within each batch. No node is in two lists."""
    assigned: dict[str, list[str]] = {each.name: [] for each in schedulers}
    ordered = sorted(nodes, key=lambda node: node.name)
    for start in range(0, len(ordered), BATCH):
        left = ordered[start : start + BATCH]
        for scheduler in schedulers:
            chosen = _chosen(scheduler.policies, left)
            assigned[scheduler.name] += [node.name for node in chosen]
            taken = {node.name for node in chosen}
            left = [node for node in left if node.name not in taken]
    return assigned


def _chosen(policies: Sequence[Policy], nodes: Sequence[ShardNode]) -> Sequence[ShardNode]:
    passed = [node for node in nodes if all(_passes(policy, node) for policy in policies)]
    passed.sort(key=lambda node: -sum(_score(policy, node) for policy in policies))
    for policy in policies:
        if isinstance(policy, NodeLimit) and policy.most:
            passed = passed[: policy.most]
    return passed


def _passes(policy: Policy, node: ShardNode) -> bool:
    return not isinstance(policy, AllocationRate) or policy.low <= rounded(node.utilisation) <= policy.high


def _score(policy: Policy, node: ShardNode) -> float:
    """Of a node that passed: 0 to 1, times the weight."""
    match policy:
        case AllocationRate(low, high, weight):
            width = high - low
            return weight * ((rounded(node.utilisation) - low) / width if width else 1.0)
        case Warmup(label, value, weight):
            return weight * float(node.labels.get(label) == value)
        case NodeLimit():
            return 0.0

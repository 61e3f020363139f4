"""The kernel and the oracle side by side, and how a disagreement is made small and written down."""

from __future__ import annotations

import json
from collections.abc import Callable
from copy import deepcopy
from functools import cache
from typing import cast

import yaml

from tests.oracle import scheduler
from tests.oracle.facts import Amounts, Object, amounts
from tests.oracle.random_clusters import random_cluster
from tests.oracle.scheduler import Outcome
from vcray.api.meta import JsonObject
from vcray.cache.cluster import snapshot_of
from vcray.config.scheduler import load_scheduler_config
from vcray.core.decisions import Decisions
from vcray.core.policy import Policy, build_policy
from vcray.core.session import decide
from vcray.core.snapshot import Snapshot
from vcray.core.tables import PHASE_NAMES
from vcray.registry import Registry, discover

NOW = 1_800_000_000.0
Attempt = Callable[[list[Object]], list[str]]


@cache
def _registry() -> Registry:
    return discover()


@cache
def _policy_of(text: str) -> Policy:
    return build_policy(load_scheduler_config(text), _registry())


def policy_of(conf: Object) -> Policy:
    """The kernel's policy for a parsed configuration (JSON is YAML)."""
    return _policy_of(json.dumps(conf))


def kernel_outcome(objects: list[Object], conf: Object, seed: int) -> Outcome:
    """The kernel's round in the oracle's terms."""
    snapshot = snapshot_of(cast("list[JsonObject]", objects), NOW, seed)
    return outcome_of(decide(snapshot, policy_of(conf)), snapshot, objects)


def outcome_of(decisions: Decisions, snapshot: Snapshot, objects: list[Object]) -> Outcome:
    """What stays as it was is not written, so phases and queues start from the objects."""
    owned = [row for row in range(len(snapshot.jobs)) if snapshot.jobs.queue[row] >= 0]
    status = {snapshot.jobs.names[row]: snapshot.jobs.status[row] for row in owned}
    status |= {update.job: update.status for update in decisions.groups if update.job in status}
    queues: dict[str, Amounts] = {}
    for item in objects:
        if item["kind"] == "Queue":
            recorded = (item.get("status") or {}).get("allocated")
            queues[item["metadata"]["name"]] = {k: v for k, v in amounts(recorded).items() if v}
    for change in decisions.queues:
        queues[change.queue] = {name: amount for name, amount in change.allocated if amount}
    return Outcome(
        bound={bind.task: bind.node for commit in decisions.commits for bind in commit.binds},
        pipelined=dict(decisions.pipelined),
        evicted={evict.task: evict.reason for evict in decisions.evictions},
        phases={name: PHASE_NAMES[found.phase] for name, found in status.items()},
        counts={name: (found.running, found.succeeded, found.failed) for name, found in status.items()},
        queues=queues,
    )


def disagreements(objects: list[Object], conf: Object, seed: int) -> list[str]:
    """What the two decide differently, one line each; an exception of the kernel is one too."""
    expected = scheduler.decide(objects, conf, seed)
    try:
        actual = kernel_outcome(objects, conf, seed)
    except Exception as error:
        return [f"kernel raised {type(error).__name__}: {error}"]
    lines = []
    for part in ("bound", "pipelined", "evicted", "phases", "counts", "queues"):
        wanted, got = getattr(expected, part), getattr(actual, part)
        lines += [
            f"{part} {name}: oracle {wanted.get(name)!r}, kernel {got.get(name)!r}"
            for name in sorted({*wanted, *got})
            if wanted.get(name) != got.get(name)
        ]
    return lines


def smallest(objects: list[Object], fails: Attempt) -> list[Object]:
    """Drop objects, then parts of the pods, while the two still disagree."""
    kept = list(objects)
    shrunk = True
    while shrunk:
        shrunk = False
        for item in sorted(
            kept,
            key=lambda o: (
                ("PodGroup", "Node", "Pod").index(o["kind"])
                if o["kind"] in ("PodGroup", "Node", "Pod")
                else 3
            ),
        ):
            without = [other for other in kept if other is not item and not _belongs(other, item)]
            if len(without) < len(kept) and fails(without):
                kept, shrunk = without, True
    for row, item in enumerate(kept):
        for section, key in [(s, k) for s in ("spec", "metadata", "status") for k in list(item.get(s) or {})]:
            plain = deepcopy(kept[row])
            del plain[section][key]
            attempt = [*kept[:row], plain, *kept[row + 1 :]]
            if key not in NEEDED and _survives(attempt, fails):
                kept = attempt
    return kept


NEEDED = {"name", "namespace", "uid", "containers", "allocatable", "phase", "resourceVersion", "minMember"}


def _survives(attempt: list[Object], fails: Attempt) -> bool:
    try:
        lines = fails(attempt)
    except (KeyError, TypeError, ValueError):
        return False
    return bool(lines) and not any("kernel raised" in line for line in lines)


def _belongs(pod: Object, group: Object) -> bool:
    if pod["kind"] != "Pod" or group["kind"] != "PodGroup":
        return False
    notes = pod["metadata"].get("annotations") or {}
    same = pod["metadata"]["namespace"] == group["metadata"]["namespace"]
    return same and notes.get("scheduling.k8s.io/group-name") == group["metadata"]["name"]


def reproduction(number: int) -> str:
    """A disagreement as a document: the number of the cluster, both outcomes, the configuration, fewest objects."""
    cluster = random_cluster(number)

    def fails(objects: list[Object]) -> list[str]:
        return disagreements(objects, cluster.conf, cluster.seed)

    kept = smallest(cluster.objects, fails)
    document = {
        "cluster": number,
        "seed": cluster.seed,
        "disagreements": fails(kept),
        "configuration": cluster.conf,
        "given": kept,
    }
    return yaml.safe_dump(_plain(document), sort_keys=False, width=110)


def _plain(value: object) -> object:
    """Without shared parts, so that YAML writes no anchors."""
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    return [_plain(item) for item in value] if isinstance(value, list) else value

"""Scheduler configurations that the random clusters run under, as parsed volcano-scheduler.conf."""

from __future__ import annotations

from random import Random

from tests.oracle.facts import Object

ALL = "enqueue, allocate, backfill"


def configuration(actions: str, *tiers: list[str | Object]) -> Object:
    """Plugins by name, or as whole entries where they have flags or arguments."""
    return {
        "actions": actions,
        "tiers": [{"plugins": [{"name": p} if isinstance(p, str) else p for p in tier]} for tier in tiers],
    }


FIRST = ["priority", "gang", "conformance"]
DEFAULT = configuration(ALL, [*FIRST], ["overcommit", "drf", "predicates", "proportion", "nodeorder"])
HELM = configuration(
    ALL,
    ["priority", {"name": "gang", "enablePreemptable": False}, "conformance"],
    [
        "overcommit",
        {"name": "drf", "enablePreemptable": False},
        "predicates",
        "proportion",
        "nodeorder",
        "binpack",
    ],
)
KA = configuration(
    "allocate, backfill", [*FIRST], ["drf", "predicates", "proportion", "nodeorder", "binpack"]
)
K0 = configuration(ALL, [*FIRST], ["drf", "predicates", "proportion", "nodeorder", "binpack", "overcommit"])
QUIET = {"enablePreemptable": False}
KP = configuration(
    "allocate, preempt, backfill",
    ["priority", {"name": "gang", **QUIET}, "conformance"],
    [{"name": "drf", **QUIET}, "predicates", "proportion", "nodeorder", "binpack"],
)
FREE_GANG = {"name": "gang", "enableReclaimable": False, **QUIET}
REST = ["drf", "predicates", "nodeorder", "binpack"]


def taking_back(share: str | Object) -> Object:
    """KR, KC or KH: reclaim with a share plugin in the first tier."""
    return configuration("allocate, reclaim, backfill", ["priority", FREE_GANG, "conformance", share], REST)


TREE: Object = {"name": "capacity", "enableHierarchy": True}
WEIGHTS = [
    "leastrequested",
    "mostrequested",
    "nodeaffinity",
    "podaffinity",
    "balancedresource",
    "tainttoleration",
    "imagelocality",
    "podtopologyspread",
]


def random_configuration(rng: Random, theme: str) -> Object:
    """Mostly the well known ones; else one with plugins missing, other arguments or flags off."""
    if theme in ("preempting", "reclaiming", "family", "branches"):
        return _taking(rng, theme)
    if theme == "network":
        second = ["drf", "predicates", "proportion", "nodeorder", "binpack", "network-topology-aware"]
        if rng.random() < 0.4:
            second = rng.sample(second, 6)
        return configuration(rng.choice(["allocate, backfill", ALL]), [*FIRST], second)
    known = [DEFAULT, HELM, HELM, KA, K0]
    if theme == "admission":
        known = [DEFAULT, HELM, K0]
    if rng.random() < 0.5:
        return rng.choice(known)
    actions = rng.choice([ALL, ALL, "enqueue, allocate", "allocate, backfill", "allocate"])
    if theme == "admission":
        actions = ALL
    second = ["overcommit", "drf", "predicates", "proportion", "nodeorder", "binpack"]
    dropped = rng.sample([*FIRST, *second], rng.choice([0, 1, 1, 2]))
    tiers = [
        [name for name in FIRST if name not in dropped],
        [name for name in second if name not in dropped],
    ]
    if rng.random() < 0.3:
        rng.shuffle(tiers[1])
    if rng.random() < 0.2:
        tiers = [tiers[0] + tiers[1]]
    elif rng.random() < 0.2:
        tiers = [tiers[0], tiers[1][:1], tiers[1][1:]]
    return configuration(actions, *[[_with_arguments(rng, name) for name in tier] for tier in tiers])


def _taking(rng: Random, theme: str) -> Object:
    """Configurations in which somebody is evicted: the well known ones, and tiers where plugins mingle."""
    if theme == "preempting":
        if rng.random() < 0.4:
            return KP
        first: list[str | Object] = ["priority", "gang", "conformance"]
        if rng.random() < 0.5:
            first[1] = {"name": "gang", **QUIET}
        shares = rng.choice(["proportion", "capacity"])
        actions = rng.choice(
            [
                "allocate, preempt",
                "enqueue, allocate, preempt, backfill",
                "allocate, backfill, preempt",
                "enqueue, preempt, allocate, backfill",
            ]
        )
        return configuration(actions, first, rng.sample(["drf", "predicates", shares, "nodeorder"], 4))
    if theme == "branches":
        tree: Object = {"name": "drf", "enableHierarchy": True}
        actions = rng.choice(
            ["allocate, reclaim", "allocate, backfill", "enqueue, allocate, reclaim, backfill"]
        )
        return configuration(actions, ["priority", "conformance", tree], ["gang", "predicates", "nodeorder"])
    share: str | Object = rng.choice(["proportion", "capacity"])
    if theme == "family":
        level = rng.choice([0, 0, 1, 2])
        share = {**TREE, "arguments": {"ancestorReclaimLevel": level}} if level else TREE
    if rng.random() < 0.5:
        return taking_back(share)
    actions = rng.choice(
        [
            "allocate, reclaim",
            "enqueue, allocate, reclaim",
            "allocate, preempt, reclaim, backfill",
            "enqueue, reclaim, preempt, allocate",
        ]
    )
    return configuration(actions, ["priority", "conformance"], ["gang", "predicates", share, "nodeorder"])


def _with_arguments(rng: Random, name: str) -> Object:
    plugin: Object = {"name": name}
    if rng.random() < 0.6:
        return plugin
    if name == "nodeorder":
        chosen = rng.sample(WEIGHTS, rng.choice([1, 2, 4]))
        plugin["arguments"] = {f"{key}.weight": rng.choice([0, 1, 2, 5, 10]) for key in chosen}
    elif name == "binpack":
        plugin["arguments"] = {
            "binpack.weight": rng.choice([0, 1, 3, 10]),
            "binpack.cpu": rng.choice([0, 1, 5, -1]),
            "binpack.memory": rng.choice([0, 1, 2]),
            "binpack.resources": rng.choice(["", "nvidia.com/gpu", "nvidia.com/gpu, cpu"]),
            "binpack.resources.nvidia.com/gpu": rng.choice([1, 2, 8]),
        }
    elif name == "overcommit":
        plugin["arguments"] = {"overcommit-factor": rng.choice([1, 1.0, 1.1, 1.5, 0.5, 2])}
    elif name == "predicates":
        off = rng.choice(["NodeAffinity", "NodePorts", "TaintToleration", "PodAffinity", "PodTopologySpread"])
        plugin["arguments"] = {f"predicate.{off}Enable": False}
    elif name == "proportion":
        plugin[
            rng.choice(["enableQueueOrder", "enabledOverused", "enabledAllocatable", "enableJobEnqueued"])
        ] = False
    elif name in ("drf", "priority", "gang"):
        plugin["enableJobOrder"] = False
    return plugin

"""Words of `volcano-scheduler.conf`: flags of a plugin with their defaults, Volcano's actions and plugins by name.

Every name of Volcano's is known here whether or not a module of that name is installed, so that a configuration that names
one is never told that it is a slip of the pen.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from vcray.errors import did_you_mean

ON_BY_DEFAULT = (
    "enableJobOrder",
    "enableJobReady",
    "enableJobPipelined",
    "enableTaskOrder",
    "enablePreemptable",
    "enableReclaimable",
    "enablePreemptive",
    "enableQueueOrder",
    "enablePredicate",
    "enableBestNode",
    "enableNodeOrder",
    "enableTargetJob",
    "enableReservedNodes",
    "enableJobEnqueued",
    "enableJobStarving",
    "enabledVictim",
    "enabledOverused",
    "enabledAllocatable",
    "enabledHyperNodeOrder",
    "enabledSubJobReady",
    "enabledSubJobPipelined",
    "enabledSubJobOrder",
    "enabledHyperNodeGradient",
)
OFF_BY_DEFAULT = ("enableHierarchy", "enabledClusterOrder")
FLAGS = frozenset(ON_BY_DEFAULT + OFF_BY_DEFAULT)
"""Flags of a plugin as the file spells them; some say `enable`, others `enabled`."""

VOLCANO_ACTIONS = (
    "enqueue",
    "allocate",
    "backfill",
    "preempt",
    "reclaim",
    "gangpreempt",
    "gangreclaim",
    "shuffle",
)

VOLCANO_PLUGINS = (
    "binpack",
    "capacity",
    "cdp",
    "conformance",
    "deviceshare",
    "drf",
    "extender",
    "gang",
    "network-topology-aware",
    "nodegroup",
    "nodeorder",
    "numa-aware",
    "overcommit",
    "pdb",
    "predicates",
    "priority",
    "proportion",
    "rescheduling",
    "resource-strategy-fit",
    "resourcequota",
    "sla",
    "task-topology",
    "tdm",
    "usage",
)

CONF_KEY = "volcano-scheduler.conf"
"""The key of the text in a ConfigMap; a map without it may have one other that ends in `.conf`."""


def conf_in(data: Mapping[str, object]) -> str | None:
    """The text among the data of a ConfigMap: its key `CONF_KEY`, else its only key that ends in `.conf`."""
    keys = [CONF_KEY] if CONF_KEY in data else [key for key in data if key.endswith(".conf")]
    text = data[keys[0]] if len(keys) == 1 else None
    return text if isinstance(text, str) else None


METRICS_TYPES = ("prometheus", "prometheus_adaptor", "elasticsearch")
"""Values of `metrics.type`."""

METRICS_KEYS = (
    "type",
    "address",
    "interval",
    "tls.insecureSkipVerify",
    "elasticsearch.index",
    "elasticsearch.username",
    "elasticsearch.password",
    "elasticsearch.hostnameFieldName",
)
"""Keys of the section `metrics` that Volcano reads; it passes over all others."""


def unknown_name(kind: str, name: str, known: Iterable[str]) -> str:
    """The sentence about an `action` or `plugin` that is not among the known ones; one of Volcano's is told apart from a slip
    of the pen, and so is one of the other kind."""
    if name in (VOLCANO_ACTIONS if kind == "action" else VOLCANO_PLUGINS):
        return f"this version of vcray has no {kind} '{name}' yet; leave it out"
    if kind == "action" and name in VOLCANO_PLUGINS:
        return f"'{name}' is a plugin; name it under `tiers`"
    if kind == "plugin" and name in VOLCANO_ACTIONS:
        return f"'{name}' is an action; name it in `actions`"
    return f"unknown {kind} '{name}'{did_you_mean(name, known)}"

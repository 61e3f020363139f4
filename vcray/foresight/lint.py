"""What a configuration seems to say and cannot do: each rule is one function, its sentences are warnings.

A file that any of these rules faults is read as it stands; only `vcray check` speaks. `docs/configuration.md` lists the rules
by name, and a test keeps the two equal.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from difflib import get_close_matches

from pydantic import JsonValue

from vcray.api.duration import is_duration
from vcray.config.language import METRICS_TYPES, ON_BY_DEFAULT, VOLCANO_ACTIONS
from vcray.config.scheduler import SchedulerConfig
from vcray.core.policy import Policy
from vcray.errors import Problem, did_you_mean
from vcray.foresight.claiming import CLAIM_RULES
from vcray.foresight.configured import Configured, hooks_of

HIERARCHICAL = ("drf", "capacity", "nodegroup")
"""Plugins that read enableHierarchy."""

_NEVER = "is read by no version of Volcano"
UNREAD: Mapping[tuple[str, str], str] = {
    ("predicates", "predicate.DynamicResourceAllocationEnable"): (
        "is read by no version of Volcano: claims of devices are looked at where the cluster serves them"
    ),
    ("rescheduling", "queueSelector"): _NEVER,
    ("rescheduling", "labelSelector"): _NEVER,
    ("rescheduling", "params.thresholdPriorityClassName"): _NEVER,
    ("rescheduling", "params.nodeFit"): _NEVER,
    ("rescheduling", "params.thresholds.pods"): _NEVER,
    ("rescheduling", "params.targetThresholds.pods"): _NEVER,
}
"""(plugin, end of an argument's place) that a file may well hold and that Volcano passes over in silence."""

METRICS_READERS = ("usage", "rescheduling")
ADDRESSED = ("prometheus", "elasticsearch")
"""Types of metrics sources that have an address."""
ARGUMENTS_READ_BY = {"allocate": ("gangpreempt", "gangreclaim")}
"""Action -> other actions that read its arguments."""


def lint(config: SchedulerConfig, policy: Policy, actions_known: bool = True) -> list[Problem]:
    """All warnings about a configuration, in order of the rules; `policy` is what it came to. Without known actions the rules
    about them say nothing."""
    configured = Configured(config, policy)
    rules = RULES if actions_known else PLUGIN_RULES
    found = [problem for rule in rules.values() for problem in rule(configured)]
    return list(dict.fromkeys([*config.warnings, *found]))


# ---- what has no effect ----


def flag_without_effect(of: Configured) -> Iterator[Problem]:
    """A flag that is turned from its default on a plugin that has none of the hooks that it switches."""
    for entry in of.entries:
        for flag, value in entry.config.flags.items():
            if value is (flag in ON_BY_DEFAULT):
                continue
            hooks = list(hooks_of(flag))
            if flag == "enableHierarchy":
                idle = entry.name not in HIERARCHICAL
            else:
                idle = not any(callable(getattr(entry.plugin, hook, None)) for hook in hooks)
            if idle and entry.plugin.__module__.startswith("vcray.plugins."):
                what = f"{entry.name} has nothing that this flag could switch"
                yield Problem("VC0113", f"{entry.place}.{flag}", what)


def argument_without_effect(of: Configured) -> Iterator[Problem]:
    """An argument that Volcano declares or documents and never reads."""
    for entry in of.entries:
        for place in _places(dict(entry.config.arguments), f"{entry.place}.arguments"):
            for (plugin, key), why in UNREAD.items():
                if plugin == entry.name and place.endswith(f".{key}"):
                    yield Problem("VC0113", place, f"{why}; delete it")


def _places(value: JsonValue, where: str) -> Iterator[str]:
    """The places of all keys of a value, however deep."""
    items = value.items() if isinstance(value, dict) else ()
    inside = [(f"{where}.{key}", item) for key, item in items]
    yield from (place for place, _ in inside)
    if isinstance(value, list):
        inside = [(f"{where}[{number}]", item) for number, item in enumerate(value)]
    for place, item in inside:
        yield from _places(item, place)


def metrics_that_nobody_reads(of: Configured) -> Iterator[Problem]:
    """A section `metrics` without a plugin that reads node load, or such a plugin without a source."""
    reader, metrics = of.first(*METRICS_READERS), of.config.metrics
    if metrics and reader is None:
        yield Problem(
            "VC0113", "metrics", "no plugin reads the load of nodes; only usage and rescheduling do"
        )
    elif reader is not None and not metrics:
        what = f"{reader.name} sees no load of nodes: the section `metrics` names no source"
        yield Problem("VC0115", reader.place, what)
    elif reader is not None and metrics.get("type") in ADDRESSED and not metrics.get("address"):
        what = f"{reader.name} sees no load of nodes: `address` is empty; set it to the URL of the source"
        yield Problem("VC0115", "metrics.address", what)


def metrics_without_effect(of: Configured) -> Iterator[Problem]:
    """A value in `metrics` that nobody can use."""
    reader, metrics = of.first(*METRICS_READERS), of.config.metrics
    kind, interval = metrics.get("type", ""), metrics.get("interval", "")
    verified = metrics.get("tls.insecureSkipVerify", "")
    if metrics and kind not in METRICS_TYPES:
        effect = f": {reader.name} sees no load of nodes" if reader else ""
        near = did_you_mean(kind, get_close_matches(kind, METRICS_TYPES, n=1))
        what = f"must be one of {', '.join(METRICS_TYPES)}, not '{kind}'{effect}{near}"
        yield Problem("VC0113", "metrics.type", what)
    if interval and not is_duration(interval):
        near = f"; did you mean '{interval}s'?" if is_duration(f"{interval}s") else ""
        what = f"must be a duration above 0, such as 30s or 5m, not '{interval}'; the default is kept{near}"
        yield Problem("VC0113", "metrics.interval", what)
    if verified not in ("", "true", "false"):
        what = f"must be true or false, not '{verified}'; certificates are verified"
        yield Problem("VC0113", "metrics.tls.insecureSkipVerify", what)


# ---- what works against each other ----


def packing_and_spreading(of: Configured) -> Iterator[Problem]:
    """Scores that want nodes full beside scores that want them empty."""
    binpack, nodeorder = of.first("binpack"), of.first("nodeorder")
    packs = binpack.number("binpack.weight") if binpack and binpack.offers("node_score") else 0
    scored = nodeorder is not None and nodeorder.offers("node_score")
    least = nodeorder.number("leastrequested.weight") if nodeorder and scored else 0
    most = nodeorder.number("mostrequested.weight") if nodeorder and scored else 0
    if binpack and packs > 0 and least > 0:
        what = (
            f"binpack (weight {packs:g}) fills nodes up while leastrequested.weight {least:g} of nodeorder empties them; "
            "set one of them to 0"
        )
        yield Problem("VC0114", binpack.place, what)
    if binpack and packs < 0 and most > 0:
        what = f"binpack (weight {packs:g}) empties nodes while mostrequested.weight {most:g} of nodeorder fills them up"
        yield Problem("VC0114", binpack.place, what)
    if nodeorder and least > 0 and most > 0:
        what = f"leastrequested.weight {least:g} and mostrequested.weight {most:g} cancel each other; set one of them to 0"
        yield Problem("VC0114", f"{nodeorder.place}.arguments", what)


def load_and_packing(of: Configured) -> Iterator[Problem]:
    """usage prefers idle nodes, binpack full ones."""
    binpack, usage = of.first("binpack"), of.first("usage")
    if binpack and usage and binpack.number("binpack.weight") > 0 and usage.offers("node_score"):
        what = "usage prefers nodes with little load, binpack full ones; drop binpack, or set enableNodeOrder: false here"
        yield Problem("VC0114", usage.place, what)


def two_shares(of: Configured) -> Iterator[Problem]:
    """proportion and capacity both share out the cluster, by different rules."""
    proportion, capacity = of.first("proportion"), of.first("capacity")
    if proportion and capacity:
        later = max(proportion, capacity, key=lambda entry: of.entries.index(entry))
        what = "proportion and capacity both share out the cluster; a queue gets the lesser of two shares; keep one of them"
        yield Problem("VC0114", later.place, what)


# ---- what needs something else ----


def arguments_of_no_action(of: Configured) -> Iterator[Problem]:
    """`configurations` for an action that the list does not name."""
    for name in of.config.configurations:
        if name not in of.actions and not of.configured(*ARGUMENTS_READ_BY.get(name, ())):
            near = "" if name in VOLCANO_ACTIONS else did_you_mean(name, of.actions)
            what = f"`actions` does not name '{name}', so these arguments have no effect{near}"
            yield Problem("VC0113", f"configurations[{name}]", what)


def placing_without_predicates(of: Configured) -> Iterator[Problem]:
    """Nothing keeps pods off cordoned or tainted nodes."""
    for action in of.configured("allocate", "backfill")[:1]:
        if not of.offering("node_static"):
            what = (
                f"{action} looks at no selector, taint or cordon: no plugin filters nodes; add predicates "
                "(with enablePredicate)"
            )
            yield Problem("VC0115", of.place_of(action), what)


def nothing_places(of: Configured) -> Iterator[Problem]:
    """Without allocate, pods that request something never get a node."""
    if "allocate" not in of.actions:
        what = "no action gives nodes to pods that request anything; add allocate"
        yield Problem("VC0115", "actions", what)


def admission_without_enqueue(of: Configured) -> Iterator[Problem]:
    """Plugins whose only say is about admission, where nothing is asked to admit."""
    if "enqueue" in of.actions:
        return
    for name in ("overcommit", "resourcequota"):
        entry = of.first(name)
        if entry is not None:
            what = f"{name} is asked by the action enqueue alone, which `actions` does not name"
            yield Problem("VC0115", entry.place, what)


def order_of_actions(of: Configured) -> Iterator[Problem]:
    """enqueue behind the actions that it lets groups in for."""
    if "enqueue" not in of.actions:
        return
    at = of.actions.index("enqueue")
    before = [name for name in of.actions[:at] if name not in ("shuffle", "enqueue")]
    if before:
        what = f"enqueue comes after {before[-1]}: a group that is let in waits for the next round; put enqueue first"
        yield Problem("VC0117", of.place_of("enqueue"), what)


def patience_behind_refusal(of: Configured) -> Iterator[Problem]:
    """sla lets a group in that waited long enough, unless a plugin of its tier or of an earlier one refuses."""
    sla = of.first("sla")
    if sla is None or not sla.offers("job_enqueueable") or "enqueue" not in of.actions:
        return
    refusing = [
        entry
        for entry in of.offering("job_enqueueable")
        if entry.tier <= sla.tier and entry.name not in ("sla", "extender")
    ]
    if refusing:
        what = (
            f"a refusal of {refusing[0].name}, in this tier or before it, beats sla's waiting time; "
            "put sla into an earlier tier"
        )
        yield Problem("VC0117", sla.place, what)


Rule = Callable[[Configured], Iterator[Problem]]


def _named(*rules: Rule) -> dict[str, Rule]:
    return {rule.__name__.replace("_", "-"): rule for rule in rules}


PLUGIN_RULES: Mapping[str, Rule] = _named(
    flag_without_effect,
    argument_without_effect,
    metrics_that_nobody_reads,
    metrics_without_effect,
    packing_and_spreading,
    load_and_packing,
    two_shares,
)
"""Rules that ask nothing about actions."""

RULES: Mapping[str, Rule] = {
    **PLUGIN_RULES,
    **_named(
        arguments_of_no_action,
        placing_without_predicates,
        nothing_places,
        admission_without_enqueue,
        order_of_actions,
        patience_behind_refusal,
        *CLAIM_RULES,
    ),
}
"""Name -> rule, in the order of what `vcray check` says."""

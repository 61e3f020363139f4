"""Configured tiers -> compiled chains of hooks.

`Policy` is what a configuration came to: actions and plugin recipes, made once. `Chains` is one session of it: fresh plugin
objects and, per hook, the list of bound methods that the configuration switches on.
"""

# mypy: disable-error-code="type-abstract"
from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar, cast

import numpy as np

from vcray.config.scheduler import PluginConfig, SchedulerConfig
from vcray.core.action import Action
from vcray.core.arrays import Bool, Int
from vcray.core.fence import NO_LIMIT, Fence, fenced
from vcray.core.hooks import (
    Answer,
    Charges,
    ClassKey,
    Close,
    Closing,
    DomainTerm,
    DomainTerms,
    FiguresOfCards,
    FiguresOfQueue,
    GangNeed,
    JobEnqueueable,
    JobEnqueued,
    JobOrder,
    JobPipelined,
    JobReady,
    JobStarving,
    JobValid,
    MovesItself,
    NodeFilter,
    NodePreference,
    NodeScore,
    NodeStatic,
    QueueAllows,
    QueueOrder,
    QueueOverused,
    Ran,
    Reserve,
    SharesOfJobs,
    TaskOrder,
    ValidPrefix,
    Vote,
    WakesAt,
    Why,
)
from vcray.core.meter import Meter
from vcray.core.parthooks import PartChains
from vcray.core.plugin import Args, Plugin
from vcray.core.remote import NO_REMOTE, Remote
from vcray.core.verdicts import Verdicts
from vcray.core.view import Shape, View
from vcray.errors import ConfigError, Problem


@dataclass(frozen=True, slots=True)
class Recipe:
    """How to make a plugin for a session, with the flags of its entry in the file."""

    plugin: type[Plugin[Args]]
    args: Args
    config: PluginConfig


@dataclass(frozen=True, slots=True)
class Policy:
    """Actions in order and plugins by tier. `problems`: what of the configuration was skipped, and why; `fence`: what users'
    plugins may take; `remote`: the way to programs outside; `gates`: are gates of queue admission removed
    (`vcray.core.gates`)?"""

    actions: tuple[Action, ...]
    tiers: tuple[tuple[Recipe, ...], ...]
    problems: tuple[Problem, ...] = ()
    fence: Fence = NO_LIMIT
    remote: Remote = NO_REMOTE
    gates: bool = False

    def open(self, view: View, meter: Meter | None = None) -> Chains:
        """Fresh plugins, opened in policy order; `meter` hears how long each took."""
        return Chains(self, view, meter)

    def charging(self) -> list[Charges]:
        """Plugins that say what pods are charged, not opened."""
        return [
            cast(Charges, fenced(recipe.plugin(recipe.args), self.fence))
            for tier in self.tiers
            for recipe in tier
            if offers(recipe.plugin, Charges) and recipe.config.enabled("enablePredicate")
        ]

    @property
    def calls_out(self) -> bool:
        """Does any plugin ask a program outside?"""
        return any(recipe.plugin.calls_out for tier in self.tiers for recipe in tier)

    def has_action(self, name: str) -> bool:
        """Is an action of that name configured?"""
        return any(action.name == name for action in self.actions)


class Extensions(Protocol):
    """What is needed of a registry: `vcray.registry.Registry`."""

    def names(self, group: str) -> tuple[str, ...]: ...
    def load(self, group: str, name: str) -> type: ...


def build_policy(config: SchedulerConfig, registry: Extensions) -> Policy:
    """Resolve names to classes and arguments to models.

    Unknown plugins and wrong arguments become `problems` and are skipped, as Volcano does; an unknown action or a plugin
    class that is not well formed raises ConfigError."""
    problems = list(config.problems)
    tiers = []
    first = {entry.name: entry for tier in reversed(config.tiers) for entry in reversed(tier)}
    last = {entry.name: entry for tier in config.tiers for entry in tier}
    for position, tier in enumerate(config.tiers):
        recipes = []
        for index, entry in enumerate(tier):
            where = entry.place or f"tiers[{position}].plugins[{index}]"
            try:
                plugin = cast(type[Plugin[Args]], registry.load("vcray.plugins", entry.name))
            except ConfigError as error:
                if any(problem.code != "VC0107" for problem in error.problems):
                    raise
                problems += [Problem(p.code, where, p.what) for p in error.problems]
                continue
            # of two entries of one name both go by the arguments of the last and the flags of the first, as in Volcano;
            # faults of these arguments are told where they stand
            flags = {flag: first[entry.name].enabled(flag) for flag in plugin.flags}
            given = last[entry.name].arguments
            args, wrong = plugin.args_model.read({**given, **flags}, f"{where}.arguments")
            problems += wrong if entry is last[entry.name] else []
            problems += [
                Problem("VC0106", f"{where}.{flag}", what)
                for flag, what in plugin.unbuilt.items()
                if entry.enabled(flag)
            ]
            recipes.append(Recipe(plugin, args, entry))
        tiers.append(tuple(recipes))
    actions = []
    for name in config.actions:
        action = cast(type[Action], registry.load("vcray.actions", name))
        arguments = config.action_arguments(name)
        problems += action.args_model.read(arguments, f"configurations[{name}].arguments")[1]
        try:
            actions.append(action(arguments))
        except (Exception, SystemExit) as error:  # a user's action; those of ours take any arguments
            what = f"action '{name}' cannot be made: {type(error).__name__}: {error}"
            raise ConfigError(Problem("VC0110", f"configurations[{name}]", what)) from error
    return Policy(tuple(actions), tuple(tiers), tuple(problems))


P = TypeVar("P")


_OFFERS: dict[tuple[type, str], bool] = {}


def offers(plugin: type, hook: type) -> bool:
    """Has a plugin class the methods of a hook? Found once a pair: protocols are slow to check, sessions are many."""
    key = (plugin, hook.__name__)
    if key not in _OFFERS:
        _OFFERS[key] = issubclass(plugin, hook)
    return _OFFERS[key]


class Chains:
    """One session of a policy: per hook the methods that are switched on, in policy order, and their combination."""

    def __init__(self, policy: Policy, view: View, meter: Meter | None = None) -> None:
        self.plugins = [
            [(fenced(recipe.plugin(recipe.args), policy.fence), recipe.config) for recipe in tier]
            for tier in policy.tiers
        ]
        flat = [pair for tier in self.plugins for pair in tier]
        self._flat = flat
        for plugin, _ in flat:
            if plugin.calls_out:
                plugin.remote = policy.remote
        self.statics = [p.node_static for p in self.offering(NodeStatic, "enablePredicate")]
        self.filters = [p.node_filter for p in self.offering(NodeFilter, "enablePredicate")]
        self.whys = [p.why for p in self.offering(Why, "enablePredicate")]
        self.scorers = [p.node_score for p in self.offering(NodeScore, "enableNodeOrder")]
        self.preferences = [p.node_preference for p in self.offering(NodePreference, "enableNodeOrder")]
        self.domains = [
            (
                cast(DomainTerms, plugin).domain_terms,
                config.enabled("enablePredicate"),
                config.enabled("enableNodeOrder"),
            )
            for plugin, config in flat
            if offers(type(plugin), DomainTerms)
            and (config.enabled("enablePredicate") or config.enabled("enableNodeOrder"))
        ]
        self.movers = [p.moves_itself for p in self.offering(MovesItself)]
        self.prefixes = [p.valid_prefix for p in self.offering(ValidPrefix)]
        keyed = [(plugin.name, plugin) for plugin, _ in flat if offers(type(plugin), ClassKey)]
        self._keyed = [name for name, _ in keyed]
        self.class_keys = [cast(ClassKey, plugin).class_key for _, plugin in keyed]
        self.needs = [p.gang_need for p in self.offering(GangNeed, "enableJobReady")]
        self.readies = [p.job_ready for p in self.offering(JobReady, "enableJobReady")]
        self.valids = [p.job_valid for p in self.offering(JobValid)]
        self.job_orders = [p.job_order for p in self.offering(JobOrder, "enableJobOrder")]
        self.task_orders = [p.task_order for p in self.offering(TaskOrder, "enableTaskOrder")]
        self.queue_orders = [p.queue_order for p in self.offering(QueueOrder, "enableQueueOrder")]
        self.overuses = [p.queue_overused for p in self.offering(QueueOverused, "enabledOverused")]
        self.allowers = [p.queue_allows for p in self.offering(QueueAllows, "enabledAllocatable")]
        self.reservers = [
            cast(Reserve, plugin)
            for plugin, config in flat
            if offers(type(plugin), Reserve)
            and not plugin.observes
            and (config.enabled("enablePredicate") or plugin.calls_out)
        ]
        self.watchers = [
            cast(Reserve, plugin) for plugin, _ in flat if plugin.observes and offers(type(plugin), Reserve)
        ]
        self.enqueueds = [p.job_enqueued for p in self.offering(JobEnqueued, "enableJobEnqueued")]
        self.figures = [p.queue_figures for p in self.offering(FiguresOfQueue)]
        self.cards = [p.card_figures for p in self.offering(FiguresOfCards)]
        self.shares = [p.job_shares for p in self.offering(SharesOfJobs)]
        self.verdicts = Verdicts(self.plugins)
        self._pipelined = self._tiers(JobPipelined, "enableJobPipelined")
        self._enqueueable = self._tiers(JobEnqueueable, "enableJobEnqueued")
        self._starving = self._tiers(JobStarving, "enableJobStarving")
        self.parts = PartChains(self.plugins)
        self._meter = Meter() if meter is None else meter
        self._open(view)
        self.rekeys = bool(self.queue_orders) and any(plugin.rekeys for plugin, _ in flat)

    def _open(self, view: View) -> None:
        meter = self._meter
        for plugin, _ in self._flat:
            started = meter.clock()
            plugin.open(view)
            meter.opened.append((plugin.name, meter.clock() - started))

    def close(self, view: View, closing: Closing) -> None:
        """Ask every plugin for its last words."""
        meter = self._meter
        for plugin, _ in self._flat:
            started = meter.clock()
            if offers(type(plugin), Close):
                cast(Close, plugin).close(view, closing)
            meter.closed.append((plugin.name, meter.clock() - started))

    def wakes_at(self, view: View) -> float | None:
        """The earliest moment at which time alone changes an answer of a plugin."""
        now = view.snapshot.now
        asked = (plugin.wakes_at(view) for plugin in self.offering(WakesAt))
        return min((at for at in asked if at is not None and at > now), default=None)

    def ran(self, view: View) -> tuple[str, ...]:
        """Periodic work that plugins did in this session."""
        return tuple(sorted({name for plugin in self.offering(Ran) for name in plugin.ran(view)}))

    def offering(self, hook: type[P], flag: str = "") -> list[P]:
        """Plugins with the hook, in order, unless `flag` switches it off."""
        found: list[P] = []
        for plugin, config in self._flat:
            if offers(type(plugin), hook) and (not flag or config.enabled(flag)):
                found.append(cast(P, plugin))
        return found

    @property
    def by_counts(self) -> bool:
        """Do all that say when a job is ready go by counts and minimums alone?"""
        asked = [*self.offering(GangNeed, "enableJobReady"), *self.offering(JobReady, "enableJobReady")]
        asked += [plugin for tier in self._pipelined for plugin in tier]
        return all(cast("Plugin[Args]", plugin).by_counts for plugin in asked)

    def _tiers(self, hook: type[P], flag: str) -> list[list[P]]:
        chosen = [
            [plugin for plugin, config in tier if offers(type(plugin), hook) and config.enabled(flag)]
            for tier in self.plugins
        ]
        return [cast("list[P]", tier) for tier in chosen if tier]

    # ---- nodes ----

    def static(self, view: View, shape: Shape) -> Bool:
        """(N,) nodes that every `node_static` allows. Conditions are not looked at: taints keep pods off, as in Volcano."""
        allowed = np.ones(len(view.snapshot.nodes), dtype=np.bool_)
        for hook in self.statics:
            mask = hook(view, shape)
            if mask is not None:
                allowed &= mask
        return allowed

    def keyed(self, keys: tuple[object, ...]) -> dict[str, object]:
        """Answers of `class_keys` by plugin name, without None."""
        return {name: key for name, key in zip(self._keyed, keys, strict=True) if key is not None}

    def domain_terms(self, view: View, shape: Shape, candidates: Bool) -> list[DomainTerm]:
        """Terms of all plugins; parts that a flag switches off are left out."""
        terms: list[DomainTerm] = []
        for hook, filters, scores in self.domains:
            for term in hook(view, shape, candidates):
                ok, raw = term.ok if filters else None, term.raw if scores else None
                if ok is None and raw is None:
                    continue
                terms.append(DomainTerm(ok, raw, term.counted, term.scale, term.weight))
        return terms

    def moves_itself(self, view: View, shape: Shape) -> bool:
        """Does any plugin say that placing the shape changes its own domain terms?"""
        return any(hook(view, shape) for hook in self.movers)

    # ---- jobs ----

    def gang_need(self, view: View, job: int, tasks: Int) -> int:
        """How many of the tasks until the job is ready: the largest answer, 1 when nobody answers."""
        return max((hook(view, job, tasks) for hook in self.needs), default=1)

    def job_ready(self, view: View, job: int) -> bool:
        """All plugins agree."""
        return all(hook(view, job) for hook in self.readies)

    def job_valid(self, view: View, job: int) -> str | None:
        """The first sentence against the job."""
        for hook in self.valids:
            said = hook(view, job)
            if said is not None:
                return said
        return None

    def job_pipelined(self, view: View, job: int) -> bool:
        """A rejection met first ends it; a tier with a permit decides; nobody: yes."""
        return (
            _votes(
                (Answer(plugin.job_pipelined(view, job)) for plugin in tier) for tier in self._pipelined
            ).vote
            > 0
        )

    def job_enqueueable(self, view: View, job: int) -> Answer:
        """As `job_pipelined`, with the sentence of the rejection."""
        return _votes((plugin.job_enqueueable(view, job) for plugin in tier) for tier in self._enqueueable)

    def job_starving(self, view: View, job: int) -> bool:
        """All plugins of the first tier that has any; nobody: no."""
        if not self._starving:
            return False
        return all(plugin.job_starving(view, job) for plugin in self._starving[0])

    # ---- queues ----

    def queue_overused(self, view: View, queue: int) -> bool:
        """Any plugin says so."""
        return any(hook(view, queue) for hook in self.overuses)

    def queue_allows(self, view: View, queue: int, shape: Shape, count: int) -> int:
        """The smallest answer, between 0 and `count`."""
        for hook in self.allowers:
            if count <= 0:
                return 0
            count = min(count, hook(view, queue, shape, count))
        return max(count, 0)

    def queue_key(self, view: View, queue: int) -> tuple[float, ...]:
        """Columns of all plugins, joined."""
        key: tuple[float, ...] = ()
        for hook in self.queue_orders:
            key += tuple(hook(view, queue))
        return key


def _votes(tiers: Iterable[Iterable[Answer]]) -> Answer:
    for tier in tiers:
        permitted = False
        for answer in tier:
            if answer.vote is Vote.REJECT:
                return answer
            permitted = permitted or answer.vote is Vote.PERMIT
        if permitted:
            break
    return Answer(Vote.PERMIT)


def policy_of(
    actions: Sequence[Action], tiers: Sequence[Sequence[tuple[type[Plugin[Args]], Mapping[str, object]]]]
) -> Policy:
    """A policy from classes and plain arguments, for tests and for programs that bring their own plugins."""
    recipes = tuple(
        tuple(
            Recipe(plugin, plugin.args_model.model_validate(dict(args)), PluginConfig(plugin.name))
            for plugin, args in tier
        )
        for tier in tiers
    )
    return Policy(tuple(actions), recipes)

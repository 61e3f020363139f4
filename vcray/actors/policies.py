"""From the text of a configuration to a policy, with users' plugins as they are on disk now, behind their fence."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from time import perf_counter

from vcray.actors.watchdog import Watchdog
from vcray.config.scheduler import load_scheduler_config
from vcray.config.userfiles import endless
from vcray.core.decisions import LeftOut
from vcray.core.fence import Fence, Overrun, users_of, watched
from vcray.core.policy import Policy, build_policy
from vcray.core.shardrules import Mode, with_shard
from vcray.errors import ConfigError
from vcray.kube.remote import HttpRemote
from vcray.log import get_logger
from vcray.metrics import Metrics
from vcray.registry import ACTIONS, Registry

log = get_logger("plugins")

IMPORT_S = 10.0
"""How long users' files may take to be imported; scheduling waits for them."""

_importing = Watchdog()


def policy_from(text: str, registry: Registry) -> Policy:
    """The policy of a volcano-scheduler.conf. ConfigError when it cannot be used; what was skipped is in its problems."""
    return build_policy(load_scheduler_config(text, registry.names(ACTIONS)), registry)


def policy_in_time(text: str, registry: Registry, seconds: float = IMPORT_S) -> Policy:
    """`policy_from`; ConfigError VC0110 when the import of a user's file does not come back."""
    if registry.folder is None:
        return policy_from(text, registry)
    try:
        policy: Policy = watched(_importing, seconds, policy_from, (text, registry))
    except Overrun as error:
        raise ConfigError(endless(registry.folder, seconds, error)) from None
    return policy


def policy_at_restart(text: str, registry: Registry) -> Policy:
    """The policy of a configuration that was in force before this part of the control plane was lost.

    A user's file that was broken meanwhile is left out, with an error in the log, rather than that nothing is scheduled; it is
    back once it is mended. ConfigError as `policy_from` for all else."""
    try:
        return policy_in_time(text, registry)
    except ConfigError as error:
        if registry.folder is None or any(problem.code != "VC0110" for problem in error.problems):
            raise
        log.error("begins without users' plugins", why=str(error))
        return policy_from(text, registry.built_in())


class Policies:
    """Reads configurations. `budget_s`: what one plugin of a user's may take of a round, 0 for no limit; `shard`: the
    NodeShard that policies are bound to, and how."""

    def __init__(
        self,
        registry: Registry,
        metrics: Metrics,
        budget_s: float = 0.0,
        shard: tuple[str, Mode] = ("", "none"),
        gates: bool = False,
        import_s: float = IMPORT_S,
    ) -> None:
        self._import_s = import_s
        self._gates = gates
        self._shard = shard
        self._registry = registry
        self._metrics = metrics
        self._fence = Fence(perf_counter, budget_s, Watchdog() if budget_s > 0 else None)
        self._left_out: frozenset[LeftOut] = frozenset()

    def read(self, text: str) -> tuple[Policy, str]:
        """The policy, and the text by which other processes know it: it names the state of users' files too.

        ConfigError when the text or a file that it names cannot be used; what was known of the files then stays."""
        registry = self._registry.refreshed()
        policy = policy_in_time(text, registry, self._import_s)
        self._registry = registry
        mark = f"\n# plugins: {registry.stamp}\n" if registry.stamp else ""
        return self.fenced(policy), text + mark

    def fenced(self, policy: Policy) -> Policy:
        """The policy bound to its shard, with a clock for users' plugins where it has any."""
        policy = replace(with_shard(policy, *self._shard), gates=self._gates)
        if policy.calls_out:
            policy = replace(policy, remote=HttpRemote())
        return replace(policy, fence=self._fence) if users_of(policy) else policy

    def note(self, left_out: Iterable[LeftOut]) -> None:
        """Count what a round was decided without, and log what is new of it."""
        now = frozenset(left_out)
        for each in now:
            self._metrics.plugin_failures.labels(plugin=each.plugin, hook=each.hook).inc()
        for each in sorted(now - self._left_out, key=lambda each: (each.plugin, each.hook)):
            log.warning("left out of the round", plugin=each.plugin, hook=each.hook, why=each.why)
        self._left_out = now

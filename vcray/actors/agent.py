"""The agent's fast path: pods of a scheduler name of their own, placed one by one, without gang or queue (Volcano's
vc-agent-scheduler).

It runs in the coordinator, on the same merge as batch rounds: whichever decides first, its placements are assumed before the
other looks, so the two never give away the same room. A turn takes the pods that wait, best first, and neither waits for a
round nor starts one. What cannot be placed comes back as kube-scheduler's queue has it: when something happened that may
help, and not before a back-off.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Final

from vcray.actors.messages import Execute, Outcome
from vcray.actors.novelty import Novelty
from vcray.cache.delta import Delta, Field
from vcray.cache.groups import AGENT_JOB
from vcray.cache.merge import Merge
from vcray.config.scheduler import PluginConfig
from vcray.core.arrays import Int
from vcray.core.carry import Carry
from vcray.core.decisions import Commit, Decisions, Waiting
from vcray.core.plugin import Args, Plugin
from vcray.core.policy import Policy, Recipe
from vcray.core.session import decide
from vcray.core.snapshot import Snapshot
from vcray.core.tables import Status
from vcray.core.view import View
from vcray.metrics import Metrics

BACKOFF_S, LONGEST_BACKOFF_S = 1.0, 10.0
"""kube-scheduler's podInitialBackoffSeconds and podMaxBackoffSeconds."""

FLUSH_S: Final = 300.0
"""kube-scheduler's podMaxInUnschedulablePodsDuration: then a pod is tried again though nothing happened."""


class PrioritySort(Plugin[Args]):
    """The order of kube-scheduler's queue: higher priority first, then who came first."""

    def task_order(self, view: View, tasks: Int) -> Int:
        """Smaller first."""
        order: Int = -view.snapshot.tasks.priority[tasks].astype("int64")
        return order


@dataclass(slots=True)
class _Failed:
    """A pod that fitted nowhere: tries, time of the last, may something have helped since, do other pods matter to it?"""

    attempts: int
    since: float
    cured: bool = False
    by_pods: bool = False

    def ready_at(self) -> float:
        """When it is tried again."""
        pause = min(LONGEST_BACKOFF_S, BACKOFF_S * 2.0 ** min(self.attempts - 1, 10))
        return self.since + (pause if self.cured else FLUSH_S)


class Backlog:
    """Pods that were tried in vain."""

    def __init__(self) -> None:
        self._failed: dict[str, _Failed] = {}

    def __len__(self) -> int:
        return len(self._failed)

    def failed(self, key: str, now: float, by_pods: bool = False) -> None:
        """The pod fitted nowhere."""
        before = self._failed.get(key)
        self._failed[key] = _Failed(before.attempts + 1 if before else 1, now, by_pods=by_pods)

    def refused(self, key: str, now: float) -> None:
        """Its binding was refused: again after its back-off."""
        self.failed(key, now)
        self._failed[key].cured = True

    def done(self, keys: Iterable[str]) -> None:
        """These are placed, gone, or others than before."""
        for key in keys:
            self._failed.pop(key, None)

    def cure(self, only_by_pods: bool = False) -> None:
        """Something happened that may help."""
        for each in self._failed.values():
            each.cured = each.cured or each.by_pods or not only_by_pods

    def left_out(self, now: float) -> frozenset[str]:
        """Pods that are not to be tried now."""
        return frozenset(key for key, each in self._failed.items() if each.ready_at() > now)

    def due(self) -> float | None:
        """When the next of them may be tried, None when there is none."""
        return min((each.ready_at() for each in self._failed.values()), default=None)


class AgentPath:
    """Decides turns of the fast path. `backfill` is a policy with that action, for pods that request nothing."""

    def __init__(self, policy: Policy, backfill: Policy, metrics: Metrics, seed: int = 0) -> None:
        order = (Recipe(PrioritySort, Args(), PluginConfig(PrioritySort.name)),)
        actions = policy.actions
        if not policy.has_action("backfill"):
            actions = (*actions, *backfill.actions)
        self._policy = replace(policy, actions=actions, tiers=(order, *policy.tiers))
        self._metrics = metrics
        self._seed = seed
        self._carry = Carry()
        self._novelty = Novelty()
        self.backlog = Backlog()

    def saw(self, delta: Delta) -> None:
        """Draw from what changed which pods may fit now; before the delta is taken in."""
        values = delta.values
        ours = {
            key
            for key, job in zip(delta.keys, values[Field.JOB].tolist(), strict=True)
            if delta.strings[job] == AGENT_JOB
        }
        self.backlog.done(ours)
        self.backlog.done(key for key, _ in delta.gone)
        if not len(self.backlog):
            return
        status = values[Field.STATUS]
        leaves = (status == Status.SUCCEEDED) | (status == Status.FAILED) | (status == Status.RELEASING)
        others = any(kind not in ("PodGroup", "Queue") for kind, _, _ in delta.gone_cluster) or any(
            type(row).__name__ not in ("GroupRow", "QueueRow") for _, row in delta.cluster
        )
        if delta.full or delta.nodes or delta.gone_nodes or delta.gone or others or leaves.any():
            self.backlog.cure()
        elif (values[Field.NODE] != 0).any():
            self.backlog.cure(only_by_pods=True)

    def turn(
        self, merge: Merge, now: float, complete: Callable[[Snapshot], Snapshot] = lambda snapshot: snapshot
    ) -> Execute | None:
        """Try all pods that may be tried now; what is to be carried out, None for nothing. Placements are assumed.

        `complete` puts into the snapshot what the cache does not know."""
        if not merge.agent_waits():
            return None
        started = perf_counter()
        snapshot = complete(merge.agent_snapshot(now, self._seed, self.backlog.left_out(now)))
        opened = perf_counter()
        if not len(snapshot.tasks):
            return None
        decisions = self._reworded(snapshot, decide(snapshot, self._policy, self._carry))
        merge.assume(decisions.commits, now)
        self._remember(snapshot, decisions, now)
        self._metrics.agent_snapshot.observe((opened - started) * 1000)
        self._metrics.agent_cycle.observe((perf_counter() - started) * 1000)
        kept = self._novelty.keep(decisions, now)
        if not kept.commits and not kept.waiting:
            return None
        ages = dict(zip(snapshot.tasks.uids, snapshot.tasks.created.tolist(), strict=True))
        uids = [bind.uid for commit in kept.commits for bind in commit.binds]
        for uid in uids:
            self._metrics.task_latency.labels("Assumed").observe(max(0.0, now - ages[uid]) * 1000)
        return Execute(kept, (), {uid: ages[uid] for uid in uids})

    def learn(self, outcomes: Iterable[Outcome], now: float) -> list[str]:
        """What became of bindings; uids whose placements came to nothing."""
        failed = []
        for outcome in outcomes:
            if outcome.result not in ("bound", "waiting"):
                failed.append(outcome.uid)
                if outcome.result == "refused":
                    self.backlog.refused(outcome.task, now)
        self._novelty.forget(failed)
        return failed

    def _reworded(self, snapshot: Snapshot, decided: Decisions) -> Decisions:
        """Bindings, each by itself, and complaints in kube-scheduler's words: there is no PodGroup and no queue to tell of."""
        waiting = tuple(replace(each, message=_kube_words(each)) for each in decided.waiting)
        commits = tuple(
            Commit(commit.job, (bind,), False) for commit in decided.commits for bind in commit.binds
        )
        return Decisions(snapshot.generation, commits=commits, waiting=waiting)

    def _remember(self, snapshot: Snapshot, decisions: Decisions, now: float) -> None:
        self.backlog.done(bind.task for commit in decisions.commits for bind in commit.binds)
        if not decisions.waiting:
            return
        tasks, shapes = snapshot.tasks, snapshot.shapes
        rows = {name: row for row, name in enumerate(tasks.names)}
        for group in decisions.waiting:
            for key, _ in group.pods:
                spec = shapes[int(tasks.shape[rows[key]])]
                by_pods = bool(spec.affinity or spec.anti_affinity or spec.spread)
                self.backlog.failed(key, now, by_pods)


def _kube_words(waiting: Waiting) -> str:
    """`0/5 nodes are available: …`, as kube-scheduler says it."""
    if waiting.message.startswith("0/0 "):
        return "no nodes available to schedule pods"
    return waiting.message.replace(" nodes are unavailable", " nodes are available", 1)


def waits_for_agent_alone(delta: Delta) -> bool:
    """Is there nothing in the delta but pods that wait for the fast path? Then no batch round is worth its while."""
    if delta.full or delta.gone or delta.nodes or delta.gone_nodes or delta.cluster or delta.gone_cluster:
        return False
    numbers = {number for number, text in enumerate(delta.strings) if text == AGENT_JOB}
    jobs, status = delta.values[Field.JOB], delta.values[Field.STATUS]
    return all(number in numbers for number in jobs.tolist()) and bool((status == Status.PENDING).all())

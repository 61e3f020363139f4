"""Who may be evicted: the answers of all plugins as one, by tiers, for the candidates of many nodes at once.

Per node and tier: a plugin that abstains is left out; one that names nobody ends the tier; the first that names somebody starts
the list and later ones thin it out; a list that came out empty is started anew by the next plugin. The first tier with a list
wins. So far Volcano's rule. Ours beside it: a share plugin (`Plugin.vetoes`) is asked about the winners again, whatever its
tier, and what it refuses is not taken (volcano-sh/volcano#5896). And preempt passes over a tier in
which only plugins answer that protect (`Plugin.keeps`): that nothing speaks for keeping a pod is no reason to take it from an
equal. For reclaim it is one, as long as a share plugin agrees.
"""

# mypy: disable-error-code="type-abstract"
from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias

import numpy as np

from vcray.config.scheduler import PluginConfig
from vcray.core.arrays import Bool, Int
from vcray.core.plugin import Args, Plugin
from vcray.core.victims import Candidates, Claim, ClaimKind, starts
from vcray.core.view import View

Judge: TypeAlias = Callable[[View, Claim, Candidates], "Bool | None"]

HOOK_OF: Mapping[ClaimKind, tuple[str, str]] = {
    ClaimKind.PREEMPT: ("preemptable", "enablePreemptable"),
    ClaimKind.RECLAIM: ("reclaimable", "enableReclaimable"),
    ClaimKind.GANG_PREEMPT: ("evictable", ""),
    ClaimKind.GANG_RECLAIM: ("evictable", ""),
}
"""Which hook judges the victims of an action, and the flag that switches it on."""

Tiers: TypeAlias = Sequence[Sequence[tuple[Plugin[Args], PluginConfig]]]


class Verdicts:
    """The victim hooks of a session's plugins."""

    def __init__(self, tiers: Tiers) -> None:
        self._judges: dict[ClaimKind, list[list[tuple[Judge, bool]]]] = {}
        self._vetoes: dict[ClaimKind, list[Judge]] = {}
        self._keys: dict[ClaimKind, list[Callable[[View, Claim], object] | None]] = {}
        for kind, (hook, flag) in HOOK_OF.items():
            found = [_with(tier, hook, flag) for tier in tiers]
            self._judges[kind] = [
                [(getattr(plugin, hook), plugin.keeps) for plugin in tier] for tier in found if tier
            ]
            self._vetoes[kind] = [getattr(plugin, hook) for tier in found for plugin in tier if plugin.vetoes]
            self._keys[kind] = [getattr(plugin, "claim_key", None) for tier in found for plugin in tier]
        flat = [pair for tier in tiers for pair in tier]
        self.ranks = any(plugin.ranks for plugin in _with(flat, *HOOK_OF[ClaimKind.PREEMPT]))
        """May more valuable jobs of a queue take from less valuable ones?"""
        self._preemptive = [p.queue_preemptive for p in _with(flat, "queue_preemptive", "enablePreemptive")]  # type: ignore[attr-defined]
        self._orders = [p.victim_order for p in _with(flat, "victim_order", "")]  # type: ignore[attr-defined]
        self._names = [
            [p.victim_tasks for p in named]  # type: ignore[attr-defined]
            for tier in tiers
            if (named := [p for p in _with(tier, "victim_tasks", "enabledVictim") if not p.vetoes])
        ]
        self._keeps = [p.victim_tasks for p in _with(flat, "victim_tasks", "enabledVictim") if p.vetoes]  # type: ignore[attr-defined]

    def allowed(self, view: View, claim: Claim, candidates: Candidates) -> Bool:
        """(k,) candidates that the claim may take, each node judged on its own; nobody says anything: none."""
        size = len(candidates)
        out = np.zeros(size, dtype=np.bool_)
        if not size:
            return out
        change = starts(candidates.group)
        first, of = np.flatnonzero(change), np.cumsum(change) - 1
        undecided = np.ones(len(first), dtype=np.bool_)
        said: dict[Judge, Bool] = {}

        def named(mask: Bool) -> Bool:
            some: Bool = np.logical_or.reduceat(mask, first)
            return some

        for tier in self._judges[claim.kind]:
            listed: Bool | None = None
            alive = undecided.copy()
            names = claim.kind is not ClaimKind.PREEMPT
            for judge, only_keeps in tier:
                mask = judge(view, claim, candidates)
                if mask is None:
                    continue
                names = names or not only_keeps
                said[judge] = mask
                if not mask.all():
                    alive &= named(mask)
                    if not alive.any():
                        break
                if listed is None or listed.all():
                    listed = mask
                else:
                    listed = np.where(named(listed & alive[of])[of], listed & mask, mask)
            if listed is None or not names:
                continue
            listed = listed & alive[of]
            won = named(listed)
            if won.any():
                out |= listed
                undecided &= ~won
                if not undecided.any():
                    break
        return self._without_vetoed(view, claim, candidates, out, said)

    def _without_vetoed(
        self, view: View, claim: Claim, candidates: Candidates, out: Bool, said: Mapping[Judge, Bool]
    ) -> Bool:
        """Ask the plugins that veto about the winners alone: candidates that stay anyway must not use up a queue's surplus.

        One that let all of them go among more candidates has no more to say."""
        last: Claim | None = None
        for judge in self._vetoes[claim.kind]:
            if judge in said and not (out & ~said[judge]).any():
                continue
            rows = np.flatnonzero(out)
            if not len(rows):
                break
            last = last or replace(claim, again=True)
            mask = judge(view, last, candidates.at(rows))
            if mask is not None:
                out[rows] = mask
        return out

    def claim_key(self, view: View, claim: Claim) -> object:
        """Claims of one queue for equal pods with equal keys are judged alike in the same state of the ledger."""
        return tuple(
            (claim.job, claim.tasks) if hook is None else hook(view, claim) for hook in self._keys[claim.kind]
        )

    def queue_preemptive(self, view: View, queue: int, request: Int) -> bool:
        """All plugins let the queue take from others for a request (R,); nobody: yes."""
        return all(hook(view, queue, request) for hook in self._preemptive)

    def victim_key(self, view: View, claimant: int, queue: int) -> tuple[float, ...]:
        """Columns of all plugins for a queue that victims are in, joined."""
        key: tuple[float, ...] = ()
        for hook in self._orders:
            key += tuple(hook(view, claimant, queue))
        return key

    def victim_tasks(self, view: View, tasks: Int) -> Bool:
        """(k,) tasks that some plugin of the first tier that names any wants gone, and that no plugin with a veto keeps.

        One with a veto is asked about those alone and names nobody itself: what a budget allows to go need not go."""
        named = np.zeros(len(tasks), dtype=np.bool_)
        for tier in self._names:
            for hook in tier:
                named |= hook(view, tasks)
            if named.any():
                break
        for hook in self._keeps:
            rows = np.flatnonzero(named)
            if len(rows):
                named[rows] = hook(view, tasks[rows])
        return named


def _with(pairs: Sequence[tuple[Plugin[Args], PluginConfig]], hook: str, flag: str) -> list[Plugin[Args]]:
    """Plugins that have a hook and its flag on."""
    return [
        plugin
        for plugin, config in pairs
        if callable(getattr(plugin, hook, None)) and (not flag or config.enabled(flag))
    ]

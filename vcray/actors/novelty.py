"""Keeps a round from saying again what an earlier round said, and from complaining too soon.

The kernel is pure: a gang that waits yields the same status, conditions and events in every round. Volcano writes them each
second; here only what is new goes out, until the process restarts. A round runs milliseconds after a change, so a job whose pods
are still being made looks unschedulable for a moment: that a pod or group cannot be scheduled is told only once it has been so
for `patience_s`. Commits and evictions always pass.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from vcray.core.decisions import Decisions, Event

REMEMBERED = 200_000
"""Statements remembered, the oldest forgotten first: two per pod of the largest cluster we plan for."""

COMPLAINTS = ("Unschedulable", "FailedScheduling")
"""Reasons of events that say that something cannot be scheduled now."""

Key = tuple[str, ...]


class Novelty:
    """Last statement about each object. `due` is when a complaint that is held back may go out, None when none is."""

    def __init__(self, patience_s: float = 0.0) -> None:
        self._patience_s = patience_s
        self._said: dict[Key, object] = {}
        self._since: dict[Key, float] = {}
        self.due: float | None = None

    def keep(self, decisions: Decisions, now: float = 0.0) -> Decisions:
        """The decisions without statements that were made before, and without complaints that are too young."""
        ripe = self._ripe(decisions, now)
        return replace(
            decisions,
            groups=tuple(
                group
                for group in decisions.groups
                if self._is_new(("group", group.uid), (group.resource_version, group.status))
            ),
            conditions=tuple(
                each
                for each in decisions.conditions
                if ("pod", each.uid) in ripe and self._is_new(("pod", each.uid), each)
            ),
            events=tuple(
                event
                for event in decisions.events
                if (event.reason not in COMPLAINTS or _key(event) in ripe)
                and self._is_new(_key(event), event)
            ),
            queues=tuple(queue for queue in decisions.queues if self._is_new(("queue", queue.queue), queue)),
        )

    def _ripe(self, decisions: Decisions, now: float) -> set[Key]:
        """Complaints that have lasted; those that are no longer made are forgotten."""
        made: list[Key] = [("pod", each.uid) for each in decisions.conditions]
        made += [_key(event) for event in decisions.events if event.reason in COMPLAINTS]
        self._since = {key: self._since.get(key, now) for key in made}
        young = [since for since in self._since.values() if now - since < self._patience_s]
        self.due = min(young) + self._patience_s if young else None
        return {key for key, since in self._since.items() if now - since >= self._patience_s}

    def forget(self, uids: Iterable[str]) -> None:
        """Let the next statement about these pods pass, whatever it is."""
        for uid in uids:
            self._said.pop(("pod", uid), None)

    def _is_new(self, about: tuple[str, ...], statement: object) -> bool:
        if self._said.get(about) == statement:
            return False
        self._said.pop(about, None)
        self._said[about] = statement
        if len(self._said) > REMEMBERED:
            del self._said[next(iter(self._said))]
        return True


def _key(event: Event) -> Key:
    return ("event", event.kind, event.name, event.type, event.reason)

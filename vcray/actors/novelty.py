"""Keeps a round from saying again what an earlier round said.

The kernel is pure: a gang that waits yields the same status, conditions and events in every round. Volcano writes them each
second; here only what is new goes out, until the process restarts. Commits and evictions always pass.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from vcray.core.decisions import Decisions

REMEMBERED = 200_000
"""Statements remembered, the oldest forgotten first: two per pod of the largest cluster we plan for."""


class Novelty:
    """Last statement about each object."""

    def __init__(self) -> None:
        self._said: dict[tuple[str, ...], object] = {}

    def keep(self, decisions: Decisions) -> Decisions:
        """The decisions without statements that were made before."""
        return replace(
            decisions,
            groups=tuple(
                group
                for group in decisions.groups
                if self._is_new(("group", group.uid), (group.resource_version, group.status))
            ),
            conditions=tuple(each for each in decisions.conditions if self._is_new(("pod", each.uid), each)),
            events=tuple(
                event
                for event in decisions.events
                if self._is_new(("event", event.kind, event.name, event.type, event.reason), event)
            ),
            queues=tuple(queue for queue in decisions.queues if self._is_new(("queue", queue.queue), queue)),
        )

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

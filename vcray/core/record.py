"""What the actions of a session learn and say, kept until it closes."""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass, field

from vcray.core.decisions import Event

_NONE: Set[int] = frozenset()


@dataclass(slots=True)
class Record:
    """Sentences per task and events. `refused`: task row -> why no node took it, the latest; `failed_roles`: job row ->
    non-empty roles of which a task did not fit in this session."""

    refused: dict[int, str] = field(default_factory=dict)
    failed_roles: dict[int, set[int]] = field(default_factory=dict)
    events: list[Event] = field(default_factory=list)

    def roles_failed(self, job: int) -> Set[int]:
        """Roles of the job that are not tried any more; never holds the empty role."""
        return self.failed_roles.get(job, _NONE)

"""What the actions of a session learn and say, kept until it closes."""

from __future__ import annotations

from dataclasses import dataclass, field

from vcray.core.decisions import Event


@dataclass(slots=True)
class Record:
    """Sentences per task and events. `refused`: task row -> why no node took it, the latest; `failed_roles`: (job, role) of
    a non-empty role of which a task did not fit in this session."""

    refused: dict[int, str] = field(default_factory=dict)
    failed_roles: set[tuple[int, int]] = field(default_factory=set)
    events: list[Event] = field(default_factory=list)

"""Queues as values."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from vcray.api.jsonview import dig_int, dig_object, dig_str
from vcray.api.meta import JsonObject


@dataclass(frozen=True, slots=True)
class QueueInfo:
    """A queue: its state (`Open`, `Closed`, …), place in the tree, share, and resources as quantities by name.

    `groups`: PodGroups by phase, in small letters."""

    name: str
    state: str
    parent: str
    weight: int
    capability: Mapping[str, str]
    deserved: Mapping[str, str]
    allocated: Mapping[str, str]
    groups: Mapping[str, int]


_PHASES: Final = ("Pending", "Inqueue", "Running", "Completed", "Unknown")


def queue_infos(queues: Sequence[JsonObject], groups: Sequence[JsonObject]) -> list[QueueInfo]:
    """Queues by name, given all PodGroups: nobody writes the counts of a queue's status any more."""
    found = Counter((dig_str(each, "spec", "queue"), dig_str(each, "status", "phase")) for each in groups)
    return sorted((_info(each, found) for each in queues), key=lambda queue: queue.name)


def _info(queue: JsonObject, found: Mapping[tuple[str, str], int]) -> QueueInfo:
    name = dig_str(queue, "metadata", "name")
    return QueueInfo(
        name,
        dig_str(queue, "status", "state"),
        dig_str(queue, "spec", "parent"),
        dig_int(queue, "spec", "weight", default=1),
        _amounts(queue, "spec", "capability"),
        _amounts(queue, "spec", "deserved"),
        _amounts(queue, "status", "allocated"),
        {phase.lower(): found.get((name, phase), 0) for phase in _PHASES},
    )


def _amounts(queue: JsonObject, *path: str) -> Mapping[str, str]:
    return {name: str(amount) for name, amount in dig_object(queue, *path).items()}

"""Queues as values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

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


def queue_info(queue: JsonObject) -> QueueInfo:
    """A queue as the API server has it."""
    phases = ("pending", "inqueue", "running", "completed", "unknown")
    return QueueInfo(
        dig_str(queue, "metadata", "name"),
        dig_str(queue, "status", "state"),
        dig_str(queue, "spec", "parent"),
        dig_int(queue, "spec", "weight", default=1),
        _amounts(queue, "spec", "capability"),
        _amounts(queue, "spec", "deserved"),
        _amounts(queue, "status", "allocated"),
        {phase: dig_int(queue, "status", phase) for phase in phases},
    )


def _amounts(queue: JsonObject, *path: str) -> Mapping[str, str]:
    return {name: str(amount) for name, amount in dig_object(queue, *path).items()}

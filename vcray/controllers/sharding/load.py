"""How much of each node pods ask for, kept as pods change: one look at a pod for each of its changes.

Counted are the requests of the containers of pods on a node that have not ended and are no mirror pods, against the node's
capacity (not what is allocatable), as Volcano does (api-controllers.md 4.6).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, NamedTuple

from vcray.api import names
from vcray.api.meta import JsonObject
from vcray.api.quantity import QuantityError, milli, value
from vcray.controllers import raw
from vcray.controllers.base import Change

MIRROR: Final = "kubernetes.io/config.mirror"
"""Annotation of a pod that stands for a static one."""


class Utilisation(NamedTuple):
    """Parts of a node that are asked for, 0 to 1."""

    cpu: float
    memory: float


@dataclass(slots=True)
class Asked:
    """Milli-cpu and bytes."""

    cpu: int = 0
    memory: int = 0


class Load:
    """What pods ask for, by node."""

    def __init__(self) -> None:
        self._nodes: dict[str, Asked] = {}

    def follow(self, change: Change) -> tuple[str, ...]:
        """Take in a change of a pod; the nodes that it concerns."""
        moved = []
        for pod, sign in ((change.old, -1), (change.new, 1)):
            node = "" if pod is None else raw.text(pod, "spec", "nodeName")
            if pod is None or not node or not _counts(pod):
                continue
            asked = self._nodes.setdefault(node, Asked())
            asked.cpu += sign * sum(_asked(each, names.CPU) for each in raw.tables(pod, "spec", "containers"))
            asked.memory += sign * sum(
                _asked(each, names.MEMORY) for each in raw.tables(pod, "spec", "containers")
            )
            moved.append(node)
            if asked == Asked():
                del self._nodes[node]
        return tuple(dict.fromkeys(moved))

    def of(self, node: JsonObject) -> Utilisation:
        """Of a node as it is now; what it has none of is not used."""
        asked = self._nodes.get(raw.name(node), Asked())
        capacity = raw.table(node, "status", "capacity")
        return Utilisation(
            _part(asked.cpu, _amount(capacity, names.CPU)),
            _part(asked.memory, _amount(capacity, names.MEMORY)),
        )


def _counts(pod: JsonObject) -> bool:
    ended = raw.text(pod, "status", "phase") in ("Succeeded", "Failed")
    return not ended and MIRROR not in raw.annotations_of(pod)


def _asked(container: JsonObject, resource: str) -> int:
    return _amount(raw.table(container, "resources", "requests"), resource)


def _amount(amounts: JsonObject, resource: str) -> int:
    quantity = amounts.get(resource)
    if not isinstance(quantity, str | int | float):
        return 0
    try:
        return milli(quantity) if resource == names.CPU else value(quantity)
    except QuantityError:
        return 0


def _part(asked: int, there: int) -> float:
    return min(1.0, asked / there) if there > 0 else 0.0

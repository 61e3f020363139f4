"""Which objects a scheduler is for: by the names of schedulers, by node labels, and by its share among several.

Volcano's rules: a pod is kept when its scheduler is one of ours and it hashes to this replica; any other is kept only for the
room that it takes, on a node of ours. A node that stops matching the selector keeps what was last known of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from vcray.api import names
from vcray.api.jsonview import dig_list, dig_str
from vcray.api.meta import JsonObject
from vcray.api.wire import Node, Pod
from vcray.cache.ring import Ring


@dataclass(frozen=True, slots=True)
class Keeps:
    """`agents`: schedulerNames of the fast path. `nodes`: (label, value) pairs of which a node must have one; none: all."""

    schedulers: frozenset[str] = frozenset({names.SCHEDULER_NAME})
    agents: frozenset[str] = frozenset()
    nodes: tuple[tuple[str, str], ...] = ()
    ring: Ring | None = None

    def pod(self, pod: Pod) -> bool:
        """Is the pod ours to schedule, or on a node of ours already?"""
        return self._schedules(pod) or (bool(pod.spec.node_name) and self._owns(pod.spec.node_name))

    def for_agent(self, pod: Pod) -> bool:
        """Is it a pod without a node that the fast path places?"""
        return pod.spec.scheduler_name in self.agents and not pod.spec.node_name

    def node(self, node: Node) -> bool:
        """Is the node one of ours?"""
        return self._owns(node.metadata.name) and self._selects(node.metadata.labels)

    def group(self, group: JsonObject) -> bool:
        """Is the PodGroup ours?"""
        owners = dig_list(group, "metadata", "ownerReferences")
        first = owners[0] if owners and isinstance(owners[0], dict) else {}
        return self._owns(dig_str(first, "name") or dig_str(group, "metadata", "name"))

    def _schedules(self, pod: Pod) -> bool:
        if pod.spec.scheduler_name not in self.schedulers and pod.spec.scheduler_name not in self.agents:
            return False
        owners = pod.metadata.owner_references
        return self._owns(owners[0].name if owners else pod.metadata.name)

    def _owns(self, key: str) -> bool:
        return self.ring is None or self.ring.owns(key)

    def _selects(self, labels: Mapping[str, str]) -> bool:
        return not self.nodes or any(labels.get(key) == value for key, value in self.nodes)


def node_selector(entries: Iterable[str]) -> tuple[tuple[str, str], ...]:
    """Pairs of `label:value` entries; those of another form are left out."""
    pairs: list[Sequence[str]] = [entry.split(":") for entry in entries]
    return tuple((pair[0].strip(), pair[1].strip()) for pair in pairs if len(pair) == 2 and all(pair))

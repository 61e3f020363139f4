"""Tells our own words when they come back as watch events.

A round writes statuses of PodGroups and queues; each write comes back as a change of the object. When the object says just what
was decided, with its phase as it was, a round on it would decide what the last one did.
"""

from __future__ import annotations

from collections.abc import Iterable

from vcray.cache.amounts import Amounts
from vcray.cache.delta import Delta
from vcray.cache.knowledge import Knowledge
from vcray.cache.rows import ClusterRow, GroupRow, QueueRow
from vcray.core.decisions import GroupUpdate, QueueUpdate
from vcray.core.tables import GroupStatus


class Echoes:
    """What was decided last of each object and has not come back yet."""

    def __init__(self, knowledge: Knowledge) -> None:
        self._knowledge = knowledge
        self._groups: dict[str, GroupStatus] = {}
        self._queues: dict[str, Amounts] = {}

    def expect(self, groups: Iterable[GroupUpdate], queues: Iterable[QueueUpdate]) -> None:
        """These statuses are about to be written."""
        self._groups = {update.job: update.status for update in groups}
        self._queues = {update.queue: _some(update.allocated) for update in queues}

    def are_all(self, delta: Delta) -> bool:
        """Is nothing in a delta, not taken in yet, but such words?"""
        others = (delta.keys, delta.gone, delta.nodes, delta.gone_nodes, delta.gone_cluster, delta.refused)
        if delta.full or any(others) or not delta.cluster:
            return False
        return all(self._is_echo(row) for _, row in delta.cluster)

    def _is_echo(self, row: ClusterRow) -> bool:
        if isinstance(row, GroupRow):
            group = self._knowledge.groups.get(row.key)
            return (
                group is not None
                and self._groups.get(row.key) == row.status
                and group.status.phase == row.status.phase
                and group._replace(resource_version=row.resource_version, status=row.status) == row
            )
        if isinstance(row, QueueRow):
            queue = self._knowledge.queues.get(row.name)
            return (
                queue is not None
                and row.allocated is not None
                and self._queues.get(row.name) == _some(row.allocated)
                and queue._replace(resource_version=row.resource_version, allocated=row.allocated) == row
            )
        return False


def _some(amounts: Amounts) -> Amounts:
    """Without what is 0."""
    return tuple(pair for pair in amounts if pair[1])

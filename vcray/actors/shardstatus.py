"""What the status of this scheduler's NodeShards should say, told only when it changes."""

from __future__ import annotations

from typing import Final

from vcray.core.nodeshards import NodeShard
from vcray.core.snapshot import Snapshot

AGAIN_S: Final = 30.0
"""After so long a status that did not come to be is written again."""


class ShardStatus:
    """Statuses of the shards of these names."""

    def __init__(self, names: tuple[str, ...]) -> None:
        self.names = names
        self._told: dict[str, tuple[NodeShard, float]] = {}

    def due(self, snapshot: Snapshot) -> tuple[NodeShard, ...]:
        """Shards whose status is to be written now."""
        table = snapshot.details.shards
        if table is None:
            return ()
        found = []
        for name in self.names:
            wanted = table.status(name)
            if wanted is None:
                self._told.pop(name, None)
                continue
            told, at = self._told.get(name, (None, 0.0))
            if told != wanted or snapshot.now - at >= AGAIN_S:
                self._told[name] = (wanted, snapshot.now)
                found.append(wanted)
        return tuple(found)

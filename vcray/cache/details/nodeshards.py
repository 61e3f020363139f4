"""NodeShards, for the sharding modes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec

from vcray.api.meta import JsonObject
from vcray.cache.details.source import Kept, Source
from vcray.cache.translate import section, text
from vcray.core.nodeshards import NodeShard, NodeShardTable

if TYPE_CHECKING:
    from vcray.cache.state import State

KIND: Final = "NodeShard"


class ShardRow(msgspec.Struct, frozen=True, array_like=True):
    """What is kept of a NodeShard."""

    name: str
    desired: tuple[str, ...]
    in_use: tuple[str, ...]
    to_add: tuple[str, ...]
    to_remove: tuple[str, ...]


def read_shard(data: JsonObject) -> ShardRow:
    """The row of an object."""
    status = section(data, "status")
    return ShardRow(
        text(section(data, "metadata"), "name"),
        _names(section(data, "spec"), "nodesDesired"),
        _names(status, "nodesInUse"),
        _names(status, "nodesToAdd"),
        _names(status, "nodesToRemove"),
    )


def _names(part: JsonObject, key: str) -> tuple[str, ...]:
    listed = part.get(key)
    return (
        tuple(sorted({item for item in listed if isinstance(item, str)})) if isinstance(listed, list) else ()
    )


def build(state: State) -> NodeShardTable | None:
    """All shards; None when there are none."""
    rows = [row for row in state.knowledge.details.get(KIND, {}).values() if isinstance(row, ShardRow)]
    if not rows:
        return None
    return NodeShardTable(
        tuple(
            NodeShard(row.name, row.desired, row.in_use, row.to_add, row.to_remove)
            for row in sorted(rows, key=lambda row: row.name)
        )
    )


SOURCE: Final = Source("shards", {KIND: Kept(ShardRow, read_shard)}, build)

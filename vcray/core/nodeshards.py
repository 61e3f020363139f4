"""NodeShards: which nodes each of several schedulers on one cluster may use, or prefers.

A scheduler may use the nodes that its shard desires, less those that another one says it still uses. While there is no
shard of the scheduler's name, no node is in it. `vcray.core.shardrules` makes rules of it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True)
class NodeShard:
    """A NodeShard object; names sorted."""

    name: str
    desired: tuple[str, ...]
    in_use: tuple[str, ...] = ()
    to_add: tuple[str, ...] = ()
    to_remove: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class NodeShardTable:
    """All NodeShards, by name."""

    shards: tuple[NodeShard, ...]

    def usable(self, name: str) -> frozenset[str]:
        """Nodes that this shard may use: desired, and used by no other."""
        own = next((shard for shard in self.shards if shard.name == name), None)
        if own is None:
            return frozenset()
        taken = {node for shard in self.shards if shard.name != name for node in shard.in_use}
        return frozenset(own.desired) - taken

    def status(self, name: str) -> NodeShard | None:
        """The shard with the status that it should have; None when it has it already, or is not there."""
        own = next((shard for shard in self.shards if shard.name == name), None)
        if own is None:
            return None
        used, desired = self.usable(name), frozenset(own.desired)
        told = replace(
            own,
            in_use=tuple(sorted(used)),
            to_add=tuple(sorted(desired - used)),
            to_remove=tuple(sorted(used - desired)),
        )
        return None if told == own else told

"""shard.volcano.sh/v1alpha1: NodeShard, the nodes that one of several schedulers may use."""

from __future__ import annotations

from typing import ClassVar

from pydantic import Field

from vcray.api.meta import ApiModel, Timestamp
from vcray.api.objects import KubeObject
from vcray.api.resources import NODESHARDS, Resource


class NodeShardSpec(ApiModel):
    """The nodes a scheduler is meant to use."""

    nodes_desired: list[str] = Field(description="Names of the nodes.")


class NodeShardStatus(ApiModel):
    """The nodes a scheduler uses now."""

    last_update_time: Timestamp | None = Field(None, description="When this was last written.")
    nodes_in_use: list[str] = Field([], description="Nodes in use.")
    nodes_to_remove: list[str] = Field([], description="Nodes in use that have to be given up.")
    nodes_to_add: list[str] = Field([], description="Nodes to use once others have given them up.")


class NodeShard(KubeObject):
    """The nodes that one scheduler may use."""

    resource: ClassVar[Resource] = NODESHARDS

    spec: NodeShardSpec = Field(description="The nodes it is meant to use.")
    status: NodeShardStatus = Field(NodeShardStatus(), description="The nodes it uses.")

"""topology.volcano.sh/v1alpha1: HyperNode, a part of the network whose members are close to each other."""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import Field

from vcray.api.marks import DNS_SUBDOMAIN, Int64
from vcray.api.meta import ApiModel, JsonObject, LabelSelector
from vcray.api.objects import KubeObject, StandardCondition
from vcray.api.resources import HYPERNODES, Resource

_RULES: JsonObject = {
    "x-kubernetes-validations": [
        {
            "rule": "has(self.exactMatch) || has(self.regexMatch) || has(self.labelMatch)",
            "message": "Either ExactMatch or RegexMatch or LabelMatch must be specified",
        },
        {
            "rule": "(has(self.exactMatch) ? 1 : 0) + (has(self.regexMatch) ? 1 : 0) "
            "+ (has(self.labelMatch) ? 1 : 0) <= 1",
            "message": "Only one of ExactMatch, RegexMatch, or LabelMatch can be specified",
        },
    ]
}


class ExactMatch(ApiModel):
    """A member by its name."""

    name: str = Field(min_length=1, max_length=253, pattern=DNS_SUBDOMAIN, description="Name of the member.")


class RegexMatch(ApiModel):
    """Members by a pattern over their names."""

    pattern: str = Field(min_length=1, description="Regular expression in RE2 syntax.")


class MemberSelector(ApiModel):
    """Members by exactly one of three ways."""

    schema_extra: ClassVar[JsonObject] = _RULES

    exact_match: ExactMatch | None = Field(None, description="One member by name.")
    regex_match: RegexMatch | None = Field(None, description="Members by a pattern.")
    label_match: LabelSelector | None = Field(None, description="Nodes by their labels.")


class Member(ApiModel):
    """Nodes, or smaller HyperNodes, that belong to a HyperNode."""

    type: Literal["Node", "HyperNode"] = Field(description="Whether the members are nodes or HyperNodes.")
    selector: MemberSelector | None = Field(None, description="Which of them.")


class HyperNodeSpec(ApiModel):
    """The place of a HyperNode in the network."""

    tier: int = Field(ge=0, description="Distance class: the smaller, the closer the members.")
    tier_name: str = Field("", max_length=253, description="Name of the tier.")
    members: list[Member] = Field([], min_length=1, description="Who belongs to it.")


class HyperNodeStatus(ApiModel):
    """What a HyperNode holds."""

    conditions: list[StandardCondition] = Field([], description="State of the HyperNode.")
    node_count: Int64 = Field(0, ge=0, description="Nodes in it.")


class HyperNode(KubeObject):
    """A part of the network whose members are close to each other."""

    resource: ClassVar[Resource] = HYPERNODES

    spec: HyperNodeSpec | None = Field(None, description="Its place in the network.")
    status: HyperNodeStatus = Field(HyperNodeStatus(), description="What it holds.")

"""Pods and nodes as typed structs, decoded from raw bytes at the edge: the hot path of the watch.

Only the fields that the scheduler and the controllers read are declared; everything else is skipped by the decoder
without being built. JSON `null` where Kubernetes means "absent" is rare; it takes a second, slower pass.
"""

from __future__ import annotations

from typing import Any, TypeAlias, TypeVar

import msgspec
from msgspec import Struct, field

from vcray.api.jsontypes import JsonObject, JsonValue
from vcray.api.wire_meta import (
    Condition,
    Metadata,
    OwnerRef,
    Requirement,
    ResourceList,
    Resources,
    Selector,
    Wire,
)
from vcray.api.wire_pod import (
    Affinity,
    ClaimSource,
    ClaimTemplate,
    Container,
    ContainerPort,
    ContainerState,
    ContainerStatus,
    NodeAffinity,
    NodeSelector,
    NodeSelectorTerm,
    Pod,
    PodAffinity,
    PodAffinityTerm,
    PodSpec,
    PodStatus,
    PreferredNodeTerm,
    SchedulingGate,
    Terminated,
    Toleration,
    TopologySpreadConstraint,
    Volume,
    WeightedPodAffinityTerm,
)

__all__ = [
    "Affinity",
    "ClaimSource",
    "ClaimSpec",
    "ClaimStatus",
    "ClaimTemplate",
    "Condition",
    "Container",
    "ContainerImage",
    "ContainerPort",
    "ContainerState",
    "ContainerStatus",
    "ListEnvelope",
    "ListMetadata",
    "Metadata",
    "Node",
    "NodeAffinity",
    "NodeSelector",
    "NodeSelectorTerm",
    "NodeSpec",
    "NodeStatus",
    "OwnerRef",
    "PersistentVolumeClaim",
    "Pod",
    "PodAffinity",
    "PodAffinityTerm",
    "PodSpec",
    "PodStatus",
    "PreferredNodeTerm",
    "PriorityClass",
    "Requirement",
    "ResourceList",
    "Resources",
    "SchedulingGate",
    "Selector",
    "Sighting",
    "Taint",
    "Terminated",
    "Toleration",
    "TopologySpreadConstraint",
    "Volume",
    "WatchLine",
    "WeightedPodAffinityTerm",
    "WireError",
    "WireObject",
    "decode_claim",
    "decode_list",
    "decode_node",
    "decode_object",
    "decode_pod",
    "decode_priority_class",
    "decode_sighting",
    "decode_watch_line",
    "encode_object",
    "from_wire",
    "to_claim",
    "to_node",
    "to_pod",
    "to_priority_class",
]


class Taint(Wire, frozen=True):
    """A node taint."""

    key: str = ""
    value: str = ""
    effect: str = ""


class NodeSpec(Wire, frozen=True):
    """What an administrator set on a node."""

    unschedulable: bool = False
    taints: tuple[Taint, ...] = ()
    provider_id: str = field(default="", name="providerID")


class ContainerImage(Wire, frozen=True):
    """An image present on a node."""

    names: tuple[str, ...] = ()
    size_bytes: int = 0


class NodeStatus(Wire, frozen=True):
    """What a node offers."""

    allocatable: ResourceList = {}
    capacity: ResourceList = {}
    conditions: tuple[Condition, ...] = ()
    images: tuple[ContainerImage, ...] = ()


class Node(Wire, frozen=True):
    """A node, as far as vcray reads it."""

    metadata: Metadata = Metadata()
    spec: NodeSpec = NodeSpec()
    status: NodeStatus = NodeStatus()


class ClaimSpec(Wire, frozen=True):
    """What a volume claim asks for."""

    volume_name: str = ""
    storage_class_name: str | None = None
    volume_mode: str = "Filesystem"
    access_modes: tuple[str, ...] = ()
    resources: Resources = Resources()
    selector: Selector | None = None
    volume_attributes_class_name: str | None = None


class ClaimStatus(Wire, frozen=True):
    """State of a volume claim: Pending, Bound or Lost."""

    phase: str = ""


class PersistentVolumeClaim(Wire, frozen=True):
    """A volume claim, as far as vcray reads it."""

    metadata: Metadata = Metadata()
    spec: ClaimSpec = ClaimSpec()
    status: ClaimStatus = ClaimStatus()


class PriorityClass(Wire, frozen=True):
    """A priority class."""

    metadata: Metadata = Metadata()
    value: int = 0
    global_default: bool = False
    preemption_policy: str = "PreemptLowerPriority"


class Name(Struct, frozen=True, rename="camel", gc=False):
    """What tells an object apart."""

    name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""

    @property
    def key(self) -> str:
        """`namespace/name`, or the bare name of a cluster-scoped object."""
        return f"{self.namespace}/{self.name}" if self.namespace else self.name


class _Named(Struct, frozen=True, gc=False):
    metadata: Name = Name()


class Sighting(Struct, gc=False):
    """Any object as its name and its bytes, for readers that keep little.

    Whoever has read `body` sets it to None, so that a watch which remembers the object remembers its name only.
    """

    metadata: Name = Name()
    body: msgspec.Raw | None = None


class WatchLine(Struct, frozen=True, gc=False):
    """One line of a watch with its object left as bytes; `type` is ADDED, MODIFIED, DELETED, BOOKMARK or ERROR."""

    type: str
    object: msgspec.Raw = msgspec.Raw(b"{}")


class ListMetadata(Struct, frozen=True, rename="camel", gc=False):
    """Resource version and page token of a list answer."""

    resource_version: str = ""
    continue_token: str = field(default="", name="continue")


class ListEnvelope(Struct, frozen=True, rename="camel", gc=False):
    """A list answer with its items left as bytes."""

    metadata: ListMetadata = field(default_factory=ListMetadata)
    items: list[msgspec.Raw] = []


WireObject: TypeAlias = Pod | Node | PersistentVolumeClaim | PriorityClass | Sighting
T = TypeVar("T", Pod, Node, PersistentVolumeClaim, PriorityClass)

_pods = msgspec.json.Decoder(Pod)
_nodes = msgspec.json.Decoder(Node)
_claims = msgspec.json.Decoder(PersistentVolumeClaim)
_priority_classes = msgspec.json.Decoder(PriorityClass)
_named = msgspec.json.Decoder(_Named)
_watch_lines = msgspec.json.Decoder(WatchLine)
_objects = msgspec.json.Decoder(dict[str, Any])
_lists = msgspec.json.Decoder(ListEnvelope)

WireError = msgspec.ValidationError
"""Raised when bytes are JSON but not of the struct's shape; `msgspec.DecodeError` is its base."""


def _without_nulls(value: JsonValue) -> JsonValue:
    if isinstance(value, dict):
        return {key: _without_nulls(item) for key, item in value.items() if item is not None}
    if isinstance(value, list):
        return [_without_nulls(item) for item in value if item is not None]
    return value


def _decode(decoder: msgspec.json.Decoder[T], kind: type[T], data: bytes | msgspec.Raw) -> T:
    try:
        return decoder.decode(data)
    except msgspec.ValidationError:
        return msgspec.convert(_without_nulls(msgspec.json.decode(data)), kind)


def decode_pod(data: bytes | msgspec.Raw) -> Pod:
    """A pod from its JSON. Raises msgspec.DecodeError, or its child ValidationError for a wrong shape."""
    return _decode(_pods, Pod, data)


def decode_node(data: bytes | msgspec.Raw) -> Node:
    """A node from its JSON. Raises as `decode_pod` does."""
    return _decode(_nodes, Node, data)


def decode_claim(data: bytes | msgspec.Raw) -> PersistentVolumeClaim:
    """A volume claim from its JSON. Raises as `decode_pod` does."""
    return _decode(_claims, PersistentVolumeClaim, data)


def decode_priority_class(data: bytes | msgspec.Raw) -> PriorityClass:
    """A priority class from its JSON. Raises as `decode_pod` does."""
    return _decode(_priority_classes, PriorityClass, data)


def decode_sighting(data: msgspec.Raw) -> Sighting:
    """The name of any object; its body stays as it is. Raises msgspec.DecodeError."""
    return Sighting(_named.decode(data).metadata, data)


def decode_watch_line(line: bytes) -> WatchLine:
    """Split one line of a watch into type and raw object; the object is not decoded, only delimited."""
    return _watch_lines.decode(line)


def decode_list(data: bytes) -> ListEnvelope:
    """Split a list answer into its metadata and raw items."""
    return _lists.decode(data)


def decode_object(data: bytes | msgspec.Raw) -> JsonObject:
    """Any object as plain JSON. Raises msgspec.ValidationError if it is no JSON object."""
    decoded: JsonObject = _objects.decode(data)
    return decoded


def encode_object(value: JsonObject) -> bytes:
    """Plain JSON as bytes."""
    return msgspec.json.encode(value)


def _convert(value: JsonObject, kind: type[T]) -> T:
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError:
        return msgspec.convert(_without_nulls(value), kind)


def to_pod(value: JsonObject) -> Pod:
    """A pod from decoded JSON. Raises msgspec.ValidationError for a wrong shape."""
    return _convert(value, Pod)


def to_node(value: JsonObject) -> Node:
    """A node from decoded JSON. Raises msgspec.ValidationError for a wrong shape."""
    return _convert(value, Node)


def to_claim(value: JsonObject) -> PersistentVolumeClaim:
    """A volume claim from decoded JSON. Raises msgspec.ValidationError for a wrong shape."""
    return _convert(value, PersistentVolumeClaim)


def to_priority_class(value: JsonObject) -> PriorityClass:
    """A priority class from decoded JSON. Raises msgspec.ValidationError for a wrong shape."""
    return _convert(value, PriorityClass)


def from_wire(value: WireObject) -> JsonObject:
    """The fields of a struct as a JSON object, defaults left out: for tests, messages and simulated objects."""
    built: JsonObject = msgspec.to_builtins(value, str_keys=True)
    return built

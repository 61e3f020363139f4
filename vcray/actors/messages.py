"""What actors say to each other: frozen, versioned, able to cross a process as msgpack.

A message may arrive twice or late: each carries what makes it harmless (a resourceVersion, a generation, a uid).
`pack` and `unpack` frame one message as `[version, message]`; a receiver refuses a version that it does not know.
"""

from __future__ import annotations

from typing import Any

import msgspec

from vcray.api.wire import Node, Pod
from vcray.cache.delta import Delta
from vcray.cache.delta import pack as pack_delta
from vcray.cache.delta import unpack as unpack_delta
from vcray.cache.supposed import Wanted
from vcray.core.decisions import Decisions
from vcray.core.nodeshards import NodeShard
from vcray.core.usage import UsageTable

VERSION = 1


class Frame(msgspec.Struct, frozen=True, tag=True):
    """Base of all messages; the tag on the wire is the class name."""


class PodChange(msgspec.Struct, frozen=True, array_like=True):
    """ADDED, MODIFIED or DELETED and the pod as last seen."""

    type: str
    pod: Pod


class NodeChange(msgspec.Struct, frozen=True, array_like=True):
    """ADDED, MODIFIED or DELETED and the node as last seen."""

    type: str
    node: Node


class ObjectChange(msgspec.Struct, frozen=True, array_like=True):
    """ADDED, MODIFIED or DELETED and an object of any other kind, a JsonObject (msgspec cannot spell that type)."""

    type: str
    object: dict[str, Any]


class PodChanges(Frame, frozen=True, tag=True):
    """Watcher -> router."""

    changes: tuple[PodChange, ...]


class NodeChanges(Frame, frozen=True, tag=True):
    """Watcher -> router."""

    changes: tuple[NodeChange, ...]


class ObjectChanges(Frame, frozen=True, tag=True):
    """Watcher -> router, controller host; `resource` is `plural.group`."""

    resource: str
    changes: tuple[ObjectChange, ...]


class ShardChanges(Frame, frozen=True, tag=True):
    """Router -> one cache shard; order within a kind is the order of the watch."""

    pods: tuple[PodChange, ...] = ()
    nodes: tuple[NodeChange, ...] = ()
    objects: tuple[ObjectChange, ...] = ()


class Synced(Frame, frozen=True, tag=True):
    """The first list of `resource` has been delivered; `shard` is the cache shard that passes it on, -1 at the source."""

    resource: str
    shard: int = -1


class Parcel:
    """A delta on its way: within a process the object itself, between processes its own frame."""

    __slots__ = ("delta",)

    def __init__(self, delta: Delta) -> None:
        self.delta = delta


class Changed(Frame, frozen=True, tag=True):
    """Cache shard -> coordinator: rows that changed."""

    parcel: Parcel


class Mark(Frame, frozen=True, tag=True):
    """All that was sent before has been seen by whoever gets this; `shard` is the cache shard that passes it on."""

    name: str
    shard: int = -1


class Round(Frame, frozen=True, tag=True):
    """Run one whole round now, changes or not, and answer when its writes are done. `after`: not before every cache shard
    has passed on that mark; until then the answer is nothing, and the question is to be put again."""

    after: str = ""


class RoundDone(Frame, frozen=True, tag=True):
    """Coordinator's answer to `Round`."""

    generation: int
    decisions: Decisions


class GangLimits(msgspec.Struct, frozen=True):
    """The PodGroup a commit was decided on: bind only while it still says so."""

    job: str
    min_member: int
    min_task_member: dict[str, int]


class Execute(Frame, frozen=True, tag=True):
    """Coordinator -> binder: carry out one round's decisions; answered by `Executed` when all writes are done.

    `created`: uid -> creation (seconds) of pods to bind, for measurements. `later`: these commits were sent before and their
    outcome was `waiting`; `last`: they have waited long enough."""

    decisions: Decisions
    limits: tuple[GangLimits, ...] = ()
    created: dict[str, int] = {}
    shards: tuple[NodeShard, ...] = ()
    later: bool = False
    last: bool = False


class Outcome(msgspec.Struct, frozen=True):
    """What became of one binding: `bound`, `refused` (may be tried again), `gone` (the pod is no more), `stale` (not tried),
    `waiting` (its claims are not ready yet: to be sent again). Of an eviction: `evicted`, `refused`, `gone`."""

    job: str
    task: str
    uid: str
    result: str
    message: str = ""


class Executed(Frame, frozen=True, tag=True):
    """Binder's answer: outcomes of all bindings and evictions of that round.

    `unwritten`: statements that did not reach the server, each named as in `StatusWriter.write`."""

    generation: int
    outcomes: tuple[Outcome, ...]
    evictions: tuple[Outcome, ...] = ()
    unwritten: tuple[tuple[str, ...], ...] = ()


class Reconfigure(Frame, frozen=True, tag=True):
    """The text of a new volcano-scheduler.conf; taken at a round's edge, or refused with the last good one kept."""

    text: str


class Measured(Frame, frozen=True, tag=True):
    """Node metrics -> coordinator: what a metrics source measured."""

    usage: UsageTable


class RoomAsked(Frame, frozen=True, tag=True):
    """Admission -> coordinator: how many of these pods would have a place if they came now? Changes nothing."""

    wanted: tuple[Wanted, ...]


class RoomFound(Frame, frozen=True, tag=True):
    """Coordinator's answer to `RoomAsked`, in its order, as `vcray.foresight.room`; empty when it does not know the cluster yet."""

    places: tuple[int | None, ...] = ()


class Accepted(Frame, frozen=True, tag=True):
    """Answer to `Reconfigure`: sentences of what was wrong (empty when all is well), and whether it is in force."""

    in_force: bool
    problems: tuple[str, ...] = ()


class Registered(Frame, frozen=True, tag=True):
    """Asked of the admission actor: does the API server know of the webhooks? It answers with `done` set."""

    done: bool = False


Message = (
    PodChanges
    | NodeChanges
    | ObjectChanges
    | ShardChanges
    | Synced
    | Changed
    | Mark
    | Round
    | RoundDone
    | Execute
    | Executed
    | Reconfigure
    | Measured
    | RoomAsked
    | RoomFound
    | Accepted
    | Registered
)


def _encode_foreign(value: object) -> object:
    if isinstance(value, Parcel):
        return pack_delta(value.delta)
    raise NotImplementedError(type(value).__name__)


def _decode_foreign(kind: type, value: Any) -> object:
    if kind is Parcel:
        return Parcel(unpack_delta(value))
    raise NotImplementedError(kind.__name__)


_encoder = msgspec.msgpack.Encoder(enc_hook=_encode_foreign)
_decoder = msgspec.msgpack.Decoder(tuple[int, Message], dec_hook=_decode_foreign)
_version = msgspec.msgpack.Decoder(tuple[int, msgspec.Raw])


def pack(message: Message) -> bytes:
    """One message as msgpack."""
    return _encoder.encode((VERSION, message))


def unpack(frame: bytes) -> Message:
    """The message of a frame; ValueError for another schema version or a malformed frame."""
    try:
        version, _ = _version.decode(frame)
        if version != VERSION:
            raise ValueError(f"message schema version {version}, this process speaks {VERSION}")
        return _decoder.decode(frame)[1]
    except msgspec.DecodeError as error:
        raise ValueError(f"malformed message: {error}") from error

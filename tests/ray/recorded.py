"""A recorded history of a random cluster, replayed through the actors of any runtime and layout.

The history is what watches told between rounds. It is made once, from what a plain scheduler decided; replaying it asks the
actors for a round after each part and compares what they decide, byte for byte. The API server says no to every write, so what
the history tells is all that the actors ever see.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
import yaml

from tests.oracle.comparison import NOW, policy_of
from tests.oracle.random_clusters import random_cluster
from tests.properties.test_rounds import Living
from vcray.actors.deployment import COORDINATOR, ROUTER
from vcray.actors.host import Opening
from vcray.actors.messages import (
    Mark,
    Message,
    NodeChange,
    NodeChanges,
    ObjectChange,
    ObjectChanges,
    PodChange,
    PodChanges,
    Round,
    RoundDone,
    Synced,
)
from vcray.actors.parts import CLUSTER_RESOURCES
from vcray.api.resources import NODES, PODS
from vcray.cache.cluster import ClusterCache
from vcray.cache.shard import as_node, as_pod
from vcray.cache.store import Event
from vcray.core.session import decide
from vcray.kube.transport import JSON, Query, Response, Transport

ROUNDS = 4
RESOURCES = (PODS, NODES, *CLUSTER_RESOURCES)


@dataclass(frozen=True, slots=True)
class History:
    """A configuration and, for each round, the messages that come before it."""

    conf: str
    parts: tuple[tuple[Message, ...], ...]


class StandingTime:
    """A clock that stands, so that decisions of different processes may be compared."""

    def now(self) -> float:
        return NOW

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(0)


class Mute:
    """A server that never lists anything and refuses every write."""

    address = "nowhere"

    async def request(
        self,
        method: str,
        path: str,
        query: Query | None = None,
        body: bytes | None = None,
        content_type: str = JSON,
    ) -> Response:
        if method == "GET" and path.count("/") < 6:  # a list; objects have longer paths
            await asyncio.Event().wait()
        return Response(404, b'{"kind":"Status","code":404,"reason":"NotFound","message":"not found"}')

    async def stream(self, path: str, query: Query | None = None) -> AsyncGenerator[bytes, None]:
        await asyncio.Event().wait()
        yield b""

    async def close(self) -> None:
        """Nothing to close."""


async def connect(_: Opening) -> Transport:
    """What every host of a replay is connected to."""
    return Mute()


def history(number: int) -> History:
    """The history of a random cluster that lives: bound pods run, pods end, nodes change, jobs come."""
    living = Living(random_cluster(number))
    cache, policy = ClusterCache(), policy_of(living.cluster.conf)
    parts = []
    for row in range(ROUNDS):
        events, living.events = living.events, []
        parts.append(tuple(_messages(events)))
        cache.apply(events)
        living.carry_out(decide(cache.snapshot(NOW, living.cluster.seed), policy))
        living.happen(row)
    return History(yaml.safe_dump(living.cluster.conf), tuple(parts))


def _messages(events: Sequence[Event]) -> list[Message]:
    """Changes as watchers would batch them, one kind after the other."""
    pods, nodes, others = [], [], dict[str, list[ObjectChange]]()
    for event in events:
        item: Any = event.object
        if event.kind == "Pod":
            pods.append(PodChange(event.type, as_pod(item)))
        elif event.kind == "Node":
            nodes.append(NodeChange(event.type, as_node(item)))
        else:
            others.setdefault(event.kind, []).append(ObjectChange(event.type, item))
    made: list[Message] = [ObjectChanges(kind, tuple(changes)) for kind, changes in others.items()]
    if nodes:
        made.append(NodeChanges(tuple(nodes)))
    if pods:
        made.append(PodChanges(tuple(pods)))
    return made


Send = Callable[[str, Sequence[Message]], Awaitable[None]]
Ask = Callable[[str, Message], Awaitable[Message | None]]


async def replay(told: History, send: Send, ask: Ask) -> list[bytes]:
    """The decisions of each round."""
    decided = []
    for row, part in enumerate(told.parts):
        messages: list[Message] = list(part)
        if row == 0:
            messages += [Synced(resource.full_name) for resource in RESOURCES]
        await send(ROUTER, [*messages, Mark(f"round {row}")])
        answer = None
        while answer is None:
            answer = await ask(COORDINATOR, Round(f"round {row}"))
        assert isinstance(answer, RoundDone)
        decided.append(msgspec.msgpack.encode(answer.decisions))
    return decided

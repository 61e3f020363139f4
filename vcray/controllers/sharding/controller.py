"""The sharding controller: writes a NodeShard for each scheduler of its configuration, and deletes all others.

All shards are chosen together, so that no node is in two: at the start, each period, when the configuration or a shard is
changed, and a moment after a node comes, goes, or is asked for much more or less than at the last time. Statuses are the
schedulers' own to write.

Remembered are what pods ask for (filled by the first list), the utilisation that the last choice was made by, which lists are
in force, and the last configuration that could be used: a restart reads the ConfigMap anew.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar, Final

from vcray.api.meta import JsonObject, JsonValue
from vcray.api.resources import CONFIGMAPS, NODES, NODESHARDS, PODS, Resource
from vcray.config.sharding import KEY, ShardingConfig, ShardingError, parse_sharding
from vcray.controllers import raw
from vcray.controllers.base import (
    Again,
    All,
    Change,
    Create,
    Delete,
    Effect,
    Effects,
    Emit,
    Patch,
    ReconcileError,
    Request,
    Seen,
)
from vcray.controllers.sharding.assign import ShardNode, assign
from vcray.controllers.sharding.load import Load, Utilisation

SOON_S: Final = 0.2
"""From an event that moves nodes to the choice, so that several share one."""

MUCH: Final = 0.5
"""A change of utilisation by more than this is an event."""


@dataclass(frozen=True, slots=True)
class ShardSync:
    """Choose and write all shards."""

    key: ClassVar[str] = "shards"


@dataclass(frozen=True, slots=True)
class ShardSyncSoon:
    """Promise that, unless it is promised."""

    key: ClassVar[str] = "shards"


@dataclass(frozen=True, slots=True)
class ShardPeriod:
    """A period is over; `due` tells it from one that was promised under another configuration."""

    due: float

    key: ClassVar[str] = "shards"


class ShardingController:
    """Volcano's sharding controller. `given` is in force until the ConfigMap `namespace`/`config_map` first exists; an empty name
    stands for no ConfigMap."""

    name: ClassVar[str] = "sharding-controller"
    watches: ClassVar[tuple[Resource, ...]] = (NODES, PODS, NODESHARDS, CONFIGMAPS)
    starts_anew: bool = True

    def __init__(
        self, given: ShardingConfig, namespace: str = "", config_map: str = "", max_requeue: int = 3
    ) -> None:
        self.max_requeue = max_requeue
        self._given = given
        self._place = (namespace, config_map)
        self._config: ShardingConfig | None = None
        self._text: str | None = None
        self._period_s = given.period_s or 60.0
        self._due = 0.0
        self._promised = False
        self._node_events = given.node_events is not False
        self._load = Load()
        self._known: dict[str, Utilisation] = {}
        self._desired: dict[str, list[str]] = {}

    def requests(self, change: Change, seen: Seen) -> Iterable[Request]:
        """Anything until the first choice was made; then changes of the configuration and of shards, and much changed nodes."""
        concerned: tuple[str, ...] = ()
        if change.resource == PODS:
            concerned = self._load.follow(change)
        elif change.resource == NODES:
            concerned = (raw.name(change.object),)
        if self._config is None:
            return (ShardSync(),)
        if concerned:
            moved = self._node_events and any(self._changed_much(node, seen) for node in concerned)
            return (ShardSyncSoon(),) if moved and not self._promised else ()
        if change.resource == NODESHARDS:
            return (ShardSync(),) if self._was_touched(change) else ()
        of_config = (raw.namespace(change.object), raw.name(change.object)) == self._place
        return (ShardSync(),) if change.resource == CONFIGMAPS and change.new and of_config else ()

    def reconcile(self, request: Request, seen: Seen, now: float) -> Effects:
        """Choose, write what differs, delete what is left over. ReconcileError when a write fails."""
        if isinstance(request, ShardPeriod):
            if request.due == self._due:
                yield from self._promise_period(now)
                yield Again(0, ShardSync())
        elif isinstance(request, ShardSyncSoon):
            if not self._promised:
                self._promised = True
                yield Again(SOON_S, ShardSync())
        else:
            self._promised = False
            yield from self._configure(seen)
            if self._due <= now:
                yield from self._promise_period(now)
            yield from self._sync(seen)

    def gave_up(self, request: Request, seen: Seen, now: float) -> Effects:
        """Nothing: the next period is another try."""
        yield from ()

    def _changed_much(self, name: str, seen: Seen) -> bool:
        node, known = seen.get(NODES, "", name), self._known.get(name)
        if node is None or known is None:
            return (node is None) != (known is None)
        current = self._load.of(node)
        return max(abs(current.cpu - known.cpu), abs(current.memory - known.memory)) > MUCH

    def _was_touched(self, change: Change) -> bool:
        """Somebody else changed or deleted a shard of ours."""
        desired = self._desired.get(raw.name(change.object))
        return desired is not None and (change.new is None or _desired(change.new) != desired)

    def _promise_period(self, now: float) -> Effects:
        self._due = now + self._period_s
        yield Again(self._period_s, ShardPeriod(self._due))

    def _configure(self, seen: Seen) -> Effects:
        """Read the ConfigMap where it changed. What cannot be used is told on it and changes nothing; at the start it leaves
        no configuration at all."""
        stored = seen.get(CONFIGMAPS, *self._place) if self._place[1] else None
        if stored is None:
            self._config = self._config or self._given
            return
        text = raw.text(stored, "data", KEY)
        if text == self._text:
            return
        self._text = text
        try:
            config = parse_sharding(text)
        except ShardingError as error:
            self._config = self._config or ShardingConfig()
            yield Emit(CONFIGMAPS, stored, "Warning", "InvalidShardingConfig", str(error))
            return
        for warning in config.warnings:
            yield Emit(CONFIGMAPS, stored, "Warning", "InvalidShardingConfig", warning)
        self._config = config
        if config.node_events is not None:
            self._node_events = config.node_events
        if config.period_s not in (None, self._period_s):
            self._period_s, self._due = config.period_s or self._period_s, 0.0

    def _sync(self, seen: Seen) -> Effects:
        nodes = {raw.name(node): node for node in seen.list(NODES)}
        self._known = {name: self._load.of(node) for name, node in nodes.items()}
        schedulers = () if self._config is None else self._config.schedulers
        assigned = assign(
            schedulers,
            [ShardNode(name, self._known[name].cpu, raw.labels_of(node)) for name, node in nodes.items()],
        )
        shards = {raw.name(shard): shard for shard in seen.list(NODESHARDS)}
        free = nodes.keys() - {name for chosen in assigned.values() for name in chosen}
        self._desired = {}
        effects: list[Effect] = []
        for name, chosen in assigned.items():
            shard = shards.pop(name, None)
            stored = None if shard is None else _desired(shard)
            if stored is not None and not _differs(stored, chosen, free):
                self._desired[name] = stored
            else:
                self._desired[name] = chosen
                effects.append(_write(name, chosen, exists=shard is not None))
        effects += [Delete(NODESHARDS, "", name, uid=raw.uid(shard)) for name, shard in shards.items()]
        if not effects:
            return
        outcome = yield All(tuple(effects))
        for part in outcome.parts:
            if not part.ok and not part.not_found and not part.already_exists:
                raise ReconcileError(f"write NodeShards: {part.why}")


def _desired(shard: JsonObject) -> list[str]:
    listed = raw.at(shard, "spec", "nodesDesired")
    return [item for item in listed if isinstance(item, str)] if isinstance(listed, list) else []


def _differs(stored: list[str], chosen: list[str], free: set[str]) -> bool:
    """Is the difference worth a write? Up to a tenth of the nodes may wait, unless one that has to go is not `free`: it is in
    another shard, or no more."""
    held = set(stored)
    missing = len(set(chosen) - held)
    if len(stored) != len(chosen) or missing >= max(1, len(chosen) // 10):
        return True
    return not held - set(chosen) <= free


def _write(name: str, chosen: list[str], exists: bool) -> Effect:
    spec: JsonObject = {"nodesDesired": list[JsonValue](chosen)}
    if exists:
        return Patch(NODESHARDS, "", name, {"spec": spec})
    head: JsonObject = {"apiVersion": NODESHARDS.api_version, "kind": NODESHARDS.kind}
    return Create(NODESHARDS, {**head, "metadata": {"name": name}, "spec": spec})

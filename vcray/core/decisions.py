"""What one `decide()` asks for. Frozen, in canonical order (sorted by name), names instead of rows,
so that the same snapshot gives the same bytes whatever the order of its rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TypeAlias

from vcray.core.tables import GroupStatus

Amounts: TypeAlias = tuple[tuple[str, int], ...]
"""Sorted (resource, amount) in the units of `core.space`: milli, but bytes of memory and whole pods."""

READY = "Scheduled"
"""Reason of the event on a PodGroup that its pods have their nodes."""


@dataclass(frozen=True, slots=True)
class Preparation:
    """What must be written and come true before a pod is bound (PreBind). Claims are (namespace/name, uid).

    `volumes`: (claim, uid, volume that is to be its own); `provisions`: claims whose volume is to be made for the node;
    `devices`: (ResourceClaim, uid, its allocation as JSON, empty when it has one) that the pod is to use. `timeout_s` is how
    long volumes may take."""

    volumes: tuple[tuple[str, str, str], ...] = ()
    provisions: tuple[tuple[str, str], ...] = ()
    devices: tuple[tuple[str, str, str], ...] = ()
    timeout_s: int = 600

    def __bool__(self) -> bool:
        """Is there anything to write?"""
        return bool(self.volumes or self.provisions or self.devices)


@dataclass(frozen=True, slots=True)
class Bind:
    """Bind pod `task` (namespace/name, `uid`) to `node`; `notes` are annotations that it gets with it; `before` is what must
    be done first."""

    task: str
    uid: str
    node: str
    notes: tuple[tuple[str, str], ...] = ()
    before: Preparation | None = None


@dataclass(frozen=True, slots=True)
class Commit:
    """Bindings of one job that leave together: a gang reaching its minimum, or members of a ready one.

    `whole` is True when the job was below its minimum before: then all or nothing."""

    job: str
    binds: tuple[Bind, ...]
    whole: bool


@dataclass(frozen=True, slots=True)
class Evict:
    """Delete a pod so that others can run; `reason` goes into its event and conditions."""

    task: str
    uid: str
    job: str
    reason: str


@dataclass(frozen=True, slots=True)
class PodCondition:
    """Condition PodScheduled=False of a pod that waits; `nominated` is the node promised to it, or empty."""

    task: str
    uid: str
    reason: str
    message: str
    nominated: str = ""


@dataclass(frozen=True, slots=True)
class Waiting:
    """Pods of one job that wait for the same reason: `PodCondition` of each, with the event that goes with it.

    `pods`: (namespace/name, uid) by name. Together, since a gang of a thousand waits for one reason."""

    job: str
    pods: tuple[tuple[str, str], ...]
    reason: str
    message: str
    nominated: str = ""

    def each(self) -> Iterator[PodCondition]:
        """One condition a pod."""
        for task, uid in self.pods:
            yield PodCondition(task, uid, self.reason, self.message, self.nominated)


@dataclass(frozen=True, slots=True)
class Lift:
    """Remove the gate of queue admission from a pod."""

    task: str
    uid: str


@dataclass(frozen=True, slots=True)
class GroupUpdate:
    """New status of a PodGroup, written with the resourceVersion that was read."""

    job: str
    uid: str
    resource_version: str
    status: GroupStatus


@dataclass(frozen=True, slots=True)
class Event:
    """A Kubernetes event on `kind` (Pod, PodGroup, Queue) `name` (namespace/name); `type` Normal or Warning."""

    kind: str
    name: str
    uid: str
    type: str
    reason: str
    message: str

    def order(self) -> tuple[str, str, str, str, str]:
        """How the events of a round are sorted."""
        return self.kind, self.name, self.reason, self.message, self.uid


@dataclass(frozen=True, slots=True)
class QueueUpdate:
    """New status.allocated of a queue: sorted (resource, amount) pairs in the units of `core.space`."""

    queue: str
    resource_version: str
    allocated: Amounts

    def is_said(self, recorded: Amounts | None) -> bool:
        """Is that what a status says already? A resource that is missing counts as 0."""
        return recorded is not None and _some(recorded) == _some(self.allocated)


def _some(amounts: Amounts) -> dict[str, int]:
    return {name: amount for name, amount in amounts if amount}


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A hook of a user's plugin (`run`: an action, `*`: all of a plugin) that this round was decided without, and why."""

    plugin: str
    hook: str
    why: str


@dataclass(frozen=True, slots=True)
class Decisions:
    """The outcome of a round. `pipelined`: (task, node) promised on what is being freed, for views and tests.

    `wakes_at`: when (seconds) time alone may change a decision, so that a round is worth its while; None for never.
    `ran`: periodic work that ran in this round (`vcray.core.timing`). `left_out`: hooks of users' that failed; leaving them out
    of the policy gives these decisions again."""

    generation: int
    commits: tuple[Commit, ...] = ()
    evictions: tuple[Evict, ...] = ()
    pipelined: tuple[tuple[str, str], ...] = ()
    groups: tuple[GroupUpdate, ...] = ()
    waiting: tuple[Waiting, ...] = ()
    events: tuple[Event, ...] = ()
    queues: tuple[QueueUpdate, ...] = ()
    left_out: tuple[LeftOut, ...] = ()
    lifts: tuple[Lift, ...] = ()

    @property
    def conditions(self) -> tuple[PodCondition, ...]:
        """Conditions of all waiting pods, by name."""
        found = (condition for group in self.waiting for condition in group.each())
        return tuple(sorted(found, key=lambda condition: condition.task))

    wakes_at: float | None = field(default=None, compare=False)
    ran: tuple[str, ...] = field(default=(), compare=False)

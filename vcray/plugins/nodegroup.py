"""Volcano's `nodegroup`: queues use some groups of nodes, avoid others, and may be limited in each.

A node belongs to the group that its label `volcano.sh/nodegroup-name` names; a queue says in `spec.affinity` which groups it must or
would rather use or avoid, and in annotation `volcano.sh/nodegroup-resource-limits` how much its pods may hold in a group.
With `enableHierarchy` a queue without affinity has that of the nearest queue above that has one.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple, cast

import numpy as np
from pydantic import Field

from vcray.api import names
from vcray.api.podresources import resource_amounts
from vcray.core.arrays import Bool, Float, FloatLike, Int
from vcray.core.hooks import DomainTerm, Reject
from vcray.core.plugin import Args, Plugin
from vcray.core.selectors import label_column
from vcray.core.tables import ALLOCATED_STATUS, MISSING, QueueAffinity
from vcray.core.view import Rows, Shape, View

NO_LIMITS = "node group resource limit annotation invalid"
NO_LABEL = "node group label not found"
NO_AFFINITY = "node group affinity not specified"
OUTSIDE = "node does not satisfy the node group affinity"
OVER = "node group resource limit exceeded"

REQUIRED_SCORE = 100.0
PREFERRED_SCORE = 50.0

Amounts = tuple[tuple[str, int], ...]


class _Key(NamedTuple):
    """What a queue asks of node groups. `queue` is named where limits make its pods unlike those of others; `limits` None
    when they cannot be read."""

    affinity: QueueAffinity | None
    queue: str
    limits: tuple[tuple[str, Amounts], ...] | None


class NodegroupArgs(Args):
    """`strict`: a node without the label is for nobody; else for queues without affinity. `ordered`: earlier preferred groups
    score more. `hierarchy` is the flag of the plugin's entry."""

    strict: bool = Field(True, alias="strict")
    ordered: bool = Field(False, alias="enablePreferredOrder")
    hierarchy: bool = Field(False, alias="enableHierarchy")


class Nodegroup(Plugin[NodegroupArgs]):
    """Session state: `group_`, each node's group by number; `used_`, what limited queues hold in each group."""

    steady = True
    args_model = NodegroupArgs
    flags = ("enableHierarchy",)

    def open(self, view: View) -> None:
        """Groups of nodes, and what limited queues hold in them."""
        labels = view.snapshot.nodes.labels
        row = labels.keys.get(names.NODEGROUP_NAME)
        self.group_: Int = label_column(labels, names.NODEGROUP_NAME, len(view.snapshot.nodes))
        self.number_ = {} if row is None else {name: i for i, name in enumerate(labels.values[row])}
        self.keys_: list[_Key | None] = [self._key(view, queue) for queue in range(len(view.snapshot.queues))]
        self.limited_ = [bool(key and key.limits) for key in self.keys_]
        self.scores_: dict[QueueAffinity, Float] = {}
        self.used_: dict[tuple[int, int], list[int]] = {}
        if any(self.limited_):
            self._count(view)

    def _key(self, view: View, queue: int) -> _Key | None:
        queues = view.snapshot.queues
        affinity = None
        path = view.tree.paths[queue] if self.args.hierarchy else (queue,)
        if queues.affinity:
            affinity = next((queues.affinity[at] for at in reversed(path) if queues.affinity[at]), None)
        spelled = dict(queues.notes[queue]).get(names.NODEGROUP_RESOURCE_LIMITS, "")
        limits = _limits(spelled)
        if affinity is None and limits == ():
            return None
        return _Key(affinity, queues.names[queue] if limits else "", limits)

    def _count(self, view: View) -> None:
        tasks = view.snapshot.tasks
        queue = view.snapshot.jobs.queue[tasks.job]
        limited = np.flatnonzero(np.array(self.limited_, dtype=bool))
        rows = np.isin(view.status, ALLOCATED_STATUS) & np.isin(queue, limited) & (tasks.node != MISSING)
        for task in np.flatnonzero(rows).tolist():
            self._charge(view, task, int(tasks.node[task]), 1)

    def _charge(self, view: View, task: int, node: int, sign: int) -> None:
        queue = int(view.snapshot.jobs.queue[view.snapshot.tasks.job[task]])
        if queue == MISSING or not self.limited_[queue]:
            return
        shape = view.shapes[int(view.snapshot.tasks.shape[task])]
        held = self.used_.setdefault((queue, int(self.group_[node])), [0] * len(view.space))
        for row in shape.nonzero:
            held[row] += sign * shape.req[row]

    # ---- placement ----

    def class_key(self, view: View, job: int) -> object:
        """What the job's queue says of groups."""
        queue = int(view.snapshot.jobs.queue[job])
        return None if queue == MISSING else self.keys_[queue]

    def node_static(self, view: View, shape: Shape) -> Bool | None:
        """Nodes of groups that the queue may use."""
        key = _key_of(shape)
        if key.limits is None:
            return np.zeros(len(self.group_), dtype=bool)
        labelled: Bool = self.group_ != MISSING
        if key.affinity is None:
            return np.zeros(len(self.group_), dtype=bool) if self.args.strict else ~labelled
        return labelled & self._allowed(key.affinity)

    def node_score(self, view: View, rows: Rows, shape: Shape) -> FloatLike | None:
        """Required groups 100, preferred ones 50 (or less down the list), together; groups to be avoided -1."""
        affinity = _key_of(shape).affinity
        if affinity is None:
            return None
        score = self.scores_.get(affinity)
        if score is None:
            values = [_score(affinity, group, self.args.ordered) for group in self.number_]
            score = self.scores_[affinity] = np.array([*values, 0.0])[self.group_]
        return cast(FloatLike, rows.take(score))

    def domain_terms(self, view: View, shape: Shape, candidates: Bool) -> Sequence[DomainTerm]:
        """Groups in which the queue has room left."""
        room = self._room(view, shape)
        return () if room is None else (DomainTerm(ok=room),)

    def moves_itself(self, view: View, shape: Shape) -> bool:
        """Pods of a queue that is limited in some group come one at a time."""
        return bool(_key_of(shape).limits)

    def why(self, view: View, shape: Shape) -> Iterator[Reject]:
        """Sentences in the order of the checks; no eviction cures any of them."""
        key, everywhere = _key_of(shape), np.ones(len(self.group_), dtype=bool)
        if key.limits is None:
            yield Reject(everywhere, NO_LIMITS, False)
            return
        labelled: Bool = self.group_ != MISSING
        if self.args.strict or key.affinity is not None:
            yield Reject(~labelled, NO_LABEL, False)
        if key.affinity is None:
            yield Reject(labelled, NO_AFFINITY, False)
        else:
            yield Reject(labelled & ~self._allowed(key.affinity), OUTSIDE, False)
        room = self._room(view, shape)
        if room is not None:
            yield Reject(~room, OVER, False)

    # ---- what limited queues hold ----

    def reserves(self, view: View, shape: Shape) -> bool:
        """Pods are counted where some queue is limited."""
        return any(self.limited_)

    def reserve(self, view: View, task: int, node: int, promised: bool) -> Callable[[], None] | str:
        """Count a pod in its node's group; its room was looked at before."""
        self._charge(view, task, node, 1)
        return lambda: self._charge(view, task, node, -1)

    def release(self, view: View, task: int, node: int) -> Callable[[], None]:
        """An evicted pod counts no more."""
        self._charge(view, task, node, -1)
        return lambda: self._charge(view, task, node, 1)

    def bind_notes(self, view: View, task: int, node: int) -> Mapping[str, str]:
        """Nothing is written."""
        return {}

    def _allowed(self, affinity: QueueAffinity) -> Bool:
        """(N,) nodes in groups that a queue may use; False for a node without one."""
        allowed: Bool = np.array([*(_allowed(affinity, group) for group in self.number_), False])[self.group_]
        return allowed

    def _room(self, view: View, shape: Shape) -> Bool | None:
        """(N,) nodes in whose group the queue may hold one more pod; None: all."""
        key = _key_of(shape)
        if not key.limits:
            return None
        queue = view.snapshot.queues.names.index(key.queue)
        full = [
            self.number_[group]
            for group, limits in key.limits
            if group in self.number_ and self._over(view, queue, self.number_[group], limits, shape)
        ]
        return ~np.isin(self.group_, full) if full else None

    def _over(self, view: View, queue: int, group: int, limits: Amounts, shape: Shape) -> bool:
        held = self.used_.get((queue, group))
        for name, most in limits:
            row = view.space.row(name)
            if row is not None and (held[row] if held else 0) + shape.req[row] > most:
                return True
        return False


def _key_of(shape: Shape) -> _Key:
    key = shape.keys.get(Nodegroup.name)
    return key if isinstance(key, _Key) else _Key(None, "", ())


def _allowed(affinity: QueueAffinity, group: str) -> bool:
    """May the queue use the group? Volcano's order of checks: what is to be avoided overrules, softly avoided is allowed."""
    allowed = group in affinity.required or group in affinity.preferred
    if group in affinity.anti_required:
        allowed = False
    if group in affinity.anti_preferred:
        allowed = True
    return allowed


def _score(affinity: QueueAffinity, group: str, ordered: bool) -> float:
    """Of a group for a queue."""
    if group in affinity.anti_preferred:
        return -1.0
    score = REQUIRED_SCORE if group in affinity.required else 0.0
    if group in affinity.preferred:
        listed = list(dict.fromkeys(affinity.preferred))
        part = (len(listed) - listed.index(group)) / len(listed) if ordered else 1.0
        score += PREFERRED_SCORE * part
    return score


def _limits(spelled: str) -> tuple[tuple[str, Amounts], ...] | None:
    """Limits by group, as sorted pairs; () for none, None when they cannot be read."""
    if not spelled:
        return ()
    try:
        found = json.loads(spelled)
        return tuple(
            sorted(
                (str(group), tuple(sorted(resource_amounts(amounts).items())))
                for group, amounts in found.items()
            )
        )
    except (ValueError, AttributeError, TypeError):
        return None

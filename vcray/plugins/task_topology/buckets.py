"""Buckets of a job: groups of tasks, each meant for one node, made greedily from what the job's annotations wish.

Volcano's rules: pods on a node make that node's bucket. Each waiting pod then joins the bucket where it has most friends less
foes, the one that asks for least among equals; where its foes prevail it opens one of its own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Set
from dataclasses import dataclass, field
from typing import Final

from vcray.api import names
from vcray.core.space import MEMORY, PODS
from vcray.core.tables import MISSING
from vcray.core.view import View

MIB: Final = 2**20
SELF_ANTI, INTER, SELF, INTER_ANTI = 4, 3, 2, 1
"""Which kind of wish goes first."""


@dataclass(slots=True)
class Wishes:
    """What a job's annotations say, by role: roles wanted near and apart (the own one included), the highest kind of wish that
    names a role, and the stated order (larger first)."""

    near: dict[str, set[str]] = field(default_factory=dict)
    apart: dict[str, set[str]] = field(default_factory=dict)
    kind: dict[str, int] = field(default_factory=dict)
    order: dict[str, int] = field(default_factory=dict)

    def anti(self, role: str) -> Set[str]:
        """Roles that a role wants to be apart from."""
        return self.apart.get(role, set())

    def affinity(self, role: str, others: Mapping[str, int]) -> int:
        """Friends less foes among counted roles."""
        near, apart = self.near.get(role, set()), self.apart.get(role, set())
        return sum(count * ((other in near) - (other in apart)) for other, count in others.items() if other)

    def rank(self, role: str) -> tuple[int, int]:
        """Smaller goes first: the stated order, then the kind of wish."""
        return -self.order.get(role, 0), -self.kind.get(role, 0)


def wishes_of(notes: Mapping[str, str], roles: Set[str]) -> Wishes | None:
    """The wishes in a PodGroup's annotations; None without any, or when one names a task that the job has not, or one twice."""
    near, apart = notes.get(names.TASK_TOPOLOGY_AFFINITY), notes.get(names.TASK_TOPOLOGY_ANTI_AFFINITY)
    order = notes.get(names.TASK_TOPOLOGY_TASK_ORDER)
    if near is None and apart is None and order is None:
        return None
    lists = {
        "near": [each.split(",") for each in near.split(";")] if near is not None else [],
        "apart": [each.split(",") for each in apart.split(";")] if apart is not None else [],
        "order": [order.split(",")] if order is not None else [],
    }
    for group in (group for groups in lists.values() for group in groups):
        named = [name for name in group if name]
        if len(set(named)) < len(named) or not set(named) <= roles:
            return None
    wishes = Wishes()
    for groups, table, alone, together in (
        (lists["near"], wishes.near, SELF, INTER),
        (lists["apart"], wishes.apart, SELF_ANTI, INTER_ANTI),
    ):
        for group in groups:
            for name in group:
                others = {name} if len(group) == 1 else set(group) - {name}
                table.setdefault(name, set()).update(others)
                kind = alone if len(group) == 1 else together
                wishes.kind[name] = max(kind, wishes.kind.get(name, 0))
    for group in lists["order"]:
        wishes.order = {name: len(group) - place for place, name in enumerate(group)}
    return wishes


@dataclass(slots=True, eq=False)
class Bucket:
    """Tasks (rows) meant for one node, in the order in which they joined. weight: what its waiting ones asked for when made."""

    index: int
    tasks: list[int] = field(default_factory=list)
    roles: Counter[str] = field(default_factory=Counter)
    weight: float = 0.0


class Buckets:
    """The buckets of a job when the session opens. `of`: bucket of a task; `largest`: tasks of the largest one, at least 1."""

    def __init__(self, view: View, wishes: Wishes, roles: Mapping[int, str]) -> None:
        self.wishes = wishes
        self.roles = roles
        self.of: dict[int, Bucket] = {}
        self.buckets: list[Bucket] = []
        table = view.snapshot.tasks
        self.was_pending = {task: int(table.node[task]) == MISSING for task in roles}
        nodes, pods = view.snapshot.nodes.names, table.names
        concerned = [task for task, role in roles.items() if wishes.kind.get(role)]
        bound = [task for task in concerned if not self.was_pending[task]]
        waiting = [task for task in concerned if self.was_pending[task]]
        by_node: dict[int, Bucket] = {}
        for task in sorted(bound, key=lambda task: (nodes[int(table.node[task])], pods[task])):
            node = int(table.node[task])
            if node not in by_node:
                by_node[node] = self._new()
            self._join(by_node[node], task, 0.0)
        for task in sorted(waiting, key=lambda task: (*wishes.rank(roles[task]), pods[task])):
            self._join(self._best(roles[task]), task, _weight(view, int(table.shape[task])))
        self.largest = max((len(bucket.tasks) for bucket in self.buckets), default=1)

    def _new(self) -> Bucket:
        bucket = Bucket(len(self.buckets))
        self.buckets.append(bucket)
        return bucket

    def _join(self, bucket: Bucket, task: int, weight: float) -> None:
        bucket.tasks.append(task)
        bucket.roles[self.roles[task]] += 1
        bucket.weight += weight
        self.of[task] = bucket

    def _best(self, role: str) -> Bucket:
        best: Bucket | None = None
        most = 0
        for bucket in self.buckets:
            friends = self.wishes.affinity(role, bucket.roles)
            if best is None or friends > most or (friends == most and bucket.weight < best.weight):
                best, most = bucket, friends
        return self._new() if best is None or most < 0 else best

    def ranks(self) -> dict[int, int]:
        """Negative places in the task order of the tasks that have a bucket; all others are 0 and come after them."""
        keys = {
            task: (-len(bucket.tasks), bucket.index, *self.wishes.rank(self.roles[task]))
            for task, bucket in self.of.items()
        }
        places = {key: place for place, key in enumerate(sorted(set(keys.values())))}
        return {task: places[key] - len(places) for task, key in keys.items()}


def _weight(view: View, shape: int) -> float:
    """A request as one number: a Mi of memory counts as a milli cpu and as a thousandth of any other resource."""
    req = view.shapes[shape].req
    return sum(
        amount / MIB if row == MEMORY else float(amount) for row, amount in enumerate(req) if row != PODS
    )

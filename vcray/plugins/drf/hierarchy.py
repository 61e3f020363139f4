"""Hierarchical drf: queues as the leaves of a tree that annotations spell, and how full each branch is.

`volcano.sh/hierarchy: root/eng/dev` gives a queue its place and `volcano.sh/hierarchy-weights: 1/2/8` the weights on the way. A
node's share is worked out from its children (nodes and jobs): those that still want something are scaled down to the least
of them first, so that one greedy child does not make the whole branch look greedy. A node is saturated when nothing below
it can grow.

Names decide every order of summation, so the same state gives the same floats whatever the rows are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from vcray.api.names import HIERARCHY, HIERARCHY_WEIGHTS
from vcray.core.arrays import Bool, Float, Int
from vcray.core.view import View

Full = tuple[bool, ...]
"""By counted resource: has the cluster nothing left of it?"""


class State(NamedTuple):
    """A node: what counts as allocated (R',), its share, and whether nothing below it can grow."""

    allocated: Float
    share: float
    saturated: bool


@dataclass(slots=True)
class _Node:
    weight: float
    parent: int
    children: dict[object, int] = field(default_factory=dict)
    queues: list[int] = field(default_factory=list)


class Hierarchy:
    """The tree of a session. Asked for keys, it first takes up what the ledger has moved since."""

    def __init__(self, view: View) -> None:
        total = view.total.tolist()
        self._rows = [row for row, amount in enumerate(total) if amount > 0]
        self._total: Float = view.total[self._rows].astype(np.float64)
        self._request = _requests(view)[self._rows]
        self._nodes = [_Node(1.0, -1)]
        self._path_of: dict[int, list[int]] = {}
        self._build(view)
        self._depth = max((len(path) for path in self._path_of.values()), default=0)
        names = view.snapshot.jobs.names
        self._jobs = [
            np.array(
                sorted(
                    (job for q in node.queues for job in view.jobs_of_queue[q].tolist()),
                    key=names.__getitem__,
                ),
                dtype=np.int64,
            )
            for node in self._nodes
        ]
        self._branch: dict[int, list[int]] = {}
        for queue, path in self._path_of.items():
            self._branch.setdefault(path[0], []).append(queue)
        self._keys: dict[int, tuple[float, ...]] = {}
        self._seen: list[int] = []
        self._full: Full = ()
        self._states: list[State] = []

    def _build(self, view: View) -> None:
        queues = view.snapshot.queues
        for queue in sorted(range(len(queues)), key=queues.names.__getitem__):
            if not len(view.jobs_of_queue[queue]):
                continue
            notes = dict(queues.notes[queue])
            spelled = [part for part in notes.get(HIERARCHY, "").split("/")[1:] if part]
            weights = notes.get(HIERARCHY_WEIGHTS, "").split("/")[1:]
            steps: list[tuple[object, float]] = [
                (part, _weight(weights[i] if i < len(weights) else "")) for i, part in enumerate(spelled)
            ]
            path = []
            at = 0
            for part, weight in steps or [(("queue", queues.names[queue]), 1.0)]:
                if part not in self._nodes[at].children:
                    self._nodes[at].children[part] = len(self._nodes)
                    self._nodes.append(_Node(weight, at))
                at = self._nodes[at].children[part]
                path.append(at)
            self._nodes[at].queues.append(queue)
            self._path_of[queue] = path

    # ---- live states ----

    def key(self, view: View, queue: int) -> tuple[float, ...]:
        """Per level whether the branch is saturated and its share by weight; levels that it lacks go first."""
        self._refresh(view)
        known = self._keys.get(queue)
        if known is None:
            known = self._keys[queue] = self._key(queue, self._states, pad=True)
        return known

    def _key(self, queue: int, states: Sequence[State] | Mapping[int, State], pad: bool) -> tuple[float, ...]:
        path = self._path_of.get(queue, [])
        key: list[float] = []
        for node in path:
            state = states[node]
            key += (float(state.saturated), state.share / self._nodes[node].weight)
        if pad:
            key += (-1.0, -1.0) * (self._depth - len(path))
        return tuple(key)

    def _refresh(self, view: View) -> None:
        """Work out again what hangs on queues that were charged, or everything when a resource ran out or came back."""
        charges = view.queues.charges
        if self._seen == charges:
            return
        full = self._is_full(view.queues.claimed.sum(axis=1)[self._rows])
        claimed = view.jobs.claimed
        if full != self._full or not self._states:
            self._states = self._all(claimed, full)
            self._keys.clear()
        else:
            for queue, (then, now) in enumerate(zip(self._seen, charges, strict=True)):
                if then != now and queue in self._path_of:
                    self._climb(queue, self._states, claimed, full)
                    for near in self._branch[self._path_of[queue][0]]:
                        self._keys.pop(near, None)
        self._full, self._seen = full, list(charges)

    def _is_full(self, held: Int) -> Full:
        full: list[bool] = (held >= self._total).tolist()
        return tuple(full)

    def _all(self, claimed: Int, full: Full) -> list[State]:
        """Children come after their parents in the list, so the last go first."""
        states: list[State] = [State(np.zeros(len(self._rows)), 0.0, False)] * len(self._nodes)
        for node in reversed(range(len(self._nodes))):
            states[node] = self._state(node, states, claimed, full)
        return states

    def _climb(self, queue: int, states: list[State], claimed: Int, full: Full) -> None:
        for node in reversed(self._path_of[queue]):
            states[node] = self._state(node, states, claimed, full)

    def _state(self, node: int, states: Sequence[State], claimed: Int, full: Full) -> State:
        children = self._nodes[node].children
        below = [states[child] for _, child in sorted(children.items(), key=lambda item: str(item[0]))]
        jobs = self._jobs[node]
        held = claimed[:, jobs][self._rows].astype(np.float64)
        parts = np.concatenate(
            (np.array([s.allocated for s in below]).reshape(len(below), len(self._rows)).T, held), axis=1
        )
        share = np.maximum.reduce(held / self._total[:, None], axis=0, initial=0.0)
        shares = np.concatenate((np.array([s.share for s in below], dtype=np.float64), share))
        still = np.concatenate(
            (np.array([s.saturated for s in below], dtype=bool), self._done(held, jobs, full))
        )
        if not len(shares):
            return State(np.zeros(len(self._rows)), 0.0, False)
        hungry = (shares > 0) & ~still
        least = min(1.0, float(shares[hungry].min())) if hungry.any() else 1.0
        factor = np.where(still, 1.0, least / np.where(shares > 0, shares, 1.0))
        allocated: Float = np.add.accumulate(parts * np.where(shares > 0, factor, 0.0), axis=1)[:, -1]
        return State(allocated, float((allocated / self._total).max(initial=0.0)), bool(still.all()))

    def _done(self, held: Float, jobs: Int, full: Full) -> Bool:
        """(k,) jobs that cannot grow: of something that they hold they have all they ask for, or the cluster has no more."""
        request = self._request[:, jobs]
        gone = np.array(full, dtype=bool)[:, None]
        done: Bool = np.logical_or.reduce((held > 0) & ((held >= request) | ((request > 0) & gone)), axis=0)
        return done

    # ---- what-if ----

    def supposing(self, view: View, job: int, queue: int, request: Int) -> WhatIf:
        """The tree as if the claimant had its request."""
        self._refresh(view)
        return WhatIf(self, view, job, queue, request)


class WhatIf:
    """The tree with a claimant's request added, asked about one victim after the other, each alone."""

    def __init__(self, tree: Hierarchy, view: View, job: int, queue: int, request: Int) -> None:
        self._tree = tree
        self._queue = queue
        self._claimed = view.jobs.claimed.copy()
        self._claimed[:, job] += request
        self._held: Int = view.queues.claimed.sum(axis=1) + request
        self._states: dict[Full, list[State]] = {}
        self._before: dict[tuple[int, int], bool] = {}

    def goes_before(self, job: int, queue: int, shape: int, request: Int) -> bool:
        """Would the claimant's queue still go before the victim's without the victim?"""
        known = self._before.get((job, shape))
        if known is None:
            known = self._before[job, shape] = self._ask(job, queue, request)
        return known

    def _ask(self, job: int, queue: int, request: Int) -> bool:
        tree = self._tree
        full = tree._is_full((self._held - request)[tree._rows])
        base = self._states.get(full)
        if base is None:
            base = self._states[full] = tree._all(self._claimed, full)
        self._claimed[:, job] -= request
        states = list(base)
        tree._climb(queue, states, self._claimed, full)
        self._claimed[:, job] += request
        mine, theirs = tree._key(self._queue, states, pad=False), tree._key(queue, states, pad=False)
        depth = min(len(mine), len(theirs))
        return mine[:depth] < theirs[:depth]


def _weight(spelled: str) -> float:
    """A weight as the annotation has it; below 1, or no number, counts as 1."""
    try:
        return max(float(spelled), 1.0)
    except ValueError:
        return 1.0


def _requests(view: View) -> Int:
    """(R, J) what all tasks of each job request together, in whatever status."""
    tasks = view.snapshot.tasks
    out = np.zeros((len(view.space), len(view.snapshot.jobs)), dtype=np.int64)
    for row in range(len(out)):
        np.add.at(out[row], tasks.job, view.requests[row, tasks.shape])
    return out

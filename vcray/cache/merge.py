"""Deltas of all shards -> one state -> frozen snapshots. The only mutable thing of the cache, and still pure.

Pods are dense columns (`podcolumns`), those of a known PodGroup apart from all others; shapes follow from them
(`resolver`), node sums from shapes (`sums`). A delta costs what it changes; `rebuild` makes all of it anew from the columns
and gives the same snapshots, which is how the incremental way is tested. The newest version of an object wins whatever
shard tells of it, so deltas may be late, repeated or out of order.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Set
from contextlib import AbstractContextManager
from typing import Final

import numpy as np

from vcray.cache.agentview import freeze_agent, waiting_rows
from vcray.cache.assume import ASSUMED_S
from vcray.cache.compaction import compact, is_due
from vcray.cache.delta import Delta, Field, PodMatrix
from vcray.cache.echoes import Echoes
from vcray.cache.freeze import freeze
from vcray.cache.intake import ClusterIntake, NodeIntake
from vcray.cache.news import News, takes_room_alone
from vcray.cache.podintake import PodIntake
from vcray.cache.resolver import Moves, Rows
from vcray.cache.state import State
from vcray.cache.sums import NodeSums
from vcray.cache.supposed import Supposed, supposed_rows
from vcray.core.decisions import Commit, Decisions, Evict
from vcray.core.snapshot import Snapshot
from vcray.core.space import ResourceSpace

REFUSED: Final = 1000
"""How many unreadable objects are remembered."""


class Merge:
    """The state of a cluster. `assumed_s` is how long a placement may stay unconfirmed."""

    def __init__(self, assumed_s: float = ASSUMED_S) -> None:
        self.generation = 0
        self._changed = True
        self.refused: list[tuple[str, str, str]] = []
        """(kind, key, why) of objects that shards could not read; the reader may clear it."""
        self._state = State()
        self._cluster = ClusterIntake(self._state)
        self._nodes = NodeIntake(self._state)
        self._pods = PodIntake(self._state, assumed_s)
        self._echoes = Echoes(self._state.knowledge)

    def expect(self, decisions: Decisions) -> None:
        """Statuses that a round is about to write."""
        self._echoes.expect(decisions.groups, decisions.queues)

    def apply(self, delta: Delta) -> News:
        """Take in what changed in a shard; costs what changed."""
        if not delta:
            return News.NOTHING
        if self._echoes.are_all(delta):
            news = News.NOTHING
        else:
            news = News.LATER if takes_room_alone(self._state, delta) else News.NOW
        self.refused = [*self.refused, *delta.refused][-REFUSED:]
        self._cluster.take(delta)
        self._nodes.take(delta)
        if self._state.new_resources:
            self._settle()  # PodGroups get their rows only with it, and pods look for those
        self._pods.take(delta)
        self._settle()
        if is_due(self._state):
            self.compact()
        return news

    def knows(self, key: str) -> bool:
        """Is there a pod of that key?"""
        return self._state.find(key) is not None

    def assume(self, commits: Iterable[Commit], now: float) -> None:
        """Count decided placements: their tasks are Binding on their node until confirmed, forgotten or expired."""
        self._pods.assume(commits, now)
        self._settle()

    def assume_gone(self, evictions: Iterable[Evict], now: float) -> None:
        """Count decided evictions: their pods are Releasing until confirmed, forgotten or expired."""
        self._pods.assume_gone(evictions, now)
        self._settle()

    def forget(self, uids: Iterable[str]) -> None:
        """Placements and evictions that were refused, by pod UID: the pods wait again, or stay."""
        self._pods.forget(uids)
        self._settle()

    def unanswered(self, decisions: Decisions) -> AbstractContextManager[list[str]]:
        """While the binder carries these decisions out nothing of them expires; the UIDs of their pods."""
        return self._pods.unanswered.of(decisions)

    def answered(self, uids: Iterable[str], now: float) -> None:
        """The binder has answered for these pods: from now on the watch must confirm what it did."""
        self._pods.answered(uids, now)

    def expire(self, now: float) -> tuple[str, ...]:
        """Give up placements and evictions that nothing confirmed in time, but for those that are with the binder; UIDs
        of their pods."""
        overdue = self._pods.expire(now)
        if overdue:
            self._settle()
        return overdue

    def snapshot(self, now: float, seed: int) -> Snapshot:
        """The present state, frozen: later changes never show in it.

        Its generation counts the states that were looked at, so it does not tell how many deltas led to them."""
        self.generation += self._changed
        self._changed = False
        return freeze(self._state, self.generation, now, seed)

    def supposing(self, pods: Sequence[Supposed], now: float, seed: int) -> Snapshot:
        """The state as it would be if these pods had just come and waited, frozen; the state itself stays as it is.

        Raises QuantityError for a pod that cannot be read."""
        classes = self._state.knowledge.priority_classes
        matrix = PodMatrix(row for each in pods for row in supposed_rows(each, classes, int(now)))
        changed = self._changed
        try:
            self._pods.take(matrix.delta())
            self._settle()
            return freeze(self._state, self.generation, now, seed)
        finally:
            self._pods.withdraw(matrix.keys)
            self._settle()
            self._changed = changed

    def agent_snapshot(self, now: float, seed: int, left_out: Set[str] = frozenset()) -> Snapshot:
        """The present state as the agent's fast path sees it; `left_out`: keys of pods that are not to be tried now."""
        self.generation += self._changed
        self._changed = False
        return freeze_agent(self._state, self.generation, now, seed, left_out)

    def agent_waits(self) -> bool:
        """Does any pod wait for the agent's fast path?"""
        return len(waiting_rows(self._state)) > 0

    def rebuild(self) -> None:
        """Make all that is derived anew from the columns: shapes, selectors, sums, tables. The oracle of `apply`."""
        self._state.restart(ResourceSpace.of(self._resources()))
        self._settle(self._all_rows())

    def compact(self) -> None:
        """Forget the names of what is gone, then rebuild. Done by itself when such names outweigh the present."""
        compact(self._state, self._pods.hidden())
        self.rebuild()

    def _all_rows(self) -> Rows:
        return {task: np.arange(len(table)) for task, table in self._state.tables.items()}

    def _resources(self) -> set[str]:
        state = self._state
        names = {name for row in state.nodes.rows.values() for name, _ in row.allocatable}
        forms = state.resolver.forms
        for number in {number for table in state.tables.values() for number in forms.present(table)}:
            names.update(name for name, _ in forms.numbers.values[number].requests)
        for table in state.tables.values():
            names |= state.resolver.attached(np.unique(table.used(Field.CLAIMS)).tolist())
        for group in state.knowledge.groups.values():
            names.update(name for name, _ in group.min_resources or ())
        for queue in state.knowledge.queues.values():
            names.update(
                name for part in (queue.capability, queue.deserved, queue.guarantee) for name, _ in part
            )
        return names

    def _settle(self, rows: Rows | None = None) -> None:
        """Follow up what was marked, then bring the node sums up to date."""
        state = self._state
        if state.new_resources:
            state.restart(ResourceSpace.of((*state.space.names, *state.new_resources)))
            rows = self._all_rows()
        renumber = state.renumber
        if renumber:
            state.number_nodes()
            state.frozen.pods_changed()
        if rows is None:
            rows = self._dirty_rows()
        resolver = state.resolver
        resolver.resolve(state.tables, rows, state.node_column, state.strings.values, state.moves)
        if renumber:
            state.sums = NodeSums(len(state.space), len(state.nodes))
            for table in state.tables.values():
                state.sums.add(1, state.all_placed(table), resolver.shapes)
        else:
            self._move()
        resolver.release()
        resolver.labels.release(state.labels_left)
        state.moves, state.dirty, state.written, state.labels_left = Moves(), {}, {}, []
        self._changed = True

    def _dirty_rows(self) -> Rows:
        """Rows that were written or marked, each once."""
        state = self._state
        found: Rows = {}
        for task, table in state.tables.items():
            marked = [table.row[key] for key in state.dirty if key in table.row]
            written = state.written.get(task, np.zeros(0, np.int64))
            found[task] = np.union1d(written, np.array(marked, np.int64)) if marked else written
        if state.dirty:
            state.frozen.pods_changed()
        return found

    def _move(self) -> None:
        """Take pods out of the node sums and put pods in."""
        state = self._state
        moves, shapes = state.moves, state.resolver.shapes
        if moves.gone:
            gone = np.array(moves.gone, np.int64).T
            state.sums.add(-1, state.placed(gone[0], gone[1], gone[2]), shapes)
        for sign, pieces in ((-1, moves.out), (1, moves.into)):
            if pieces:
                held, shape, leaving = (np.concatenate(part) for part in zip(*pieces, strict=True))
                state.sums.add(sign, state.placed(held, shape, leaving), shapes)

"""Puts k equal pods of a job on the best nodes: idle ones first, then those where room is being freed.

The loop is one rule: propose a list of picks, keep the longest prefix for which nothing that a hook looked at has changed,
place it, ask again. The first pick is always valid, so the same loop is the fast path and the one-by-one path.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from vcray.core.arrays import Float, Int
from vcray.core.carry import Carry
from vcray.core.choose import Scope, choose
from vcray.core.classes import Class
from vcray.core.ledger import Ledger
from vcray.core.merge import NONE
from vcray.core.policy import Chains
from vcray.core.pools import Pools
from vcray.core.reasons import explain
from vcray.core.room import Rooms
from vcray.core.rows import Layout, OneRow
from vcray.core.scorers import split
from vcray.core.tables import MISSING, Status
from vcray.core.view import Shape, View

if TYPE_CHECKING:
    from vcray.core.hopeless import Failure


class Refusal(NamedTuple):
    """Not all pods of a class could be placed: the seats that it got, in order, and why there was no next.

    `queue`: row of the queue that allows no more of them, MISSING where no node had room. True as long as the ledger is in the
    state `version`, whichever job asks."""

    version: int
    seats: tuple[tuple[Status, int], ...]
    text: str = ""
    queue: int = MISSING


class Placer:
    """Placement for a session; owns the class caches."""

    def __init__(
        self,
        view: View,
        chains: Chains,
        ledger: Ledger,
        carry: Carry | None = None,
        scorers: int = 1,
        pools: Pools | None = None,
    ) -> None:
        self.carry = Carry() if carry is None else carry
        self.view = view
        self.chains = chains
        self.ledger = ledger
        self.layout = Layout(ledger.matrix)
        self.pools = pools
        self.scorers = split(len(view.snapshot.nodes), scorers)
        self.rooms = Rooms(view)
        self._near = bool(chains.parts.cells) and bool(view.hypernodes.table.names)
        self.hopeless: dict[object, Failure] = {}
        """Gangs with a topology that found no HyperNode, by `core.hopeless.signature`."""
        self._classes: dict[object, Class] = {}
        self._class_keys: dict[int, tuple[object, ...]] = {}
        self._texts: dict[tuple[Class, int], tuple[int, str]] = {}
        self._refusals: dict[object, Refusal] = {}

    def class_of(self, job: int, shape: Shape) -> Class:
        """The class of a job's pods of this shape."""
        extra: tuple[object, ...] | None = None
        if self.chains.class_keys:
            extra = self._class_keys.get(job)
            if extra is None:
                extra = tuple(hook(self.view, job) for hook in self.chains.class_keys)
                self._class_keys[job] = extra
        key = (shape.row, extra)
        found = self._classes.get(key)
        if found is None:
            known = self.carry.get((shape.spec, extra))
            if extra is not None:
                shape = replace(shape, keys=self.chains.keyed(extra))
            found = Class(self.view, self.chains, self.ledger, self.layout, shape, known)
            self._classes[key] = found
            if known is None:
                self.carry.put((shape.spec, extra), found.static, found.preferences)
        return found

    def place(self, job: int, shape: Shape, tasks: Sequence[int], scope: Scope | None = None) -> int:
        """Place the tasks in order, as many as fit inside the scope; returns how many. All equal.

        An idle node stays better than a promised one; where a placement can open nodes of its own class (spread), the idle
        ones are looked at again after every promise."""
        cls = self.class_of(job, shape)
        placed = self._fill(cls, False, job, tasks, scope)
        while placed < len(tasks) and cls.fits:
            rest = tasks[placed : placed + 1] if cls.moves else tasks[placed:]
            promised = self._fill(cls, True, job, rest, scope)
            placed += promised
            if not cls.moves or not promised:
                break
            placed += self._fill(cls, False, job, tasks[placed:], scope)
        return placed

    def place_at(self, job: int, shape: Shape, task: int, node: int, scope: Scope | None = None) -> bool:
        """Place one task on the node that was promised to it, if it may go there; True when done."""
        return any(self._place_at(promised, job, shape, task, node, scope) for promised in (False, True))

    def place_nominated(
        self,
        job: int,
        shape: Shape,
        task: int,
        node: int,
        spared: Callable[[int], Int],
        scope: Scope | None = None,
    ) -> bool:
        """Place one task that was promised a node: there if it is idle, else on the best idle node outside those that are
        `spared` for other tasks, else as a promise there. True when done."""
        return (
            self._place_at(False, job, shape, task, node, scope)
            or self._place_elsewhere(job, shape, task, spared, scope)
            or self._place_at(True, job, shape, task, node, scope)
        )

    def _place_at(
        self, promised: bool, job: int, shape: Shape, task: int, node: int, scope: Scope | None
    ) -> bool:
        cls = self.class_of(job, shape)
        if (promised and not cls.fits) or (scope is not None and not scope.holds(node)):
            return False
        if cls.reserves:
            cls.forgive(self.ledger.reservations.kind(shape, task))
        if cls.key(OneRow(self.view, self.layout, node), promised) == NONE:
            return False
        if not self._terms_let(cls, node) or not self._enter(cls, promised, job, [task], [node]):
            return False
        if scope is not None:
            scope.follow(self.view.hypernodes, [node])
        return True

    def _place_elsewhere(
        self, job: int, shape: Shape, task: int, spared: Callable[[int], Int], scope: Scope | None
    ) -> bool:
        """Place one task on the best idle node outside `spared`."""
        cls = self.class_of(job, shape)
        feasible = cls.group(False).feasible
        if not feasible.any():
            return False
        taken = spared(task)
        taken = taken[feasible[taken]]
        if not len(taken):
            return bool(self._fill(cls, False, job, [task], scope))
        inside = Scope(self.view.hypernodes.top, None) if scope is None else scope
        rows = np.arange(len(self.view.snapshot.nodes)) if inside.rows is None else inside.rows
        narrow = replace(inside, rows=np.setdiff1d(rows, taken))
        done = self._fill(cls, False, job, [task], narrow)
        inside.running = narrow.running
        return bool(done)

    def promise(
        self, job: int, shape: Shape, task: int, scope: Scope | None = None, reason: str = ""
    ) -> bool:
        """Promise the best node inside the scope to one task, as things are, idle ones first; for claims. True when done.

        `reason`: what evicted for the task's gang, when something did."""
        cls = self.class_of(job, shape)
        for promised in (False, True) if cls.fits else (False,):
            if promised and not self.ledger.frees:
                return False
            if cls.reserves:
                cls.forgive(self.ledger.reservations.kind(shape, task))
            while picks := self._propose(cls, promised, 1, job, task, scope):
                why = self.ledger.pipeline(job, shape, [task], picks, reason)
                if not why:
                    if scope is not None:
                        scope.follow(self.view.hypernodes, picks)
                    return True
                cls.refuse(picks[0], promised, why)
        return False

    def promise_at(self, job: int, shape: Shape, task: int, node: int, reason: str) -> bool:
        """Promise a node to one task for which `reason` evicted there, if it may go there now. True when done."""
        cls = self.class_of(job, shape)
        if cls.reserves:
            cls.forgive(self.ledger.reservations.kind(shape, task))
        row = OneRow(self.view, self.layout, node)
        if not cls.takes(row, True) and not cls.takes(row, False):
            return False
        return self._terms_let(cls, node) and not self.ledger.pipeline(job, shape, [task], [node], reason)

    def hold(self, job: int, shape: Shape, task: int, node: int) -> bool:
        """Promise a node to one task for which room was made there, whatever filters see of those who leave. True when done."""
        return not self.ledger.pipeline(job, shape, [task], [node])

    def vacant(self, job: int, shape: Shape, task: int, scope: Scope | None) -> list[int]:
        """The best node inside the scope that has room now for a pod like the task; none when there is none."""
        return self._propose(self.class_of(job, shape), False, 1, job, task, scope)[:1]

    def allows(self, job: int, shape: Shape, node: int) -> bool:
        """Is nothing of the node's object (cordon, taints, labels) against pods of the shape?"""
        return bool(self.class_of(job, shape).static[node])

    def _terms_let(self, cls: Class, node: int) -> bool:
        """Do the rules that look beyond one node let the pod go there?"""
        if not self.chains.domains:
            return True
        only = np.zeros(len(self.view.snapshot.nodes), dtype=bool)
        only[node] = True
        terms = self.chains.domain_terms(self.view, cls.shape, only)
        return all(term.ok is None or bool(term.ok[node]) for term in terms)

    def explain(self, job: int, shape: Shape, scope: Scope | None = None) -> str:
        """Why no node inside the scope takes one more pod of the shape, now."""
        cls, version = self.class_of(job, shape), self.ledger.version
        rows = None if scope is None else scope.rows
        key = (cls, MISSING if scope is None or rows is None else scope.hypernode)
        known = self._texts.get(key)
        if known is None or known[0] != version:
            text = explain(self.view, self.chains, cls, rows)
            if scope is not None and rows is not None:
                text = f"In hyperNode {self.view.hypernodes.names[scope.hypernode]}: {text}"
            known = self._texts[key] = (version, text)
        return known[1]

    @property
    def refuses(self) -> bool:
        """Has any longer run of pods been refused in this session?"""
        return bool(self._refusals)

    def refusal(self, job: int, shape: Shape, queue: int = MISSING) -> Refusal | None:
        """What is known, in the present state, of a longer run of this class that nodes, or a queue, did not take whole."""
        if not self._refusals:
            return None
        known = self._refusals.get((self._company(job, shape), queue))
        return known if known is not None and known.version == self.ledger.version else None

    def tells_by_shape(self, job: int, shape: Shape) -> bool:
        """Are pods of the shape answered alike whatever job they are of?"""
        chains = self.chains
        return not (chains.class_keys or chains.parts.taskers or self.class_of(job, shape).reserves)

    def remember(self, job: int, shape: Shape, refusal: Refusal) -> None:
        """Keep a refusal for others of the class."""
        self._refusals[self._company(job, shape), refusal.queue] = refusal

    def _company(self, job: int, shape: Shape) -> object:
        """The class, and how its pods of this job differ in what plugins reserve for them, or in how they are scored."""
        cls = self.class_of(job, shape)
        if self.chains.parts.taskers and self.chains.parts.apart(self.view, job):
            return cls, job
        if not cls.reserves:
            return cls
        tasks = self.view.tasks_of_job[job]
        tasks = tasks[self.view.snapshot.tasks.shape[tasks] == shape.row]
        return cls, frozenset(self.ledger.reservations.kind(shape, task) for task in tasks.tolist())

    def _enter(
        self, cls: Class, promised: bool, job: int, tasks: Sequence[int], nodes: Sequence[int]
    ) -> bool:
        """False when the one node could not reserve what the task needs: then it is out for this class."""
        step = self.ledger.pipeline if promised else self.ledger.place
        why = step(job, cls.shape, tasks, nodes)
        if why:
            cls.refuse(nodes[0], promised, why)
        return not why

    def _fill(self, cls: Class, promised: bool, job: int, tasks: Sequence[int], scope: Scope | None) -> int:
        if promised and not self.ledger.frees:
            return 0
        done = 0
        while done < len(tasks):
            if cls.reserves:
                cls.forgive(self.ledger.reservations.kind(cls.shape, tasks[done]))
            m = 1 if cls.reserves else len(tasks) - done
            picks = self._propose(cls, promised, m, job, tasks[done], scope)
            if not picks:
                break
            if self._enter(cls, promised, job, tasks[done : done + len(picks)], picks):
                done += len(picks)
                if scope is not None:
                    scope.follow(self.view.hypernodes, picks)
        return done

    def _propose(
        self, cls: Class, promised: bool, m: int, job: int, task: int, scope: Scope | None
    ) -> list[int]:
        """Picks that stay valid while placed one after the other; at least one when any node is feasible."""
        apart = self._scored_apart(job, task) if self.chains.parts.taskers else None
        if self.pools is not None and scope is None and apart is None and self._looks_at_rows_alone(cls):
            picks = self.pools.propose(cls, promised, m).nodes.tolist() if len(cls.static) else []
        else:
            m = m if apart is None else 1
            picks = choose(self.view, self.chains, self.scorers, cls.group(promised), m, scope, apart)
        if m > 1 and not cls.moves and picks and self.chains.prefixes:
            nodes = np.array(picks, dtype=np.int64)
            valid = min(hook(self.view, cls.shape, nodes) for hook in self.chains.prefixes)
            picks = picks[: max(valid, 1)]
        return picks

    def _scored_apart(self, job: int, task: int) -> Float | None:
        """(N,) scores of this very task, where some plugin tells the tasks of the job apart."""
        total: Float | None = None
        for plugin in self.chains.parts.apart(self.view, job):
            part = plugin.task_score(self.view, task)
            total = part if total is None else total + part
        return total

    def _looks_at_rows_alone(self, cls: Class) -> bool:
        """Is nothing of the class's scores added across nodes? Then each scorer can rank its own rows."""
        if cls.preferences or cls.moves or cls.reserves or self._near or self.chains.watchers:
            return False
        return not (self.chains.domains and self.chains.domain_terms(self.view, cls.shape, cls.static))


def nominated_node(view: View, task: int) -> int:
    """Node row that `status.nominatedNodeName` promises to the task, MISSING for none."""
    return int(view.snapshot.tasks.nominated[task])

"""Volcano's `deviceshare`: which cards of a node a pod gets, and what of them.

Device plugins share cards between pods and read from a pod's annotations which it was given. So the scheduler keeps the ledger
of cards: a node takes a pod only where its cards do, a placement takes its part of them at once and gives it back when it is
undone, and the binding bears the annotations. Each kind of card is a family, in a module beside this one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from math import floor
from typing import Any

import numpy as np

from vcray.core.arrays import Bool, BoolLike, FloatLike, Int
from vcray.core.cards import NO_CARDS, CardFigures, DeviceConfig
from vcray.core.hooks import Preference, Reject
from vcray.core.plugin import Plugin
from vcray.core.reserve import undo_all
from vcray.core.snapshot import Snapshot
from vcray.core.tables import Notes, ShapeSpec
from vcray.core.view import Rows, Shape, View
from vcray.plugins.deviceshare.arguments import DeviceShareArgs
from vcray.plugins.deviceshare.decks import Choice, Owner, Phase, Refused, Share
from vcray.plugins.deviceshare.fabric import joined
from vcray.plugins.deviceshare.families import charges, families, offers, uses_groups
from vcray.plugins.deviceshare.figures import figures_of
from vcray.plugins.deviceshare.table import Table, busy_until, by_node

AnyTable = Table[Any]
Wanted = list[tuple[AnyTable, Any]]
NO_RULES: frozenset[int] = frozenset()


class DeviceShare(Plugin[DeviceShareArgs]):
    """Keeps the ledger of cards."""

    steady = True
    args_model = DeviceShareArgs

    def open(self, view: View) -> None:
        """Families that are switched on; decks are made when a node is first looked at."""
        self.rules_ = self.args.rules
        self.tables_: list[AnyTable] = []
        if self.args.any_family:
            holders = by_node(view.snapshot.details.holders or ())
            made = families(self.args, self._config(view.snapshot))
            self.tables_ = [Table(family, view, holders, self._rules_of) for family in made]
        tasks = view.snapshot.tasks
        apart = [shape.row for shape in view.shapes if self.tables_ and uses_groups(shape.spec)]
        self.grouped_ = frozenset(tasks.job[np.isin(tasks.shape, apart)].tolist() if apart else ())

    def _config(self, snapshot: Snapshot) -> DeviceConfig:
        table = snapshot.details.cards or NO_CARDS
        return table.config(self.args.config_namespace, self.args.config_name)

    def _rules_of(self, labels: Notes) -> frozenset[int]:
        if not self.rules_:
            return NO_RULES
        known = set(labels)
        return frozenset(number for number, rule in enumerate(self.rules_) if known.issuperset(rule))

    def charges(self, snapshot: Snapshot, spec: ShapeSpec) -> Mapping[str, int] | None:
        """What a pod's cards count in queues and on nodes; 0 for what only the ledger of cards knows."""
        if not spec.asks or not self.args.any_family:
            return None
        return charges(self.args, self._config(snapshot), snapshot, spec) or None

    def offers(self, snapshot: Snapshot) -> Mapping[str, Int]:
        """What partitioned cards can make of MIG profiles that pods ask for by name."""
        return offers(self._config(snapshot), snapshot) if self.args.vgpu else {}

    def class_key(self, view: View, job: int) -> object:
        """Pods that keep away from others of their PodGroup are placed apart from those of other PodGroups."""
        return view.snapshot.jobs.names[job] if job in self.grouped_ else None

    # ---- nodes ----

    def _wanted(self, shape: Shape) -> Wanted:
        if not shape.spec.asks:
            return []
        asks = ((table, table.ask(shape.row)) for table in self.tables_)
        return [(table, ask) for table, ask in asks if ask is not None]

    def node_filter(self, view: View, rows: Rows, shape: Shape) -> BoolLike | None:
        """Have the node's cards room for the pod, beside all that stays?"""
        wanted = self._wanted(shape)
        if not wanted:
            return None
        index, copies = rows.index, rows.copies
        if isinstance(index, int) or copies is not None:
            found: BoolLike = _each(rows, lambda node, count: _fits(wanted, shape, node, count), np.bool_)
            return found
        fits = np.ones(len(index), dtype=np.bool_)
        for table, ask in wanted:
            answers, place = table.answers(shape.row, ask, index)
            fits &= np.array([isinstance(answer, Choice) for answer in answers], dtype=np.bool_)[place]
        return fits

    def node_score(self, view: View, rows: Rows, shape: Shape) -> FloatLike | None:
        """Scores of all families, rounded, times the weight; only with a weight, as in Volcano."""
        wanted = self._wanted(shape) if self.args.weight > 0 else []
        if not wanted:
            return None
        index, copies = rows.index, rows.copies
        if isinstance(index, int) or copies is not None:
            found: FloatLike = _each(
                rows, lambda node, count: self._score(wanted, shape, node, count), np.float64
            )
            return found
        total = np.zeros(len(index), dtype=np.float64)
        for table, ask in wanted:
            answers, place = table.answers(shape.row, ask, index)
            total += np.array([_points(answer) for answer in answers], dtype=np.float64)[place]
        return np.floor(total + 0.5) * self.args.weight

    def _score(self, wanted: Wanted, shape: Shape, node: int, copies: int) -> float:
        total = sum(_points(table.answer(shape.row, ask, node, copies)) for table, ask in wanted)
        return float(floor(total + 0.5) * self.args.weight)

    def node_preference(self, view: View, shape: Shape) -> Sequence[Preference]:
        """Pods with several whole GPUs prefer nodes that join theirs."""
        return joined(view, shape, max(self.args.weight, 1))

    def why(self, view: View, shape: Shape) -> Iterator[Reject]:
        """Reasons of the families, in their order, each with the nodes that give it."""
        everywhere = np.arange(len(view.snapshot.nodes))
        for table, ask in self._wanted(shape):
            answers, place = table.answers(shape.row, ask, everywhere)
            refusals = {answer for answer in answers if isinstance(answer, Refused)}
            for refused in sorted(refusals, key=lambda refused: refused.reason):
                where: Bool = np.array([answer == refused for answer in answers], dtype=np.bool_)[place]
                yield Reject(where, refused.reason, refused.curable)

    # ---- placing ----

    def reserves(self, view: View, shape: Shape) -> bool:
        """Pods that ask for cards of a family that is switched on."""
        return bool(self._wanted(shape))

    def reserve(self, view: View, task: int, node: int, promised: bool) -> Callable[[], None] | str:
        """Take cards for the pod."""
        shape, owner = view.shapes[int(view.snapshot.tasks.shape[task])], self._owner(view, task)
        phase = Phase.PROMISED if promised else Phase.HELD
        undos: list[Callable[[], None]] = []
        for table, ask in self._wanted(shape):
            answer = table.choose(ask, node, owner, promised)
            if isinstance(answer, Refused):
                undo_all(undos)
                return answer.reason
            if self.args.node_lock and answer.parts and table.deck(node).busy_for(owner):
                undo_all(undos)
                return "node is locked while cards are handed over to another pod"
            share = Share(answer.parts, phase, owner, answer, busy=not promised)
            undos.append(table.put(node, view.snapshot.tasks.names[task], share))
        return lambda: undo_all(undos)

    def release(self, view: View, task: int, node: int) -> Callable[[], None]:
        """The pod's cards are free for promises from now on."""
        name = view.snapshot.tasks.names[task]
        undos = [table.leave(node, name) for table in self.tables_]
        return lambda: undo_all(undos)

    def bind_notes(self, view: View, task: int, node: int) -> Mapping[str, str]:
        """The cards that the pod got, as its device plugin reads it."""
        name, where = view.snapshot.tasks.names[task], view.snapshot.nodes.names[node]
        notes: dict[str, str] = {}
        for table in self.tables_:
            deck = table.deck(node)
            share = deck.shares.get(name)
            if share is not None and share.choice is not None:
                notes.update(table.family.notes(deck.cards, share.choice, where, int(view.snapshot.now)))
        return notes

    def wakes_at(self, view: View) -> float | None:
        """When the next lock of a node ends by time alone."""
        if not self.args.node_lock:
            return None
        ends = (busy_until(dict(holder.notes)) for holder in view.snapshot.details.holders or ())
        return min((end for end in ends if end > view.snapshot.now), default=None)

    def card_figures(self, view: View) -> Mapping[str, Sequence[CardFigures]]:
        """Cards of all nodes that register any for vGPU."""
        found: dict[str, Sequence[CardFigures]] = {}
        for table in self.tables_:
            found.update(figures_of(table, view))
        return found

    def _owner(self, view: View, task: int) -> Owner:
        tasks, rules = view.snapshot.tasks, frozenset[int]()
        if self.rules_:
            rules = self._rules_of(view.snapshot.label_sets[int(tasks.labels[task])])
        return Owner(view.snapshot.jobs.names[int(tasks.job[task])], rules)


def _each(rows: Rows, answer: Callable[[int, int], Any], kind: type[np.generic]) -> Any:
    """An answer for each row, from its number and the copies assumed there."""
    index, copies = rows.index, rows.copies
    if isinstance(index, int):
        return answer(index, int(copies) if isinstance(copies, int) else 0)
    nodes = index.tolist()
    many = [0] * len(nodes) if copies is None else np.broadcast_to(copies, len(nodes)).tolist()
    return np.array([answer(node, count) for node, count in zip(nodes, many, strict=True)], dtype=kind)


def _fits(wanted: Wanted, shape: Shape, node: int, copies: int) -> bool:
    return all(isinstance(table.answer(shape.row, ask, node, copies), Choice) for table, ask in wanted)


def _points(answer: Choice | Refused) -> float:
    return answer.score if isinstance(answer, Choice) else 0.0

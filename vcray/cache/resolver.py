"""Keeps every pod's shape right while pods, labels, claims, Services and selectors come and go.

A pod's shape follows from its form, its standing, the selectors that its labels satisfy, its claims and the default
constraints of its Services. All of these are numbers in columns, so a batch of pods is resolved by its distinct
combinations. A selector that a shape begins to read changes the shapes of the pods that satisfy it, and so does one that
nobody reads any more: both are followed up before the batch ends, so the state is a function of the objects alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Sized
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from vcray.cache.claims import NO_FACTS, ClaimFacts, facts_of, settled_facts
from vcray.cache.delta import NO_CLAIMS, Field, NamespacedClaims
from vcray.cache.interning import Interner, combined, grown
from vcray.cache.knowledge import Knowledge
from vcray.cache.labelsets import LabelSets
from vcray.cache.podcolumns import AGENT, HELD, LEAVING, SHAPE, SPREAD, PodColumns
from vcray.cache.podspec import PodForm, SpreadForm, TermForm, settled
from vcray.cache.resolve import Context, Standing, selectors_read, shape_of
from vcray.cache.shapes import ShapeTable
from vcray.core.arrays import Bool, Int
from vcray.core.snapshot import SelectorSpec
from vcray.core.space import ResourceSpace
from vcray.core.tables import Status

DEVICE: Final = "device:"
"""Before the name of a ResourceClaim among the keys of claims."""

Rows = dict[bool, Int]
"""Rows to look at: of the tasks (True) and of the other pods (False)."""


@dataclass(slots=True)
class Moves:
    """What a batch takes out of the node sums and puts in: (node name numbers, shape rows, leaving) piece by piece."""

    out: list[tuple[Int, Int, Int]] = field(default_factory=list)
    into: list[tuple[Int, Int, Int]] = field(default_factory=list)
    gone: list[tuple[int, int, int]] = field(default_factory=list)
    """Single pods to take out."""
    touched: list[int] = field(default_factory=list)
    """Shape rows that lost pods."""


class Forms:
    """Forms by number, with what is asked of them often."""

    def __init__(self) -> None:
        self.numbers: Interner[PodForm] = Interner()
        self.reads: Int = np.zeros(64, np.int64)
        """1 for forms with affinity or spread terms."""
        self.own_spread: Int = np.zeros(64, np.int64)
        self.by_namespace: Int = np.zeros(64, np.int64)
        """1 for forms with a namespace selector."""
        self.with_image: dict[str, list[int]] = {}
        self._settled: dict[int, int] = {}

    def add(self, forms: Iterable[PodForm]) -> tuple[Int, list[PodForm]]:
        """Numbers of the forms, and those that are new."""
        out, new = [], []
        for form in forms:
            known = len(self.numbers)
            number = self.numbers.number(form)
            out.append(number)
            if number == known:
                new.append(form)
                self._describe(number, form)
        return np.array(out, np.int64), new

    def _describe(self, number: int, form: PodForm) -> None:
        self.reads, self.own_spread = grown(self.reads, number), grown(self.own_spread, number)
        self.by_namespace = grown(self.by_namespace, number)
        terms = (*form.affinity, *form.anti_affinity, *form.preferred)
        self.reads[number] = bool(terms or form.spread)
        self.own_spread[number] = bool(form.spread)
        self.by_namespace[number] = any(term.namespace_selector for term in terms)
        for image in dict.fromkeys(form.images):
            self.with_image.setdefault(image, []).append(number)

    def present(self, table: PodColumns) -> list[int]:
        """Forms that some pod of a table has."""
        found: list[int] = np.unique(table.used(Field.FORM)).tolist()
        return found

    def choosing_namespaces(self) -> list[int]:
        """Forms that choose namespaces by labels."""
        found: list[int] = np.flatnonzero(self.by_namespace[: len(self.numbers)]).tolist()
        return found

    def settled(self, number: int) -> int:
        """The form of the same pod once it has a node."""
        if number not in self._settled:
            self._settled[number] = int(self.add([settled(self.numbers.values[number])])[0][0])
        return self._settled[number]


class Resolver:
    """Shapes of all pods. `known_images` tells whether some node has an image."""

    def __init__(self, knowledge: Knowledge, space: ResourceSpace, images: dict[str, dict[str, int]]) -> None:
        self.knowledge = knowledge
        self.images = images
        self.labels = LabelSets()
        self.forms = Forms()
        self.claims: Interner[NamespacedClaims] = Interner([NO_CLAIMS])
        self.claim_facts: Interner[ClaimFacts] = Interner([NO_FACTS])
        self.waiting_of: Int = np.zeros(64, np.int64)
        """Claim set -> facts for pods that wait."""
        self.resident_of: Int = np.zeros(64, np.int64)
        """Claim set -> facts for pods on a node: what they hold back is past."""
        self.claims_at: dict[str, list[int]] = {}
        self.spreads: Interner[tuple[SpreadForm, ...]] = Interner([()])
        self.shapes = ShapeTable(space, self.labels.selectors)
        self._selector: dict[TermForm, SelectorSpec] = {}
        self._retired: list[int] = []
        self._dropped: list[int] = []

    def restart(self, space: ResourceSpace) -> None:
        """Forget all shapes and selectors, for a rebuild."""
        self.labels.forget_selectors()
        self.shapes = ShapeTable(space, self.labels.selectors)
        self._selector = {}
        self.recheck_claims(range(len(self.claims)))

    def numbered(self) -> int:
        """How many things have numbers, whether or not a pod has them still."""
        tables: tuple[Sized, ...] = (
            self.claims,
            self.claim_facts,
            self.spreads,
            self.labels.matches,
            self.forms.numbers,
            self._selector,
        )
        return sum(len(table) for table in tables)

    def forget_numbers(self) -> tuple[list[NamespacedClaims], list[PodForm]]:
        """Start all numbers but those of label sets anew; the claim sets and forms that had numbers."""
        claims, forms = self.claims.values, self.forms.numbers.values
        self.forms = Forms()
        self.claims, self.claim_facts = Interner([NO_CLAIMS]), Interner([NO_FACTS])
        self.spreads = Interner([()])
        self.waiting_of, self.resident_of = np.zeros(64, np.int64), np.zeros(64, np.int64)
        self.claims_at = {}
        return claims, forms

    # facts of the cluster

    def add_claims(self, claims: Iterable[NamespacedClaims]) -> Int:
        """Numbers of claim sets."""
        out = []
        for namespaced in claims:
            known = len(self.claims)
            number = self.claims.number(namespaced)
            out.append(number)
            if number == known:
                self.waiting_of = grown(self.waiting_of, number)
                self.resident_of = grown(self.resident_of, number)
                self._note_claims(number)
                namespace, volumes, devices = namespaced
                for name in (*(name for name, _ in volumes), *(f"{DEVICE}{name}" for name in devices)):
                    self.claims_at.setdefault(f"{namespace}/{name}", []).append(number)
        return np.array(out, np.int64)

    def _note_claims(self, number: int) -> bool:
        """Look up what a claim set means now; did that change?"""
        facts = facts_of(self.knowledge, self.claims.values[number])
        waiting = self.claim_facts.number(facts)
        resident = self.claim_facts.number(settled_facts(self.knowledge, facts))
        changed = bool(waiting != self.waiting_of[number] or resident != self.resident_of[number])
        self.waiting_of[number], self.resident_of[number] = waiting, resident
        return changed

    def recheck_claims(self, numbers: Iterable[int]) -> list[int]:
        """Look again at what claim sets mean; those whose answer changed."""
        return [number for number in numbers if self._note_claims(number)]

    def attached(self, numbers: Iterable[int]) -> set[str]:
        """Resources that count the volumes of these claim sets."""
        facts = (self.claim_facts.values[int(self.waiting_of[number])] for number in numbers)
        return {name for one in facts for name, _ in one.requests}

    def forget_namespaces(self) -> None:
        """Namespaces changed: resolve namespace selectors anew."""
        self._selector = {
            term: found for term, found in self._selector.items() if not term.namespace_selector
        }

    def selector(self, term: TermForm) -> SelectorSpec:
        """The selector of an affinity term."""
        found = self._selector.get(term)
        if found is None:
            found = self._selector[term] = self.knowledge.term_selector(term)
        return found

    # pods

    def resolve(
        self,
        tables: dict[bool, PodColumns],
        rows: Rows,
        node_column: Int,
        owners: Sequence[str],
        moves: Moves,
    ) -> None:
        """Bring the shapes of these rows up to date, and of all that this touches; `moves` may hold removals already."""
        self._default_spread(tables[True], rows[True], owners)
        others = tables[False]
        of_agent = others.data[Field.JOB, rows[False]] == AGENT
        self._default_spread(others, rows[False][of_agent], owners)
        suspects, born = self._births(tables, rows, node_column)
        if born:
            rows = self._with_labels(tables, born, rows)
        while True:
            for task in (True, False):
                self._resolve(tables[task], rows[task], node_column, task, moves)
            retired = self.shapes.retire(moves.touched)
            self._retired += retired
            suspects += [selector for row in retired for selector in self.shapes.reads[row]]
            dead = [row for row in dict.fromkeys(suspects) if not self.shapes.selector_refs.get(row)]
            if not dead:
                return
            touched = [number for row in dead for number in self.labels.drop_selector(row)]
            self._dropped += dead
            moves.touched, suspects = [], []
            rows = self._with_labels(tables, touched, None)

    def release(self) -> None:
        """The node sums are up to date: rows of what is gone may be used again."""
        self.shapes.release(self._retired)
        for row in self._dropped:
            self.labels.free_row(row)
        self._retired, self._dropped = [], []

    def _with_labels(self, tables: dict[bool, PodColumns], numbers: list[int], rows: Rows | None) -> Rows:
        """The rows, and all others that have one of these label sets."""
        mask = np.zeros(len(self.labels) + 1, np.int64)
        mask[numbers] = 1
        found = {task: tables[task].rows_with(Field.LABELS, mask) for task in (True, False)}
        return (
            found if rows is None else {task: np.union1d(rows[task], found[task]) for task in (True, False)}
        )

    def _default_spread(self, tasks: PodColumns, rows: Int, owners: Sequence[str]) -> None:
        """Number the default constraints of the waiting ones of these tasks."""
        data = tasks.data
        data[SPREAD, rows] = 0
        if not (self.knowledge.services or self.knowledge.owners):
            return
        waiting = rows[
            (data[Field.STATUS, rows] == Status.PENDING)
            & (self.forms.own_spread[data[Field.FORM, rows]] == 0)
        ]
        found: dict[tuple[int, int], int] = {}
        for row, labels, owner in zip(
            waiting.tolist(),
            data[Field.LABELS, waiting].tolist(),
            data[Field.OWNER, waiting].tolist(),
            strict=True,
        ):
            if (labels, owner) not in found:
                spread = self.knowledge.default_spread(*self.labels.item(labels), owners[owner])
                found[labels, owner] = self.spreads.number(spread)
            data[SPREAD, row] = found[labels, owner]

    def _standing(self, table: PodColumns, rows: Int, node_column: Int) -> tuple[Int, Bool]:
        """Standing of each row, and which are residents."""
        status = table.data[Field.STATUS, rows]
        ended = (status == Status.SUCCEEDED) | (status == Status.FAILED)
        waiting = status == Status.PENDING
        resident = ~waiting & ~ended & (node_column[table.data[Field.NODE, rows]] >= 0)
        standing = np.where(waiting, int(Standing.WAITING), int(Standing.BARE))
        standing[resident] = int(Standing.RESIDENT)
        return standing, resident

    def _births(
        self, tables: dict[bool, PodColumns], rows: Rows, node_column: Int
    ) -> tuple[list[int], list[int]]:
        """Give rows to selectors that these pods read and nobody did before; the rows, and who satisfies them."""
        born: list[int] = []
        touched: list[int] = []
        for task in (True, False):
            data, some = tables[task].data, rows[task]
            some = some[(self.forms.reads[data[Field.FORM, some]] != 0) | (data[SPREAD, some] != 0)]
            if not len(some):
                continue
            standing, resident = self._standing(tables[task], some, node_column)
            keep = standing != int(Standing.BARE) if task else resident | _for_agent(data, some, standing)
            some, standing = some[keep], standing[keep]
            if not len(some):
                continue
            code = combined([data[Field.FORM, some], standing, data[SPREAD, some]])
            for place in np.unique(code, return_index=True)[1].tolist():
                row = int(some[place])
                for spec in self._reads(
                    int(data[Field.FORM, row]), int(standing[place]), int(data[SPREAD, row])
                ):
                    if spec not in self.labels.row_of:
                        touched += self.labels.add_selector(spec)
                        born.append(self.labels.row_of[spec])
        return born, touched

    def _reads(self, form: int, standing: int, spread: int) -> tuple[SelectorSpec, ...]:
        return selectors_read(
            self.forms.numbers.values[form], Standing(standing), self.selector, self.spreads.values[spread]
        )

    def _resolve(self, table: PodColumns, rows: Int, node_column: Int, task: bool, moves: Moves) -> None:
        if not len(rows):
            return
        data = table.data
        standing, resident = self._standing(table, rows, node_column)
        bare, waiting = standing == int(Standing.BARE), standing == int(Standing.WAITING)
        shape = np.full(len(rows), -1, np.int64)
        want = np.ones(len(rows), np.bool_) if task else resident | _for_agent(data, rows, standing)
        columns = [
            data[Field.FORM, rows],
            standing,
            np.where(bare, 0, self.labels.match[data[Field.LABELS, rows]]),
            self._claims(data[Field.CLAIMS, rows], waiting, resident),
            np.where(waiting, data[SPREAD, rows], 0),
        ]
        if want.any():
            columns = [column[want] for column in columns]
            _, first, inverse = np.unique(combined(columns), return_index=True, return_inverse=True)
            distinct = zip(*(column[first].tolist() for column in columns), strict=True)
            shape[want] = np.array([self._shape(*one) for one in distinct], np.int64)[inverse]
        held = np.where(resident, data[Field.NODE, rows], -1)
        leaving = np.where(resident, data[Field.STATUS, rows] == Status.RELEASING, 0)
        self._account(table, rows, shape, held, leaving, moves)

    def _claims(self, claims: Int, waiting: Bool, resident: Bool) -> Int:
        """What claims mean for each row: numbers of facts."""
        found: Int = np.where(
            waiting, self.waiting_of[claims], np.where(resident, self.resident_of[claims], 0)
        )
        return found

    def _account(
        self, table: PodColumns, rows: Int, shape: Int, held: Int, leaving: Int, moves: Moves
    ) -> None:
        """Note what changes in the sums and in the numbers of pods per shape."""
        data = table.data
        old_shape, old_held, old_leaving = data[SHAPE, rows], data[HELD, rows], data[LEAVING, rows]
        changed = (old_shape != shape) | (old_held != held) | (old_leaving != leaving)
        if not changed.any():
            return
        out, into = changed & (old_held >= 0), changed & (held >= 0)
        moves.out.append((old_held[out], old_shape[out], old_leaving[out]))
        moves.into.append((held[into], shape[into], leaving[into]))
        other = old_shape != shape
        lost, gained = old_shape[other & (old_shape >= 0)], shape[other & (shape >= 0)]
        np.add.at(self.shapes.refs, gained, 1)
        np.add.at(self.shapes.refs, lost, -1)
        moves.touched += np.unique(lost).tolist()
        data[SHAPE, rows], data[HELD, rows], data[LEAVING, rows] = shape, held, leaving

    def _shape(self, form: int, standing: int, match: int, claims: int, spread: int) -> int:
        """Row of the shape of one combination."""
        spec = self.forms.numbers.values[form]
        images = tuple(image for image in spec.images if image in self.images) if spec.images else ()
        read: tuple[int, ...] = ()
        if standing != Standing.BARE and (self.forms.reads[form] or spread):
            read = tuple(self.labels.row_of[selector] for selector in self._reads(form, standing, spread))
        matches = self.labels.matches.values[match]
        key = (form, standing, matches, claims, bool(spread), read, images)
        found = self.shapes.cached(key)
        if found is not None:
            return found
        context = Context(
            selector=self.selector,
            row=self.labels.row_of.__getitem__,
            matches=matches,
            claims=self.claim_facts.values[claims],
            default_spread=self.spreads.values[spread],
            images=images,
        )
        return self.shapes.row(key, shape_of(spec, Standing(standing), context))


def _for_agent(data: Int, rows: Int, standing: Int) -> Bool:
    """Which of these other pods wait for the agent's fast path: they have shapes as tasks do."""
    found: Bool = (data[Field.JOB, rows] == AGENT) & (standing == int(Standing.WAITING))
    return found

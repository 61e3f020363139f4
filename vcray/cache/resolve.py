"""Form + labels + what the cluster says -> shape, with selectors as rows of the snapshot's counters."""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum

from vcray.cache.knowledge import Knowledge, spread_selector
from vcray.cache.labels import selects
from vcray.cache.podspec import PodForm, TermForm
from vcray.cache.rows import PodRow
from vcray.core.snapshot import SelectorSpec
from vcray.core.tables import PodTerm, ShapeSpec, SpreadTerm, Status


class Standing(IntEnum):
    """How much of a pod matters: it waits for a node, sits on a known one, or neither."""

    WAITING = 0
    RESIDENT = 1
    BARE = 2


def standing_of(row: PodRow, node_known: bool) -> Standing:
    """Waiting pods have no node; residents sit on a node that is known and have not ended."""
    if row.status == Status.PENDING:
        return Standing.WAITING
    if node_known and row.status not in (Status.SUCCEEDED, Status.FAILED):
        return Standing.RESIDENT
    return Standing.BARE


def namespace_of(row: PodRow) -> str:
    """The namespace in the row's key."""
    return row.key.partition("/")[0]


def selectors_read(knowledge: Knowledge, row: PodRow, standing: Standing) -> tuple[SelectorSpec, ...]:
    """The selectors whose counters this pod makes necessary, each once."""
    if standing == Standing.BARE:
        return ()
    form = row.form
    terms: tuple[TermForm, ...] = (*form.anti_affinity, *form.preferred)
    found = dict.fromkeys(knowledge.term_selector(term) for term in terms)
    if standing == Standing.WAITING:
        found |= dict.fromkeys(knowledge.term_selector(term) for term in form.affinity)
        spread, _ = knowledge.spread_of(form, namespace_of(row), row.labels, row.owner)
        found |= dict.fromkeys(spread_selector(item) for item in spread)
    return tuple(found)


def shape_of(
    knowledge: Knowledge,
    row: PodRow,
    standing: Standing,
    rows: Mapping[SelectorSpec, int],
    matches: tuple[int, ...],
) -> ShapeSpec:
    """The shape of a pod; `rows` numbers the live selectors, `matches` are those that the pod's labels satisfy."""
    form = row.form
    if standing == Standing.BARE:
        return ShapeSpec(requests=form.requests, floor=form.floor)
    terms = TermResolver(knowledge, row, rows)
    anti_affinity, preferred = terms.all_of(form.anti_affinity), terms.all_of(form.preferred)
    if standing == Standing.RESIDENT:
        return ShapeSpec(
            requests=form.requests,
            floor=form.floor,
            ports=form.ports,
            anti_affinity=anti_affinity,
            preferred=preferred,
            matches=matches,
        )
    return ShapeSpec(
        requests=form.requests,
        floor=form.floor,
        node_selector=form.node_selector,
        node_required=form.node_required,
        node_preferred=form.node_preferred,
        tolerations=form.tolerations,
        ports=form.ports,
        affinity=terms.all_of(form.affinity),
        anti_affinity=anti_affinity,
        preferred=preferred,
        spread=terms.spread_of(form),
        matches=matches,
        images=form.images,
        containers=form.containers,
        hold=knowledge.hold(terms.namespace, row.claims),
    )


class TermResolver:
    """Terms of one pod as rows."""

    def __init__(self, knowledge: Knowledge, row: PodRow, rows: Mapping[SelectorSpec, int]) -> None:
        self.knowledge = knowledge
        self.row = row
        self.namespace = namespace_of(row)
        self.rows = rows
        self.labels = dict(row.labels)

    def all_of(self, terms: tuple[TermForm, ...]) -> tuple[PodTerm, ...]:
        """Affinity terms in a fixed order."""
        return tuple(self.term(term) for term in terms)

    def term(self, term: TermForm) -> PodTerm:
        """One affinity term."""
        selector = self.knowledge.term_selector(term)
        return PodTerm(
            selector=self.rows[selector],
            key=term.key,
            weight=term.weight,
            self_match=selects(selector, self.namespace, self.labels),
        )

    def spread_of(self, form: PodForm) -> tuple[SpreadTerm, ...]:
        """Own constraints, or the cluster's defaults."""
        spread, system = self.knowledge.spread_of(form, self.namespace, self.row.labels, self.row.owner)
        return tuple(
            SpreadTerm(
                selector=self.rows[spread_selector(item)],
                key=item.key,
                max_skew=item.max_skew,
                hard=item.hard,
                min_domains=item.min_domains,
                honor_affinity=item.honor_affinity,
                honor_taints=item.honor_taints,
                self_match=selects(spread_selector(item), self.namespace, self.labels),
                system=system,
            )
            for item in spread
        )

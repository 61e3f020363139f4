"""Form + what the cluster says -> shape, with selectors as rows of the snapshot's counters."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum

from vcray.cache.amounts import Amounts
from vcray.cache.claims import NO_FACTS, ClaimFacts
from vcray.cache.labels import normalise
from vcray.cache.podspec import PodForm, SpreadForm, TermForm
from vcray.core.snapshot import SelectorSpec
from vcray.core.tables import PodTerm, ShapeSpec, SpreadTerm


class Standing(IntEnum):
    """How much of a pod matters: it waits for a node, sits on a known one, or neither."""

    WAITING = 0
    RESIDENT = 1
    BARE = 2


@dataclass(frozen=True, slots=True)
class Context:
    """What the cluster adds to a form: numbers of selectors, which of them the pod's labels satisfy, what its claims mean.

    `selector` resolves a term's namespaces, `row` numbers a live selector. `default_spread` are the cluster's
    constraints for a pod that states none; `images` those of the pod that some node has."""

    selector: Callable[[TermForm], SelectorSpec]
    row: Callable[[SelectorSpec], int]
    matches: tuple[int, ...]
    claims: ClaimFacts = NO_FACTS
    default_spread: tuple[SpreadForm, ...] = ()
    images: tuple[str, ...] = ()


def spread_selector(spread: SpreadForm) -> SelectorSpec:
    """The selector of a spread constraint: pods of its own namespace that are not being deleted."""
    return SelectorSpec((spread.namespace,), spread.requirements, living=True)


def conjoined(selectors: list[SelectorSpec]) -> SelectorSpec:
    """One selector for pods that satisfy all of these.

    kube-scheduler counts a pod for a required affinity term only if it matches all required terms of the asker."""
    namespaces: set[str] | None = None
    for spec in selectors:
        if spec.namespaces is not None:
            namespaces = set(spec.namespaces) if namespaces is None else namespaces & set(spec.namespaces)
    return SelectorSpec(
        None if namespaces is None else tuple(sorted(namespaces)),
        normalise(requirement for spec in selectors for requirement in spec.requirements),
    )


def selectors_read(
    form: PodForm,
    standing: Standing,
    selector: Callable[[TermForm], SelectorSpec],
    default_spread: tuple[SpreadForm, ...] = (),
) -> tuple[SelectorSpec, ...]:
    """The selectors whose counters a pod makes necessary, each once, in the order of its terms."""
    if standing == Standing.BARE:
        return ()
    found = [selector(term) for term in (*form.anti_affinity, *form.preferred)]
    if standing == Standing.WAITING:
        if form.affinity:
            found.append(conjoined([selector(term) for term in form.affinity]))
        found += map(spread_selector, form.spread or default_spread)
    return tuple(dict.fromkeys(found))


def shape_of(form: PodForm, standing: Standing, context: Context) -> ShapeSpec:
    """The shape of a pod of that form and standing."""
    if standing == Standing.BARE:
        return ShapeSpec(requests=form.requests, floor=form.floor)
    anti_affinity = _pod_terms(form.anti_affinity, context)
    preferred = _pod_terms(form.preferred, context)
    if standing == Standing.RESIDENT:
        return ShapeSpec(
            requests=_requests(form, context),
            floor=form.floor,
            ports=form.ports,
            anti_affinity=anti_affinity,
            preferred=preferred,
            matches=context.matches,
            claims=context.claims.claims,
            devices=context.claims.devices,
            asks=form.asks,
            pinned=form.pinned,
            limits=form.limits,
        )
    return ShapeSpec(
        requests=_requests(form, context),
        floor=form.floor,
        node_selector=form.node_selector,
        node_required=form.node_required,
        node_preferred=form.node_preferred,
        tolerations=form.tolerations,
        ports=form.ports,
        affinity=_required_terms(form.affinity, context),
        anti_affinity=anti_affinity,
        preferred=preferred,
        spread=_spread_terms(form, context),
        matches=context.matches,
        images=context.images,
        containers=form.containers if context.images else 1,
        hold=context.claims.hold,
        notes=form.notes,
        claims=context.claims.claims,
        devices=context.claims.devices,
        asks=form.asks,
        pinned=form.pinned,
        limits=form.limits,
    )


def _requests(form: PodForm, context: Context) -> Amounts:
    """The pod's requests and what its volumes count."""
    extra = context.claims.requests
    return tuple(sorted((*form.requests, *extra))) if extra else form.requests


def plain(term: PodTerm) -> PodTerm:
    """A term as the node counters know it: selector and topology key."""
    return PodTerm(term.selector, term.key)


def _pod_terms(terms: tuple[TermForm, ...], context: Context) -> tuple[PodTerm, ...]:
    rows = [(context.row(context.selector(term)), term) for term in terms]
    return tuple(PodTerm(row, term.key, term.weight, row in context.matches) for row, term in rows)


def _required_terms(terms: tuple[TermForm, ...], context: Context) -> tuple[PodTerm, ...]:
    if not terms:
        return ()
    row = context.row(conjoined([context.selector(term) for term in terms]))
    return tuple(PodTerm(row, term.key, 0, row in context.matches) for term in terms)


def _spread_terms(form: PodForm, context: Context) -> tuple[SpreadTerm, ...]:
    rows = [(context.row(spread_selector(item)), item) for item in form.spread or context.default_spread]
    return tuple(
        SpreadTerm(
            selector=row,
            key=item.key,
            max_skew=item.max_skew,
            hard=item.hard,
            min_domains=item.min_domains,
            honor_affinity=item.honor_affinity,
            honor_taints=item.honor_taints,
            self_match=row in context.matches,
            system=not form.spread,
        )
        for row, item in rows
    )

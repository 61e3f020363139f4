"""Cards of all nodes of one family in a session: made when first asked for, kept current with every placement.

What a node answers depends on its cards and on what is taken of them, so equal nodes in equal states share one answer: of ten
thousand nodes alike a few are asked.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Generic, Protocol, TypeVar

import numpy as np

from vcray.api.devices import (
    ALLOCATING,
    BIND_PHASE,
    BIND_TIME,
    HAMI_BIND_PHASE,
    HAMI_BIND_TIME,
    HAMI_SCORE,
)
from vcray.core.arrays import Int
from vcray.core.cards import Holder
from vcray.core.tables import MISSING, Notes, ShapeSpec
from vcray.core.view import View
from vcray.plugins.deviceshare.decks import (
    NOBODY,
    Card,
    Choice,
    Deck,
    Owner,
    Part,
    Phase,
    Refused,
    Share,
    Undo,
    Usage,
    equal_cards,
)
from vcray.plugins.deviceshare.links import Links, links_of
from vcray.plugins.deviceshare.wire import number

A = TypeVar("A", bound=Hashable)

NO_CARDS = Refused("node not initialized with device", curable=False)
NOTHING = Choice(())
"""Nothing to choose."""
LOCKED_S: Final = 300
"""How long a node may be busy with one pod."""


@dataclass(frozen=True, slots=True)
class NodeFacts:
    """What families read of a node."""

    view: View
    node: int
    notes: Mapping[str, str]

    def amount(self, resource: str) -> int:
        """What the node offers of a resource, in whole units."""
        row = self.view.space.row(resource)
        return 0 if row is None else int(self.view.snapshot.nodes.allocatable[row, self.node]) // 1000

    def label(self, key: str) -> str:
        """A label's value, empty without it."""
        labels = self.view.snapshot.nodes.labels
        number = labels.keys.get(key)
        value = MISSING if number is None else int(labels.column[number, self.node])
        return "" if number is None or value == MISSING else labels.values[number][value]


_BY_NODE: list[tuple[Sequence[Holder], dict[str, list[Holder]]]] = []


def by_node(holders: Sequence[Holder]) -> Mapping[str, Sequence[Holder]]:
    """Holders by node; made once for as long as they are the same object."""
    if not _BY_NODE or _BY_NODE[0][0] is not holders:
        found: dict[str, list[Holder]] = {}
        for holder in holders:
            found.setdefault(holder.node, []).append(holder)
        _BY_NODE[:] = [(holders, found)]
    return _BY_NODE[0][1]


def busy_until(notes: Mapping[str, str]) -> float:
    """When a pod's node is free again though its device plugin never handed the cards over; 0 when it has."""
    for phase, time in ((BIND_PHASE, BIND_TIME), (HAMI_BIND_PHASE, HAMI_BIND_TIME)):
        if notes.get(phase) == ALLOCATING:
            return number(notes.get(time, "")) + LOCKED_S
    return 0


class Family(Protocol[A]):
    """A kind of card, and how its pods ask for it."""

    @property
    def name(self) -> str: ...

    def asks(self, spec: ShapeSpec) -> A | None:
        """What a pod asks for; None for a pod of no concern."""
        ...

    def cards(self, node: NodeFacts) -> tuple[Card, ...]:
        """Cards of a node, in order."""
        ...

    def parts(self, holder: Holder, cards: Sequence[Card]) -> tuple[Part, ...]:
        """What a pod on the node holds."""
        ...

    def names_cards(self, ask: A) -> bool:
        """Does it matter for the pod which of equal cards is which?"""
        ...

    def passes(self, cards: Sequence[Card], ask: A) -> bool:
        """Is a node with these cards no business of the family, so that amounts alone decide?"""
        ...

    def choose(
        self, cards: Sequence[Card], usage: list[Usage], ask: A, owner: Owner, links: Links | None
    ) -> Choice | Refused:
        """Cards for a pod beside what is taken; `usage` then has its parts too."""
        ...

    def notes(self, cards: Sequence[Card], choice: Choice, node: str, now: int) -> Mapping[str, str]:
        """Annotations of a pod that got this."""
        ...


class Table(Generic[A]):
    """Decks by node row, and what they answer."""

    def __init__(
        self,
        family: Family[A],
        view: View,
        holders: Mapping[str, Sequence[Holder]],
        rules_of: Callable[[Notes], frozenset[int]],
    ) -> None:
        self.family = family
        self._view = view
        self._holders = holders
        self._rules_of = rules_of
        self._moved: dict[int, None] = {}
        """Nodes whose shares moved in this session."""
        self._decks: dict[int, Deck] = {}
        self._asks: dict[int, A | None] = {}
        self._links: dict[int, Links | None] = {}
        self._same: dict[Hashable, int] = {}
        self._answers: dict[Hashable, Choice | Refused] = {}
        self._known: dict[tuple[int, int], tuple[int, Choice | Refused]] = {}
        self._states: dict[Hashable, int] = {}
        self._state: Int = np.zeros(len(view.snapshot.nodes), dtype=np.int64)
        self._stale: dict[int, None] = dict.fromkeys(range(len(view.snapshot.nodes)))
        """Nodes whose number in `_state` is out of date: at first all."""

    def ask(self, shape: int) -> A | None:
        """What pods of a shape ask of this family."""
        if shape not in self._asks:
            self._asks[shape] = self.family.asks(self._view.shapes[shape].spec)
        return self._asks[shape]

    def deck(self, node: int) -> Deck:
        """The node's cards and who holds them."""
        found = self._decks.get(node)
        if found is None:
            nodes = self._view.snapshot.nodes
            notes = dict(nodes.notes[node])
            cards = self.family.cards(NodeFacts(self._view, node, notes))
            found = self._decks[node] = Deck(cards)
            found.same = self._same.setdefault(equal_cards(cards), len(self._same))
            self._links[node] = links_of(notes.get(HAMI_SCORE, ""), tuple(card.id for card in cards))
            for holder in self._holders.get(nodes.names[node], ()):
                parts = self.family.parts(holder, cards)
                if parts:
                    phase = Phase.LEAVING if holder.leaving else Phase.HELD
                    owner = Owner(holder.group, self._rules_of(holder.labels))
                    found.put(holder.pod, Share(parts, phase, owner, busy=self._is_busy(dict(holder.notes))))
        return found

    def _is_busy(self, notes: Mapping[str, str]) -> bool:
        """Is the pod's device plugin still to hand its cards over? It is waited for five minutes, as Volcano's lock is."""
        return busy_until(notes) > self._view.snapshot.now

    def put(self, node: int, pod: str, share: Share) -> Undo:
        """A pod takes its share of the node's cards."""
        return self._touching(node, self.deck(node).put(pod, share))

    def leave(self, node: int, pod: str) -> Undo:
        """A pod on the node starts to go."""
        return self._touching(node, self.deck(node).leave(pod))

    def _touching(self, node: int, undo: Undo) -> Undo:
        self._stale[node] = self._moved[node] = None

        def back() -> None:
            undo()
            self._stale[node] = None

        return back

    def still(self, node: int) -> Sequence[Holder] | None:
        """The pods that hold cards of the node as the session found it; None when it has changed that."""
        return None if node in self._moved else self._holders.get(self._view.snapshot.nodes.names[node], ())

    def answers(self, shape: int, ask: A, nodes: Int) -> tuple[list[Choice | Refused], Int]:
        """What many nodes offer: distinct answers, and for each node the place of its own among them."""
        if self.family.names_cards(ask):
            return [self.answer(shape, ask, node) for node in nodes.tolist()], np.arange(len(nodes))
        for node in self._stale:
            deck = self.deck(node)
            state = (deck.same, self._links[node], deck.key())
            self._state[node] = self._states.setdefault(state, len(self._states))
        self._stale.clear()
        _, first, place = np.unique(self._state[nodes], return_index=True, return_inverse=True)
        return [self.answer(shape, ask, node) for node in nodes[first].tolist()], place

    def answer(self, shape: int, ask: A, node: int, copies: int = 0) -> Choice | Refused:
        """What the node offers beside all that stays there and `copies` more such pods."""
        deck = self.deck(node)
        if self.family.passes(deck.cards, ask):
            return NOTHING
        if not deck.cards:
            return NO_CARDS
        if copies:
            return self._after(ask, deck, node, copies)
        known = self._known.get((shape, node))
        if known is None or known[0] != deck.version:
            known = self._known[shape, node] = (deck.version, self._answer(shape, ask, deck, node))
        return known[1]

    def _answer(self, shape: int, ask: A, deck: Deck, node: int) -> Choice | Refused:
        links = self._links[node]
        key = (shape, deck.cards if self.family.names_cards(ask) else deck.same, links, deck.key())
        found = self._answers.get(key)
        if found is None:
            usage = deck.usage(promised=True)
            found = self._answers[key] = self.family.choose(deck.cards, usage, ask, NOBODY, links)
        return found

    def _after(self, ask: A, deck: Deck, node: int, copies: int) -> Choice | Refused:
        usage = deck.usage(promised=True)
        for _ in range(copies):
            found = self.family.choose(deck.cards, usage, ask, NOBODY, self._links[node])
            if isinstance(found, Refused):
                return found
        return self.family.choose(deck.cards, usage, ask, NOBODY, self._links[node])

    def choose(self, ask: A, node: int, owner: Owner, promised: bool) -> Choice | Refused:
        """Cards for one pod, now or once what leaves is gone."""
        deck = self.deck(node)
        if self.family.passes(deck.cards, ask):
            return NOTHING
        if not deck.cards:
            return NO_CARDS
        return self.family.choose(deck.cards, deck.usage(promised), ask, owner, self._links[node])

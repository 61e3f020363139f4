"""The cards of one node and who holds which part of them, with what is going and what is promised told apart.

A pod placed now must find room beside all that is on a card still, terminating pods included; one that is promised room only
beside those that stay. Every change gives back what undoes it exactly.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum


class Phase(Enum):
    """How a share is held."""

    HELD = "held"
    LEAVING = "leaving"
    PROMISED = "promised"


@dataclass(frozen=True, slots=True)
class Card:
    """One device: `slots` pods may share it. `kind` is its type, `mode` how it is shared, `link` its network or NUMA group."""

    id: str
    slots: int
    memory: int
    cores: int
    kind: str = ""
    mode: str = ""
    link: str = ""


@dataclass(frozen=True, slots=True)
class Part:
    """What a container holds of a card (its place in the node's list). `geometry` and `slot`: the partition and the place in
    it where the card is partitioned; a slot alone is something of the card that only one can have."""

    card: int
    memory: int
    cores: int
    geometry: str = ""
    slot: int = -1
    told: int = 0
    """Memory as the device plugin is told of it: what was asked for, where a partition is larger."""


@dataclass(frozen=True, slots=True)
class Owner:
    """Who holds: PodGroup, and which exclusive rules its labels match."""

    group: str = ""
    rules: frozenset[int] = frozenset()


NOBODY = Owner()


@dataclass(frozen=True, slots=True)
class Choice:
    """Parts for each container that asked, in order; `score` before weights; `mark` what the family needs to write it."""

    containers: tuple[tuple[Part, ...], ...]
    score: float = 0.0
    mark: str = ""

    @property
    def parts(self) -> tuple[Part, ...]:
        """Parts of all containers."""
        return tuple(part for parts in self.containers for part in parts)


@dataclass(frozen=True, slots=True)
class Refused:
    """Why a node does not take a pod; `curable`: evicting pods could help."""

    reason: str
    curable: bool = True


@dataclass(frozen=True, slots=True)
class Share:
    """What one pod holds. `busy`: its device plugin has not handed the cards over yet."""

    parts: tuple[Part, ...]
    phase: Phase
    owner: Owner
    choice: Choice | None = None
    busy: bool = False


@dataclass(slots=True)
class Usage:
    """What is taken of one card."""

    number: int = 0
    memory: int = 0
    cores: int = 0
    geometry: str = ""
    slots: set[int] = field(default_factory=set)
    owners: list[Owner] = field(default_factory=list)

    def add(self, part: Part, owner: Owner) -> None:
        """One more part."""
        self.number += 1
        self.memory += part.memory
        self.cores += part.cores
        self.owners.append(owner)
        self.geometry = part.geometry or self.geometry
        if part.slot >= 0:
            self.slots.add(part.slot)

    def worst(self, other: Usage) -> Usage:
        """Room for one pod under both: the larger amounts, all owners. A card that changes its partition is full."""
        number = max(self.number, other.number)
        if self.geometry and other.geometry and self.geometry != other.geometry:
            number = 1 << 30
        return Usage(
            number,
            max(self.memory, other.memory),
            max(self.cores, other.cores),
            self.geometry or other.geometry,
            self.slots | other.slots,
            self.owners + other.owners,
        )

    def key(self) -> tuple[object, ...]:
        """Equal usages have equal keys, owners left out."""
        return self.number, self.memory, self.cores, self.geometry, tuple(sorted(self.slots))


Undo = Callable[[], None]


class Deck:
    """Cards of a node and the shares of pods, by pod name. `version` names its state: the old one after an undo."""

    __slots__ = ("_key", "_last", "cards", "same", "shares", "version")

    def __init__(self, cards: tuple[Card, ...]) -> None:
        self.cards = cards
        self.shares: dict[str, Share] = {}
        self.version = 0
        self.same: Hashable = None
        """What decks have in common whose cards are equal but for their names; whoever makes decks sets it."""
        self._last = 0
        self._key: tuple[int, Hashable] = (0, ())

    def key(self) -> Hashable:
        """Equal for decks of equal cards with equal shares for a promise; owners and names of cards left out."""
        if not self.shares:
            return ()
        if self._key[0] != self.version:
            self._key = (self.version, tuple(each.key() for each in self.usage(promised=True)))
        return self._key[1]

    def usage(self, promised: bool) -> list[Usage]:
        """Per card what is taken: for a promise beside all that stays, else also beside all that is still there."""
        shares = self.shares.values()
        future = self._sum(share for share in shares if share.phase is not Phase.LEAVING)
        if promised or all(share.phase is Phase.HELD for share in shares):
            return future
        now = self._sum(share for share in shares if share.phase is not Phase.PROMISED)
        return [here.worst(there) for here, there in zip(now, future, strict=True)]

    def _sum(self, shares: object) -> list[Usage]:
        usages = [Usage() for _ in self.cards]
        for share in shares:  # type: ignore[attr-defined]
            for part in share.parts:
                usages[part.card].add(part, share.owner)
        return usages

    def put(self, pod: str, share: Share) -> Undo:
        """A pod takes its share."""
        return self._set(pod, share)

    def leave(self, pod: str) -> Undo:
        """A pod starts to go: what it holds is free for promises; a promise of its own ends."""
        share = self.shares.get(pod)
        if share is None:
            return _nothing
        if share.phase is Phase.PROMISED:
            return self._set(pod, None)
        return self._set(pod, replace(share, phase=Phase.LEAVING))

    def busy_for(self, owner: Owner) -> bool:
        """Are cards being handed over to a pod of another PodGroup, or to one of an earlier round?"""
        return any(
            share.busy and (share.choice is None or share.owner.group != owner.group)
            for share in self.shares.values()
        )

    def _set(self, pod: str, share: Share | None) -> Undo:
        before, version = self.shares.get(pod), self.version
        self._write(pod, share)
        self._last += 1
        self.version = self._last

        def undo() -> None:
            self._write(pod, before)
            self.version = version

        return undo

    def _write(self, pod: str, share: Share | None) -> None:
        if share is None:
            self.shares.pop(pod, None)
        else:
            self.shares[pod] = share


def _nothing() -> None:
    """Nothing was held."""


def equal_cards(cards: Sequence[Card]) -> tuple[object, ...]:
    """What of cards matters for a pod that names none of them."""
    return tuple((card.slots, card.memory, card.cores, card.kind, card.mode, card.link) for card in cards)

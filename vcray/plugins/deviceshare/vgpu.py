"""vGPU: slices of NVIDIA cards by memory and cores, or parts of partitioned (MIG) cards, as HAMi's device plugin makes them.

A container asks for a number of cards and, on each, memory in MiB or per cent and cores in per cent; memory without a number
is one card, neither memory nor per cent is a whole card's memory. Containers and sidecars are dealt one after the other, each
from the cards in the order of the policy; a plain init container takes nothing, as in Volcano.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from vcray.api.devices import (
    ALLOCATING,
    BIND_PHASE,
    BIND_TIME,
    GROUP_POLICY,
    NO_USE_TYPE,
    NO_USE_UUID,
    USE_TYPE,
    USE_UUID,
    VGPU_IDS,
    VGPU_NODE,
    VGPU_REGISTER,
    VGPU_TIME,
    VGPU_TO_ALLOCATE,
)
from vcray.api.names import VGPU_MODE
from vcray.core.cards import Holder, MigModel, VgpuConfig
from vcray.core.tables import ShapeSpec
from vcray.plugins.deviceshare.arguments import BINPACK, SPREAD
from vcray.plugins.deviceshare.decks import (
    Card,
    Choice,
    Owner,
    Part,
    Refused,
    Usage,
)
from vcray.plugins.deviceshare.links import Links, linked_order
from vcray.plugins.deviceshare.partitions import find, geometries_of, memory_at
from vcray.plugins.deviceshare.table import NodeFacts
from vcray.plugins.deviceshare.wire import HAMI_CORE, MIG, Used, registered, spell, used

WORD = "NVIDIA"
CORES = 100
"""A card's cores, in per cent."""


PROFILE = "nvidia.com/mig-"
"""What resources of MIG profiles begin with, as NVIDIA's own device plugin calls them."""


@dataclass(frozen=True, slots=True)
class Slice:
    """What one container asks for: `number` cards with `memory` MiB or `percentage` of each one's, and `cores` per cent; or
    so many instances of a MIG profile."""

    number: int
    memory: int
    percentage: int
    cores: int
    profile: str = ""

    def memory_on(self, card: Card) -> int:
        """MiB on a card; a percentage goes before an amount."""
        return card.memory * self.percentage // 100 if self.percentage >= 0 else self.memory


@dataclass(frozen=True, slots=True)
class Ask:
    """What a pod asks for, and which cards it wants."""

    slices: tuple[Slice, ...]
    mode: str
    use_types: tuple[str, ...]
    no_types: tuple[str, ...]
    use_cards: tuple[str, ...]
    no_cards: tuple[str, ...]
    alone_in_group: bool

    def wants(self, card: Card) -> bool:
        """Type and UUID rules of the pod's annotations; both kinds of rule hold when both are there."""
        if WORD not in card.kind:
            return False
        kind = card.kind.upper()
        if self.use_types and not any(part in kind for part in self.use_types):
            return False
        if any(part in kind for part in self.no_types):
            return False
        return (not self.use_cards or card.id in self.use_cards) and card.id not in self.no_cards


class Vgpu:
    """The family `hamivgpu`; `policy` orders the cards."""

    name = "hamivgpu"

    def __init__(self, config: VgpuConfig, policy: str) -> None:
        self.config = config
        self.policy = policy

    # ---- what is asked, what is there ----

    def asks(self, spec: ShapeSpec) -> Ask | None:
        """The pod's ask; None for a pod without one."""
        slices = (*slices_of(spec, self.config), *instances_of(spec))
        if not slices:
            return None
        notes = dict(spec.notes)
        return Ask(
            slices=slices,
            mode=notes.get(VGPU_MODE, ""),
            use_types=_list(notes.get(USE_TYPE, "").upper()),
            no_types=_list(notes.get(NO_USE_TYPE, "").upper()),
            use_cards=_list(notes.get(USE_UUID, "")),
            no_cards=_list(notes.get(NO_USE_UUID, "")),
            alone_in_group=notes.get(GROUP_POLICY) == SPREAD,
        )

    def cards(self, node: NodeFacts) -> tuple[Card, ...]:
        """Cards of a node. Only where it offers number, memory and cores: else its device plugin is not there any more."""
        text = node.notes.get(VGPU_REGISTER, "")
        names = (self.config.count, self.config.memory, self.config.cores)
        if not text or not all(node.amount(name) for name in names):
            return ()
        return self.cards_of(text)

    def cards_of(self, text: str) -> tuple[Card, ...]:
        """Cards that a node registers."""
        return _cards(text, self.config.geometries)

    def parts(self, holder: Holder, cards: Sequence[Card]) -> tuple[Part, ...]:
        """What a pod holds of these cards."""
        return self.parts_of(dict(holder.notes).get(VGPU_IDS, ""), cards)

    def parts_of(self, ids: str, cards: Sequence[Card]) -> tuple[Part, ...]:
        """What a pod with that annotation holds of these cards."""
        at = {card.id: place for place, card in enumerate(cards)}
        found = []
        for use in used(ids):
            place = at.get(use.uuid)
            if place is not None:
                found.append(self._held(place, cards[place], use))
        return tuple(found)

    def _held(self, place: int, card: Card, use: Used) -> Part:
        if not use.geometry:
            return Part(place, use.memory, use.cores, told=use.memory)
        groups = geometries_of(card.kind, self.config.geometries)
        memory = memory_at(groups, use.geometry, use.place) // self.config.memory_factor
        return Part(place, memory or use.memory, use.cores, use.geometry, use.place, use.memory)

    def names_cards(self, ask: Ask) -> bool:
        """Does it matter which card is which?"""
        return bool(ask.use_cards or ask.no_cards)

    def passes(self, cards: Sequence[Card], ask: Ask) -> bool:
        """Instances of MIG profiles that another device plugin offers are none of this ledger's."""
        return all(piece.profile for piece in ask.slices) and not any(card.mode == MIG for card in cards)

    # ---- dealing ----

    def choose(
        self,
        cards: Sequence[Card],
        usage: list[Usage],
        ask: Ask,
        owner: Owner,
        links: Links | None,
    ) -> Choice | Refused:
        """Cards for every container, beside what is taken (`usage`, which then has them too); why not, when there are not
        enough. The score is that of the cards after the pod is on them."""
        if ask.mode and any(card.mode != ask.mode for card in cards):
            wanted = f"pod required sharing mode {ask.mode} is not the same as the node mode {cards[0].mode}"
            return Refused(wanted, curable=False)
        usable = sum(card.slots > 0 for card in cards)
        containers: list[tuple[Part, ...]] = []
        score = 0.0
        for piece in ask.slices:
            if piece.number > usable and not piece.profile:
                return Refused("no enough gpu cards on node", curable=False)
            dealt = self._deal(cards, usage, ask, piece, owner, links)
            if len(dealt) < piece.number:
                return Refused("not enough gpu fitted on this node")
            if self.policy == BINPACK:
                score += sum(_fullness(cards[part.card], usage[part.card]) for part in dealt)
            containers.append(dealt)
        return Choice(tuple(containers), score)

    def _deal(
        self,
        cards: Sequence[Card],
        usage: list[Usage],
        ask: Ask,
        piece: Slice,
        owner: Owner,
        links: Links | None,
    ) -> tuple[Part, ...]:
        order = self._order(usage)
        if piece.profile:
            order = [place for place in order for _ in range(piece.number)]
        elif links is not None and piece.number > 1:
            fits = [
                place for place in order if self._part(cards, usage, ask, piece, owner, place) is not None
            ]
            order = linked_order(fits, piece.number, links)
        dealt: list[Part] = []
        for place in order:
            if len(dealt) == piece.number:
                break
            part = self._part(cards, usage, ask, piece, owner, place)
            if part is not None:
                usage[place].add(part, owner)
                dealt.append(part)
        return tuple(dealt)

    def _order(self, usage: Sequence[Usage]) -> list[int]:
        """Cards in the order in which they are tried: fullest, least shared, or last first."""
        places = range(len(usage))
        if self.policy == BINPACK:
            return sorted(places, key=lambda place: -usage[place].memory)
        if self.policy == SPREAD:
            return sorted(places, key=lambda place: usage[place].number)
        return list(reversed(places))

    def _part(
        self, cards: Sequence[Card], usage: Sequence[Usage], ask: Ask, piece: Slice, owner: Owner, place: int
    ) -> Part | None:
        """The part that a container would get of a card; None when it gets none."""
        card, taken = cards[place], usage[place]
        memory = piece.memory_on(card)
        if not _fits(card, taken, memory, piece.cores) or not ask.wants(card):
            return None
        if ask.alone_in_group and owner.group and any(other.group == owner.group for other in taken.owners):
            return None
        if card.mode != MIG:
            if piece.profile:
                return None
            if owner.rules and any(owner.rules & other.rules for other in taken.owners):
                return None
            return Part(place, memory, piece.cores, told=memory)
        groups = geometries_of(card.kind, self.config.geometries)
        factor = self.config.memory_factor
        found = find(groups, taken.geometry, taken.slots, memory * factor, piece.profile)
        if found is None:
            return None
        size = found.memory // factor
        return Part(place, size, piece.cores, found.geometry, found.place, size if piece.profile else memory)

    # ---- what is written ----

    def notes(self, cards: Sequence[Card], choice: Choice, node: str, now: int) -> dict[str, str]:
        """Annotations of a pod that the device plugin reads."""
        containers = [
            [Used(cards[part.card].id, part.told, part.cores, part.geometry, part.slot) for part in parts]
            for parts in choice.containers
        ]
        ids = spell(containers, WORD)
        if not ids:
            return {}
        return {
            VGPU_NODE: node,
            VGPU_TIME: str(now),
            VGPU_IDS: ids,
            VGPU_TO_ALLOCATE: ids,
            BIND_PHASE: ALLOCATING,
            BIND_TIME: str(now),
        }


@lru_cache(maxsize=65536)
def _cards(text: str, geometries: tuple[MigModel, ...]) -> tuple[Card, ...]:
    """Registered cards; one whose geometries nobody told is shared by hami-core."""
    found = []
    for card in registered(text):
        partitioned = card.mode == MIG and geometries_of(card.kind, geometries)
        mode = MIG if partitioned else HAMI_CORE
        found.append(Card(card.uuid, card.slots, card.memory, CORES, card.kind, mode))
    return tuple(found)


def _fits(card: Card, taken: Usage, memory: int, cores: int) -> bool:
    """Is there a slot, and room for memory and cores? A pod with all cores is alone; one without needs some left."""
    if taken.number >= card.slots or card.memory - taken.memory < memory or taken.cores + cores > CORES:
        return False
    if cores == CORES and taken.number:
        return False
    return not (cores == 0 and taken.cores == CORES)


def _fullness(card: Card, taken: Usage) -> float:
    return 100 * taken.memory / card.memory if card.memory else 0.0


def _list(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(",") if part.strip())


def slices_of(spec: ShapeSpec, config: VgpuConfig) -> tuple[Slice, ...]:
    """What each container asks for, those that ask for nothing left out."""
    found = []
    for ask in spec.asks:
        amounts = dict(ask.amounts)
        if ask.kind == "init" or not (config.count in amounts or config.memory in amounts):
            continue
        memory = amounts.get(config.memory, 0)
        percentage = amounts.get(config.percentage, -1) if config.percentage else -1
        if percentage < 0 and not memory:
            percentage = 100
        found.append(Slice(amounts.get(config.count, 1), memory, percentage, amounts.get(config.cores, 0)))
    return tuple(piece for piece in found if piece.number > 0)


def instances_of(spec: ShapeSpec) -> tuple[Slice, ...]:
    """Instances of MIG profiles that containers ask for by name."""
    return tuple(
        Slice(amount, 0, -1, 0, name.removeprefix(PROFILE))
        for ask in spec.asks
        if ask.kind != "init"
        for name, amount in ask.amounts
        if name.startswith(PROFILE) and amount > 0
    )


@lru_cache(maxsize=65536)
def instances_in(text: str, config: VgpuConfig, profile: str) -> int:
    """The most instances of a profile that a node's partitioned cards can make, unhealthy ones left out."""
    return sum(
        max(
            (
                sum(instance.count for instance in group.instances if instance.name == profile)
                for group in geometries_of(card.kind, config.geometries)
            ),
            default=0,
        )
        for card in _cards(text, config.geometries)
        if card.mode == MIG and card.slots
    )


def by_share(spec: ShapeSpec, config: VgpuConfig) -> bool:
    """Does a pod ask for memory as a share of a card, a whole one included?"""
    return any(piece.percentage >= 0 for piece in slices_of(spec, config))


def charges_of(spec: ShapeSpec, config: VgpuConfig, largest: int) -> dict[str, int]:
    """What a pod takes of cards in all, by resource: every card that it asks for counts its memory and cores.

    `largest`: memory of the largest card, of which a percentage is taken before it is known which card it will be."""
    slices = slices_of(spec, config)
    if not slices:
        return {}
    memory = [
        piece.number * (largest * piece.percentage // 100 if piece.percentage >= 0 else piece.memory)
        for piece in slices
    ]
    return {
        config.percentage: 0,
        config.count: sum(piece.number for piece in slices),
        config.memory: sum(memory),
        config.cores: sum(piece.number * piece.cores for piece in slices),
    }

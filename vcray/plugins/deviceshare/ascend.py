"""Ascend chips as HAMi shares them: parts of a chip by memory, after templates or freely, for each type of chip.

Memory is rounded up to the smallest template that holds it; above all templates the whole of what a chip can give. A pod in
mode `hami-core` is split off without templates, with cores out of 100, where the node or the configuration allows it. Chips
of Ascend910 that tell their network get chosen from one network where they can.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from vcray.api.devices import (
    ALLOCATING,
    HAMI_BIND_PHASE,
    HAMI_BIND_TIME,
    HAMI_NODE,
    HAMI_PREDICATE_TIME,
    HAMI_REGISTER_PREFIX,
    HAMI_SOFT_SPLIT,
    HAMI_TIME,
    VNPU_MODE,
    hami_allocated,
)
from vcray.api.jsonview import dig, dig_int, dig_objects, dig_str
from vcray.core.cards import ChipConfig, Holder
from vcray.core.tables import ShapeSpec
from vcray.plugins.deviceshare.arguments import BINPACK, SPREAD
from vcray.plugins.deviceshare.decks import Card, Choice, Owner, Part, Refused, Usage
from vcray.plugins.deviceshare.links import Links
from vcray.plugins.deviceshare.table import NodeFacts
from vcray.plugins.deviceshare.wire import Used, spell, used

SOFT = "hami-core"
NETWORKED = "Ascend910"
NETWORK_WEIGHT = 10


@dataclass(frozen=True, slots=True)
class ChipAsk:
    """Each container's (chips, MiB on each or -1 for a whole one, cores); `soft`: split without templates."""

    pieces: tuple[tuple[int, int, int], ...]
    soft: bool


class AscendChips:
    """One type of chip."""

    def __init__(self, config: ChipConfig, policy: str, soft_split: bool) -> None:
        self.config = config
        self.policy = policy
        self.soft_split = soft_split

    @property
    def name(self) -> str:
        """The type."""
        return self.config.word

    def asks(self, spec: ShapeSpec) -> ChipAsk | None:
        """The pod's ask; None for a pod without one."""
        config, pieces = self.config, []
        for ask in spec.asks:
            amounts = dict(ask.amounts)
            if ask.kind == "init" or not (config.resource in amounts or config.memory_resource in amounts):
                continue
            cores = amounts.get(config.core_resource, 0) if config.core_resource else 0
            pieces.append((amounts.get(config.resource, 1), amounts.get(config.memory_resource, -1), cores))
        if not pieces:
            return None
        return ChipAsk(tuple(pieces), dict(spec.notes).get(VNPU_MODE) == SOFT)

    def cards(self, node: NodeFacts) -> tuple[Card, ...]:
        """Chips that the node registers, where it offers the resource; unhealthy ones have no room for anybody. `mode`: may
        they be split freely?"""
        if not node.amount(self.config.resource):
            return ()
        try:
            document = json.loads(node.notes.get(HAMI_REGISTER_PREFIX + self.config.word, "null"))
        except ValueError:
            return ()
        soft = self.soft_split or node.notes.get(HAMI_SOFT_SPLIT) == "true"
        items = dig_objects({"chips": document}, "chips")
        tells = any(item.get("health") is True for item in items)  # Go leaves `false` out
        return tuple(
            Card(
                id=dig_str(item, "id"),
                slots=0 if tells and item.get("health") is not True else dig_int(item, "count"),
                memory=dig_int(item, "devmem"),
                cores=dig_int(item, "devcore"),
                kind=self.config.word,
                mode=SOFT if soft else "",
                link=_network(item),
            )
            for item in items
        )

    def parts(self, holder: Holder, cards: Sequence[Card]) -> tuple[Part, ...]:
        """Chips that the pod holds."""
        at = {card.id: place for place, card in enumerate(cards)}
        held = used(dict(holder.notes).get(hami_allocated(self.config.word), ""))
        return tuple(Part(at[use.uuid], use.memory, use.cores) for use in held if use.uuid in at)

    def names_cards(self, ask: ChipAsk) -> bool:
        """No pod names chips."""
        return False

    def passes(self, cards: Sequence[Card], ask: ChipAsk) -> bool:
        """Every node is this ledger's."""
        return False

    # ---- dealing ----

    def choose(
        self, cards: Sequence[Card], usage: list[Usage], ask: ChipAsk, owner: Owner, links: Links | None
    ) -> Choice | Refused:
        """Chips for every container, fullest or emptiest first as the policy has it; no chip twice. The score is that of the
        first chip of each container before the pod is on it, and of how far all are on one network."""
        if ask.soft and cards[0].mode != SOFT:
            return Refused("node does not split chips without templates", curable=False)
        scores = [self._score(card, taken) for card, taken in zip(cards, usage, strict=True)]
        order = sorted(range(len(cards)), key=lambda place: -scores[place])
        networked = self.config.word.startswith(NETWORKED) and all(card.link for card in cards)
        containers: list[tuple[Part, ...]] = []
        taken_places: set[int] = set()
        for chips, asked, cores in ask.pieces:
            memory = self._memory(cards[0], asked, ask.soft)
            if memory is None:
                return Refused("chip has not so much memory", curable=False)
            if chips > 1 and memory != self._whole(cards[0]):
                return Refused("part of a chip is asked for on several chips", curable=False)
            fits = [
                place
                for place in order
                if place not in taken_places and _fits(cards[place], usage[place], memory, cores)
            ]
            if len(fits) < chips:
                return Refused("no enough ascend device available")
            chosen = _one_network(fits, chips, cards) if networked else fits[:chips]
            taken_places.update(chosen)
            told = asked if asked > 0 else memory
            containers.append(tuple(Part(place, memory, cores, told=told) for place in chosen))
        score = sum(scores[parts[0].card] for parts in containers if parts)
        if networked and containers:
            counts = Counter(cards[part.card].link for parts in containers for part in parts[:1])
            score += NETWORK_WEIGHT * max(counts.values()) / sum(counts.values())
        choice = Choice(tuple(containers), score)
        for part in choice.parts:
            usage[part.card].add(part, owner)
        return choice

    def _score(self, card: Card, taken: Usage) -> float:
        if self.policy == BINPACK:
            return 100 * taken.memory / card.memory if card.memory else 0.0
        return 100.0 if self.policy == SPREAD and not taken.number else 0.0

    def _whole(self, card: Card) -> int:
        return self.config.memory_allocatable or card.memory

    def _memory(self, card: Card, asked: int, soft: bool) -> int | None:
        """MiB that a container takes of a chip; None when no chip has so much."""
        if asked < 0:
            return min(self._whole(card), card.memory) if card.memory else self._whole(card)
        if soft:
            return asked if asked <= card.memory else None
        for template in self.config.templates:
            if asked <= template.memory:
                return template.memory
        return self.config.memory_allocatable if asked <= self.config.memory_capacity else None

    def _template(self, memory: int) -> str:
        """The template of that memory, empty for a whole chip."""
        return next((each.name for each in self.config.templates if memory <= each.memory), "")

    # ---- what is written ----

    def notes(self, cards: Sequence[Card], choice: Choice, node: str, now: int) -> dict[str, str]:
        """Chips and their templates, as HAMi's Ascend device plugin reads them."""
        containers = [
            [Used(cards[part.card].id, part.memory, part.cores, "", -1) for part in parts]
            for parts in choice.containers
        ]
        word, soft = self.config.word, any(part.cores for part in choice.parts)
        text = "".join(f"{spell([parts], word)};" for parts in containers)
        runtime = [
            {
                "UUID": cards[part.card].id,
                **({} if soft or not (name := self._template(part.memory)) else {"temp": name}),
            }
            for part in choice.parts
        ]
        return {
            hami_allocated(word): text,
            f"hami.io/{word}-devices-allocated": text,
            f"huawei.com/{word}": json.dumps(runtime, separators=(",", ":")),
            HAMI_PREDICATE_TIME: str(now),
            HAMI_NODE: node,
            HAMI_TIME: str(now),
            HAMI_BIND_PHASE: ALLOCATING,
            HAMI_BIND_TIME: str(now),
        }


def _network(item: object) -> str:
    found = dig(item, "custominfo", "NetworkID")  # type: ignore[arg-type]
    return "" if found is None else str(found)


def _fits(card: Card, taken: Usage, memory: int, cores: int) -> bool:
    if taken.number >= card.slots or card.memory - taken.memory < memory or card.cores - taken.cores < cores:
        return False
    if card.cores == 100 and cores == 100 and taken.number:
        return False
    return not (card.cores and taken.cores == card.cores and not cores)


def _one_network(fits: Sequence[int], chips: int, cards: Sequence[Card]) -> list[int]:
    """Chips of the network that has the most, then of the next."""
    counts = Counter(cards[place].link for place in fits)
    ranked = sorted(fits, key=lambda place: (-counts[cards[place].link], cards[place].link))
    return ranked[:chips]

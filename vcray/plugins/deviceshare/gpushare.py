"""GpuShare: NVIDIA cards by memory units or by whole cards, as Volcano's first device plugin shares them.

A node tells only how many cards and how much memory it has; each card is an equal part. A pod asks with limits: what its
containers and sidecars want together, or its largest moment of initialisation. Cards that the node calls unhealthy are left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from vcray.api.devices import GPU_UNHEALTHY, PREDICATE_TIME
from vcray.api.names import GPU_INDEX
from vcray.core.cards import Holder
from vcray.core.tables import ContainerAsk, ShapeSpec
from vcray.plugins.deviceshare.decks import Card, Choice, Owner, Part, Refused, Usage
from vcray.plugins.deviceshare.links import Links, linked_order
from vcray.plugins.deviceshare.table import NodeFacts
from vcray.plugins.deviceshare.wire import number

MEMORY = "volcano.sh/gpu-memory"
NUMBER = "volcano.sh/gpu-number"
MOST_CARDS = 1024
"""No node has more cards; a number above it is a slip."""


@dataclass(frozen=True, slots=True)
class GpuAsk:
    """Units of memory on one card, or whole cards."""

    memory: int = 0
    cards: int = 0


class GpuShare:
    """The family `GpuShare`: memory on a card when `by_memory`, else whole cards."""

    name = "GpuShare"

    def __init__(self, by_memory: bool) -> None:
        self.by_memory = by_memory

    def asks(self, spec: ShapeSpec) -> GpuAsk | None:
        """The pod's ask; None for a pod without one."""
        amount = pod_amount(spec.asks, MEMORY if self.by_memory else NUMBER)
        if amount <= 0:
            return None
        return GpuAsk(memory=amount) if self.by_memory else GpuAsk(cards=amount)

    def cards(self, node: NodeFacts) -> tuple[Card, ...]:
        """The node's cards, by index; unhealthy ones have no room for anybody."""
        count = min(node.amount(NUMBER), MOST_CARDS)
        if not count:
            return ()
        memory = node.amount(MEMORY) // count
        bad = {number(part, -1) for part in node.notes.get(GPU_UNHEALTHY, "").split(",")}
        return tuple(
            Card(str(index), 0 if index in bad else 1 << 20, memory, 100, "GPU") for index in range(count)
        )

    def parts(self, holder: Holder, cards: Sequence[Card]) -> tuple[Part, ...]:
        """Cards of the pod's `gpu-index`; their memory is what the pod asks for, on each."""
        text = dict(holder.notes).get(GPU_INDEX, "")
        memory = pod_amount(holder.asks, MEMORY)
        places = [number(part, -1) for part in text.split(",")]
        return tuple(Part(place, memory, 0) for place in places if 0 <= place < len(cards))

    def names_cards(self, ask: GpuAsk) -> bool:
        """Cards of a node are alike."""
        return False

    def passes(self, cards: Sequence[Card], ask: GpuAsk) -> bool:
        """Every node is this ledger's."""
        return False

    def choose(
        self, cards: Sequence[Card], usage: list[Usage], ask: GpuAsk, owner: Owner, links: Links | None
    ) -> Choice | Refused:
        """The first card with enough memory, or the first cards that nobody is on."""
        if ask.memory:
            fits = [
                place
                for place, card in enumerate(cards)
                if card.slots and card.memory - usage[place].memory >= ask.memory
            ]
            if not fits:
                return Refused("no enough gpu memory on node")
            chosen = fits[:1]
        else:
            fits = [place for place, card in enumerate(cards) if card.slots and not usage[place].number]
            if len(fits) < ask.cards:
                return Refused("no enough gpu number on node")
            chosen = sorted((linked_order(fits, ask.cards, links) if links else fits)[: ask.cards])
        parts = tuple(Part(place, ask.memory, 0) for place in chosen)
        for part in parts:
            usage[part.card].add(part, owner)
        return Choice((parts,))

    def notes(self, cards: Sequence[Card], choice: Choice, node: str, now: int) -> dict[str, str]:
        """Indices of the cards, and when they were chosen, in nanoseconds."""
        indices = ",".join(str(part.card) for part in choice.parts)
        return {GPU_INDEX: indices, PREDICATE_TIME: str(now * 1_000_000_000)}


def pod_amount(asks: Sequence[ContainerAsk], resource: str) -> int:
    """What a pod wants of a resource: containers and sidecars together, or the largest moment of its initialisation."""
    sidecars = main = peak = 0
    for ask in asks:
        amount = dict(ask.amounts).get(resource, 0)
        if ask.kind == "main":
            main += amount
        elif ask.kind == "sidecar":
            sidecars += amount
        else:
            peak = max(peak, sidecars + amount)
    return max(main + sidecars, peak)

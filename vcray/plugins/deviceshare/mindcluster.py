"""Ascend 310P chips as MindCluster shares them: whole chips, or parts by AI cores after templates.

A node says with its label `servertype` (`Ascend310P-8`) how many AI cores a chip has. Labels of a pod choose among templates of
equal cores: `vnpu-level` (high or low) how many AI cpus, `vnpu-dvpp` (yes, no, null) whether it decodes video. Where no chip has
the cpus of a template, the smaller one with the same cores stands in.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from vcray.api.devices import (
    CHIPS_UNHEALTHY,
    HAMI_PREDICATE_TIME,
    NPU_CORE,
    SERVER_TYPE,
    VNPU_DVPP,
    VNPU_LEVEL,
)
from vcray.core.cards import Holder
from vcray.core.tables import ShapeSpec
from vcray.plugins.deviceshare.decks import Card, Choice, Owner, Part, Refused, Usage
from vcray.plugins.deviceshare.gpushare import MOST_CARDS, pod_amount
from vcray.plugins.deviceshare.links import Links
from vcray.plugins.deviceshare.table import NodeFacts
from vcray.plugins.deviceshare.wire import number

CPUS_PER_CHIP: Final = 7


class Template(NamedTuple):
    """A part of a chip."""

    name: str
    cores: int
    cpus: int
    video: bool = False


TEMPLATES: Final = {
    template.name: template
    for template in (
        Template("vir01", 1, 1),
        Template("vir02", 2, 2),
        Template("vir02_1c", 2, 1),
        Template("vir04", 4, 4),
        Template("vir04_3c", 4, 3),
        Template("vir04_3c_ndvpp", 4, 3),
        Template("vir04_4c_dvpp", 4, 4, True),
    )
}
SMALLER: Final = {"vir02": "vir02_1c", "vir04": "vir04_3c"}
"""Templates with the same cores and fewer cpus."""


@dataclass(frozen=True, slots=True)
class CoreAsk:
    """AI cores, and the template that they would be (empty for none of that size); `wrong`: a label without meaning."""

    cores: int
    template: str
    wrong: str = ""


class MindCluster:
    """The family `ascend310p-vNPU`."""

    name = "ascend310p-vNPU"

    def asks(self, spec: ShapeSpec) -> CoreAsk | None:
        """The pod's ask; None for a pod without one."""
        cores = pod_amount(spec.asks, NPU_CORE)
        if not cores:
            return None
        notes = dict(spec.notes)
        video = notes.get(VNPU_DVPP, "null")
        if video not in ("yes", "no", "null"):
            return CoreAsk(cores, "", f"err dvpp value:{video}")
        return CoreAsk(cores, _template(cores, notes.get(VNPU_LEVEL) == "high", video))

    def cards(self, node: NodeFacts) -> tuple[Card, ...]:
        """Chips of the node: its AI cores in equal parts."""
        fields = node.label(SERVER_TYPE).split("-")
        cores = number(fields[1]) if len(fields) > 1 else 0
        if cores <= 0:
            return ()
        bad = set(node.notes.get(CHIPS_UNHEALTHY, "").split(","))
        return tuple(
            Card(str(chip), 0 if f"Ascend310P-{chip}" in bad else 1 << 20, CPUS_PER_CHIP, cores, "Ascend310P")
            for chip in range(min(node.amount(NPU_CORE) // cores, MOST_CARDS))
        )

    def parts(self, holder: Holder, cards: Sequence[Card]) -> tuple[Part, ...]:
        """Chips of the pod's annotation: `0,1`, or `0-vir02`."""
        chips, _, name = dict(holder.notes).get(NPU_CORE, "").partition("-")
        places = [
            place for place in (number(chip, -1) for chip in chips.split(",")) if 0 <= place < len(cards)
        ]
        template = TEMPLATES.get(name)
        if name and template is None:
            return ()
        return tuple(_part(place, cards[place], template) for place in places)

    def names_cards(self, ask: CoreAsk) -> bool:
        """No pod names chips."""
        return False

    def passes(self, cards: Sequence[Card], ask: CoreAsk) -> bool:
        """Every node is this ledger's."""
        return False

    def choose(
        self, cards: Sequence[Card], usage: list[Usage], ask: CoreAsk, owner: Owner, links: Links | None
    ) -> Choice | Refused:
        """Whole chips that nobody is on, or the chip with the fewest cores free that the template fits on."""
        if ask.wrong:
            return Refused(ask.wrong, curable=False)
        size = cards[0].cores
        if ask.cores % size == 0:
            fits = [place for place, card in enumerate(cards) if card.slots and not usage[place].number]
            if len(fits) < ask.cores // size:
                return Refused("not enough whole chips on node", curable=False)
            parts = tuple(_part(place, cards[place], None) for place in fits[: ask.cores // size])
            return self._chosen(usage, parts, owner, "", 1.0)
        for name in (ask.template, SMALLER.get(ask.template, "")):
            template = TEMPLATES.get(name)
            if template is None:
                continue
            fits = [place for place, card in enumerate(cards) if _fits(card, usage[place], template)]
            if fits:
                place = min(fits, key=lambda place: cards[place].cores - usage[place].cores)
                whole = 1.0 if name == ask.template else 0.0
                return self._chosen(usage, (_part(place, cards[place], template),), owner, name, whole)
        return Refused("no chip on node has the cores that the template wants", curable=False)

    @staticmethod
    def _chosen(usage: list[Usage], parts: tuple[Part, ...], owner: Owner, mark: str, whole: float) -> Choice:
        held = sum(taken.cores for taken in usage)
        for part in parts:
            usage[part.card].add(part, owner)
        return Choice((parts,), 8 * whole + 8 * (held > 0), mark)

    def notes(self, cards: Sequence[Card], choice: Choice, node: str, now: int) -> dict[str, str]:
        """The chips, or the chip and its template."""
        chips = ",".join(str(part.card) for part in choice.parts)
        text = f"{chips}-{choice.mark}" if choice.mark else chips
        return {NPU_CORE: text, HAMI_PREDICATE_TIME: str(now * 1_000_000_000)}


def _template(cores: int, high: bool, video: str) -> str:
    """The template of so many cores; empty when there is none."""
    if cores == 1:
        return "vir01"
    if cores == 2:
        return "vir02" if high else "vir02_1c"
    if cores != 4:
        return ""
    if video == "yes":
        return "vir04_4c_dvpp"
    if video == "no":
        return "vir04_3c_ndvpp"
    return "vir04" if high else "vir04_3c"


def _part(place: int, card: Card, template: Template | None) -> Part:
    """A whole chip without a template; memory stands for AI cpus. Who decodes video has slot 1 of the chip."""
    if template is None:
        return Part(place, card.memory, card.cores)
    return Part(place, template.cpus, template.cores, slot=1 if template.video else -1)


def _fits(card: Card, taken: Usage, template: Template) -> bool:
    if (
        not card.slots
        or card.cores - taken.cores < template.cores
        or card.memory - taken.memory < template.cpus
    ):
        return False
    return not (template.video and 1 in taken.slots)

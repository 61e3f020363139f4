"""Figures of vGPU cards for metrics: all that are registered, with what pods hold of them as the session leaves it."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from vcray.api.devices import VGPU_IDS, VGPU_REGISTER
from vcray.core.cards import CardFigures
from vcray.core.view import View
from vcray.plugins.deviceshare.decks import NOBODY, Deck, Phase, Share
from vcray.plugins.deviceshare.table import Table
from vcray.plugins.deviceshare.vgpu import Vgpu


def figures_of(table: Table[Any], view: View) -> dict[str, Sequence[CardFigures]]:
    """Node -> its cards; for a node as it was a round before, the very same tuple."""
    nodes, family = view.snapshot.nodes, table.family
    if not isinstance(family, Vgpu):
        return {}
    wanted = (family.config.count, family.config.memory, family.config.cores)
    rows = [view.space.rows[name] for name in wanted if name in view.space.rows]
    if len(rows) < len(wanted):
        return {}
    offered = (nodes.allocatable[rows] > 0).all(axis=0)
    found: dict[str, Sequence[CardFigures]] = {}
    for node in np.flatnonzero(offered).tolist():
        text = dict(nodes.notes[node]).get(VGPU_REGISTER, "")
        if text:
            name = nodes.names[node]
            still = table.still(node)
            if still is None:
                found[name] = _held(table.deck(node))
            else:
                held = tuple((holder.pod, dict(holder.notes).get(VGPU_IDS, "")) for holder in still)
                found[name] = _found(family, text, held)
    return found


@lru_cache(maxsize=65536)
def _found(family: Vgpu, text: str, held: tuple[tuple[str, str], ...]) -> tuple[CardFigures, ...]:
    """Figures of a node as a session finds it, from its cards and what pods say that they hold."""
    deck = Deck(family.cards_of(text))
    for pod, ids in held:
        parts = family.parts_of(ids, deck.cards)
        if parts:
            deck.put(pod, Share(parts, Phase.HELD, NOBODY))
    return _held(deck)


def _held(deck: Deck) -> tuple[CardFigures, ...]:
    found = []
    for place, card in enumerate(deck.cards):
        pods = []
        number = 0
        for pod, share in sorted(deck.shares.items()):
            parts = [part for part in share.parts if part.card == place]
            if parts and share.phase is not Phase.PROMISED:
                number += len(parts)
                memory, cores = sum(part.memory for part in parts), sum(part.cores for part in parts)
                pods.append((pod.partition("/")[2], memory, cores))
        memory, cores = sum(memory for _, memory, _ in pods), sum(cores for _, _, cores in pods)
        found.append(CardFigures(card.id, card.memory, number, memory, cores, tuple(pods)))
    return tuple(found)

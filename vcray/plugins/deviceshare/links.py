"""How well pairs of cards of a node are joined, so that a pod with several gets such as talk fast to each other.

HAMi's device plugin writes scores of pairs (NVLink, PCIe switch, NUMA node: more is nearer) into an annotation of the node.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import lru_cache
from itertools import combinations
from typing import TypeAlias

from vcray.api.jsonview import dig_object, dig_objects, dig_str

Links: TypeAlias = tuple[tuple[int, ...], ...]
"""Score of each pair of cards, by their places."""

FEW = 64
"""So many subsets are compared; past it cards are taken one by one, each the best joined to those before it."""


@lru_cache(maxsize=4096)
def links_of(text: str, ids: tuple[str, ...]) -> Links | None:
    """Scores between these cards; None when nothing is told."""
    try:
        document = json.loads(text) if text else None
    except ValueError:
        return None
    listed = dig_objects({"scores": document}, "scores")
    scores: dict[str, dict[str, int]] = {}
    for item in listed:
        known = scores.setdefault(dig_str(item, "uuid"), {})
        for other, score in dig_object(item, "score").items():
            if isinstance(score, int | str) and str(score).lstrip("-").isdigit():
                known[other] = int(score)
    if not scores:
        return None
    return tuple(tuple(scores.get(one, {}).get(other, 0) for other in ids) for one in ids)


def linked_order(places: Sequence[int], number: int, links: Links) -> list[int]:
    """The places, `number` well joined ones first; among equals those that came first stay first."""
    if len(places) <= number:
        return list(places)
    subsets = combinations(range(len(places)), number)
    first = [subset for subset, _ in zip(subsets, range(FEW + 1), strict=False)]
    if len(first) <= FEW:
        best = max(first, key=lambda subset: (_joined([places[i] for i in subset], links), _early(subset)))
        chosen = [places[i] for i in best]
    else:
        chosen = _greedy(places, number, links)
    return chosen + [place for place in places if place not in chosen]


def _joined(places: Sequence[int], links: Links) -> int:
    return sum(links[one][other] + links[other][one] for one, other in combinations(places, 2))


def _early(subset: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(-place for place in subset)


def _greedy(places: Sequence[int], number: int, links: Links) -> list[int]:
    """Grown from each card in turn; the best of these sets."""
    best: list[int] = []
    for start in places:
        chosen = [start]
        while len(chosen) < number:
            rest = [place for place in places if place not in chosen]
            chosen.append(
                max(rest, key=lambda place: (_joined([*chosen, place], links), -places.index(place)))
            )
        if not best or _joined(chosen, links) > _joined(best, links):
            best = chosen
    return best

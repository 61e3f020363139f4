"""Tables that only some clusters need (`vcray.core.details`), one module a table.

A module says which kinds it reads, what of an object is kept (a frozen msgspec Struct, compared by value), on what else its
table rests (`NODES`, `PODS`), and how the table is made. A table is made anew only when one of these changed.
Register a source in `SOURCES`, and name its kinds in `CLUSTER_RESOURCES` (`vcray/actors/parts.py`), else nobody watches them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec

from vcray.api.meta import JsonObject
from vcray.cache.details import (
    budgets,
    capacities,
    cards,
    hypernodes,
    nodeshards,
    numa,
    quotas,
    resourceclaims,
    storage,
)
from vcray.cache.details.source import NODES, PODS, Kept, Source
from vcray.core.details import Details

__all__ = ["KINDS", "NODES", "PODS", "SOURCES", "DetailTables", "Kept", "Source", "pack_row", "unpack_row"]

if TYPE_CHECKING:
    from vcray.cache.state import State

SOURCES: Final[tuple[Source, ...]] = (
    budgets.SOURCE,
    capacities.SOURCE,
    hypernodes.SOURCE,
    storage.SOURCE,
    storage.USERS,
    resourceclaims.SOURCE,
    cards.SOURCE,
    cards.HOLDERS,
    numa.SOURCE,
    numa.PINNED,
    quotas.SOURCE,
    nodeshards.SOURCE,
)

_KEPT: Final[dict[str, Kept]] = {kind: kept for source in SOURCES for kind, kept in source.kinds.items()}
KINDS: Final = tuple(_KEPT)
"""All kinds that these tables are made of."""


def pack_row(kind: str, value: JsonObject) -> bytes:
    """What is kept of an object, as bytes."""
    return msgspec.msgpack.encode(_KEPT[kind].read(value))


def unpack_row(kind: str, value: bytes) -> object:
    """What was kept of an object."""
    return msgspec.msgpack.decode(value, type=_KEPT[kind].row)


class DetailTables:
    """The tables of the last snapshot, and which of them are out of date."""

    def __init__(self) -> None:
        self._details = Details()
        self._changed: dict[str, None] = dict.fromkeys((*KINDS, NODES, PODS))

    def changed(self, kind: str) -> None:
        """An object of the kind came, went or changed."""
        self._changed[kind] = None

    def get(self, state: State) -> Details:
        """The tables as of now; the same object as before when nothing changed."""
        if self._changed:
            fresh = {
                source.field: source.build(state)
                for source in SOURCES
                if not self._changed.keys().isdisjoint((*source.kinds, *source.looks_at))
            }
            self._changed = {}
            if fresh:
                kept = {source.field: getattr(self._details, source.field) for source in SOURCES}
                self._details = Details(**{**kept, **fresh})
        return self._details

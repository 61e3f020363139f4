"""Tables that only some clusters need (`vcray.core.details`), one module a table.

A module says which kinds it reads, what of an object is kept (a frozen msgspec Struct, compared by value), on what else its
table rests (`NODES`, `PODS`), and how the table is made. A table is made anew only when one of these changed.
Register a source in `SOURCES`; the scheduler's watches follow from the kinds.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import msgspec

from vcray.api.meta import JsonObject
from vcray.core.details import Details

if TYPE_CHECKING:
    from vcray.cache.state import State

NODES: Final = "Node"
PODS: Final = "Pod"


@dataclass(frozen=True, slots=True)
class Kept:
    """What is kept of one kind. `read` raises QuantityError or ValueError for an object that cannot be read."""

    row: type[msgspec.Struct]
    read: Callable[[JsonObject], msgspec.Struct]


@dataclass(frozen=True, slots=True)
class Source:
    """One field of `Details`. `looks_at`: further kinds whose change makes the table anew (`NODES`, `PODS`, or a kind that
    another source keeps). `build` reads the rows at `state.knowledge.details[kind][key]`; None for nothing there."""

    field: str
    kinds: Mapping[str, Kept]
    build: Callable[[State], object]
    looks_at: tuple[str, ...] = ()


SOURCES: Final[tuple[Source, ...]] = ()

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

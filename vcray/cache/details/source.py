"""What a module of `vcray.cache.details` says of its table."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import msgspec

from vcray.api.meta import JsonObject

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

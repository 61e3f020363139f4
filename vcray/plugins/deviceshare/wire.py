"""How vGPU cards and what pods hold of them are spelled in annotations, as HAMi's device plugin for Volcano has it.

    node   volcano.sh/node-vgpu-register: uuid,slots,memory,type,health,mode:uuid,…:
    pod    volcano.sh/vgpu-ids-new:       uuid,NVIDIA,memory,cores:…: for each container, joined by `;`

A part of a partitioned card is called `uuid[geometry-place]`.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

MIG = "mig"
HAMI_CORE = "hami-core"


class Registered(NamedTuple):
    """A card as its node tells of it; `slots` is 0 while it is unhealthy."""

    uuid: str
    slots: int
    memory: int
    kind: str
    mode: str


class Used(NamedTuple):
    """A part of a card that a container holds."""

    uuid: str
    memory: int
    cores: int
    geometry: str
    place: int


@lru_cache(maxsize=65536)
def registered(text: str) -> tuple[Registered, ...]:
    """Cards of a node in their order; none when any of them cannot be read. Any mode but `mig` is hami-core."""
    cards = []
    for entry in text.split(":") if ":" in text else ():
        fields = entry.split(",")
        if len(fields) == 1:
            continue
        if len(fields) < 6:
            return ()
        mode = MIG if fields[5] == MIG else HAMI_CORE
        slots = 0 if fields[4] == "false" else number(fields[1])
        cards.append(Registered(fields[0], slots, number(fields[2]), fields[3], mode))
    return tuple(cards)


@lru_cache(maxsize=65536)
def used(text: str) -> tuple[Used, ...]:
    """Parts that all containers of a pod hold. Anybody may have written it: amounts below 0 give nobody room."""
    found = []
    for container in text.split(";"):
        for entry in container.split(":"):
            fields = entry.split(",")
            if len(fields) < 4:
                continue
            uuid, _, rest = fields[0].partition("[")
            geometry, _, place = rest.rstrip("]").rpartition("-")
            memory, cores = max(0, number(fields[2])), max(0, number(fields[3]))
            found.append(Used(uuid, memory, cores, geometry, number(place, -1)))
    return tuple(found)


def spell(containers: Sequence[Sequence[Used]], word: str = "NVIDIA") -> str:
    """The annotation of a pod."""
    return ";".join(
        "".join(f"{_name(part)},{word},{part.memory},{part.cores}:" for part in parts) for parts in containers
    )


def _name(part: Used) -> str:
    return f"{part.uuid}[{part.geometry}-{part.place}]" if part.geometry else part.uuid


def number(text: str, otherwise: int = 0) -> int:
    """A whole number, or something else for what is none."""
    try:
        return int(text)
    except ValueError:
        return otherwise

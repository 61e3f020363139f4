"""A node's cpus as sets of bits, and the choice of cpus in it: whole sockets, then whole cores, then single cpus.

This is how the kubelet's static cpu manager takes them (`takeByTopology` of kubernetes/kubernetes): only what is wholly free is
taken whole, in the order in which sockets and cores are left least free, so that what is broken up already is used first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from itertools import combinations

from vcray.core.numa import CpuPlace


class Layout:
    """Cpus of NUMA nodes, sockets and cores as sets (bit i is cpu i)."""

    def __init__(self, places: Sequence[CpuPlace]) -> None:
        self.numas: dict[int, int] = {}
        self.sockets: dict[int, int] = {}
        self.cores: dict[tuple[int, int], int] = {}
        for place in places:
            bit = 1 << place.cpu
            self.numas[place.numa] = self.numas.get(place.numa, 0) | bit
            self.sockets[place.socket] = self.sockets.get(place.socket, 0) | bit
            core = (place.socket, place.core)
            self.cores[core] = self.cores.get(core, 0) | bit
        self.all = _union(self.sockets.values())
        self.numa_ids = sorted(self.numas)
        self._reserved: dict[int, int] = {}

    def reserved(self, count: int) -> int:
        """The cpus that a kubelet keeps for the system."""
        if count not in self._reserved:
            self._reserved[count] = self.take(self.all, count, self.all) or 0
        return self._reserved[count]

    @cached_property
    def masks(self) -> tuple[tuple[int, int], ...]:
        """Every set of NUMA nodes as (how many, its cpus), narrower ones first, then lower ones."""
        found: list[tuple[int, int]] = []
        for size in range(1, len(self.numa_ids) + 1):
            chosen = combinations(self.numa_ids, size)
            found += [(size, _union(self.numas[numa] for numa in numas)) for numas in chosen]
        return tuple(found)

    def width(self, count: int) -> int:
        """How many NUMA nodes hold that many cpus at the least; 0 when all together do not."""
        return next((size for size, cpus in self.masks if cpus.bit_count() >= count), 0)

    def numas_of(self, cpus: int) -> dict[int, int]:
        """Number of these cpus on each NUMA node that has any."""
        counts = {numa: (cpus & self.numas[numa]).bit_count() for numa in self.numa_ids}
        return {numa: count for numa, count in counts.items() if count}

    def take(self, free: int, count: int, inside: int) -> int | None:
        """`count` of the free cpus, those inside a set of NUMA nodes first; None when there are too few."""
        if free.bit_count() < count:
            return None
        aligned = free & inside
        taken = self._take(aligned, min(count, aligned.bit_count()))
        return taken | self._take(free & ~taken, count - taken.bit_count())

    def _take(self, free: int, count: int) -> int:
        taken = 0
        for whole in (self.sockets.values(), self.cores.values()):
            groups = [cpus for cpus in whole if cpus & free == cpus]
            for cpus in sorted(groups, key=self._usedness(free)):
                if cpus.bit_count() <= count - taken.bit_count():
                    taken |= cpus
            free &= ~taken
        for cpu in self._singles(free):
            if taken.bit_count() >= count:
                break
            taken |= 1 << cpu
        return taken

    def _usedness(self, free: int) -> Callable[[int], tuple[int, int]]:
        """Order of wholly free groups: on the socket with the fewest free cpus first, then by the lowest cpu."""

        def key(cpus: int) -> tuple[int, int]:
            socket = next((each for each in self.sockets.values() if each & cpus), 0)
            return (socket & free).bit_count(), (cpus & -cpus).bit_length()

        return key

    def _singles(self, free: int) -> list[int]:
        """Single cpus: on the socket, then on the core with the fewest free cpus first, then by number."""
        found = []
        for core in self.cores.values():
            left = core & free
            socket = next(each for each in self.sockets.values() if each & core)
            key = ((socket & free).bit_count(), left.bit_count())
            found += [(key, cpu) for cpu in _bits(left)]
        return [cpu for _, cpu in sorted(found)]


def _union(sets: Iterable[int]) -> int:
    found = 0
    for each in sets:
        found |= each
    return found


def _bits(cpus: int) -> list[int]:
    return [cpu for cpu in range(cpus.bit_length()) if cpus >> cpu & 1]


_LAYOUTS: dict[int, tuple[tuple[CpuPlace, ...], Layout]] = {}
MOST = 65536


def layout_of(places: tuple[CpuPlace, ...]) -> Layout:
    """The layout of a node, made once for each object; equal nodes mostly have the same one."""
    known = _LAYOUTS.get(id(places))
    if known is None or known[0] is not places:
        if len(_LAYOUTS) > MOST:
            _LAYOUTS.clear()
        known = _LAYOUTS[id(places)] = (places, Layout(places))
    return known[1]

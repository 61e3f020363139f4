"""ResourceClaims of pods: where their devices are, or could be found, and what is given to whom (kube-scheduler's
DynamicResources).

A claim with devices confines its pods to the nodes that reach them. One without gets devices on the node of its first pod; the
others follow. What a session gives away no other claim gets, nor what an earlier decision gave away that its object does not
show yet. Devices of a pod that is evicted are not free before its claim says so, so evictions promise none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from vcray.core.arrays import Bool, Int, Int8
from vcray.core.claims_dra import MOST_USERS, Allocation, DeviceTable, Given, ResourceClaim
from vcray.core.decisions import Preparation
from vcray.core.hooks import DomainTerm, Reject, Scale
from vcray.core.tables import NodeTerm
from vcray.core.view import Shape, View
from vcray.plugins.predicates.device_choice import Chosen, Search, enough, plain, worth_of
from vcray.plugins.predicates.device_places import DevicePlaces
from vcray.plugins.predicates.device_results import nodes_of, written
from vcray.plugins.predicates.device_use import Use, counters_of, devices_of

TAKEN = "cannot allocate all claims"
ELSEWHERE = "resourceclaim not available on the node"
CROWDED = "resourceclaim in use"

UNKNOWN = -1
Kind: TypeAlias = tuple[object, ...]
"""What claims ask for, whatever their names: equal ones have equal chances on every node."""

EVERYWHERE = -1
"""In the journal: devices moved that several nodes reach."""


@dataclass(slots=True)
class _Chances:
    """(N,) whether claims of one kind find devices on each node, as far as asked, and how well (early alternatives are
    better); `seen` of the journal."""

    found: Int8
    worth: Int
    seen: int


class Devices:
    """The devices of a session, and whose they are."""

    def __init__(self, view: View, table: DeviceTable) -> None:
        self._table = table
        self._nodes = view.snapshot.nodes
        self._places = DevicePlaces(self._nodes, table)
        self._counters = counters_of(self._places.slices)
        self._use = Use()
        self._given: dict[str, Allocation] = {}
        self._text: dict[str, str] = {}
        self._users: dict[str, int] = {}
        self._journal: list[int] = []
        self._chances: dict[Kind, _Chances] = {}
        for key, claim in table.claims.items():
            allocation = claim.allocation or table.promised.get(key)
            self._users[key] = len(claim.users)
            if allocation is not None:
                self._given[key] = allocation
                self._count(allocation, 1)

    def _count(self, allocation: Allocation, sign: int) -> None:
        """Take the devices of an allocation, or put them back; nodes that reach them must be asked again."""
        for id, consumed in devices_of(allocation):
            self._use.put(id, self._places.device.get(id), consumed, sign)
            home = self._places.home(id)
            self._journal.append(EVERYWHERE if home is None else home)

    # ---- hooks ----

    def _claims(self, shape: Shape) -> list[ResourceClaim]:
        keys = dict.fromkeys(shape.spec.devices)
        return [self._table.claims[key] for key in keys if key in self._table.claims]

    def term(self, shape: Shape, asked: Bool) -> DomainTerm:
        """Nodes with all that the shape's claims need, found out for those asked about, the others are out; better where
        claims with alternatives get the early ones."""
        fault, reached, wanted = self._standing(shape)
        ok = asked & reached
        if fault or not wanted:
            return DomainTerm(ok=ok & (not fault))
        chances = self._look(wanted, ok)
        ok = ok & (chances.found == 1)
        if all(len(request.asks) == 1 for claim in wanted for request in claim.requests):
            return DomainTerm(ok=ok)
        return DomainTerm(ok, np.where(ok, chances.worth, 0), scale=Scale.MAX, weight=1)

    def rejects(self, shape: Shape) -> Iterator[Reject]:
        """Who refuses and why; evicting cures none of it, since devices come back with their claims only."""
        fault, reached, wanted = self._standing(shape)
        everywhere = np.ones(len(self._nodes), dtype=bool)
        if fault:
            yield Reject(everywhere, fault, curable=False)
            return
        yield Reject(~reached, ELSEWHERE, curable=False)
        if wanted:
            yield Reject(reached & (self._look(wanted, reached).found != 1), TAKEN, curable=False)

    def _standing(self, shape: Shape) -> tuple[str, Bool, list[ResourceClaim]]:
        """Why no node will do, the nodes that reach devices given already, and the claims that have none."""
        reached = np.ones(len(self._nodes), dtype=bool)
        wanted: list[ResourceClaim] = []
        fault = ""
        for claim in self._claims(shape):
            given = self._given.get(claim.key)
            if self._users.get(claim.key, 0) >= MOST_USERS:
                fault = fault or CROWDED
            if given is not None:
                reached &= self._places.mask(given.terms)
                continue
            wanted.append(claim)
            for request in claim.requests:
                for ask in request.asks:
                    if ask.device_class not in self._table.classes:
                        fault = fault or (
                            f"request {request.name}: device class {ask.device_class} does not exist"
                        )
        return fault, reached, wanted

    def _look(self, wanted: list[ResourceClaim], asked: Bool) -> _Chances:
        """Where devices for claims without any can be found; UNKNOWN where nobody asked."""
        kind: Kind = tuple((claim.requests, claim.constraints) for claim in wanted)
        chances = self._chances.get(kind)
        if chances is None:
            unknown = np.full(len(self._nodes), UNKNOWN, dtype=np.int8)
            worth = np.zeros(len(self._nodes), dtype=np.int64)
            chances = self._chances[kind] = _Chances(unknown, worth, len(self._journal))
        for node in self._journal[chances.seen :]:
            chances.found[slice(None) if node == EVERYWHERE else node] = UNKNOWN
        chances.seen = len(self._journal)
        ask = plain(wanted)
        for node in np.flatnonzero(asked & (chances.found == UNKNOWN)).tolist():
            told = None
            if ask is not None:
                told = enough(ask, self._table.classes[ask.device_class], self._places.of(node), self._use)
            if told is None:
                devices = self._search(wanted, node)
                told = devices is not None
                chances.worth[node] = worth_of(wanted, devices or {})
            chances.found[node] = told
        return chances

    def _search(self, wanted: list[ResourceClaim], node: int) -> dict[str, tuple[Chosen, ...]] | None:
        units = self._places.of(node)
        return Search(units, self._table.classes, self._use, self._counters).run(wanted)

    def reserve(self, shape: Shape, node: int) -> Callable[[], None] | str:
        """Give devices to the claims of a pod on a node, and count it as their user; what undoes it, or why not."""
        fault, reached, wanted = self._standing(shape)
        if fault or not reached[node]:
            return fault or ELSEWHERE
        found = self._search(wanted, node) if wanted else {}
        if found is None:
            return TAKEN
        for claim in wanted:
            self._give(claim, found[claim.key], node)
        keys = [claim.key for claim in self._claims(shape)]
        for key in keys:
            self._users[key] += 1

        def undo() -> None:
            for key in keys:
                self._users[key] -= 1
            for claim in wanted:
                self._count(self._given.pop(claim.key), -1)
                del self._text[claim.key]

        return undo

    def _give(self, claim: ResourceClaim, chosen: tuple[Chosen, ...], node: int) -> None:
        terms: tuple[NodeTerm, ...] | None
        terms, selector = nodes_of(chosen, self._nodes.names[node])
        given = tuple(Given(*each.unit.id, admin=each.ask.admin, consumed=each.consumed) for each in chosen)
        allocation = self._given[claim.key] = Allocation(given, terms)
        self._text[claim.key] = written(claim, self._table.classes, chosen, selector)
        self._count(allocation, 1)

    def before(self, shape: Shape) -> tuple[tuple[str, str, str], ...]:
        """What must be written to the claims of a placed pod: (claim, uid, its allocation where it had none)."""
        return tuple(
            sorted((each.key, each.uid, self._text.get(each.key, "")) for each in self._claims(shape))
        )


def joined(volumes: Preparation | None, devices: tuple[tuple[str, str, str], ...]) -> Preparation | None:
    """One preparation of both kinds; None when there is nothing."""
    if not devices:
        return volumes or None
    base = volumes or Preparation()
    return Preparation(base.volumes, base.provisions, devices, base.timeout_s)

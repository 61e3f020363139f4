"""Devices of ResourceClaims by queue: what the pods of each queue, and of all below it, hold.

A claim that several pods of a queue share counts once there, and once in each queue above. Names are those of quotas:
`deviceclass/NAME` counts devices, `DIM.deviceclass/NAME` sums a capacity in thousandths.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from vcray.core.claims_dra import Amounts, DeviceTable, Request, demand
from vcray.core.tables import ALLOCATED_STATUS, MISSING
from vcray.core.view import View

PREFIX = "deviceclass/"
COUNT = 1000
"""Devices count in thousandths in a queue's status, as all scalars do."""
MOST = 2**50
"""No amount of a queue's status counts for more."""


def is_device_key(name: str) -> bool:
    """Is a resource name one of quotas of devices?"""
    return name.startswith(PREFIX) or f".{PREFIX}" in name


class HeldDevices:
    """Claims in use by queue row with the number of pods that use them, and the sums of what they ask for."""

    def __init__(self, table: DeviceTable, paths: Sequence[Sequence[int]]) -> None:
        self._table = table
        self._paths = paths
        self._known: dict[tuple[Request, ...], Amounts] = {}
        self._users: dict[int, dict[str, int]] = {}
        self._sums: dict[int, dict[str, int]] = {}
        self._residents: list[tuple[int, int, tuple[str, ...]]] = []
        self._gone: set[int] = set()

    def settle(self, view: View) -> None:
        """Count the pods that hold nodes now. Shapes of those that did as the session opened name no claims: claims name them."""
        claims_of: dict[str, list[str]] = {}
        for key, claim in self._table.claims.items():
            for uid in {*claim.users, *self._table.using.get(key, ())}:
                claims_of.setdefault(uid, []).append(key)
        tasks, jobs = view.snapshot.tasks, view.snapshot.jobs
        of_shape = [shape.spec.devices for shape in view.shapes]
        if not claims_of and not any(of_shape):
            return
        rows = np.flatnonzero(np.isin(view.status, ALLOCATED_STATUS))
        for row, shape in zip(rows.tolist(), tasks.shape[rows].tolist(), strict=True):
            claims = {*claims_of.get(tasks.uids[row], ()), *of_shape[shape]}
            if claims:
                queue = int(jobs.queue[tasks.job[row]])
                if queue != MISSING:
                    self._residents.append((row, queue, tuple(sorted(claims))))
                    self.charge(queue, claims, 1)

    def follow(self, view: View) -> None:
        """Pods that were there and were evicted in this session use their claims no more, until that is undone."""
        for row, queue, claims in self._residents:
            gone = view.status[row] not in ALLOCATED_STATUS
            if gone != (row in self._gone):
                self.charge(queue, claims, -1 if gone else 1)
                (self._gone.add if gone else self._gone.discard)(row)

    def charge(self, queue: int, claims: Iterable[str], sign: int) -> None:
        """A pod of the queue starts (1) or ends (-1) to use claims."""
        for claim in claims:
            amounts = self._amounts(claim)
            for at in self._paths[queue]:
                users = self._users.setdefault(at, {})
                before = users.get(claim, 0)
                users[claim] = before + sign
                if amounts and (before if sign < 0 else before + 1) == 1:
                    sums = self._sums.setdefault(at, {})
                    for name, amount in amounts:
                        sums[name] = sums.get(name, 0) + sign * amount

    def _amounts(self, claim: str) -> Amounts:
        """What a claim asks for; claims of one template ask alike, so their requests are worked out once."""
        found = self._table.claims.get(claim)
        requests = found.requests if found is not None else ()
        known = self._known.get(requests)
        if known is None:
            known = self._known[requests] = demand(self._table, claim)
        return known

    def more(self, queue: int, claims: Iterable[str]) -> dict[str, int]:
        """What these claims add to what the queue holds: those in use there add nothing."""
        users = self._users.get(queue, {})
        return total(self._table, [claim for claim in claims if not users.get(claim)])

    def held(self, queue: int) -> Mapping[str, int]:
        """Sums by name of the queue and all below it."""
        return self._sums.get(queue, {})


def total(table: DeviceTable, claims: Iterable[str]) -> dict[str, int]:
    """What distinct claims ask for together."""
    sums: dict[str, int] = {}
    for claim in dict.fromkeys(claims):
        for name, amount in demand(table, claim):
            sums[name] = sums.get(name, 0) + amount
    return sums


def held_devices(view: View, paths: Sequence[Sequence[int]]) -> HeldDevices | None:
    """What pods on nodes hold now; None in a cluster without devices of claims."""
    table = view.snapshot.details.devices
    if table is None:
        return None
    held = HeldDevices(table, paths)
    held.settle(view)
    return held


def status_amounts(held: HeldDevices | None, queue: int) -> dict[str, int]:
    """The sums of a queue as its status has them."""
    if held is None:
        return {}
    return {
        name: min(amount * (COUNT if name.startswith(PREFIX) else 1), MOST)
        for name, amount in held.held(queue).items()
        if amount
    }

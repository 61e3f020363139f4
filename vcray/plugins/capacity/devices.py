"""Quotas of devices: how many devices of a class, and how much of their capacities, the pods of a queue may claim.

A capability `deviceclass/NAME` limits the number (0 is no limit), `DIM.deviceclass/NAME` a capacity; a class that a capability
does not name is unlimited, and of a class that it names a capacity which it does not name is refused. Every queue with such
a capability is held to it, and every queue above.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from vcray.core.claims_dra import DeviceTable
from vcray.core.queuedevices import COUNT, PREFIX, HeldDevices, is_device_key, total
from vcray.core.view import Shape, View

REASON = "dra-resource-exceeded"


class DeviceQuotas:
    """Limits and use by queue row; `inqueue` is what groups let in in this session ask for."""

    def __init__(
        self,
        view: View,
        table: DeviceTable,
        held: HeldDevices,
        paths: Sequence[Sequence[int]],
        capacities: bool,
    ) -> None:
        self.held = held
        self._table = table
        self._paths = paths
        self._capacities = capacities
        self._inqueue: dict[int, dict[str, int]] = {}
        self._limits = [self._limits_of(view, queue) for queue in range(len(paths))]
        self._classes = [{name.rpartition(PREFIX)[2] for name in limits} for limits in self._limits]

    @staticmethod
    def _limits_of(view: View, queue: int) -> dict[str, int]:
        queues = view.snapshot.queues
        return {
            name: int(queues.capability[row, queue]) // (COUNT if name.startswith(PREFIX) else 1)
            for row, name in enumerate(view.space.names)
            if queues.capability_named[row, queue] and is_device_key(name)
        }

    def allows(self, view: View, queue: int, shape: Shape) -> bool:
        """May a pod of the shape, and any number that share its claims, use its claims in the queue?"""
        self.held.follow(view)
        return not any(
            self._over(at, self.held.more(at, shape.spec.devices), {}) for at in self._paths[queue]
        )

    def lets_in(self, queue: int, wanted: Mapping[str, int]) -> bool:
        """Does what a group asks for fit the queue and all above beside what was let in in this session?"""
        return not any(self._over(at, wanted, self._inqueue.get(at, {})) for at in self._paths[queue])

    def let_in(self, queue: int, wanted: Mapping[str, int]) -> None:
        """A group was let in."""
        for at in self._paths[queue]:
            known = self._inqueue.setdefault(at, {})
            for name, amount in wanted.items():
                known[name] = known.get(name, 0) + amount

    def _over(self, queue: int, wanted: Mapping[str, int], inqueue: Mapping[str, int]) -> bool:
        limits, held = self._limits[queue], self.held.held(queue)
        for name, amount in wanted.items():
            if name.rpartition(PREFIX)[2] not in self._classes[queue]:
                continue
            counts = name.startswith(PREFIX)
            if not counts and not self._capacities:
                continue
            limit = limits.get(name, 0)
            if counts and limit <= 0:
                continue
            if held.get(name, 0) + inqueue.get(name, 0) + amount > limit:
                return True
        return False

    def minimum(self, view: View, job: int) -> dict[str, int]:
        """What the pods that a group needs to start ask for: its first pods by name, or those of each role with a minimum."""
        tasks, jobs = view.snapshot.tasks, view.snapshot.jobs
        rows = sorted(view.tasks_of_job[job].tolist(), key=tasks.names.__getitem__)
        rows = [row for row in rows if view.shapes[int(tasks.shape[row])].spec.devices]
        chosen = rows[: int(jobs.min_available[job])]
        if jobs.role_minimum[job]:
            chosen = [
                row
                for role, least in jobs.role_minimum[job]
                for row in [row for row in rows if tasks.role[row] == role][:least]
            ]
        return total(
            self._table,
            [claim for row in chosen for claim in view.shapes[int(tasks.shape[row])].spec.devices],
        )

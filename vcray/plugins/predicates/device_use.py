"""What is taken of devices: whole ones, capacity of shared ones, and counters that the devices of a pool share."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from vcray.core.claims_dra import Allocation, Amounts, Device, DeviceId, Policy, Slice

CounterSet = tuple[str, str, str]
"""Driver, pool and name of a counter set."""


class Use:
    """Devices in use. What is given is put in and taken out again in any order."""

    def __init__(self) -> None:
        self._holders: dict[DeviceId, int] = {}
        self._capacity: dict[DeviceId, dict[str, int]] = {}
        self._counters: dict[tuple[CounterSet, str], int] = {}

    def put(self, id: DeviceId, device: Device | None, consumed: Amounts | None, sign: int = 1) -> None:
        """Give a device away (sign 1) or take it back (-1); None for one that no slice shows any more."""
        before = self._holders.get(id, 0)
        after = self._holders[id] = before + sign
        for name, amount in consumed or ():
            taken = self._capacity.setdefault(id, {})
            taken[name] = taken.get(name, 0) + sign * amount
        if device is not None and (before == 0 or after == 0):
            for name, amounts in device.counters:
                for counter, amount in amounts:
                    key = ((id.driver, id.pool, name), counter)
                    self._counters[key] = self._counters.get(key, 0) + sign * amount

    def free(self, id: DeviceId, device: Device, counters: Mapping[tuple[CounterSet, str], int]) -> bool:
        """Could the device be given away once more, as far as whole devices and counters (what there is of each) go?"""
        if self._holders.get(id, 0):
            return device.shared
        return all(
            self._counters.get(((id.driver, id.pool, name), counter), 0) + amount
            <= counters.get(((id.driver, id.pool, name), counter), 0)
            for name, amounts in device.counters
            for counter, amount in amounts
        )

    def capacity_left(self, id: DeviceId, device: Device, wanted: Amounts) -> bool:
        """Is there so much left of each capacity?"""
        taken = self._capacity.get(id, {})
        there = {name: amount for name, amount, _ in device.capacity}
        return all(taken.get(name, 0) + amount <= there[name] for name, amount in wanted)


def devices_of(allocation: Allocation) -> Iterable[tuple[DeviceId, Amounts | None]]:
    """What an allocation takes; devices that are only looked at take nothing."""
    return ((given.id, given.consumed) for given in allocation.given if not given.admin)


def counters_of(slices: Iterable[Slice]) -> dict[tuple[CounterSet, str], int]:
    """What there is of each shared counter."""
    return {
        ((each.driver, each.pool, name), counter): amount
        for each in slices
        for name, amounts in each.counters
        for counter, amount in amounts
    }


def consumed_by(asked: Amounts, device: Device) -> Amounts | None:
    """What a request would take of each capacity of a device; None when the device cannot give it in that way.

    Without a request the default of its policy, else all; with one at least so much, rounded up as the policy says."""
    wanted = dict(asked)
    if not wanted.keys() <= {name for name, _, _ in device.capacity}:
        return None
    found: list[tuple[str, int]] = []
    for name, there, policy in device.capacity:
        amount = _rounded(wanted.get(name), there, policy)
        if amount > there or (policy is not None and not _allowed(amount, policy)):
            return None
        found.append((name, amount))
    return tuple(found)


def _rounded(wanted: int | None, there: int, policy: Policy | None) -> int:
    if wanted is None:
        return there if policy is None or policy.default is None else policy.default
    if policy is None:
        return wanted
    if policy.low is not None:
        if wanted <= policy.low or not policy.step:
            return max(wanted, policy.low)
        return policy.low - (policy.low - wanted) // policy.step * policy.step
    return min((value for value in policy.values if value >= wanted), default=wanted)


def _allowed(amount: int, policy: Policy) -> bool:
    if policy.default is not None and amount == policy.default:
        return True
    if policy.low is not None or policy.high is not None:
        if policy.high is not None and amount > policy.high:
            return False
        return not policy.step or (amount - (policy.low or 0)) % policy.step == 0
    return not policy.values or amount in policy.values

"""Which devices of a node meet the requests of claims: a search in a fixed order that takes the first way that works.

As kube-scheduler's structured allocator: requests one after the other, for each the first alternative that can be met, devices
in the order of their slices, going back where a constraint or a later request cannot be met. The search ends after so many
steps that no ordinary request comes near it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from vcray.core.claims_dra import (
    Amounts,
    Ask,
    Constraint,
    Device,
    DeviceClass,
    DeviceId,
    ResourceClaim,
    Slice,
)
from vcray.core.selectors import tolerates
from vcray.plugins.predicates.device_selectors import matches
from vcray.plugins.predicates.device_use import CounterSet, Use, consumed_by

STEPS: Final = 20_000
"""Devices that one search may try."""

ALTERNATIVES: Final = 8
"""How many alternatives a request may have."""


@dataclass(frozen=True, slots=True)
class Unit:
    """A device that a node reaches, with the slice that shows it."""

    id: DeviceId
    device: Device
    slice: Slice


@dataclass(frozen=True, slots=True)
class Chosen:
    """A device for a request; `consumed` is what it takes of one that is shared."""

    ask: Ask
    unit: Unit
    consumed: Amounts | None


@dataclass(slots=True)
class _Bound:
    """A constraint at work: the values of the devices chosen so far."""

    rule: Constraint
    values: list[tuple[str, object]] = field(default_factory=list)

    def concerns(self, ask: Ask) -> bool:
        names = self.rule.requests
        return not names or ask.name in names or ask.name.partition("/")[0] in names

    def accepts(self, device: Device) -> tuple[str, object] | None:
        """The device's value when it may join; None when it may not."""
        value = next(((kind, v) for name, kind, v in device.attributes if name == self.rule.attribute), None)
        if value is None or not self.values:
            return value
        if self.rule.distinct:
            return None if value in self.values else value
        return value if value == self.values[0] else None


class Search:
    """One search for the devices of some claims on one node."""

    def __init__(
        self,
        units: Sequence[Unit],
        classes: Mapping[str, DeviceClass],
        use: Use,
        counters: Mapping[tuple[CounterSet, str], int],
    ) -> None:
        self._units = units
        self._classes = classes
        self._use = use
        self._counters = counters
        self._steps = STEPS
        self._found: list[tuple[str, Chosen]] = []
        self._matching: dict[Ask, list[tuple[Unit, Amounts]]] = {}

    def run(self, claims: Sequence[ResourceClaim]) -> dict[str, tuple[Chosen, ...]] | None:
        """Devices by claim, None when there is no way. The use is as before."""
        wanted = [(claim, number) for claim in claims for number in range(len(claim.requests))]
        bounds = {claim.key: [_Bound(rule) for rule in claim.constraints] for claim in claims}
        if not self._solve(wanted, bounds, 0):
            return None
        found: dict[str, list[Chosen]] = {claim.key: [] for claim in claims}
        for key, chosen in self._found:
            found[key].append(chosen)
            if not chosen.ask.admin:
                self._use.put(chosen.unit.id, chosen.unit.device, chosen.consumed, -1)
        return {key: tuple(items) for key, items in found.items()}

    def _solve(
        self, wanted: Sequence[tuple[ResourceClaim, int]], bounds: Mapping[str, list[_Bound]], at: int
    ) -> bool:
        if at == len(wanted):
            return True
        claim, number = wanted[at]
        for ask in claim.requests[number].asks:
            units = self._of(ask)
            count = ask.count or len(units)
            if len(units) < count and not any(unit.device.shared for unit, _ in units):
                continue
            if not count:
                continue
            if self._choose(wanted, bounds, at, ask, 0, count):
                return True
        return False

    def _choose(
        self,
        wanted: Sequence[tuple[ResourceClaim, int]],
        bounds: Mapping[str, list[_Bound]],
        at: int,
        ask: Ask,
        start: int,
        left: int,
    ) -> bool:
        """Take `left` more devices for the ask, none before `start`, then go on with the next request."""
        if not left:
            return self._solve(wanted, bounds, at + 1)
        key = wanted[at][0].key
        units = self._of(ask)
        for number in range(start, start + 1 if not ask.count else len(units)):
            self._steps -= 1
            if self._steps < 0:
                return False
            unit, consumed = units[number]
            taken = self._take(key, ask, unit, consumed, bounds[key])
            if taken is None:
                continue
            again = unit.device.shared and ask.count
            if self._choose(wanted, bounds, at, ask, number if again else number + 1, left - 1):
                return True
            self._give_back(taken)
        return False

    def _take(
        self, key: str, ask: Ask, unit: Unit, consumed: Amounts, bounds: list[_Bound]
    ) -> list[_Bound] | None:
        if not ask.admin:
            if not self._use.free(unit.id, unit.device, self._counters):
                return None
            if unit.device.shared and not self._use.capacity_left(unit.id, unit.device, consumed):
                return None
        joined: list[tuple[_Bound, tuple[str, object]]] = []
        for bound in bounds:
            if bound.concerns(ask):
                value = bound.accepts(unit.device)
                if value is None:
                    return None
                joined.append((bound, value))
        for bound, value in joined:
            bound.values.append(value)
        chosen = Chosen(ask, unit, consumed if unit.device.shared and not ask.admin else None)
        if not ask.admin:
            self._use.put(unit.id, unit.device, chosen.consumed)
        self._found.append((key, chosen))
        return [bound for bound, _ in joined]

    def _give_back(self, joined: list[_Bound]) -> None:
        _, chosen = self._found.pop()
        for bound in joined:
            bound.values.pop()
        if not chosen.ask.admin:
            self._use.put(chosen.unit.id, chosen.unit.device, chosen.consumed, -1)

    def _of(self, ask: Ask) -> list[tuple[Unit, Amounts]]:
        """Devices that the ask could take, with what of their capacity, in order."""
        found = self._matching.get(ask)
        if found is None:
            found = self._matching[ask] = []
            for unit in self._units:
                consumed = consumed_by(ask.capacity, unit.device)
                if consumed is not None and self._suits(ask, unit):
                    found.append((unit, consumed))
        return found

    def _suits(self, ask: Ask, unit: Unit) -> bool:
        return suits(ask, self._classes[ask.device_class], unit)


def suits(ask: Ask, device_class: DeviceClass, unit: Unit) -> bool:
    """Is the device one of those that the ask means, free or not?"""
    for taint in unit.device.taints:
        repels = taint.effect in ("NoSchedule", "NoExecute")
        if repels and not any(tolerates(each, taint) for each in ask.tolerations):
            return False
    selectors = (*device_class.selectors, *ask.selectors)
    return all(matches(each, unit.id.driver, unit.device) for each in selectors)


def plain(claims: Sequence[ResourceClaim]) -> Ask | None:
    """The ask of claims that want some equal devices and nothing else: then counting free ones is enough."""
    if len(claims) != 1 or len(claims[0].requests) != 1 or claims[0].constraints:
        return None
    asks = claims[0].requests[0].asks
    return (
        asks[0] if len(asks) == 1 and asks[0].count and not asks[0].capacity and not asks[0].admin else None
    )


def enough(ask: Ask, device_class: DeviceClass, units: Sequence[Unit], use: Use) -> bool | None:
    """Are enough devices free for a plain ask? None where a device is not whole, so that counting does not tell."""
    left = ask.count
    for unit in units:
        device = unit.device
        if device.shared or device.counters:
            return None
        if left and use.free(unit.id, device, {}) and suits(ask, device_class, unit):
            left -= 1
    return not left


def worth_of(claims: Sequence[ResourceClaim], found: Mapping[str, Sequence[Chosen]]) -> int:
    """kube-scheduler's score of a way: for each request with alternatives 8 for the first, 7 for the second, and so on."""
    worth = 0
    for claim in claims:
        met = {chosen.ask for chosen in found.get(claim.key, ())}
        for request in claim.requests:
            if len(request.asks) > 1 or "/" in request.asks[0].name:
                worth += sum(ALTERNATIVES - place for place, ask in enumerate(request.asks) if ask in met)
    return worth

"""Dynamic resource allocation as placement sees it: ResourceClaims, DeviceClasses and the devices of ResourceSlices, by name.

Rules are those of `resource.k8s.io/v1` (the API reference, KEP-4381 and its followers). Quantities are thousandths. Names of
attributes are qualified: `domain/name`, with the driver's name as domain where the slice states none; those of capacities are
as the slice has them, since requests and results repeat them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple

import msgspec

from vcray.core.tables import NodeTerm, Taint, Toleration

MOST_USERS: Final = 256
"""Pods that may use one claim at once."""

Amounts = tuple[tuple[str, int], ...]


class Policy(msgspec.Struct, frozen=True, array_like=True):
    """How much of a capacity may be taken at once: `default` when the request does not say, `values` that are allowed, or
    from `low` to `high` in steps."""

    default: int | None = None
    values: tuple[int, ...] = ()
    low: int | None = None
    high: int | None = None
    step: int | None = None


class Device(msgspec.Struct, frozen=True, array_like=True):
    """A device of a slice. `attributes`: (qualified name, kind, value), kind one of int, bool, string, version; `capacity`:
    (name, amount, policy). `node`, `terms`, `everywhere`: where it is, if its slice leaves that to devices. `counters`:
    (counter set, what it takes of each counter). `shared`: may be given away several times, as far as its capacity goes.
    `conditions` must all come true of it before its pod is bound; one of `failures` and it never will be."""

    name: str
    attributes: tuple[tuple[str, str, int | bool | str], ...] = ()
    capacity: tuple[tuple[str, int, Policy | None], ...] = ()
    node: str = ""
    terms: tuple[NodeTerm, ...] | None = None
    everywhere: bool = False
    taints: tuple[Taint, ...] = ()
    counters: tuple[tuple[str, Amounts], ...] = ()
    shared: bool = False
    binds: bool = False
    selector: str = ""
    conditions: tuple[str, ...] = ()
    failures: tuple[str, ...] = ()


class Slice(msgspec.Struct, frozen=True, array_like=True):
    """A ResourceSlice. `count` slices make up its pool; those of older generations do not count. `selector`: the term of its
    node selector as JSON; `each`: devices say themselves where they are. `counters`: counter sets that devices share."""

    name: str
    driver: str
    pool: str
    generation: int = 0
    count: int = 1
    node: str = ""
    terms: tuple[NodeTerm, ...] | None = None
    selector: str = ""
    everywhere: bool = False
    each: bool = False
    devices: tuple[Device, ...] = ()
    counters: tuple[tuple[str, Amounts], ...] = ()


class DeviceClass(msgspec.Struct, frozen=True, array_like=True):
    """A DeviceClass: CEL selectors that must all hold; `config` is its configuration as JSON, a list."""

    name: str
    selectors: tuple[str, ...] = ()
    config: str = "[]"


class Ask(msgspec.Struct, frozen=True, array_like=True):
    """One way to meet a request: `count` devices of a class, 0 for all that match. `name` is `request` or
    `request/subrequest`; `admin` looks at devices without taking them; `tolerated` are the tolerations as JSON."""

    name: str
    device_class: str
    selectors: tuple[str, ...] = ()
    count: int = 1
    admin: bool = False
    tolerations: tuple[Toleration, ...] = ()
    tolerated: str = ""
    capacity: Amounts = ()


class Request(msgspec.Struct, frozen=True, array_like=True):
    """A request: the first of its asks that can be met."""

    name: str
    asks: tuple[Ask, ...]


class Constraint(msgspec.Struct, frozen=True, array_like=True):
    """Devices of these requests (all when empty) have one value of an attribute, or (`distinct`) each its own."""

    requests: tuple[str, ...]
    attribute: str
    distinct: bool = False


class Given(msgspec.Struct, frozen=True, array_like=True):
    """A device in an allocation; `consumed` is what of its capacity, for one that is shared."""

    driver: str
    pool: str
    device: str
    admin: bool = False
    consumed: Amounts | None = None

    @property
    def id(self) -> DeviceId:
        """The device."""
        return DeviceId(self.driver, self.pool, self.device)


class DeviceId(NamedTuple):
    """What tells devices of a cluster apart."""

    driver: str
    pool: str
    device: str


class Allocation(msgspec.Struct, frozen=True, array_like=True):
    """Devices of a claim and the nodes that reach them all, None for every node."""

    given: tuple[Given, ...]
    terms: tuple[NodeTerm, ...] | None = None


class ResourceClaim(msgspec.Struct, frozen=True, array_like=True):
    """A ResourceClaim. `users` are UIDs of what it is reserved for; `config` its configuration as JSON, a list."""

    key: str
    uid: str = ""
    deleting: bool = False
    requests: tuple[Request, ...] = ()
    constraints: tuple[Constraint, ...] = ()
    allocation: Allocation | None = None
    users: tuple[str, ...] = ()
    config: str = "[]"


@dataclass(frozen=True, slots=True)
class DeviceTable:
    """All of it, by name; slices in the order of driver, pool and name. `promised`: allocations that were decided and that
    the API server does not show yet."""

    claims: Mapping[str, ResourceClaim] = field(default_factory=dict)
    classes: Mapping[str, DeviceClass] = field(default_factory=dict)
    slices: tuple[Slice, ...] = ()
    promised: Mapping[str, Allocation] = field(default_factory=dict)
    using: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """UIDs of pods by claim whose use was decided and that the claim's status does not show yet."""


def demand(table: DeviceTable, claim: str) -> Amounts:
    """What a claim asks for, for quotas: `deviceclass/NAME` devices, and `DIM.deviceclass/NAME` of a capacity (thousandths).

    As Volcano counts: requests with alternatives or for all devices count nothing; a capacity counts once a device."""
    found = table.claims.get(claim)
    counts: dict[str, int] = {}
    for request in found.requests if found is not None else ():
        if len(request.asks) != 1 or "/" in request.asks[0].name or not request.asks[0].count:
            continue
        ask = request.asks[0]
        key = f"deviceclass/{ask.device_class}"
        counts[key] = counts.get(key, 0) + ask.count
        for dimension, amount in ask.capacity:
            counts[f"{dimension}.{key}"] = counts.get(f"{dimension}.{key}", 0) + amount * ask.count
    return tuple(sorted(counts.items()))

"""ResourceQuotas, for the gate of `resourcequota`: what a namespace may hold and holds, under the quota's own names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Bound:
    """One resource of a quota's status: `hard` and `used` in thousandths, and as the object spells them."""

    name: str
    hard: int
    used: int
    hard_spelled: str
    used_spelled: str


@dataclass(frozen=True, slots=True)
class Quota:
    """A ResourceQuota (namespace/name) as its status has it; bounds by name."""

    name: str
    bounds: tuple[Bound, ...]


@dataclass(frozen=True, slots=True)
class QuotaTable:
    """Quotas by namespace, each list by name."""

    by_namespace: Mapping[str, tuple[Quota, ...]]

"""What a snapshot holds beside its tables: things that only some clusters have, each for one plugin or two.

A table names nodes, pods and claims by name, never by row, so the order of rows never shows in it. None: the cluster has
nothing of the kind. `vcray.cache.details` fills them in, one module a table.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from vcray.core.budgets import BudgetTable
from vcray.core.cards import CardTable, Holder
from vcray.core.claims_dra import DeviceTable
from vcray.core.hypernodes import HyperNodeTable
from vcray.core.nodeshards import NodeShardTable
from vcray.core.numa import NumaTable, Pinned
from vcray.core.quotas import QuotaTable
from vcray.core.storage import Storage
from vcray.core.usage import Capacities, UsageTable


@dataclass(frozen=True, slots=True)
class Details:
    """One optional table a field."""

    hypernodes: HyperNodeTable | None = None
    storage: Storage | None = None
    claim_users: Mapping[str, int] | None = None
    """Pods on nodes by claim, of claims that only one pod may use."""
    devices: DeviceTable | None = None
    budgets: BudgetTable | None = None
    cards: CardTable | None = None
    holders: tuple[Holder, ...] | None = None
    numa: NumaTable | None = None
    pinned: tuple[Pinned, ...] | None = None
    quotas: QuotaTable | None = None
    capacities: Capacities | None = None
    shards: NodeShardTable | None = None
    usage: UsageTable | None = None
    """Put in by the coordinator, not by the cache."""


NO_DETAILS = Details()

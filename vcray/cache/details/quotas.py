"""ResourceQuotas, for the plugin `resourcequota`.

Limits and use are those of the object's status, as its controller counts them; a quota without a status bounds nothing yet.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec

from vcray.api.meta import JsonObject
from vcray.api.quantity import milli
from vcray.cache.details.source import Kept, Source
from vcray.cache.translate import section, text
from vcray.core.quotas import Bound, Quota, QuotaTable

if TYPE_CHECKING:
    from vcray.cache.state import State

KIND: Final = "ResourceQuota"


class QuotaRow(msgspec.Struct, frozen=True, array_like=True):
    """What is kept of a ResourceQuota: (resource, hard, used) as spelled, by resource."""

    namespace: str
    name: str
    bounds: tuple[tuple[str, str, str], ...]


def read_quota(data: JsonObject) -> QuotaRow:
    """The row of an object. Raises QuantityError."""
    metadata, status = section(data, "metadata"), section(data, "status")
    used = section(status, "used")
    bounds = []
    for name, hard in sorted(section(status, "hard").items()):
        if isinstance(hard, str | int | float):
            spent = used.get(name)
            spelled = str(spent) if isinstance(spent, str | int | float) else "0"
            milli(hard), milli(spelled)
            bounds.append((name, str(hard), spelled))
    return QuotaRow(text(metadata, "namespace"), text(metadata, "name"), tuple(bounds))


def build(state: State) -> QuotaTable | None:
    """All quotas that bound something; None when there are none."""
    rows = [row for row in state.knowledge.details.get(KIND, {}).values() if isinstance(row, QuotaRow)]
    found: dict[str, tuple[Quota, ...]] = {}
    for row in sorted(rows, key=lambda row: (row.namespace, row.name)):
        if row.bounds:
            bounds = tuple(
                Bound(name, milli(hard), milli(used), hard, used) for name, hard, used in row.bounds
            )
            quota = Quota(f"{row.namespace}/{row.name}", bounds)
            found[row.namespace] = (*found.get(row.namespace, ()), quota)
    return QuotaTable(found) if found else None


SOURCE: Final = Source("quotas", {KIND: Kept(QuotaRow, read_quota)}, build)

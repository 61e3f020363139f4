"""How close the pods of a PodGroup have to be: `spec.networkTopology` and `spec.subGroupPolicy` as rows of plain values."""

from __future__ import annotations

import msgspec

from vcray.api.meta import JsonObject
from vcray.api.wire import Selector
from vcray.cache.labels import requirements_of
from vcray.core.tables import Closeness, Requirement, SubGroupPolicy


def closeness_of(spec: JsonObject) -> Closeness | None:
    """The topology of a PodGroup's spec or of one of its policies; None when it has none."""
    given = spec.get("networkTopology")
    if not isinstance(given, dict):
        return None
    tier, name = given.get("highestTierAllowed"), given.get("highestTierName")
    return Closeness(
        soft=given.get("mode") == "soft",
        tier=tier if isinstance(tier, int) else None,
        tier_name=name if isinstance(name, str) else "",
    )


def subgroups_of(spec: JsonObject) -> tuple[SubGroupPolicy, ...]:
    """The policies in their order."""
    listed = spec.get("subGroupPolicy")
    items = [item for item in listed if isinstance(item, dict)] if isinstance(listed, list) else []
    return tuple(_policy(item) for item in items)


def _policy(item: JsonObject) -> SubGroupPolicy:
    name, keys = item.get("name"), item.get("matchLabelKeys")
    return SubGroupPolicy(
        name=name if isinstance(name, str) else "",
        requirements=_requirements(item),
        keys=tuple(key for key in keys if isinstance(key, str)) if isinstance(keys, list) else (),
        size=_number(item, "subGroupSize", 1),
        least=_number(item, "minSubGroups", 0),
        closeness=closeness_of(item),
    )


def _number(item: JsonObject, name: str, absent: int) -> int:
    value = item.get(name)
    return value if isinstance(value, int) else absent


def _requirements(item: JsonObject) -> tuple[Requirement, ...]:
    """No selector: every pod. One that cannot be read: no pod."""
    selector = item.get("labelSelector")
    if not isinstance(selector, dict):
        return ()
    try:
        return requirements_of(msgspec.convert(selector, Selector))
    except msgspec.ValidationError:
        return requirements_of(None)

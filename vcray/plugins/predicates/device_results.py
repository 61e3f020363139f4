"""What an allocation looks like in a claim's status."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from hashlib import blake2b
from typing import Any
from uuid import UUID

import msgspec

from vcray.api.quantity import format_milli
from vcray.core.claims_dra import DeviceClass, ResourceClaim
from vcray.core.tables import NodeTerm, Requirement
from vcray.plugins.predicates.device_choice import Chosen

Json = dict[str, Any]


def nodes_of(chosen: Sequence[Chosen], node: str) -> tuple[tuple[NodeTerm, ...] | None, Json | None]:
    """The nodes that reach all these devices, as terms and as a node selector; None for every node.

    One device of a single node confines all to it; others add what their slices demand."""
    only = (Requirement("metadata.name", "In", (node,), True),)
    selector: Json = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": [node]}]}
    requirements: dict[Requirement, None] = {}
    parts: dict[str, list[object]] = {}
    for each in chosen:
        device, owner = each.unit.device, each.unit.slice
        if device.binds or (device.node if owner.each else owner.node):
            return (NodeTerm(only),), {"nodeSelectorTerms": [selector]}
        terms, text = (device.terms, device.selector) if owner.each else (owner.terms, owner.selector)
        for term in terms or ():
            requirements.update(dict.fromkeys(term.requirements))
        for name, items in (msgspec.json.decode(text, type=Json) if text else {}).items():
            known = parts.setdefault(name, [])
            known += [item for item in items if item not in known]
    if not requirements:
        return None, None
    return (NodeTerm(tuple(requirements)),), {"nodeSelectorTerms": [parts]}


def written(
    claim: ResourceClaim,
    classes: Mapping[str, DeviceClass],
    chosen: Sequence[Chosen],
    selector: Json | None,
) -> str:
    """`status.allocation` as JSON: devices, the configuration of classes and claim that goes with them, and the nodes."""
    devices: Json = {"results": [_result(claim, each, place) for place, each in enumerate(chosen)]}
    config = [*_of_classes(classes, chosen), *_of_claim(claim, chosen)]
    if config:
        devices["config"] = config
    allocation: Json = {"devices": devices}
    if selector is not None:
        allocation["nodeSelector"] = selector
    return msgspec.json.encode(allocation).decode()


def _result(claim: ResourceClaim, each: Chosen, place: int) -> Json:
    id = each.unit.id
    found: Json = {"request": each.ask.name, "driver": id.driver, "pool": id.pool, "device": id.device}
    if each.ask.admin:
        found["adminAccess"] = True
    if each.ask.tolerated:
        found["tolerations"] = msgspec.json.decode(each.ask.tolerated)
    if each.unit.device.conditions:
        found["bindingConditions"] = list(each.unit.device.conditions)
        found["bindingFailureConditions"] = list(each.unit.device.failures)
    if each.consumed is not None:
        name = f"{claim.uid}/{each.ask.name}/{id.driver}/{id.pool}/{id.device}/{place}"
        found["shareID"] = str(UUID(bytes=blake2b(name.encode(), digest_size=16).digest()))
        found["consumedCapacity"] = {dim: format_milli(amount) for dim, amount in each.consumed}
    return found


def _of_classes(classes: Mapping[str, DeviceClass], chosen: Sequence[Chosen]) -> list[Json]:
    return [
        {**item, "source": "FromClass", "requests": [ask.name]}
        for ask in dict.fromkeys(each.ask for each in chosen)
        for item in msgspec.json.decode(classes[ask.device_class].config, type=list[Json])
    ]


def _of_claim(claim: ResourceClaim, chosen: Sequence[Chosen]) -> list[Json]:
    """Configuration of the claim for all requests, or for some that were met."""
    met = {name for each in chosen for name in (each.ask.name, each.ask.name.partition("/")[0])}
    found: list[Json] = []
    for item in msgspec.json.decode(claim.config, type=list[Json]):
        requests = item.get("requests") or []
        if not requests or met.intersection(requests):
            found.append({**item, "source": "FromClaim"})
    return found

"""ResourceClaims, DeviceClasses and ResourceSlices, as `core.claims_dra` wants them."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, TypeVar

import msgspec

from vcray.api.jsonview import dig, dig_int, dig_list, dig_object, dig_objects, dig_str
from vcray.api.meta import JsonObject, JsonValue
from vcray.api.quantity import thousandths
from vcray.api.wire_pod import NodeSelector
from vcray.cache.claims import owed
from vcray.cache.details.source import Kept, Source
from vcray.cache.podspec import node_term
from vcray.cache.promises import PROMISES
from vcray.core.claims_dra import (
    Allocation,
    Amounts,
    Ask,
    Constraint,
    Device,
    DeviceClass,
    DeviceTable,
    Given,
    Policy,
    Request,
    ResourceClaim,
    Slice,
)
from vcray.core.tables import NodeTerm, Taint, Toleration

if TYPE_CHECKING:
    from vcray.cache.knowledge import Knowledge
    from vcray.cache.state import State

T = TypeVar("T")


def _json(value: JsonValue) -> str:
    return msgspec.json.encode(value).decode()


def _quantity(value: JsonValue) -> int | None:
    return thousandths(value) if isinstance(value, str | int | float) else None


def _amounts(value: JsonObject, *path: str) -> Amounts:
    """A map of quantities; `path` leads from an entry to its quantity."""
    found = ((name, _quantity(dig(item, *path))) for name, item in value.items())
    return tuple(sorted((name, amount) for name, amount in found if amount is not None))


def _terms(selector: JsonValue) -> tuple[NodeTerm, ...] | None:
    if not isinstance(selector, dict):
        return None
    return tuple(node_term(term) for term in msgspec.convert(selector, NodeSelector).node_selector_terms)


def _selector(selector: JsonValue) -> str:
    return _json(dig(selector, "nodeSelectorTerms", 0)) if isinstance(selector, dict) else ""


def read_slice(data: JsonObject) -> Slice:
    """What is kept of a ResourceSlice. Raises QuantityError, msgspec.ValidationError."""
    spec = dig_object(data, "spec")
    driver = dig_str(spec, "driver")
    return Slice(
        name=dig_str(data, "metadata", "name"),
        driver=driver,
        pool=dig_str(spec, "pool", "name"),
        generation=dig_int(spec, "pool", "generation"),
        count=dig_int(spec, "pool", "resourceSliceCount", default=1),
        node=dig_str(spec, "nodeName"),
        terms=_terms(spec.get("nodeSelector")),
        selector=_selector(spec.get("nodeSelector")),
        everywhere=spec.get("allNodes") is True,
        each=spec.get("perDeviceNodeSelection") is True,
        devices=tuple(_device(item, driver) for item in dig_objects(spec, "devices")),
        counters=_counters(dig_objects(spec, "sharedCounters"), "name"),
    )


def _counters(items: list[JsonObject], name: str) -> tuple[tuple[str, Amounts], ...]:
    return tuple((dig_str(item, name), _amounts(dig_object(item, "counters"), "value")) for item in items)


def qualified(name: str, domain: str) -> str:
    """The name of an attribute with its domain."""
    return name if "/" in name else f"{domain}/{name}"


def _device(item: JsonObject, driver: str) -> Device:
    attributes: list[tuple[str, str, int | bool | str]] = []
    for name, entry in sorted(dig_object(item, "attributes").items()):
        for kind, value in entry.items() if isinstance(entry, dict) else ():
            if kind in ("int", "bool", "string", "version") and isinstance(value, int | bool | str):
                attributes.append((qualified(name, driver), kind, value))
    return Device(
        name=dig_str(item, "name"),
        attributes=tuple(attributes),
        capacity=tuple(
            (name, _quantity(dig(entry, "value")) or 0, _policy(dig(entry, "requestPolicy")))
            for name, entry in sorted(dig_object(item, "capacity").items())
        ),
        node=dig_str(item, "nodeName"),
        terms=_terms(item.get("nodeSelector")),
        everywhere=item.get("allNodes") is True,
        taints=tuple(
            Taint(dig_str(taint, "key"), dig_str(taint, "value"), dig_str(taint, "effect"))
            for taint in dig_objects(item, "taints")
        ),
        counters=_counters(dig_objects(item, "consumesCounters"), "counterSet"),
        shared=item.get("allowMultipleAllocations") is True,
        binds=item.get("bindsToNode") is True,
        selector=_selector(item.get("nodeSelector")),
        conditions=tuple(map(str, dig_list(item, "bindingConditions"))),
        failures=tuple(map(str, dig_list(item, "bindingFailureConditions"))),
    )


def _policy(value: JsonValue) -> Policy | None:
    if not isinstance(value, dict):
        return None
    values = (_quantity(item) for item in dig_list(value, "validValues"))
    return Policy(
        default=_quantity(value.get("default")),
        values=tuple(amount for amount in values if amount is not None),
        low=_quantity(dig(value, "validRange", "min")),
        high=_quantity(dig(value, "validRange", "max")),
        step=_quantity(dig(value, "validRange", "step")),
    )


def read_class(data: JsonObject) -> DeviceClass:
    """What is kept of a DeviceClass."""
    return DeviceClass(
        name=dig_str(data, "metadata", "name"),
        selectors=_expressions(dig_object(data, "spec")),
        config=_json(dig_list(data, "spec", "config")),
    )


def _expressions(value: JsonObject) -> tuple[str, ...]:
    return tuple(dig_str(item, "cel", "expression") for item in dig_objects(value, "selectors"))


def read_claim(data: JsonObject) -> ResourceClaim:
    """What is kept of a ResourceClaim. Raises QuantityError, msgspec.ValidationError."""
    devices, status = dig_object(data, "spec", "devices"), dig_object(data, "status")
    allocation = status.get("allocation")
    return ResourceClaim(
        key=f"{dig_str(data, 'metadata', 'namespace')}/{dig_str(data, 'metadata', 'name')}",
        uid=dig_str(data, "metadata", "uid"),
        deleting=bool(dig_str(data, "metadata", "deletionTimestamp")),
        requests=tuple(_request(item) for item in dig_objects(devices, "requests")),
        constraints=tuple(
            Constraint(
                requests=tuple(map(str, dig_list(item, "requests"))),
                attribute=dig_str(item, "matchAttribute") or dig_str(item, "distinctAttribute"),
                distinct="distinctAttribute" in item,
            )
            for item in dig_objects(devices, "constraints")
        ),
        allocation=read_allocation(allocation) if isinstance(allocation, dict) else None,
        users=tuple(dig_str(item, "uid") for item in dig_objects(status, "reservedFor")),
        config=_json(dig_list(devices, "config")),
    )


def _request(item: JsonObject) -> Request:
    name = dig_str(item, "name")
    exactly = item.get("exactly")
    if isinstance(exactly, dict):
        return Request(name, (_ask(name, exactly),))
    return Request(
        name,
        tuple(_ask(f"{name}/{dig_str(sub, 'name')}", sub) for sub in dig_objects(item, "firstAvailable")),
    )


def _ask(name: str, item: JsonObject) -> Ask:
    every = dig_str(item, "allocationMode") == "All"
    tolerations = dig_objects(item, "tolerations")
    return Ask(
        name=name,
        device_class=dig_str(item, "deviceClassName"),
        selectors=_expressions(item),
        count=0 if every else dig_int(item, "count", default=1) or 1,
        admin=item.get("adminAccess") is True,
        tolerations=tuple(
            Toleration(
                dig_str(each, "key"),
                dig_str(each, "operator") or "Equal",
                dig_str(each, "value"),
                dig_str(each, "effect"),
            )
            for each in tolerations
        ),
        tolerated=_json(list(tolerations)) if tolerations else "",
        capacity=_amounts(dig_object(item, "capacity", "requests")),
    )


def read_allocation(value: JsonObject) -> Allocation:
    """What is kept of an allocation. Raises QuantityError, msgspec.ValidationError."""
    given = tuple(
        Given(
            driver=dig_str(item, "driver"),
            pool=dig_str(item, "pool"),
            device=dig_str(item, "device"),
            admin=item.get("adminAccess") is True,
            consumed=_amounts(dig_object(item, "consumedCapacity")) if "shareID" in item else None,
        )
        for item in dig_objects(value, "devices", "results")
    )
    return Allocation(given, _terms(value.get("nodeSelector")))


def build(state: State) -> DeviceTable | None:
    """The table; None where there is no claim."""
    promised: dict[str, Allocation] = {}
    using: dict[str, tuple[str, ...]] = {}
    claims = state.knowledge.details.get("ResourceClaim", {})
    state.promises.keep(partial(owed, state.knowledge))
    for pod, before in state.promises:
        for key, uid, allocation in before.devices:
            row = claims.get(key)
            if isinstance(row, ResourceClaim) and row.uid == uid and pod not in row.users:
                using[key] = (*using.get(key, ()), pod)
            shown = not isinstance(row, ResourceClaim) or row.uid != uid or row.allocation is not None
            if allocation and not shown:
                promised[key] = read_allocation(msgspec.json.decode(allocation, type=dict[str, object]))
    return table(state.knowledge, promised, using)


def table(
    knowledge: Knowledge,
    promised: dict[str, Allocation],
    using: Mapping[str, tuple[str, ...]] = MappingProxyType({}),
) -> DeviceTable | None:
    """The table of what is known, with what was given away; all in name order."""
    claims = _rows(knowledge, "ResourceClaim", ResourceClaim)
    if not claims:
        return None
    slices = _rows(knowledge, "ResourceSlice", Slice).values()
    return DeviceTable(
        claims=dict(sorted(claims.items())),
        classes=dict(sorted(_rows(knowledge, "DeviceClass", DeviceClass).items())),
        slices=tuple(sorted(slices, key=lambda item: (item.driver, item.pool, item.name))),
        promised=dict(sorted(promised.items())),
        using={key: tuple(sorted(pods)) for key, pods in sorted(using.items())},
    )


def _rows(knowledge: Knowledge, kind: str, row: type[T]) -> dict[str, T]:
    kept = knowledge.details.get(kind, {})
    return {key: item for key, item in kept.items() if isinstance(item, row)}


SOURCE: Final = Source(
    field="devices",
    kinds={
        "ResourceClaim": Kept(ResourceClaim, read_claim),
        "ResourceSlice": Kept(Slice, read_slice),
        "DeviceClass": Kept(DeviceClass, read_class),
    },
    build=build,
    looks_at=(PROMISES,),
)

"""How lists and maps of an object merge: which lists are sets, which are keyed, which are replaced whole.

Written as the fragments of an OpenAPI schema that server-side apply and strategic merge read
(`x-kubernetes-list-type`, `x-kubernetes-list-map-keys`, `x-kubernetes-map-type`). Custom kinds bring theirs in their
CRD; for Kubernetes' kinds the keyed lists are named here. A list that nothing is said about is replaced whole, a map
is merged.
"""

from __future__ import annotations

from functools import cache

from vcray.api.crds import schema_for
from vcray.api.meta import JsonObject, JsonValue
from vcray.api.resources import (
    DAEMONSETS,
    DEPLOYMENTS,
    KUBERNETES_JOBS,
    NAMESPACES,
    NODES,
    PERSISTENTVOLUMECLAIMS,
    PODDISRUPTIONBUDGETS,
    PODS,
    REPLICASETS,
    REPLICATIONCONTROLLERS,
    SERVICEACCOUNTS,
    SERVICES,
    STATEFULSETS,
    Resource,
)


def keyed(*keys: str, **properties: JsonValue) -> JsonObject:
    """A list whose entries are told apart by `keys`."""
    return {
        "type": "array",
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": list(keys),
        "items": {"type": "object", "properties": dict(properties)},
    }


def one_of_each() -> JsonObject:
    """A list without repetitions."""
    return {"type": "array", "x-kubernetes-list-type": "set"}


def _object(**properties: JsonValue) -> JsonObject:
    return {"type": "object", "properties": dict(properties)}


METADATA = _object(finalizers=one_of_each(), ownerReferences=keyed("uid"))

_ATOMIC: JsonObject = {"type": "object", "x-kubernetes-map-type": "atomic"}


@cache
def pod_template() -> JsonObject:
    """Schema of a core/v1 pod template, the one that the Job CRD embeds."""
    schema: JsonValue = schema_for("Job")
    for step in ("properties", "spec", "properties", "tasks", "items", "properties", "template"):
        assert isinstance(schema, dict)
        schema = schema[step]
    assert isinstance(schema, dict)
    return schema


def pod_spec() -> JsonObject:
    """Schema of a core/v1 pod spec."""
    properties = pod_template()["properties"]
    assert isinstance(properties, dict)
    spec = properties["spec"]
    assert isinstance(spec, dict)
    return spec


def _workload(**spec: JsonValue) -> JsonObject:
    return _object(
        spec=_object(selector=_ATOMIC, template=pod_template(), **spec),
        status=_object(conditions=keyed("type")),
    )


def _sections(resource: Resource) -> JsonObject:
    with_conditions = _object(conditions=keyed("type"))
    match resource:
        case _ if resource == PODS:
            status = _object(
                conditions=keyed("type"),
                podIPs=keyed("ip"),
                hostIPs=one_of_each(),
                resourceClaimStatuses=keyed("name"),
            )
            return _object(spec=pod_spec(), status=status)
        case _ if resource == NODES:
            spec = _object(podCIDRs=one_of_each())
            return _object(spec=spec, status=_object(conditions=keyed("type"), addresses=keyed("type")))
        case _ if resource == SERVICES:
            return _object(
                spec=_object(ports=keyed("port", "protocol"), selector=_ATOMIC), status=with_conditions
            )
        case _ if resource in (DEPLOYMENTS, REPLICASETS, STATEFULSETS, DAEMONSETS, REPLICATIONCONTROLLERS):
            return _workload()
        case _ if resource == KUBERNETES_JOBS:
            return _workload(podFailurePolicy=_object())
        case _ if resource in (NAMESPACES, PERSISTENTVOLUMECLAIMS, PODDISRUPTIONBUDGETS):
            return _object(status=with_conditions)
        case _ if resource == SERVICEACCOUNTS:
            return _object(secrets=keyed("name"))
    return _object()


def structure_of(resource: Resource, schema: JsonObject | None = None) -> JsonObject:
    """The merge structure of a kind; for a custom kind that of its `schema`, with the metadata every object has."""
    shape = dict(schema) if schema is not None else _sections(resource)
    properties = shape.get("properties")
    shape["properties"] = {**(properties if isinstance(properties, dict) else {}), "metadata": METADATA}
    return shape

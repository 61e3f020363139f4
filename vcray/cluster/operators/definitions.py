"""CustomResourceDefinitions of other operators' kinds, as small as they can be: the fields with defaults that pods follow from, all
else is kept as it was sent. A cluster that has the real operators has the real definitions; these are for those that have none."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from vcray.api import crds
from vcray.api.meta import JsonObject
from vcray.api.resources import (
    DASKWORKERGROUPS,
    JAXJOBS,
    JOBSETS,
    LEADERWORKERSETS,
    MPIJOBS,
    MPIJOBS_V1,
    OPERATORS_RESOURCES,
    PADDLEJOBS,
    PYTORCHJOBS,
    RAYCLUSTERS,
    RAYJOBS,
    RAYSERVICES,
    TFJOBS,
    TRAINJOBS,
    XGBOOSTJOBS,
    Resource,
)
from vcray.cluster.definitions.validation import APPROVAL, is_protected

REPLICA_SPECS: Final[Mapping[Resource, tuple[str, tuple[str, ...]]]] = {
    PYTORCHJOBS: ("pytorchReplicaSpecs", ("Master", "Worker")),
    TFJOBS: ("tfReplicaSpecs", ("PS", "Worker", "Chief", "Master", "Evaluator")),
    XGBOOSTJOBS: ("xgbReplicaSpecs", ("Master", "Worker")),
    PADDLEJOBS: ("paddleReplicaSpecs", ("Master", "Worker")),
    JAXJOBS: ("jaxReplicaSpecs", ("Worker",)),
    MPIJOBS_V1: ("mpiReplicaSpecs", ("Launcher", "Worker")),
}
"""Kinds of the training-operator: the field of their replicas, and its types."""

_SCALES: Final[Mapping[Resource, tuple[str, str]]] = {
    **{
        resource: (f".spec.{field}.Worker.replicas", ".status.replicaStatuses.Worker.active")
        for resource, (field, _) in REPLICA_SPECS.items()
    },
    LEADERWORKERSETS: (".spec.replicas", ".status.replicas"),
    DASKWORKERGROUPS: (".spec.worker.replicas", ".status.replicas"),
}


def defined(resources: Iterable[Resource]) -> tuple[Resource, ...]:
    """Those of these kinds that one cluster can have, each once. The training-operator's MPIJob and the mpi-operator's bear one
    name: of the two it has the latter."""
    found = dict.fromkeys(resources)
    return tuple(each for each in found if each != MPIJOBS_V1 or MPIJOBS not in found)


def definitions(resources: Iterable[Resource] = OPERATORS_RESOURCES) -> list[JsonObject]:
    """The definitions of these kinds, as far as one cluster can have them."""
    return [definition(each) for each in defined(resources)]


def definition(resource: Resource) -> JsonObject:
    """The definition of a kind, a fresh object."""
    approved: JsonObject = {APPROVAL: "https://github.com/kubernetes/enhancements/pull/1111"}
    annotations = approved if is_protected(resource.group) else {}
    return crds.definition(resource, _version(resource), annotations)


def _version(resource: Resource) -> JsonObject:
    subresources: JsonObject = {}
    if "status" in resource.subresources:
        subresources["status"] = {}
    if resource in _SCALES:
        wanted, present = _SCALES[resource]
        subresources["scale"] = {"specReplicasPath": wanted, "statusReplicasPath": present}
    spec = _open(_SPECS.get(resource, {}))
    schema: JsonObject = {"type": "object", "properties": {"spec": spec, "status": _open({})}}
    version: JsonObject = {
        "name": resource.version,
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": schema},
    }
    return {**version, "subresources": subresources} if subresources else version


def _open(properties: JsonObject) -> JsonObject:
    """An object with some known fields; any others are kept."""
    known: JsonObject = {"properties": properties} if properties else {}
    return {"type": "object", "x-kubernetes-preserve-unknown-fields": True, **known}


def _number(default: int | None = None) -> JsonObject:
    number: JsonObject = {"type": "integer", "format": "int32"}
    return number if default is None else {**number, "default": default}


def _list(item: JsonObject) -> JsonObject:
    return {"type": "array", "items": item}


def _map(names: tuple[str, ...], item: JsonObject) -> JsonObject:
    return _open(dict.fromkeys(names, item))


_TRUTH: Final[JsonObject] = {"type": "boolean"}
_TEXT: Final[JsonObject] = {"type": "string"}
_RAY_GROUP: Final[JsonObject] = {
    "groupName": _TEXT,
    "replicas": _number(0),
    "minReplicas": _number(0),
    "maxReplicas": _number(2**31 - 1),
    "numOfHosts": _number(1),
    "suspend": _TRUTH,
}
_RAY_CLUSTER: Final[JsonObject] = {
    "suspend": _TRUTH,
    "enableInTreeAutoscaling": _TRUTH,
    "workerGroupSpecs": _list(_open(_RAY_GROUP)),
}
_REPLICAS: Final[JsonObject] = _open({"replicas": _number()})
_RUN_POLICY: Final[JsonObject] = _open({"suspend": {**_TRUTH, "default": False}})


def _training(resource: Resource) -> JsonObject:
    field, types = REPLICA_SPECS[resource]
    return {field: _map(types, _REPLICAS), "runPolicy": _RUN_POLICY}


_SPECS: Final[Mapping[Resource, JsonObject]] = {
    RAYCLUSTERS: _RAY_CLUSTER,
    RAYJOBS: {
        "rayClusterSpec": _open(_RAY_CLUSTER),
        "submissionMode": {**_TEXT, "default": "K8sJobMode"},
        "suspend": _TRUTH,
        "shutdownAfterJobFinishes": _TRUTH,
        "ttlSecondsAfterFinished": _number(0),
        "backoffLimit": _number(0),
    },
    RAYSERVICES: {"rayClusterConfig": _open(_RAY_CLUSTER)},
    **{resource: _training(resource) for resource in REPLICA_SPECS},
    MPIJOBS: {
        "mpiReplicaSpecs": _map(("Launcher", "Worker"), _REPLICAS),
        "launcherCreationPolicy": {**_TEXT, "default": "AtStartup"},
        "runPolicy": _RUN_POLICY,
    },
    TRAINJOBS: {
        "suspend": {**_TRUTH, "default": False},
        "managedBy": {**_TEXT, "default": "trainer.kubeflow.org/trainjob-controller"},
    },
    JOBSETS: {
        "suspend": _TRUTH,
        "replicatedJobs": _list(_open({"name": _TEXT, "replicas": _number(1)})),
        "startupPolicy": _open({"startupPolicyOrder": {**_TEXT, "default": "AnyOrder"}}),
    },
    LEADERWORKERSETS: {
        "replicas": _number(1),
        "leaderWorkerTemplate": _open({"size": _number(1)}),
        "startupPolicy": {**_TEXT, "default": "LeaderCreated"},
    },
}

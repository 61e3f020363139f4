"""Builds the objects of goldens.yaml."""

from __future__ import annotations

from pathlib import Path

import yaml

from vcray.api.resources import MPIJOBS, Resource
from vcray.cluster.operators.definitions import REPLICA_SPECS

ROWS = yaml.safe_load((Path(__file__).parent / "goldens.yaml").read_text(encoding="utf-8"))
CONTAINERS = {"PyTorchJob": "pytorch", "TFJob": "tensorflow", "XGBoostJob": "xgboost", "PaddleJob": "paddle"}


def resource_of(row: dict) -> Resource:
    """Of MPIJobs, v2beta1 unless the row says v1."""
    if row["kind"] == "MPIJob" and row.get("version") != "v1":
        return MPIJOBS
    return next(each for each in REPLICA_SPECS if each.kind == row["kind"])


def replica_spec(role: dict, container: str) -> dict:
    """One replica type."""
    resources = {side: role[side] for side in ("requests", "limits") if side in role}
    pod = {"containers": [{"name": container, "image": "t", "resources": resources}]}
    count = {"replicas": role["n"]} if "n" in role else {}
    return {**count, **role.get("spec", {}), "template": {"spec": pod}}


def golden(row: dict, name: str = "j", **policy: object) -> dict:
    """The row's object, in namespace default; `policy` is more of its runPolicy."""
    resource = resource_of(row)
    field = REPLICA_SPECS[resource][0] if resource in REPLICA_SPECS else "mpiReplicaSpecs"
    container = CONTAINERS.get(row["kind"], "jax")
    roles = {kind: replica_spec(role, container) for kind, role in row["roles"].items()}
    run_policy = {"schedulingPolicy": row.get("scheduling", {}), **policy}
    return {
        "apiVersion": resource.api_version,
        "kind": resource.kind,
        "metadata": {"name": name, "namespace": "default", "labels": {"volcano.sh/queue-name": "q"}},
        "spec": {**row.get("spec", {}), "runPolicy": run_policy, field: roles},
    }

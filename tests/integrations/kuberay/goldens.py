"""Builds the objects of goldens.yaml, and compares ResourceLists by value."""

from __future__ import annotations

from pathlib import Path

import yaml

from vcray.api.quantity import parse_quantity
from vcray.api.resources import RAYCLUSTERS, RAYJOBS, RAYSERVICES

ROWS = yaml.safe_load((Path(__file__).parent / "goldens.yaml").read_text(encoding="utf-8"))
RESOURCES = {each.kind: each for each in (RAYCLUSTERS, RAYJOBS, RAYSERVICES)}
FIELD = {"RayJob": "rayClusterSpec", "RayService": "rayClusterConfig"}


def by_case(wanted: str) -> dict:
    """The row of that case."""
    return next(row for row in ROWS if row["case"] == wanted)


def template(requests: dict | None = None, **more: dict) -> dict:
    """A pod template of one container."""
    resources = {"requests": requests or {}, "limits": more.pop("limits", {})}
    return {"spec": {"containers": [{"name": "ray", "image": "ray", "resources": resources}], **more}}


def cluster_spec(row: dict) -> dict:
    """spec of the row's RayCluster."""
    groups = [dict(each) for each in row.get("groups", ())]
    for index, group in enumerate(groups):
        more = {}
        if "init" in group:
            init = {"name": "init", "image": "ray", "resources": {"requests": group.pop("init")}}
            more = {"initContainers": [init], "overhead": group.pop("overhead")}
        group["template"] = template(group.pop("requests"), **more)
        group["groupName"] = f"g{index}"
    head = template(row.get("head"), limits=row.get("head_limits", {}))
    return {**row.get("cluster", {}), "headGroupSpec": {"template": head}, "workerGroupSpecs": groups}


def golden(row: dict) -> dict:
    """The row's object, called r."""
    kind = row.get("kind", "RayCluster")
    spec = cluster_spec(row)
    metadata = {
        "name": "r",
        "namespace": "default",
        "uid": "u",
        "labels": row.get("labels", {}),
        "annotations": row.get("annotations", {}),
    }
    whole = spec if kind == "RayCluster" else {**row.get("spec", {}), FIELD[kind]: spec}
    return {
        "apiVersion": RESOURCES[kind].api_version,
        "kind": kind,
        "metadata": metadata,
        "spec": whole,
    }


def amounts(resources: dict, zeros: bool = True) -> dict[str, int]:
    """A ResourceList in nano-units."""
    found = {name: parse_quantity(amount) for name, amount in resources.items()}
    return {name: amount for name, amount in found.items() if zeros or amount}

"""The plugin `kubernetes.io/host-path`: volumes that are made for claims, and what becomes of volumes that nobody wants.

It is the one plugin of kube-controller-manager that needs no cloud (`--enable-hostpath-provisioner`), meant for trying things
out. Here not even a folder is made: what simulated pods write lives in their nodes' memory. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from vcray.api.jsonview import dig, dig_list, dig_str
from vcray.api.meta import JsonObject, JsonValue
from vcray.api.names import BOUND_BY_CONTROLLER, SELECTED_NODE
from vcray.cluster.storageclasses import class_of

HOST_PATH = "kubernetes.io/host-path"
IN_TREE = "kubernetes.io/"
PROVISIONED_BY = "pv.kubernetes.io/provisioned-by"
DELETION_FINALIZER = "kubernetes.io/pv-controller"
"""Keeps a volume until what it stands for has been deleted."""
DEFAULT_NAME = "standard"
_MODES: tuple[JsonValue, ...] = ("ReadWriteOnce",)
_DELETABLE = re.compile(r"/tmp/.+")


def default_storage_class() -> JsonObject:
    """The class that claims get which name none."""
    metadata: JsonObject = {
        "name": DEFAULT_NAME,
        "annotations": {"storageclass.kubernetes.io/is-default-class": "true"},
    }
    return {"metadata": metadata, "provisioner": HOST_PATH, "volumeBindingMode": "Immediate"}


def volume_name(claim: JsonObject) -> str:
    """The name of the volume that is made for a claim."""
    return f"pvc-{dig_str(claim, 'metadata', 'uid')}"


def refusal(claim: JsonObject, storage_class: JsonObject, nodes: Iterable[str]) -> str:
    """Why no volume can be made for the claim; empty if one can."""
    name = dig_str(storage_class, "metadata", "name")
    if dig(claim, "spec", "dataSource") is not None:
        return f'plugin "{HOST_PATH}" is not a CSI plugin. Only CSI plugin can provision a claim with a datasource'
    options = dig_list(storage_class, "mountOptions")
    if options:
        listed = " ".join(str(each) for each in options)
        return (
            f'Mount options are not supported by the provisioner but StorageClass "{name}" '
            f"has mount options [{listed}]"
        )
    node = selected_node(claim)
    if node and node not in nodes:
        return f'Failed to get target node: node "{node}" not found'
    if dig_str(claim, "spec", "volumeMode") == "Block":
        why = f"{HOST_PATH} does not support block volume provisioning"
        return f'Failed to provision volume with StorageClass "{name}": {why}'
    return ""


def selected_node(claim: JsonObject) -> str:
    """The node that a scheduler has chosen for the claim; empty if none has."""
    return dig_str(claim, "metadata", "annotations", SELECTED_NODE)


def made_volume(claim: JsonObject, storage_class: JsonObject, reference: JsonObject) -> JsonObject:
    """The volume for a claim; `reference` is its claimRef."""
    policy = dig_str(storage_class, "reclaimPolicy") or "Delete"
    metadata: JsonObject = {
        "name": volume_name(claim),
        "annotations": {
            "kubernetes.io/createdby": "hostpath-dynamic-provisioner",
            BOUND_BY_CONTROLLER: "yes",
            PROVISIONED_BY: HOST_PATH,
        },
    }
    if policy == "Delete":
        metadata["finalizers"] = [DELETION_FINALIZER]
    spec: JsonObject = {
        "persistentVolumeReclaimPolicy": policy,
        "accessModes": dig_list(claim, "spec", "accessModes") or [*_MODES],
        "capacity": {"storage": dig(claim, "spec", "resources", "requests", "storage")},
        "hostPath": {"path": f"/tmp/hostpath_pv/{dig_str(claim, 'metadata', 'uid')}"},
        "storageClassName": class_of(claim),
        "claimRef": reference,
    }
    return {"metadata": metadata, "spec": spec}


def deletion_problem(volume: JsonObject) -> str | None:
    """What stands against deleting a released volume: nothing (empty), a failure, or None: another provisioner does it."""
    name, maker = (
        dig_str(volume, "metadata", "name"),
        dig_str(volume, "metadata", "annotations", PROVISIONED_BY),
    )
    if maker and maker != HOST_PATH:
        return f"no volume plugin matched name: {maker}" if maker.startswith(IN_TREE) else None
    if dig(volume, "spec", "csi") is not None:
        return None
    if dig(volume, "spec", "hostPath") is None:
        return f'error getting deleter volume plugin for volume "{name}": no deletable volume plugin matched'
    path = dig_str(volume, "spec", "hostPath", "path")
    if not _DELETABLE.match(path):
        return f"host_path deleter only supports /tmp/.+ but received provided {path}"
    return ""

"""The cells of volumes, claims, classes and drivers."""

from __future__ import annotations

from vcray.api.jsonview import dig, dig_list, dig_object, dig_objects, dig_str
from vcray.api.meta import JsonObject, JsonValue
from vcray.cluster.storageclasses import class_of, is_default
from vcray.cluster.tables.cells import NONE, UNSET, Cells, Printer, age, columns, name, printer

_MODES = (
    ("ReadWriteOnce", "RWO"),
    ("ReadOnlyMany", "ROX"),
    ("ReadWriteMany", "RWX"),
    ("ReadWriteOncePod", "RWOP"),
)


def _modes(value: JsonValue) -> str:
    found = value if isinstance(value, list) else []
    return ",".join(short for mode, short in _MODES if mode in found)


def _phase(obj: JsonObject) -> str:
    deleted = dig(obj, "metadata", "deletionTimestamp")
    return "Terminating" if deleted else dig_str(obj, "status", "phase")


def _or_unset(value: JsonValue) -> str:
    return UNSET if value is None else str(value)


def _volume(obj: JsonObject, now: float) -> Cells:
    claim = dig_object(obj, "spec", "claimRef")
    return [
        dig_str(obj, "spec", "capacity", "storage") or "0",
        _modes(dig(obj, "spec", "accessModes")),
        dig_str(obj, "spec", "persistentVolumeReclaimPolicy"),
        _phase(obj),
        f"{dig_str(claim, 'namespace')}/{dig_str(claim, 'name')}" if claim else "",
        class_of(obj),
        _or_unset(dig(obj, "spec", "volumeAttributesClassName")),
        dig_str(obj, "status", "reason"),
        age(obj, now),
        _or_unset(dig(obj, "spec", "volumeMode")),
    ]


def _claim(obj: JsonObject, now: float) -> Cells:
    volume = dig_str(obj, "spec", "volumeName")
    return [
        _phase(obj),
        volume,
        (dig_str(obj, "status", "capacity", "storage") or "0") if volume else "",
        _modes(dig(obj, "status", "accessModes")) if volume else "",
        class_of(obj),
        _or_unset(dig(obj, "spec", "volumeAttributesClassName")),
        age(obj, now),
        _or_unset(dig(obj, "spec", "volumeMode")),
    ]


def _storage_class(obj: JsonObject, now: float) -> Cells:
    return [
        name(obj) + (" (default)" if is_default(obj) else ""),
        dig_str(obj, "provisioner"),
        dig_str(obj, "reclaimPolicy") or "Delete",
        dig_str(obj, "volumeBindingMode") or "Immediate",
        bool(obj.get("allowVolumeExpansion")),
        age(obj, now),
    ]


def _attributes_class(obj: JsonObject, now: float) -> Cells:
    return [dig_str(obj, "driverName"), age(obj, now)]


def _attachment(obj: JsonObject, now: float) -> Cells:
    return [
        dig_str(obj, "spec", "attacher"),
        dig_str(obj, "spec", "source", "persistentVolumeName"),
        dig_str(obj, "spec", "nodeName"),
        bool(dig(obj, "status", "attached")),
        age(obj, now),
    ]


def _csi_node(obj: JsonObject, now: float) -> Cells:
    return [len(dig_objects(obj, "spec", "drivers")), age(obj, now)]


def _csi_driver(obj: JsonObject, now: float) -> Cells:
    spec = dig_object(obj, "spec")
    tokens = spec.get("tokenRequests")
    audiences = ",".join(dig_str(each, "audience") for each in dig_objects(spec, "tokenRequests"))
    return [
        bool(spec.get("attachRequired", True)),
        bool(spec.get("podInfoOnMount")),
        bool(spec.get("storageCapacity")),
        UNSET if tokens is None else audiences,
        bool(spec.get("requiresRepublish")),
        ",".join(str(mode) for mode in dig_list(spec, "volumeLifecycleModes")) or NONE,
        age(obj, now),
    ]


_GROUP = "storage.k8s.io"
PRINTERS: dict[str, Printer] = {
    "persistentvolumes": printer(
        "Capacity|Access Modes|Reclaim Policy|Status|Claim|StorageClass|VolumeAttributesClass|Reason|Age|VolumeMode+",
        _volume,
    ),
    "persistentvolumeclaims": printer(
        "Status|Volume|Capacity|Access Modes|StorageClass|VolumeAttributesClass|Age|VolumeMode+", _claim
    ),
    f"storageclasses.{_GROUP}": Printer(
        columns("Name|Provisioner|ReclaimPolicy|VolumeBindingMode|AllowVolumeExpansion|Age"), _storage_class
    ),
    f"volumeattributesclasses.{_GROUP}": printer("DriverName|Age", _attributes_class),
    f"volumeattachments.{_GROUP}": printer("Attacher|PV|Node|Attached:boolean|Age", _attachment),
    f"csinodes.{_GROUP}": printer("Drivers:integer|Age", _csi_node),
    f"csidrivers.{_GROUP}": printer(
        "AttachRequired:boolean|PodInfoOnMount:boolean|StorageCapacity:boolean|TokenRequests|"
        "RequiresRepublish:boolean|Modes|Age",
        _csi_driver,
    ),
}

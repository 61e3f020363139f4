"""Object -> row for the kinds that are not spread over shards: PodGroups, queues, classes, owners of pods.

They are few and come as JSON: their schemas are CRDs, and a read of ten fields needs no model.
"""

from __future__ import annotations

from typing import Final

import msgspec

from vcray.api import names
from vcray.api.jsonview import dig_list, dig_objects
from vcray.api.meta import JsonObject, JsonValue
from vcray.api.minimum import min_member
from vcray.api.podresources import thousandths_per_unit
from vcray.api.quantity import milli
from vcray.api.wire import PersistentVolumeClaim, PriorityClass, Selector, to_claim, to_priority_class
from vcray.cache import details, groups
from vcray.cache.amounts import Amounts
from vcray.cache.grouptopology import closeness_of, subgroups_of
from vcray.cache.labels import NOTHING, equal_to, labels_of, notes_of, requirements_of
from vcray.cache.rows import (
    ClusterRow,
    DetailRow,
    GroupRow,
    NamespaceRow,
    QueueRow,
    WorkloadRow,
)
from vcray.cache.store import KubeObject
from vcray.cache.translate import (
    amounts_of,
    claim_row,
    number,
    priority_class_row,
    seconds,
    section,
    text,
    text_map,
)
from vcray.core.storage import StorageClassRow
from vcray.core.tables import (
    PHASE_NAMES,
    QUEUE_STATE_NAMES,
    Condition,
    GroupStatus,
    Phase,
    QueueAffinity,
    QueueState,
)

OWNERS: Final = ("ReplicaSet", "ReplicationController", "StatefulSet")
"""Controllers whose selector gives their pods the cluster's default spread constraints, as Services do."""

_REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED: Final = "preferredDuringSchedulingIgnoredDuringExecution"

CLUSTER_KINDS: Final = (
    "PodGroup",
    "Queue",
    "PersistentVolumeClaim",
    "StorageClass",
    "PriorityClass",
    "Namespace",
    "Service",
    *OWNERS,
    *details.KINDS,
)
"""Kinds that are kept whole, beside the shards."""


def key_of(value: KubeObject) -> str:
    """`namespace/name`, or the name of a cluster-scoped object."""
    if not isinstance(value, dict):
        return value.metadata.key
    metadata = section(value, "metadata")
    namespace, name = text(metadata, "namespace"), text(metadata, "name")
    return f"{namespace}/{name}" if namespace else name


def resource_version_of(value: KubeObject) -> str:
    """metadata.resourceVersion, empty when there is none."""
    if not isinstance(value, dict):
        return value.metadata.resource_version
    return text(section(value, "metadata"), "resourceVersion")


def cluster_row(kind: str, value: KubeObject) -> ClusterRow:
    """The row of an object of one of `CLUSTER_KINDS`. Raises QuantityError, ValueError, msgspec.ValidationError."""
    match kind:
        case "PersistentVolumeClaim":
            return claim_row(value if isinstance(value, PersistentVolumeClaim) else to_claim(_json(value)))
        case "PriorityClass":
            return priority_class_row(
                value if isinstance(value, PriorityClass) else to_priority_class(_json(value))
            )
    data = _json(value)
    if kind in details.KINDS:
        return DetailRow(kind, key_of(data), details.pack_row(kind, data))
    metadata = section(data, "metadata")
    match kind:
        case "PodGroup":
            return _group_row(data)
        case "Queue":
            return _queue_row(data)
        case "StorageClass":
            return _storage_class_row(data)
        case "Namespace":
            return NamespaceRow(text(metadata, "name"), labels_of(text_map(metadata.get("labels"))))
        case "Service" | "ReplicationController":
            selector = text_map(section(data, "spec").get("selector"))
            return WorkloadRow(f"{kind}/{key_of(data)}", equal_to(selector))
        case "ReplicaSet" | "StatefulSet":
            found = section(data, "spec").get("selector")
            requirements = requirements_of(msgspec.convert(found, Selector) if found else None)
            return WorkloadRow(f"{kind}/{key_of(data)}", () if requirements == NOTHING else requirements)
    raise ValueError(f"the cache keeps no {kind}")


def _json(value: KubeObject) -> JsonObject:
    if isinstance(value, dict):
        return value
    raise ValueError(f"{type(value).__name__} came where plain JSON was expected")


def _group_row(data: JsonObject) -> GroupRow:
    metadata, spec = section(data, "metadata"), section(data, "spec")
    members = section(spec, "minTaskMember")
    resources = spec.get("minResources")
    notes, labels = text_map(metadata.get("annotations")), text_map(metadata.get("labels"))
    released = bool(notes.get(names.RELEASED))
    if released:
        members, resources = {}, None
    if notes.get(names.UNCLAIMED) and text(section(data, "status"), "phase") == "Inqueue":
        resources = None
    return GroupRow(
        key=key_of(data),
        uid=text(metadata, "uid"),
        resource_version=text(metadata, "resourceVersion"),
        queue=text(spec, "queue", names.DEFAULT_QUEUE),
        min_available=0 if released else min_member(data),
        priority_class=text(spec, "priorityClassName"),
        created=seconds(text(metadata, "creationTimestamp")),
        preemptable=groups.preemptable_of(notes, labels, absent=False),
        min_resources=amounts_of(resources) if isinstance(resources, dict) else None,
        role_minimum=tuple(sorted((role, number(members, role)) for role in members)),
        status=_group_status(section(data, "status")),
        notes=notes_of(names.GROUP_NOTES, notes, labels),
        closeness=closeness_of(spec),
        subgroups=subgroups_of(spec),
        quota_minimum=quota_amounts(resources),
        released=released,
    )


def _storage_class_row(data: JsonObject) -> StorageClassRow:
    topologies = tuple(
        tuple(
            (text(item, "key"), tuple(sorted(str(value) for value in dig_list(item, "values"))))
            for item in dig_objects(term, "matchLabelExpressions")
        )
        for term in dig_objects(data, "allowedTopologies")
    )
    return StorageClassRow(
        name=text(section(data, "metadata"), "name"),
        waits=text(data, "volumeBindingMode") == "WaitForFirstConsumer",
        provisioner=text(data, "provisioner"),
        topologies=topologies,
        driver=text(section(data, "parameters"), names.CSI_DRIVER_PARAMETER),
    )


def quota_amounts(resources: JsonValue) -> Amounts:
    """What a ResourceList names that only quotas know, in thousandths. Raises QuantityError."""
    if not isinstance(resources, dict):
        return ()
    return tuple(
        sorted(
            (name, milli(item))
            for name, item in resources.items()
            if isinstance(item, str | int | float) and not thousandths_per_unit(name)
        )
    )


def _group_status(status: JsonObject) -> GroupStatus:
    phase, listed = text(status, "phase"), status.get("conditions")
    conditions = [item for item in listed if isinstance(item, dict)] if isinstance(listed, list) else []
    return GroupStatus(
        phase=Phase(PHASE_NAMES.index(phase)) if phase in PHASE_NAMES else Phase.EMPTY,
        running=number(status, "running"),
        succeeded=number(status, "succeeded"),
        failed=number(status, "failed"),
        conditions=tuple(
            Condition(
                type=text(item, "type"),
                status=text(item, "status"),
                reason=text(item, "reason"),
                message=text(item, "message"),
                transition=text(item, "transitionID"),
                since=text(item, "lastTransitionTime"),
            )
            for item in conditions
        ),
    )


def _queue_row(data: JsonObject) -> QueueRow:
    metadata, spec, status = section(data, "metadata"), section(data, "spec"), section(data, "status")
    state, recorded = text(status, "state"), status.get("allocated")
    return QueueRow(
        name=text(metadata, "name"),
        uid=text(metadata, "uid"),
        resource_version=text(metadata, "resourceVersion"),
        weight=number(spec, "weight", 1),
        priority=number(spec, "priority"),
        created=seconds(text(metadata, "creationTimestamp")),
        parent=text(spec, "parent"),
        state=QUEUE_STATE_NAMES.index(state) if state in QUEUE_STATE_NAMES else int(QueueState.UNKNOWN),
        reclaimable=spec.get("reclaimable") is not False,
        capability=amounts_of(spec.get("capability")),
        deserved=amounts_of(spec.get("deserved")),
        guarantee=amounts_of(section(spec, "guarantee").get("resource")),
        allocated=amounts_of(recorded) if isinstance(recorded, dict) else None,
        notes=notes_of(names.QUEUE_NOTES, text_map(metadata.get("annotations")), {}),
        affinity=_queue_affinity(section(spec, "affinity")),
    )


def _queue_affinity(affinity: JsonObject) -> QueueAffinity | None:
    """Node groups of a queue; None when all lists are empty."""
    use, avoid = section(affinity, "nodeGroupAffinity"), section(affinity, "nodeGroupAntiAffinity")
    found = QueueAffinity(
        *(
            tuple(item for item in listed if isinstance(item, str)) if isinstance(listed, list) else ()
            for rule in (use, avoid)
            for listed in (rule.get(_REQUIRED), rule.get(_PREFERRED))
        )
    )
    return None if found == QueueAffinity() else found

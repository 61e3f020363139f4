"""Object -> row, one function a kind. No policy, and nothing of other objects.

Bad quantities raise QuantityError and wrong shapes ValueError; the shard drops such an object and says so.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from math import isfinite

from vcray.api import devices, names
from vcray.api.meta import JsonObject, JsonValue, parse_time
from vcray.api.podresources import qos_class, resource_amounts
from vcray.api.quantity import value
from vcray.api.wire import Node, PersistentVolumeClaim, Pod, PriorityClass
from vcray.cache import groups
from vcray.cache.amounts import MOST, Amounts, bounded
from vcray.cache.labels import labels_of, notes_of, requirements_of
from vcray.cache.podspec import (
    bare_form,
    claims_of,
    devices_of,
    normalised_image,
    resident_form,
    waiting_form,
)
from vcray.cache.rows import (
    NodeRow,
    PodRow,
    PriorityClassRow,
)
from vcray.cache.store import version_of
from vcray.core.storage import ClaimRow
from vcray.core.tables import Notes, PodFacts, Status, Taint

TERMINAL = (Status.SUCCEEDED, Status.FAILED)


def seconds(moment: datetime | str | None) -> int:
    """A Kubernetes time as whole seconds since 1970; 0 when there is none."""
    if not moment:
        return 0
    return int((parse_time(moment) if isinstance(moment, str) else moment).timestamp())


def pod_row(pod: Pod) -> PodRow:
    """The row of a pod. Raises QuantityError."""
    metadata, spec = pod.metadata, pod.spec
    status = groups.status_of(pod)
    waiting = status == Status.PENDING
    counted = waiting or bool(spec.node_name and status not in TERMINAL)
    if waiting:
        form = waiting_form(pod)
    elif spec.node_name and status not in TERMINAL:
        form = resident_form(pod)
    else:
        form = bare_form(pod)
    owner = metadata.controller if waiting else None
    return PodRow(
        key=metadata.key,
        uid=metadata.uid,
        version=version_of(metadata.resource_version),
        job=groups.job_of(pod),
        node=spec.node_name,
        status=int(status),
        priority=groups.priority_of(pod),
        created=seconds(metadata.creation_timestamp),
        ordinal=groups.ordinal_of(metadata.name),
        role=groups.role_of(pod),
        gated=bool(spec.scheduling_gates),
        nominated=pod.status.nominated_node_name,
        form=form,
        labels=labels_of(metadata.labels),
        owner=f"{owner.kind}/{owner.name}" if owner else "",
        claims=claims_of(pod) if counted else (),
        facts=facts_of(pod),
        started=seconds(pod.status.start_time),
        scheduled=_scheduled(pod),
        devices=devices_of(pod) if counted else (),
    )


def facts_of(pod: Pod) -> PodFacts:
    """What plugins read of a pod beside its shape."""
    metadata, spec = pod.metadata, pod.spec
    return PodFacts(
        notes=_with_chips(
            notes_of(devices.POD_KEYS, metadata.annotations, metadata.labels), metadata.annotations
        ),
        priority_class=spec.priority_class_name,
        priority=spec.priority,
        never_preempts=spec.preemption_policy == "Never",
        qos=qos_class(pod),
        preemptable=groups.preemptable_of(metadata.annotations, metadata.labels, absent=True),
        leaving=metadata.deletion_timestamp is not None,
        queue_gated=(
            [gate.name for gate in spec.scheduling_gates] == [names.QUEUE_ALLOCATION_GATE]
            and metadata.annotations.get(names.QUEUE_ALLOCATION_GATE) == "true"
        ),
    )


def _with_chips(notes: Notes, annotations: Mapping[str, str]) -> Notes:
    chips = devices.chip_notes(annotations)
    return tuple(sorted((*notes, *chips))) if chips else notes


def _scheduled(pod: Pod) -> int:
    """When the pod's condition PodScheduled became True; 0 when it is not."""
    for condition in pod.status.conditions:
        if condition.type == "PodScheduled" and condition.status == "True":
            return seconds(condition.last_transition_time)
    return 0


def node_row(node: Node) -> NodeRow:
    """The row of a node. A node without a Ready condition counts as ready. Raises QuantityError."""
    kube = resource_amounts(node.status.allocatable)
    annotations = node.metadata.annotations
    offered = dict(kube)
    capacity = resource_amounts(node.status.capacity)
    for resource, annotation in (
        (names.CPU, names.OVERSUBSCRIPTION_CPU),
        (names.MEMORY, names.OVERSUBSCRIPTION_MEMORY),
    ):
        extra = _number(annotations.get(annotation, ""))
        if extra:
            offered[resource] = offered.get(resource, 0) + extra
            capacity[resource] = capacity.get(resource, 0) + extra
    images = {
        normalised_image(name): image.size_bytes for image in node.status.images for name in image.names
    }
    taints = {Taint(taint.key, taint.value, taint.effect) for taint in node.spec.taints}
    return NodeRow(
        name=node.metadata.name,
        version=version_of(node.metadata.resource_version),
        allocatable=bounded(offered),
        kube_allocatable=bounded(kube),
        ready=all(item.status == "True" for item in node.status.conditions if item.type == "Ready"),
        unschedulable=node.spec.unschedulable,
        taints=tuple(sorted(taints, key=lambda taint: (taint.key, taint.value, taint.effect))),
        labels=labels_of(node.metadata.labels),
        images=tuple(sorted(images.items())),
        notes=_with_chips(notes_of(devices.NODE_KEYS, annotations, {}), annotations),
        capacity=(min(capacity.get(names.CPU, 0), MOST), min(capacity.get(names.MEMORY, 0), MOST)),
    )


def claim_row(claim: PersistentVolumeClaim) -> ClaimRow:
    """The row of a volume claim. Raises QuantityError."""
    metadata, spec = claim.metadata, claim.spec
    return ClaimRow(
        key=metadata.key,
        phase=claim.status.phase,
        storage_class=metadata.annotations.get(names.BETA_STORAGE_CLASS) or spec.storage_class_name or "",
        volume=spec.volume_name,
        deleting=metadata.deletion_timestamp is not None,
        uid=metadata.uid,
        size=value(spec.resources.requests.get("storage", 0)),
        access_modes=tuple(sorted(spec.access_modes)),
        mode=spec.volume_mode or "Filesystem",
        attributes_class=spec.volume_attributes_class_name or "",
        selector=None if spec.selector is None else requirements_of(spec.selector),
        selected=metadata.annotations.get(names.SELECTED_NODE, ""),
        completed=names.BIND_COMPLETED in metadata.annotations,
    )


def priority_class_row(item: PriorityClass) -> PriorityClassRow:
    """The row of a priority class."""
    never = item.preemption_policy == "Never"
    return PriorityClassRow(item.metadata.name, item.value, item.global_default, never)


def _number(text: str) -> int:
    """A float in an annotation as a whole number towards zero; 0 when it is none."""
    try:
        number = float(text)
    except ValueError:
        return 0
    return int(number) if isfinite(number) else 0


def amounts_of(value: JsonValue) -> Amounts:
    """A ResourceList in JSON as sorted amounts; anything else is empty. Raises QuantityError."""
    if not isinstance(value, dict):
        return ()
    quantities = {name: item for name, item in value.items() if isinstance(item, str | int | float)}
    return bounded(resource_amounts(quantities))


def section(value: JsonObject, name: str) -> JsonObject:
    """A nested object, empty when it is missing."""
    item = value.get(name)
    return item if isinstance(item, dict) else {}


def text(value: Mapping[str, JsonValue], name: str, absent: str = "") -> str:
    """A string field, `absent` when it is missing or empty."""
    item = value.get(name)
    return item if isinstance(item, str) and item else absent


def number(value: Mapping[str, JsonValue], name: str, absent: int = 0) -> int:
    """A whole-number field."""
    item = value.get(name)
    return item if isinstance(item, int) else absent


def text_map(value: JsonValue) -> dict[str, str]:
    """A map of strings, other entries left out."""
    return (
        {key: item for key, item in value.items() if isinstance(item, str)} if isinstance(value, dict) else {}
    )

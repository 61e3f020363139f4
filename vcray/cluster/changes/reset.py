"""Which fields a write through an endpoint leaves as they are, so that its writer never owns them."""

from __future__ import annotations

from collections.abc import Mapping

from vcray.cluster.changes.sets import Node, Set
from vcray.cluster.objects.catalog import Kind

_STATUS: Node = {"f:status": {}}
_SPEC: Node = {"f:spec": {}}
_SPEC_AND_METADATA: Node = {"f:spec": {}, "f:metadata": {}}

_MAIN: Mapping[str, Node] = {
    "certificatesigningrequests.certificates.k8s.io": {"f:spec": {}, "f:status": {}},
}
_THROUGH_STATUS: Mapping[str, Node] = {
    "pods": {"f:spec": {}, "f:metadata": {"f:deletionTimestamp": {}, "f:ownerReferences": {}}},
    "deployments.apps": {"f:spec": {}, "f:metadata": {"f:labels": {}}},
    "flowschemas.flowcontrol.apiserver.k8s.io": _SPEC_AND_METADATA,
    "prioritylevelconfigurations.flowcontrol.apiserver.k8s.io": _SPEC_AND_METADATA,
    "volumeattachments.storage.k8s.io": _SPEC_AND_METADATA,
    "validatingadmissionpolicies.admissionregistration.k8s.io": _SPEC_AND_METADATA,
    "resourceclaims.resource.k8s.io": _SPEC_AND_METADATA,
    "apiservices.apiregistration.k8s.io": _SPEC_AND_METADATA,
    "servicecidrs.networking.k8s.io": _SPEC_AND_METADATA,
    "certificatesigningrequests.certificates.k8s.io": {"f:spec": {}, "f:status": {"f:conditions": {}}},
}


def reset_fields(kind: Kind, subresource: str) -> Set:
    """What belongs to no writer through the endpoint, with all that is below."""
    name = kind.resource.full_name
    if subresource == "status":
        return _SPEC_AND_METADATA if kind.custom else _THROUGH_STATUS.get(name, _SPEC)
    if subresource or not kind.has_status:
        return None
    return _MAIN.get(name, _STATUS)

"""What the server writes into `metadata`: identity, times, generation; and what a client may not change there."""

from __future__ import annotations

import uuid

from vcray.api import suffixes
from vcray.api.formats import dns_label, dns_subdomain
from vcray.api.meta import JsonObject, JsonValue
from vcray.api.resources import NAMESPACES, SERVICES, Resource
from vcray.clock import rfc3339
from vcray.cluster.objects import refusals
from vcray.cluster.objects.record import Record, dig, section, text
from vcray.kube.errors import BadRequest, ServerFailure

_SUFFIX_LENGTH = 5
_MAX_GENERATED = 63 - _SUFFIX_LENGTH
_NAMESPACE_OF_UIDS = uuid.UUID("6d1f0a52-9d1c-5d0a-8a57-7d3c1ea0b3f4")

SERVER_FIELDS = (
    "uid",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "generation",
    "selfLink",
)

NEVER_UNCONDITIONAL = frozenset(
    {
        "csidrivers.storage.k8s.io",
        "csinodes.storage.k8s.io",
        "csistoragecapacities.storage.k8s.io",
        "leases.coordination.k8s.io",
        "mutatingadmissionpolicies.admissionregistration.k8s.io",
        "mutatingadmissionpolicybindings.admissionregistration.k8s.io",
        "mutatingwebhookconfigurations.admissionregistration.k8s.io",
        "poddisruptionbudgets.policy",
        "runtimeclasses.node.k8s.io",
        "validatingadmissionpolicies.admissionregistration.k8s.io",
        "validatingadmissionpolicybindings.admissionregistration.k8s.io",
        "validatingwebhookconfigurations.admissionregistration.k8s.io",
        "volumeattachments.storage.k8s.io",
    }
)
"""Built-in resources whose replacement must say which version it replaces, as that of custom ones must."""


class Identities:
    """UIDs and name suffixes that look random and repeat on every run with the same seed."""

    def __init__(self, seed: int = 0) -> None:
        self._seed = seed
        self._count = 0

    def uid(self) -> str:
        """A new UID."""
        self._count += 1
        return str(uuid.uuid5(_NAMESPACE_OF_UIDS, f"{self._seed}/{self._count}"))

    def complete(self, prefix: str) -> str:
        """A name from a `generateName`, cut so that the whole keeps to 63 characters."""
        self._count += 1
        number = uuid.uuid5(_NAMESPACE_OF_UIDS, f"{self._seed}/name/{self._count}").int
        return prefix[:_MAX_GENERATED] + suffixes.of_number(number, _SUFFIX_LENGTH)


def check_type(resource: Resource, obj: JsonObject) -> None:
    """Fill in apiVersion and kind, or refuse an object of another type."""
    version, kind = obj.get("apiVersion") or resource.api_version, obj.get("kind") or resource.kind
    if (version, kind) != (resource.api_version, resource.kind):
        raise BadRequest(
            f"the API version in the data ({version}) does not match the expected API version ({resource.api_version})"
            if version != resource.api_version and kind == resource.kind
            else f'{kind} in version "{version}" cannot be handled as a {resource.kind}: converting '
            f"({_go_name(str(version), str(kind))}) to ({_go_package(resource)}.{resource.kind}): unknown conversion"
        )
    obj["apiVersion"], obj["kind"] = version, kind


def _go_name(version: str, kind: str) -> str:
    return f"{version.rpartition('/')[2]}.{kind}"


def _go_package(resource: Resource) -> str:
    return resource.group.partition(".")[0] or "core"


def check_namespace(resource: Resource, namespace: str, obj: JsonObject) -> None:
    """Fill in the request's namespace, or refuse an object of another one."""
    metadata = section(obj, "metadata")
    if not resource.namespaced:
        metadata.pop("namespace", None)
        return
    if text(metadata.get("namespace")) not in ("", namespace):
        raise BadRequest(
            "the namespace of the provided object does not match the namespace sent on the request"
        )
    metadata["namespace"] = namespace


def check_name(resource: Resource, name: str) -> None:
    """Refuse a name that is not DNS-like (Invalid)."""
    if resource.group == "rbac.authorization.k8s.io":
        _check_segment(resource, name)
        return
    rule = dns_label if resource in (NAMESPACES, SERVICES) else dns_subdomain
    wrong = rule(name)
    if wrong:
        raise refusals.invalid(
            resource, name, [f'metadata.name: Invalid value: "{name}": {why}' for why in wrong]
        )


def _check_segment(resource: Resource, name: str) -> None:
    """Names of roles and bindings need only fit into a path."""
    why = f"may not be '{name}'" if name in (".", "..") else ""
    why = why or next((f"may not contain '{each}'" for each in "/%" if each in name), "")
    if why:
        raise refusals.invalid(resource, name, [f'metadata.name: Invalid value: "{name}": {why}'])


def stamp_new(resource: Resource, obj: JsonObject, identities: Identities, now: float, counts: bool) -> None:
    """Name, UID, creation time and generation of an object about to be created."""
    metadata = section(obj, "metadata")
    if text(metadata.get("resourceVersion")) not in ("", "0"):
        raise ServerFailure("resourceVersion should not be set on objects to be created", reason="")
    for field in (*SERVER_FIELDS, "resourceVersion"):
        metadata.pop(field, None)
    prefix = text(metadata.get("generateName"))
    if not metadata.get("name") and prefix:
        metadata["name"] = identities.complete(prefix)
    name = text(metadata.get("name"))
    if not name:
        raise refusals.invalid(
            resource, "", ["metadata.name: Required value: name or generateName is required"]
        )
    check_name(resource, name)
    metadata["uid"] = identities.uid()
    metadata["creationTimestamp"] = rfc3339(now)
    if counts:
        metadata["generation"] = 1


def check_identity(record: Record, obj: JsonObject, must_name_version: bool) -> None:
    """Refuse a write that means another object or another version of it."""
    resource, metadata = record.resource, section(obj, "metadata")
    name, uid = text(metadata.get("name")), text(metadata.get("uid"))
    if name != record.name:
        raise BadRequest(
            f"the name of the object ({name}) does not match the name on the URL ({record.name})"
        )
    if uid and uid != record.uid:
        why = f"Precondition failed: UID in precondition: {uid}, UID in object meta: {record.uid}"
        raise refusals.conflict(resource, record.name, why)
    version = text(metadata.get("resourceVersion"))
    if version in ("", "0"):
        if must_name_version:
            raise refusals.version_missing(resource, record.name)
    elif version != str(record.version):
        raise refusals.conflict(resource, record.name)


def keep_server_fields(old: JsonObject, new: JsonObject) -> None:
    """Carry over the metadata that only the server writes."""
    before, after = section(old, "metadata"), section(new, "metadata")
    for field in SERVER_FIELDS:
        if field in before:
            after[field] = before[field]
        else:
            after.pop(field, None)
    after["resourceVersion"] = before.get("resourceVersion")


def without(obj: JsonObject, *keys: str) -> dict[str, JsonValue]:
    """The object without some of its top-level keys."""
    return {key: value for key, value in obj.items() if key not in keys}


def count_change(old: JsonObject, new: JsonObject, status_apart: bool) -> None:
    """Advance the generation if anything but metadata (and a status of its own) changed."""
    ignored = ("metadata", "status") if status_apart else ("metadata",)
    generation = dig(old, "metadata", "generation")
    count = generation if isinstance(generation, int) else 0
    changed = without(old, *ignored) != without(new, *ignored)
    section(new, "metadata")["generation"] = count + 1 if changed else count

"""What a definition says of one served version, beyond its schema."""

from __future__ import annotations

import re
from dataclasses import dataclass

from vcray.api.jsonview import dig, dig_int, dig_list, dig_object, dig_objects, dig_str
from vcray.api.meta import JsonObject
from vcray.cluster.definitions.selectable import selectable_paths

_VERSION = re.compile(r"v([1-9]\d*)(?:(alpha|beta)([1-9]\d*))?\Z")


@dataclass(frozen=True, slots=True)
class Column:
    """One printer column: `path` is a simple JSONPath (`.spec.queue`), `type` one of the five of OpenAPI columns."""

    name: str
    type: str
    path: str
    format: str = ""
    description: str = ""
    priority: int = 0


AGE = Column(
    "Age",
    "date",
    ".metadata.creationTimestamp",
    description="CreationTimestamp is a timestamp that the server sets when it stores a new object.",
)
"""The column of a version that names none."""


@dataclass(frozen=True, slots=True)
class ScalePaths:
    """Where an object keeps what its scale subresource tells; an empty selector path means there is none."""

    spec_replicas: str
    status_replicas: str
    selector: str = ""


@dataclass(frozen=True, slots=True)
class CustomVersion:
    """One version of a definition.

    `definition` is the definition's name; `storage` the version in which objects are stored; `selectable` the field
    selectors beyond name and namespace; `warning` what users of a deprecated version are told; `keeps_unknown` that
    nothing is pruned; `terminating` that the definition is being deleted, so that nothing new may be created. An
    object that was stored before version `since` of the storage is pruned and given defaults when it is read, since its
    schema was another. `conversion` is the client configuration of a conversion webhook, None without one.
    """

    definition: str
    storage: str
    singular: str
    list_kind: str
    categories: tuple[str, ...] = ()
    columns: tuple[Column, ...] = (AGE,)
    scale: ScalePaths | None = None
    selectable: tuple[str, ...] = ()
    warning: str = ""
    keeps_unknown: bool = False
    conversion: JsonObject | None = None
    terminating: bool = False
    since: int = 0

    @property
    def warnings(self) -> list[str]:
        """What users of the version are told, as a list that may be empty."""
        return [self.warning] if self.warning else []


def read_version(definition: JsonObject, version: JsonObject) -> CustomVersion:
    """One entry of `spec.versions`, with what the definition says for all of them."""
    spec, names = dig_object(definition, "spec"), accepted_names(definition)
    columns = tuple(_column(column) for column in dig_objects(version, "additionalPrinterColumns"))
    webhook = dig(spec, "conversion", "webhook")
    uses_webhook = dig_str(spec, "conversion", "strategy") == "Webhook" and isinstance(webhook, dict)
    return CustomVersion(
        definition=dig_str(definition, "metadata", "name"),
        storage=storage_version(definition),
        singular=dig_str(names, "singular") or dig_str(names, "kind").lower(),
        list_kind=dig_str(names, "listKind") or f"{dig_str(names, 'kind')}List",
        categories=tuple(str(word) for word in dig_list(names, "categories")),
        columns=columns or (AGE,),
        scale=_scale(dig_object(version, "subresources", "scale")),
        selectable=selectable_paths(version),
        warning=_warning(spec, version, dig_str(names, "kind")),
        keeps_unknown=bool(spec.get("preserveUnknownFields")),
        conversion=dig_object(webhook) if uses_webhook else None,
        terminating=bool(dig(definition, "metadata", "deletionTimestamp")),
    )


def accepted_names(definition: JsonObject) -> JsonObject:
    """The names that a definition is served under: the accepted ones, or those it asks for before it has a status."""
    accepted = dig_object(definition, "status", "acceptedNames")
    return accepted if accepted.get("plural") else dig_object(definition, "spec", "names")


def storage_version(definition: JsonObject) -> str:
    """The version in which new objects are stored."""
    versions = dig_objects(definition, "spec", "versions")
    return next((dig_str(version, "name") for version in versions if version.get("storage")), "")


def _column(column: JsonObject) -> Column:
    return Column(
        name=dig_str(column, "name"),
        type=dig_str(column, "type"),
        path=dig_str(column, "jsonPath"),
        format=dig_str(column, "format"),
        description=dig_str(column, "description"),
        priority=dig_int(column, "priority"),
    )


def _scale(scale: JsonObject) -> ScalePaths | None:
    if not scale:
        return None
    return ScalePaths(
        dig_str(scale, "specReplicasPath"),
        dig_str(scale, "statusReplicasPath"),
        dig_str(scale, "labelSelectorPath"),
    )


def _warning(spec: JsonObject, version: JsonObject, kind: str) -> str:
    if not version.get("deprecated"):
        return ""
    told = version.get("deprecationWarning")
    if isinstance(told, str):
        return told
    group, name = dig_str(spec, "group"), dig_str(version, "name")
    better = [
        dig_str(other, "name")
        for other in dig_objects(spec, "versions")
        if other.get("served") and not other.get("deprecated")
    ]
    newest = max(better, key=version_rank, default="")
    text = f"{group}/{name} {kind} is deprecated"
    return f"{text}; use {group}/{newest} {kind}" if version_rank(newest) > version_rank(name) else text


def version_rank(name: str) -> tuple[int, int, int]:
    """A key that sorts versions as Kubernetes ranks them: v2 over v1 over v1beta2 over v1alpha1 over other words."""
    found = _VERSION.match(name)
    if found is None:
        return (-1, 0, 0)
    major, stage, minor = found.groups()
    return (2 if not stage else 1 if stage == "beta" else 0, int(major), int(minor or 0))

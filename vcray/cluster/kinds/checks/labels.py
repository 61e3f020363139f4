"""Checks of metadata and selectors: labels, annotations, finalizers, owners, label selectors."""

from __future__ import annotations

from collections.abc import Iterator

from vcray.api.formats import (
    dns_label,
    dns_subdomain,
    forbidden,
    invalid,
    label_value,
    qualified_name,
    required,
)
from vcray.api.jsonview import dig, dig_list, dig_object, dig_objects, dig_str
from vcray.api.meta import JsonObject, JsonValue
from vcray.api.resources import NAMESPACES, SERVICES, Resource
from vcray.cluster.kinds.checks.words import broken, named
from vcray.cluster.kinds.data import type_name

_FINALIZERS = ("kubernetes", "orphan", "foregroundDeletion")
_ANNOTATION_BYTES = 256 * 1024
_OPERATORS = ("In", "NotIn", "Exists", "DoesNotExist")


def metadata_faults(resource: Resource, obj: JsonObject) -> Iterator[str]:
    """The faults of an object's metadata, its name apart."""
    metadata = dig_object(obj, "metadata")
    prefix = dig_str(metadata, "generateName")
    if prefix:
        rule = dns_label if resource in (NAMESPACES, SERVICES) else dns_subdomain
        yield from named(
            prefix.rstrip("-") if prefix.endswith("-") else prefix, "metadata.generateName", rule
        )
    if "labels" in metadata:
        yield from label_faults(metadata.get("labels"), "metadata.labels")
    if "annotations" in metadata:
        yield from annotation_faults(metadata.get("annotations"), "metadata.annotations")
    if "ownerReferences" in metadata:
        yield from _owner_faults(dig_objects(metadata, "ownerReferences"))
    built_in = type_name(resource.api_version, resource.kind) is not None
    for index, finalizer in enumerate(dig_list(metadata, "finalizers")):
        yield from _finalizer_faults(str(finalizer), index, built_in)


def label_faults(labels: JsonValue, path: str) -> Iterator[str]:
    """Keys and values of labels."""
    if not isinstance(labels, dict):
        return
    for key, value in labels.items():
        for wrong in broken(qualified_name, key):
            yield invalid(path, key, wrong)
        for wrong in broken(label_value, str(value)):
            yield invalid(path, value, wrong)


def annotation_faults(annotations: JsonValue, path: str) -> Iterator[str]:
    """Keys of annotations, in any case of letters, and their size together."""
    if not isinstance(annotations, dict):
        return
    for key in annotations:
        for wrong in broken(qualified_name, key.lower()):
            yield invalid(path, key, wrong)
    letters = sum(len(key) + len(str(value)) for key, value in annotations.items())
    if letters * 4 > _ANNOTATION_BYTES and _bytes_of(annotations) > _ANNOTATION_BYTES:
        yield f"{path}: Too long: may not be more than {_ANNOTATION_BYTES} bytes"


def _bytes_of(annotations: JsonObject) -> int:
    return sum(len(key.encode()) + len(str(value).encode()) for key, value in annotations.items())


def _finalizer_faults(finalizer: str, index: int, built_in: bool) -> Iterator[str]:
    """Custom objects may have finalizers of one word, built-in ones only Kubernetes' own."""
    yield from named(finalizer, "metadata.finalizers", qualified_name)
    if built_in and "/" not in finalizer and finalizer not in _FINALIZERS:
        why = "name is neither a standard finalizer name nor is it fully qualified"
        yield invalid(f"metadata.finalizers[{index}]", finalizer, why)


def _owner_faults(owners: list[JsonObject]) -> Iterator[str]:
    path = "metadata.ownerReferences"
    controllers = [owner for owner in owners if owner.get("controller")]
    for owner in owners:
        yield from _one_owner(owner, path)
    if len(controllers) > 1:
        first, second = (f"{dig_str(one, 'kind')}/{dig_str(one, 'name')}" for one in controllers[:2])
        shown: list[JsonValue] = [_shown_owner(owner) for owner in owners]
        why = (
            'Only one reference can have Controller set to true. Found "true" in references for '
            f"{first} and {second}"
        )
        yield invalid(path, shown, why)


def _one_owner(owner: JsonObject, path: str) -> Iterator[str]:
    version, kind = dig_str(owner, "apiVersion"), dig_str(owner, "kind")
    if not version:
        yield invalid(f"{path}.apiVersion", version, "version must not be empty")
    if not kind:
        yield invalid(f"{path}.kind", kind, "must not be empty")
    for field in ("name", "uid"):
        if not dig_str(owner, field):
            yield invalid(f"{path}.{field}", "", "must not be empty")
    if (version, kind) == ("v1", "Event"):
        yield invalid(path, _shown_owner(owner), "/v1, Kind=Event is disallowed from being an owner")


def _shown_owner(owner: JsonObject) -> JsonObject:
    fields = ("apiVersion", "kind", "name", "uid", "controller", "blockOwnerDeletion")
    return {field: owner[field] for field in fields if field in owner}


def selector_faults(selector: JsonValue, path: str) -> Iterator[str]:
    """A label selector: keys, operators, values."""
    if not isinstance(selector, dict):
        return
    yield from label_faults(selector.get("matchLabels"), f"{path}.matchLabels")
    for index, rule in enumerate(dig_objects(selector, "matchExpressions")):
        yield from _requirement_faults(rule, f"{path}.matchExpressions[{index}]")


def _requirement_faults(rule: JsonObject, path: str) -> Iterator[str]:
    operator, values = dig_str(rule, "operator"), dig_list(rule, "values")
    if operator in ("In", "NotIn"):
        if not values:
            yield required(f"{path}.values", "must be specified when `operator` is 'In' or 'NotIn'")
    elif operator in _OPERATORS:
        if values:
            yield forbidden(
                f"{path}.values", "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
            )
    else:
        yield invalid(f"{path}.operator", operator, "not a valid selector operator")
    yield from named(dig_str(rule, "key"), f"{path}.key", qualified_name)
    for index, value in enumerate(values):
        yield from named(str(value), f"{path}.values[{index}]", label_value)


def selects(selector: JsonObject, labels: JsonObject) -> bool:
    """Whether a label selector matches; an empty one matches everything."""
    for key, value in dig_object(selector, "matchLabels").items():
        if labels.get(key) != value:
            return False
    return all(_meets(rule, labels) for rule in dig_objects(selector, "matchExpressions"))


def _meets(rule: JsonObject, labels: JsonObject) -> bool:
    present, values = dig(labels, dig_str(rule, "key")), dig_list(rule, "values")
    match dig_str(rule, "operator"):
        case "In":
            return present in values
        case "NotIn":
            return present not in values
        case "Exists":
            return present is not None
    return present is None

"""Field selectors as they come in a query, both selectors of a query as one test, label selectors as objects hold them."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from vcray.api.meta import JsonValue
from vcray.cluster.objects.catalog import Kind
from vcray.cluster.objects.labels import label_selector
from vcray.cluster.objects.record import (
    Record,
    dig,
    entries,
    field_text,
    selectable_fields,
    strings,
    text,
)
from vcray.kube.errors import BadRequest

_WHEN_ABSENT = {
    "spec.hostNetwork": "false",
    "spec.unschedulable": "false",
    "status.replicas": "0",
    "status.successful": "0",
}


def selector_matches(selector: JsonValue, labels: Mapping[str, str]) -> bool:
    """Whether a LabelSelector object (matchLabels, matchExpressions) selects; an empty one selects all."""
    if any(labels.get(key) != value for key, value in strings(dig(selector, "matchLabels")).items()):
        return False
    for expression in entries(dig(selector, "matchExpressions")):
        key, values = text(expression.get("key")), expression.get("values") or []
        present = key in labels
        listed = isinstance(values, list) and labels.get(key) in values
        holds = {
            "In": present and listed,
            "NotIn": not (present and listed),
            "Exists": present,
            "DoesNotExist": not present,
        }.get(text(expression.get("operator")), False)
        if not holds:
            return False
    return True


def field_selector(kind: Kind, query: str) -> Callable[[Record], bool]:
    """A test of records from a query such as `spec.nodeName=n1,status.phase!=Failed`. BadRequest on unknown fields."""
    custom = kind.version.selectable if kind.version else ()
    known = {"metadata.name", "metadata.namespace", *selectable_fields(kind.stored), *custom}
    clauses: list[tuple[str, bool, str]] = []
    for clause in filter(None, (part.strip() for part in query.split(","))):
        found = re.match(r"^([^!=]+)(==|=|!=)(.*)$", clause)
        if not found:
            raise BadRequest(f"invalid selector: '{query}'; can't understand '{clause}'")
        field, operator, value = found[1], found[2], found[3]
        if field not in known:
            raise BadRequest(f"field label not supported: {field}")
        clauses.append((field, operator != "!=", value))

    return lambda record: all((_field(record, field) == value) is equal for field, equal, value in clauses)


def required_field(query: str, field: str) -> str:
    """The value that a query demands of a field; empty if it leaves the field open."""
    for clause in query.split(","):
        name, equal, value = clause.strip().partition("=")
        if equal and name == field:
            return value.removeprefix("=")
    return ""


def _field(record: Record, field: str) -> str:
    if field == "metadata.name":
        return record.name
    if field == "metadata.namespace":
        return record.namespace
    if field in record.fields:
        return record.fields[field]
    obj = record.decode()
    if field == "source":
        return text(dig(obj, "source", "component")) or text(obj.get("reportingComponent"))
    return field_text(dig(obj, *field.split("."))) or _WHEN_ABSENT.get(field, "")


def record_test(kind: Kind, labels: str, fields: str) -> Callable[[Record], bool]:
    """Both selectors of a query as one test of records."""
    if not labels and not fields:
        return lambda record: True
    by_labels, by_fields = label_selector(labels), field_selector(kind, fields)
    if not fields:
        return lambda record: by_labels(record.labels)
    return lambda record: by_fields(record) and by_labels(record.labels)

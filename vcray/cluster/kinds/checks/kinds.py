"""Which rules an object of a built-in kind must keep: those of its metadata, then those of its kind."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

from vcray.api.meta import JsonObject
from vcray.api.resources import Resource
from vcray.cluster.admission.podrules import missing_in_pod_spec
from vcray.cluster.objects.record import dig, section

Check: TypeAlias = Callable[[JsonObject], list[str]]
"""The field errors of an object."""

Comparison: TypeAlias = Callable[[JsonObject, JsonObject], list[str]]
"""The field errors of a change: what was, what is wanted."""


def _pod(obj: JsonObject) -> list[str]:
    return missing_in_pod_spec(section(obj, "spec"), "spec")


def _template(obj: JsonObject) -> list[str]:
    template = dig(obj, "spec", "template", "spec")
    return missing_in_pod_spec(template, "spec.template.spec") if isinstance(template, dict) else []


_CHECKS: Mapping[str, Check] = {
    "pods": _pod,
    "deployments.apps": _template,
    "replicasets.apps": _template,
    "statefulsets.apps": _template,
    "daemonsets.apps": _template,
    "jobs.batch": _template,
    "replicationcontrollers": _template,
}
_COMPARISONS: Mapping[str, Comparison] = {}


def validate_new(resource: Resource, obj: JsonObject) -> list[str]:
    """All field errors of a new object."""
    check = _CHECKS.get(resource.full_name)
    return [] if check is None else check(obj)


def validate_changed(resource: Resource, old: JsonObject, obj: JsonObject) -> list[str]:
    """All field errors of a changed object, those of the change first."""
    compare = _COMPARISONS.get(resource.full_name)
    errors = [] if compare is None else compare(old, obj)
    return errors + validate_new(resource, obj)

"""Annotations that controllers write on pods and PodGroups of others."""

from __future__ import annotations

from collections.abc import Mapping

from vcray.api.meta import JsonObject
from vcray.api.resources import PODS, Resource
from vcray.controllers import raw
from vcray.controllers.base import Effects, Patch, PatchKind, must


def annotate(resource: Resource, obj: JsonObject, notes: Mapping[str, str]) -> Effects:
    """Write those that differ; an empty one goes. An object that is gone meanwhile is left alone. ReconcileError when that is
    refused."""
    changed: JsonObject = {
        key: text or None for key, text in notes.items() if raw.annotation(obj, key) != text
    }
    if not changed:
        return
    kind: PatchKind = "strategic" if resource == PODS else "merge"
    space, name = raw.namespace(obj), raw.name(obj)
    outcome = yield Patch(resource, space, name, {"metadata": {"annotations": changed}}, kind)
    if not outcome.not_found:
        must(outcome, f"annotate {resource.kind} {space}/{name}")

"""Merge patch and JSON patch: from an object and a patch to the object that is wanted."""

from __future__ import annotations

from copy import deepcopy

import jsonpatch

from vcray.api.meta import JsonObject, JsonValue
from vcray.cluster import refusals
from vcray.cluster.catalog import Kind
from vcray.cluster.record import entries
from vcray.cluster.strategic import strategic_merge
from vcray.kube.client import PatchType
from vcray.kube.errors import BadRequest, Invalid, UnsupportedMediaType


def merge(target: JsonValue, patch: JsonValue) -> JsonValue:
    """RFC 7386: null removes, objects merge, everything else replaces. The arguments are not altered."""
    if not isinstance(patch, dict):
        return deepcopy(patch)
    result = dict(target) if isinstance(target, dict) else {}
    for key, value in patch.items():
        if value is None:
            result.pop(key, None)
        else:
            result[key] = merge(result.get(key), value)
    return result


def json_patch(target: JsonObject, operations: JsonValue) -> JsonValue:
    """RFC 6902. BadRequest for a malformed patch, Invalid for one that does not fit the object."""
    steps = entries(operations)
    if not isinstance(operations, list) or len(steps) != len(operations):
        raise BadRequest("json: cannot unmarshal object into Go value of type jsonpatch.Patch")
    try:
        patched: JsonValue = jsonpatch.JsonPatch(steps).apply(target)
    except (
        jsonpatch.JsonPatchConflict,
        jsonpatch.JsonPatchTestFailed,
        jsonpatch.JsonPointerException,
    ) as error:
        raise Invalid(f"the server rejected our request due to an error in our request: {error}") from error
    except jsonpatch.InvalidJsonPatch as error:
        raise BadRequest(f"the patch is not a JSON patch: {error}") from error
    return patched


def patched(kind: Kind, name: str, old: JsonObject, patch: JsonValue, how: str) -> JsonObject:
    """The object wanted by a patch of media type `how` (server-side apply excepted)."""
    match how:
        case PatchType.MERGE:
            result = merge(old, patch)
        case PatchType.JSON:
            result = json_patch(deepcopy(old), patch)
        case PatchType.STRATEGIC if not kind.custom:
            result = strategic_merge(old, patch, kind.structure)
        case _:
            accepted = [PatchType.JSON, PatchType.MERGE, PatchType.APPLY]
            if not kind.custom:
                accepted.insert(2, PatchType.STRATEGIC)
            raise UnsupportedMediaType(
                "the body of the request was in an unknown format - accepted media types include: "
                + ", ".join(accepted)
            )
    if not isinstance(result, dict):
        raise refusals.invalid(kind.resource, name, ["the patch does not leave an object"])
    return result

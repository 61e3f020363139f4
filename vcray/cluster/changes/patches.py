"""Merge patch and JSON patch: from an object and a patch to the object that is wanted."""

from __future__ import annotations

import json
from copy import deepcopy

import jsonpatch
import jsonpointer

from vcray.api.meta import JsonObject, JsonValue
from vcray.cluster.changes.gotext import go_text
from vcray.cluster.changes.strategic import strategic_merge
from vcray.cluster.kinds.faults import kind_of
from vcray.cluster.objects import refusals
from vcray.cluster.objects.catalog import Kind
from vcray.kube.client import PatchType
from vcray.kube.errors import BadRequest, Invalid, UnsupportedMediaType


def merge(target: JsonValue, patch: JsonValue) -> JsonValue:
    """RFC 7386: null removes, objects merge, everything else replaces. The arguments are not altered."""
    if not isinstance(patch, dict):
        return deepcopy(patch) if isinstance(patch, list) else patch
    result = dict(target) if isinstance(target, dict) else {}
    for key, value in patch.items():
        if value is None:
            result.pop(key, None)
        else:
            result[key] = merge(result.get(key), value)
    return result


def json_patch(target: JsonObject, operations: JsonValue) -> JsonValue:
    """RFC 6902. BadRequest for what is no list of operations, Invalid for one that cannot be done.

    As on a server, an operation without a value takes null, and a copy of what is not there copies null.
    """
    if not isinstance(operations, list):
        raise BadRequest(
            f"error decoding patch: json: cannot unmarshal {kind_of(operations)} into Go value of type "
            "[]handlers.jsonPatchOp"
        )
    try:
        result: JsonValue = target
        for step in operations:
            result = jsonpatch.JsonPatch([_complete(step, result)]).apply(result)
    except (
        jsonpatch.JsonPatchException,
        jsonpatch.JsonPointerException,
        KeyError,
        TypeError,
        IndexError,
    ) as error:
        raise Invalid("the server rejected our request due to an error in our request") from error
    return result


def _complete(step: JsonValue, target: JsonValue) -> JsonObject:
    if not isinstance(step, dict):
        raise TypeError("an operation is an object")
    if step.get("op") in ("add", "replace", "test") and "value" not in step:
        return {**step, "value": None}
    if step.get("op") == "copy":
        try:
            jsonpointer.resolve_pointer(target, str(step.get("from")))
        except jsonpatch.JsonPointerException:
            return {"op": "add", "path": step.get("path"), "value": None}
    return step


def check_media_type(kind: Kind, how: str) -> None:
    """Refuse (UnsupportedMediaType) a kind of patch that the resource does not take."""
    accepted = [PatchType.JSON, PatchType.MERGE, PatchType.APPLY]
    if not kind.custom:
        accepted.insert(2, PatchType.STRATEGIC)
    if how not in accepted:
        raise UnsupportedMediaType(
            "the body of the request was in an unknown format - accepted media types include: "
            + ", ".join(accepted)
        )


def shown(kind: Kind, name: str, old: JsonObject, patch: JsonValue, how: str) -> str:
    """What an error tells of a patch: its outcome as JSON; of a strategic one the patch itself as Go prints it."""
    if how == PatchType.STRATEGIC:
        return go_text(patch)
    return json.dumps(patched(kind, name, old, patch, how), separators=(",", ":"))


def patched(kind: Kind, name: str, old: JsonObject, patch: JsonValue, how: str) -> JsonObject:
    """The object wanted by a patch of media type `how` (server-side apply excepted)."""
    match how:
        case PatchType.JSON:
            result = json_patch(deepcopy(old), patch)
        case PatchType.STRATEGIC:
            result = strategic_merge(old, patch, kind.shape)
        case _:
            if not isinstance(patch, dict):
                raise BadRequest(
                    f"error decoding patch: json: cannot unmarshal {kind_of(patch)} into Go value of type "
                    "map[string]interface {}"
                )
            result = merge(old, patch)
    if not isinstance(result, dict):
        raise refusals.invalid(kind.resource, name, ["the patch does not leave an object"])
    return result

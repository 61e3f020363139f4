"""MutatingAdmissionPolicy: policies that change an object, by an apply configuration or by a JSON patch.

Policies are run in the order of their names. One whose `reinvocationPolicy` is IfNeeded is run once more when a later one
changed the object.
"""

from __future__ import annotations

from dataclasses import replace

import jsonpatch

from vcray.api.jsonview import dig_objects, dig_str
from vcray.api.meta import JsonObject, JsonValue
from vcray.cluster.admission.expressions import ExpressionError, Scope, conditions_hold
from vcray.cluster.admission.matching import as_version
from vcray.cluster.admission.policies import Invocation, PolicySet
from vcray.cluster.changes.apply import merged_object
from vcray.cluster.changes.shapes import Shape, untyped_leaf
from vcray.cluster.objects import refusals
from vcray.cluster.objects.catalog import Catalog
from vcray.cluster.objects.review import Review
from vcray.kube.errors import ApiError


class _Denied(Exception):
    """A policy refuses the request or cannot be run on it."""


class MutatingPolicies:
    """Changes objects by the stored MutatingAdmissionPolicies and their bindings."""

    def __init__(self, policies: PolicySet, catalog: Catalog) -> None:
        self._policies = policies
        self._catalog = catalog

    def mutate(self, review: Review) -> JsonObject | None:
        """The object as the policies want it; None if they left it alone. Forbidden if one cannot be run."""
        if not self._policies.all() or review.obj is None:
            return None
        current, reinvocable, again = review, set[tuple[str, str]](), set[tuple[str, str]]()
        for second_round in (False, True):
            for one in self._policies.invocations(current):
                key = one.policy.name, one.binding
                if second_round and key not in again:
                    continue
                if review.again and dig_str(one.policy.spec, "reinvocationPolicy") != "IfNeeded":
                    continue
                changed = self._run(one, current)
                if changed is not None:
                    current = replace(current, obj=changed)
                    again |= reinvocable
                if dig_str(one.policy.spec, "reinvocationPolicy") == "IfNeeded":
                    reinvocable.add(key)
            if not again:
                break
        return None if current is review else current.obj

    def _run(self, one: Invocation, current: Review) -> JsonObject | None:
        if one.scope is None:
            if one.policy.ignores_failures:
                return None
            raise _refusal(current, one, one.trouble)
        obj = as_version(current.obj, one.asked.resource) or {}
        one.scope.with_object(obj)
        try:
            if not conditions_hold(dig_objects(one.policy.spec, "matchConditions"), one.scope):
                return None
            for mutation in dig_objects(one.policy.spec, "mutations"):
                obj = self._mutated(mutation, obj, one.scope, one)
                one.scope.with_object(obj)
        except (ExpressionError, _Denied) as error:
            if one.policy.ignores_failures:
                return None
            raise _refusal(current, one, str(error)) from error
        result = as_version(obj, current.resource)
        return None if result == current.obj else result

    def _mutated(self, mutation: JsonObject, obj: JsonObject, scope: Scope, one: Invocation) -> JsonObject:
        if dig_str(mutation, "patchType") == "JSONPatch":
            return _json_patched(obj, scope.value(dig_str(mutation, "jsonPatch", "expression")))
        wanted = scope.value(dig_str(mutation, "applyConfiguration", "expression"))
        if not isinstance(wanted, dict):
            raise _Denied(
                f"unsupported return type from ApplyConfiguration expression: {type(wanted).__name__}"
            )
        shape = self._catalog.of(one.asked.resource).shape
        whole = list(_atomics(wanted, shape, ""))
        if whole:
            told = ", ".join(whole)
            raise _Denied(
                "error applying patch: invalid ApplyConfiguration: may not mutate atomic arrays, maps or structs: "
                + told
            )
        return merged_object(obj, wanted, shape)


def _atomics(value: JsonValue, shape: Shape, path: str) -> list[str]:
    """The parts of an apply configuration that could only be replaced as a whole."""
    if isinstance(value, dict):
        if path and shape.atomic_map:
            return [path]
        found = []
        for name, item in value.items():
            found += _atomics(item, shape.field(name) or untyped_leaf(), f"{path}.{name}")
        return found
    if isinstance(value, list) and shape.atomic_list:
        return [path]
    return []


def _json_patched(obj: JsonObject, operations: object) -> JsonObject:
    if not isinstance(operations, list):
        raise _Denied("type mismatch: JSONPatchType.expression should evaluate to array")
    try:
        changed = jsonpatch.apply_patch(obj, [item for item in operations if isinstance(item, dict)])
    except jsonpatch.JsonPatchTestFailed:
        return obj
    except (jsonpatch.JsonPatchException, jsonpatch.JsonPointerException) as error:
        raise _Denied(f"JSON Patch: {error}") from error
    if not isinstance(changed, dict):
        raise _Denied("JSON Patch: the result is no object")
    result: JsonObject = changed
    return result


def _refusal(review: Review, one: Invocation, why: str) -> ApiError:
    bound = (
        f"policy '{one.policy.name}' with binding '{one.binding}'"
        if one.binding
        else f'policy "{one.policy.name}"'
    )
    message = f"{bound} denied request: {why}"
    error = refusals.forbidden(review.resource, review.name, "admission request denied by policy")
    error.message, error.reason = message, "Invalid" if one.scope is not None else error.reason
    error.details = {**error.details, "causes": [{"message": message}]}
    return error

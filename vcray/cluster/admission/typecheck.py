"""The type checking of a ValidatingAdmissionPolicy: its expressions against the schemas of the kinds that it names.

The result stands in the policy's status, as warnings; it changes nothing about what the policy does.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from vcray.api.jsonview import dig, dig_list, dig_objects, dig_str
from vcray.api.meta import JsonObject
from vcray.cel.program import Checker, CompileError
from vcray.cluster.admission.policytypes import policy_checker

MOST_TYPES = 10
"""Kinds of one rule that are looked at."""

Schemas = Callable[[str, str, str], list[tuple[str, JsonObject]]]
"""The kinds (`apps/v1, Kind=Deployment`) and schemas served for a group, version and plural."""


def expression_warnings(
    policy: JsonObject, schemas: Schemas, references: Mapping[str, JsonObject], params: JsonObject | None
) -> list[JsonObject]:
    """The `expressionWarnings` of a policy's status."""
    spec = policy.get("spec")
    if not isinstance(spec, dict):
        return []
    checkers = [
        (kind, policy_checker(spec, schema=schema, params=params, references=references))
        for kind, schema in sorted(_checked(spec, schemas).items())
    ]
    found: list[JsonObject] = []
    for index, validation in enumerate(dig_objects(spec, "validations")):
        for field in ("expression", "messageExpression"):
            expression = dig_str(validation, field)
            told = [_warning(kind, checker, expression) for kind, checker in checkers] if expression else []
            said = "\n".join(text for text in told if text)
            if said:
                found.append({"fieldRef": f"spec.validations[{index}].{field}", "warning": said})
    return found


def _checked(spec: JsonObject, schemas: Schemas) -> dict[str, JsonObject]:
    kinds: dict[str, JsonObject] = {}
    for rule in dig_objects(dig(spec, "matchConstraints"), "resourceRules"):
        wanted = [_names(rule, field) for field in ("apiGroups", "apiVersions", "resources")]
        found = 0
        for group in wanted[0]:
            for version in wanted[1]:
                for resource in wanted[2]:
                    for kind, schema in schemas(group, version, resource):
                        if found < MOST_TYPES:
                            kinds[kind] = schema
                            found += 1
    return kinds


def _names(rule: JsonObject, field: str) -> list[str]:
    """The values of a rule that name one thing; wildcards and subresources are not checked."""
    values = [str(item) for item in dig_list(rule, field)]
    return [] if "*" in values else sorted(value for value in values if "/" not in value and "*" not in value)


def _warning(kind: str, checker: Checker, expression: str) -> str:
    try:
        checker.check(expression)
    except CompileError as error:
        return f"{kind}: {error}\n"
    return ""

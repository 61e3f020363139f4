"""The types that a policy's expressions are checked against, and how the server names types.

Without a schema the object of a request may be anything; with one (the type checking of a policy's status) its fields are known.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from vcray.api.jsonview import dig_objects, dig_str
from vcray.api.meta import JsonObject
from vcray.cel.program import Checker, CompileError
from vcray.cluster.cel.declared import Types

_TEXT: JsonObject = {"type": "string"}
_TEXTS: JsonObject = {"type": "array", "items": _TEXT}
_ANY: JsonObject = {"x-kubernetes-int-or-string": True}
_RESULTS: dict[str, JsonObject] = {
    "INT": {"type": "integer"},
    "STRING": _TEXT,
    "BOOL": {"type": "boolean"},
    "DOUBLE": {"type": "number"},
    "LIST<STRING>": _TEXTS,
}


def _fields(**properties: JsonObject) -> JsonObject:
    return {"type": "object", "properties": dict(properties)}


_KIND = _fields(group=_TEXT, version=_TEXT, kind=_TEXT)
_RESOURCE = _fields(group=_TEXT, version=_TEXT, resource=_TEXT)
_USER = _fields(
    username=_TEXT, uid=_TEXT, groups=_TEXTS, extra={"type": "object", "additionalProperties": _TEXTS}
)
REQUEST: JsonObject = _fields(
    kind=_KIND,
    resource=_RESOURCE,
    subResource=_TEXT,
    requestKind=_KIND,
    requestResource=_RESOURCE,
    requestSubResource=_TEXT,
    name=_TEXT,
    namespace=_TEXT,
    operation=_TEXT,
    userInfo=_USER,
    dryRun={"type": "boolean"},
    options=_ANY,
)
"""The `request` of an expression: an AdmissionRequest without its objects."""

_NULLS = {"NULL": "null_type", "NULL_TYPE": "null_type"}


def type_words(name: str) -> str:
    """A type's name as the server writes it: `list(string)` for `LIST<STRING>`."""
    if found := re.fullmatch(r"(LIST|MAP)<(.*)>", name):
        return f"{found[1].lower()}({found[2].lower()})"
    return _NULLS.get(name, name.lower())


def policy_checker(
    spec: JsonObject,
    *,
    authorizer: bool = True,
    composed: bool = True,
    schema: JsonObject | None = None,
    params: JsonObject | None = None,
    references: Mapping[str, JsonObject] | None = None,
) -> Checker:
    """What checks the expressions of a policy: its variables are known, `object` and `params` by their schemas if given.

    Conditions of matching are not `composed`: they know no variables.
    """
    types = Types(references)
    request = types.declare(REQUEST, plain=True) or "dyn"
    seen = (types.declare(schema, resource=True) if schema is not None else None) or "dyn"
    variables = {"object": seen, "oldObject": seen, "request": request, "namespaceObject": "dyn"}
    if spec.get("paramKind") is not None:
        variables["params"] = (types.declare(params, resource=True) if params is not None else None) or "dyn"
    if authorizer:
        variables |= {"authorizer": "Authorizer", "authorizer.requestResource": "ResourceCheck"}
    if not composed:
        return Checker(variables, types.pool)
    declared: dict[str, JsonObject] = {}
    for variable in dig_objects(spec, "variables"):
        known = types.declare(_fields(**declared)) or "dyn"
        result = _result(
            Checker({**variables, "variables": known}, types.pool), dig_str(variable, "expression")
        )
        declared[dig_str(variable, "name")] = _RESULTS.get(result, _ANY)
    variables["variables"] = types.declare(_fields(**declared)) or "dyn"
    return Checker(variables, types.pool)


def _result(checker: Checker, expression: str) -> str:
    try:
        return checker.check(expression).result
    except CompileError:
        return "DYN"

"""Policies are checked against the schemas of the kinds that they name."""

from __future__ import annotations

from vcray.api.meta import JsonObject
from vcray.cluster.admission.typecheck import expression_warnings
from vcray.cluster.kinds.data import kinds_data

RULES: list[JsonObject] = [
    {"apiGroups": ["apps"], "apiVersions": ["v1"], "resources": ["deployments", "deployments/scale"]},
    {"apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"]},
    {"apiGroups": ["*"], "apiVersions": ["v1"], "resources": ["secrets"]},
]
TYPES = {
    "deployments": ("apps/v1, Kind=Deployment", "io.k8s.api.apps.v1.Deployment"),
    "configmaps": ("/v1, Kind=ConfigMap", "io.k8s.api.core.v1.ConfigMap"),
}


def schemas(group: str, version: str, plural: str) -> list[tuple[str, JsonObject]]:
    kind, name = TYPES[plural]
    return [(kind, kinds_data().types[name])]


def warnings(*validations: JsonObject, rules: int = 1, **spec: object) -> list[JsonObject]:
    constraints: JsonObject = {"resourceRules": [*RULES[:rules]]}
    whole: JsonObject = {"matchConstraints": constraints, "validations": list(validations), **spec}  # type: ignore[dict-item]
    return expression_warnings({"spec": whole}, schemas, kinds_data().types, None)


def test_expressions_that_fit_are_not_told() -> None:
    assert warnings({"expression": "object.spec.replicas > 1 && request.namespace == 'a'"}) == []


def test_a_wrong_type_is_told_for_each_expression() -> None:
    found = warnings(
        {"expression": "object.spec.replicas > '1'", "messageExpression": "'got ' + object.spec.replicas"}
    )

    assert [item["fieldRef"] for item in found] == [
        "spec.validations[0].expression",
        "spec.validations[0].messageExpression",
    ]
    assert found[0]["warning"] == (
        "apps/v1, Kind=Deployment: ERROR: <input>:1:22: found no matching overload for '_>_' applied to '(int, string)'\n"
        " | object.spec.replicas > '1'\n | .....................^\n"
    )


def test_each_kind_that_does_not_fit_is_named() -> None:
    (found,) = warnings({"expression": "object.spec.replicas > 1"}, rules=3)

    assert str(found["warning"]).startswith("/v1, Kind=ConfigMap: ERROR: <input>:1:7: undefined field 'spec'")


def test_variables_have_the_types_of_their_expressions() -> None:
    variables = [{"name": "replicas", "expression": "object.spec.replicas"}]

    (found,) = warnings({"expression": "variables.replicas > 'a'"}, variables=variables)

    assert "applied to '(int, string)'" in str(found["warning"])

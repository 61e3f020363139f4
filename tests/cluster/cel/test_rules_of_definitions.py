"""A definition whose rules cannot work is refused with kube-apiserver's sentences."""

from __future__ import annotations

import pytest

from vcray.api.crds import all_crds
from vcray.api.jsonview import dig_object, dig_objects
from vcray.api.meta import JsonObject
from vcray.cluster.cel.definitions import rule_faults


def faults(*rules: JsonObject, **properties: JsonObject) -> list[str]:
    """What is said against rules at the root of a schema with these properties."""
    return rule_faults(
        {"type": "object", "properties": dict(properties), "x-kubernetes-validations": list(rules)}, "schema"
    )


X: JsonObject = {"type": "integer"}
TOLD = (
    'schema.x-kubernetes-validations[0].rule: Invalid value: {"Rule":"%s","Message":"","MessageExpression":"",'
    '"Reason":null,"FieldPath":"","OptionalOldSelf":null}: '
)


def test_a_good_rule_is_taken() -> None:
    assert faults({"rule": "self.x > 1 && self.metadata.name == 'a'"}, x=X) == []


def test_a_field_that_is_not_there_is_named() -> None:
    assert faults({"rule": "self.z == 100"}, x=X) == [
        TOLD % "self.z == 100"
        + "compilation failed: ERROR: <input>:1:5: undefined field 'z'\n | self.z == 100\n | ....^"
    ]


def test_a_syntax_error_is_shown_where_it_is() -> None:
    (fault,) = faults({"rule": "self = 42"}, x=X)
    assert "compilation failed: ERROR: <input>:1:6: Syntax error: token recognition error at: '= '" in fault


def test_a_rule_must_be_a_condition() -> None:
    assert faults({"rule": "self.x"}, x=X) == [TOLD % "self.x" + "cel expression must evaluate to a bool"]


def test_a_message_must_be_a_text() -> None:
    (fault,) = faults({"rule": "true", "messageExpression": "self.x"}, x=X)
    assert fault.endswith("messageExpression must evaluate to a string")


def test_a_loop_without_bounds_exceeds_the_budget() -> None:
    inner: JsonObject = {"rule": "self.all(s, s == 'string constant')"}
    items: JsonObject = {
        "type": "array",
        "items": {"type": "string"},
        "x-kubernetes-validations": [inner],
    }
    found = faults({"rule": "true"}, x={"type": "array", "items": items})
    assert found[0] == (
        "schema.properties[x].items.x-kubernetes-validations[0].rule: Forbidden: estimated rule cost exceeds budget by "
        "factor of more than 100x (try simplifying the rule, or adding maxItems, maxProperties, and maxLength where "
        "arrays, maps, and strings are declared)"
    )


def test_bounds_make_the_same_loop_affordable() -> None:
    numbers: JsonObject = {"type": "array", "maxItems": 725, "items": X}
    assert faults({"rule": "self.x.all(a, self.x.all(b, a == b))"}, x=numbers) == []


def test_an_old_value_is_not_to_be_had_in_a_list_without_keys() -> None:
    items: JsonObject = {"type": "integer", "x-kubernetes-validations": [{"rule": "self == oldSelf"}]}
    (fault,) = faults({"rule": "true"}, x={"type": "array", "maxItems": 5, "items": items})
    assert fault == (
        'schema.properties[x].items.x-kubernetes-validations[0].rule: Invalid value: "self == oldSelf": oldSelf cannot be '
        "used on the uncorrelatable portion of the schema within schema.properties[x]"
    )


@pytest.mark.parametrize("crd", all_crds(), ids=lambda crd: crd["metadata"]["name"])
def test_volcanos_own_definitions_are_taken(crd: JsonObject) -> None:
    for version in dig_objects(crd, "spec", "versions"):
        assert rule_faults(dig_object(version, "schema", "openAPIV3Schema"), "schema") == []

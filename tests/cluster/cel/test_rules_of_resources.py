"""Rules of custom resources are judged at every level, on transitions, with ratcheting, in the server's words."""

from __future__ import annotations

import json

import pytest

from vcray.api.meta import JsonObject, JsonValue
from vcray.cluster.schema.validation import validate


def errors(rule: JsonObject, kind: JsonObject, value: JsonValue, *old: JsonValue) -> list[str]:
    """The errors of `spec.field`, of schema `kind` with one rule, at `value`, coming from `old`."""
    part: JsonObject = {**kind, "x-kubernetes-validations": [rule]}
    spec: JsonObject = {"type": "object", "properties": {"field": part}}
    schema: JsonObject = {"type": "object", "properties": {"spec": spec}}
    before: JsonObject | None = {"spec": {"field": old[0]}} if old else None
    return validate({"spec": {"field": value}}, json.loads(json.dumps(schema)), before)


INTEGER: JsonObject = {"type": "integer"}
OBJECT: JsonObject = {"type": "object", "properties": {"a": {"type": "integer"}, "b-c": {"type": "string"}}}


def test_a_rule_that_holds_says_nothing() -> None:
    assert errors({"rule": "self > 1"}, INTEGER, 2) == []


def test_a_broken_rule_names_itself_and_the_scalar() -> None:
    assert errors({"rule": "self > 1"}, INTEGER, 1) == ["spec.field: Invalid value: 1: failed rule: self > 1"]


def test_an_object_is_not_shown() -> None:
    assert errors({"rule": "has(self.a)", "message": "a is missing"}, OBJECT, {}) == [
        "spec.field: Invalid value: a is missing"
    ]


def test_a_message_expression_makes_the_message() -> None:
    rule: JsonObject = {"rule": "self > 1", "messageExpression": "'got ' + string(self)"}
    assert errors(rule, INTEGER, 0) == ["spec.field: Invalid value: 0: got 0"]


def test_a_broken_message_expression_leaves_the_message() -> None:
    rule: JsonObject = {"rule": "self > 1", "messageExpression": "string(1/self)", "message": "small"}
    assert errors(rule, INTEGER, 0) == ["spec.field: Invalid value: 0: small"]


@pytest.mark.parametrize(
    ("reason", "told"),
    [
        ("FieldValueForbidden", "Forbidden: no"),
        ("FieldValueRequired", "Required value: no"),
        ("FieldValueDuplicate", "Duplicate value: 1"),
        ("FieldValueInvalid", "Invalid value: 1: no"),
    ],
)
def test_a_reason_chooses_the_kind_of_error(reason: str, told: str) -> None:
    assert errors({"rule": "self > 1", "message": "no", "reason": reason}, INTEGER, 1) == [
        f"spec.field: {told}"
    ]


def test_a_field_path_points_within() -> None:
    rule: JsonObject = {"rule": "self.a > 1", "message": "no", "fieldPath": ".a"}
    assert errors(rule, OBJECT, {"a": 1}) == ["spec.field.a: Invalid value: no"]


def test_a_transition_rule_waits_for_an_old_value() -> None:
    rule: JsonObject = {"rule": "self > oldSelf"}
    assert errors(rule, INTEGER, 9) == []
    assert errors(rule, INTEGER, 9, 8) == []
    assert errors(rule, INTEGER, 9, 10) == ["spec.field: Invalid value: 9: failed rule: self > oldSelf"]


def test_an_optional_old_value_is_judged_on_creation_too() -> None:
    rule: JsonObject = {"rule": "oldSelf.orValue(0) < self", "optionalOldSelf": True}
    assert errors(rule, INTEGER, 0) != []
    assert errors(rule, INTEGER, 1) == []
    assert errors(rule, INTEGER, 3, 2) == []
    assert errors(rule, INTEGER, 2, 2) != []


def test_an_unchanged_value_is_not_judged_again() -> None:
    assert errors({"rule": "self > 1"}, INTEGER, 1, 1) == []
    assert errors({"rule": "self > 1"}, INTEGER, 0, 1) != []


def test_names_that_are_no_identifiers_are_escaped() -> None:
    assert errors({"rule": "self.b__dash__c == 'x'"}, OBJECT, {"b-c": "x"}) == []


def test_numbers_and_times_have_their_types() -> None:
    assert errors({"rule": "self / 2.0 == 2.5"}, {"type": "number"}, 5) == []
    assert errors({"rule": "self < duration('1h')"}, {"type": "string", "format": "duration"}, "30m") == []
    times: JsonObject = {"type": "string", "format": "date-time"}
    assert errors({"rule": "self.getFullYear() == 2024"}, times, "2024-02-03T04:05:06Z") == []


def test_items_of_a_list_map_are_compared_by_their_keys() -> None:
    item: JsonObject = {
        "type": "object",
        "properties": {"k": {"type": "string"}, "v": {"type": "integer"}},
        "x-kubernetes-validations": [{"rule": "self.v >= oldSelf.v", "message": "shrinks"}],
    }
    kind: JsonObject = {
        "type": "array",
        "items": item,
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["k"],
    }
    old: JsonValue = [{"k": "a", "v": 2}, {"k": "b", "v": 2}]
    new: JsonValue = [{"k": "b", "v": 1}, {"k": "c", "v": 0}, {"k": "a", "v": 3}]

    assert errors({"rule": "true"}, kind, new, old) == ["spec.field[0]: Invalid value: shrinks"]


def test_entries_of_a_map_are_named_by_their_keys() -> None:
    value: JsonObject = {"type": "integer", "x-kubernetes-validations": [{"rule": "self > 0"}]}
    kind: JsonObject = {"type": "object", "additionalProperties": value}
    assert errors({"rule": "true"}, kind, {"x": 0}) == [
        "spec.field[x]: Invalid value: 0: failed rule: self > 0"
    ]


def test_a_rule_without_a_value_names_the_cause() -> None:
    assert errors({"rule": "self.a > 1"}, OBJECT, {}) == [
        'spec.field: Invalid value: "object": no such key: a evaluating rule: self.a > 1'
    ]


def test_a_rule_that_takes_too_long_is_ended() -> None:
    kind: JsonObject = {"type": "array", "items": INTEGER}
    value: JsonValue = [20] * 725
    (error,) = errors({"rule": "self.all(x, self.all(y, y == x))"}, kind, value)
    assert error == (
        "spec.field: Invalid value: \"array\": 'operation cancelled: actual cost limit exceeded': no further validation "
        "rules will be run due to call cost exceeds limit for rule: self.all(x, self.all(y, y == x))"
    )


def test_rules_wait_for_an_object_of_the_right_form() -> None:
    assert errors({"rule": "self > 1"}, INTEGER, "x")[-1] == (
        "<nil>: Invalid value: null: some validation rules were not checked because the object was invalid; "
        "correct the existing errors to complete validation"
    )


def test_what_its_schema_refuses_is_let_be_while_it_does_not_change() -> None:
    kind: JsonObject = {"type": "string", "enum": ["new"]}
    assert errors({"rule": "true"}, kind, "old", "old") == []
    assert errors({"rule": "true"}, kind, "other", "old") != []
    assert errors({"rule": "true"}, INTEGER, True, 1) != []

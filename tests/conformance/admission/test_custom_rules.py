"""Rules of custom resources are judged alike on both servers, word for word."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from typing import Any

import pytest

from tests.conformance.harness.base import Server, wait_until
from tests.conformance.harness.client import ApiError

DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
ITEM = {
    "type": "object",
    "properties": {"k": {"type": "string"}, "v": {"type": "integer"}},
    "required": ["k"],
    "x-kubernetes-validations": [{"rule": "self.v >= oldSelf.v", "message": "shrinks"}],
}
SPEC = {
    "type": "object",
    "x-kubernetes-validations": [
        {"rule": "!has(self.low) || self.low <= self.high", "messageExpression": "self.high == 10 ? 'high is ten' : 'high is not ten'"},
        {"rule": "self.forbidden != 'x'", "reason": "FieldValueForbidden", "fieldPath": ".forbidden", "message": "no"},
        {"rule": "!(self.needs in ['missing'])", "reason": "FieldValueRequired", "fieldPath": ".low"},
        {"rule": "oldSelf.hasValue() || !has(self.once)", "optionalOldSelf": True, "message": "once is only kept"},
        {"rule": "self.cidr == '' || cidr(self.cidr).containsIP('10.0.0.1')"},
        {"rule": "self.ratio <= 1.0"},
    ],
    "properties": {
        "low": {"type": "integer"},
        "high": {"type": "integer", "default": 10},
        "forbidden": {"type": "string", "default": ""},
        "needs": {"type": "string", "default": ""},
        "once": {"type": "string", "maxLength": 10},
        "cidr": {"type": "string", "default": "", "maxLength": 40},
        "ratio": {"type": "number", "default": 0},
        "size": {"type": "integer", "x-kubernetes-validations": [{"rule": "self % 2 == 0"}]},
        "grows": {"type": "integer", "x-kubernetes-validations": [{"rule": "self > oldSelf"}]},
        "list": {"type": "array", "items": ITEM, "maxItems": 10, "x-kubernetes-list-type": "map",
                 "x-kubernetes-list-map-keys": ["k"]},
        "map": {"type": "object", "maxProperties": 5, "additionalProperties": {
            "type": "string", "maxLength": 20, "x-kubernetes-validations": [{"rule": "self.startsWith('a')"}]}},
        "when": {"type": "string", "format": "date-time", "x-kubernetes-validations": [
            {"rule": "self < timestamp('2030-01-01T00:00:00Z')"}]},
        "a-b": {"type": "string", "maxLength": 10},
    },
}  # fmt: skip


class Rules:
    """Custom objects of a kind with many rules."""

    def __init__(self, server: Server, namespace: str, group: str) -> None:
        self.client = server.client
        self.kind = {"apiVersion": f"{group}/v1", "kind": "Ruled"}
        self.path = f"/apis/{group}/v1/namespaces/{namespace}/ruleds"

    def create(self, name: str = "one", **spec: object) -> dict[str, Any]:
        return self.client.create(self.path, {**self.kind, "metadata": {"name": name}, "spec": spec})

    def refused(self, **spec: object) -> str:
        """What is said against a new object, behind the usual opening."""
        with pytest.raises(ApiError) as caught:
            self.create("refused", **spec)
        assert (caught.value.code, caught.value.reason) == (422, "Invalid")
        return caught.value.message.partition("is invalid: ")[2]

    def change(self, obj: dict[str, Any], **spec: object) -> dict[str, Any]:
        changed = {**obj, "spec": {**obj["spec"], **spec}}
        return self.client.replace(f"{self.path}/{obj['metadata']['name']}", changed)


@pytest.fixture(scope="module")
def group(apiserver: Server) -> Iterator[str]:
    """The group of a new kind whose spec has the rules."""
    name = f"rules-{secrets.token_hex(4)}.example.com"
    client = apiserver.client
    version = {
        "name": "v1",
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": SPEC}}},
    }
    names = {"plural": "ruleds", "singular": "ruled", "kind": "Ruled", "listKind": "RuledList"}
    body = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"ruleds.{name}"},
        "spec": {"group": name, "scope": "Namespaced", "names": names, "versions": [version]},
    }
    client.create(DEFINITIONS, body)
    wait_until(lambda: client.exists(f"/apis/{name}/v1/ruleds"), "the kind to be served")
    yield name
    client.delete(f"{DEFINITIONS}/ruleds.{name}")


@pytest.fixture
def rules(apiserver: Server, namespace: str, group: str) -> Rules:
    return Rules(apiserver, namespace, group)


@pytest.mark.parametrize(
    ("spec", "told"),
    [
        ({"low": 11}, "spec: Invalid value: high is ten"),
        ({"forbidden": "x"}, "spec.forbidden: Forbidden: no"),
        ({"needs": "missing"}, "spec.low: Required value: failed rule: !(self.needs in ['missing'])"),
        ({"once": "a"}, "spec: Invalid value: once is only kept"),
        (
            {"cidr": "192.168.0.0/16"},
            "spec: Invalid value: failed rule: self.cidr == '' || cidr(self.cidr).containsIP('10.0.0.1')",
        ),
        ({"ratio": 2}, "spec: Invalid value: failed rule: self.ratio <= 1.0"),
        ({"size": 3}, "spec.size: Invalid value: 3: failed rule: self % 2 == 0"),
        ({"map": {"x": "b"}}, "spec.map[x]: Invalid value: \"b\": failed rule: self.startsWith('a')"),
        (
            {"when": "2031-01-01T00:00:00Z"},
            'spec.when: Invalid value: "2031-01-01T00:00:00Z": failed rule: self < '
            "timestamp('2030-01-01T00:00:00Z')",
        ),
    ],
)
def test_a_broken_rule_is_told_alike(rules: Rules, spec: dict[str, Any], told: str) -> None:
    assert rules.refused(**spec) == told


def test_an_object_that_breaks_nothing_is_taken(rules: Rules) -> None:
    made = rules.create(low=1, size=2, grows=1, map={"x": "ab"}, list=[{"k": "a", "v": 1}], cidr="10.0.0.0/8")

    assert made["spec"]["high"] == 10


def test_transitions_compare_with_what_was_there(rules: Rules) -> None:
    made = rules.create(grows=2, list=[{"k": "a", "v": 2}, {"k": "b", "v": 2}])

    with pytest.raises(ApiError, match=r"spec\.grows: Invalid value: 2: failed rule: self > oldSelf"):
        rules.change(made, grows=2, size=4)
    with pytest.raises(ApiError, match=r"spec\.list\[1\]: Invalid value: shrinks"):
        rules.change(made, grows=3, list=[{"k": "c", "v": 0}, {"k": "b", "v": 1}])
    assert rules.change(made, grows=3)["spec"]["grows"] == 3


def test_an_object_of_the_wrong_form_is_not_judged_by_rules(rules: Rules) -> None:
    told = rules.refused(size="three")

    assert told.endswith(
        "<nil>: Invalid value: null: some validation rules were not checked because the object was invalid; "
        "correct the existing errors to complete validation]"
    )

"""Admission policies act alike on both servers: they deny, warn and change, in the same words."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import pytest

from tests.conformance.harness.base import Server, wait_until
from tests.conformance.harness.client import ApiError

POLICIES = "/apis/admissionregistration.k8s.io/v1"
RULE = {"operations": ["CREATE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"]}


class Policies:
    """Makes policies that are about one namespace, and config maps there."""

    def __init__(self, server: Server, namespace: str) -> None:
        self.server, self.client, self.namespace = server, server.client, namespace
        self.maps = f"/api/v1/namespaces/{namespace}/configmaps"
        self._made: list[str] = []
        self._count = 0

    def put(self, kind: str, spec: dict[str, Any], binding: dict[str, Any]) -> None:
        """Store a policy and its binding, named after the namespace."""
        plural = f"{kind.lower()}admissionpolicies"
        name = f"{kind.lower()}.{self.namespace}"
        for path, whole, body in (
            (plural, f"{kind}AdmissionPolicy", spec),
            (f"{kind.lower()}admissionpolicybindings", f"{kind}AdmissionPolicyBinding", binding),
        ):
            obj = {"apiVersion": "admissionregistration.k8s.io/v1", "kind": whole, "metadata": {"name": name}}
            self.client.create(f"{POLICIES}/{path}", {**obj, "spec": body})
            self._made.append(f"{POLICIES}/{path}/{name}")

    def constraints(self) -> dict[str, Any]:
        """Config maps of the namespace."""
        labels = {"kubernetes.io/metadata.name": self.namespace}
        return {"resourceRules": [RULE], "namespaceSelector": {"matchLabels": labels}}

    def validating(
        self, *validations: dict[str, str], actions: tuple[str, ...] = ("Deny",), **spec: object
    ) -> None:
        """A validating policy; returns when it is in force."""
        marker = {"expression": "object.metadata.name != 'marker'", "message": "in force"}
        body = {"matchConstraints": self.constraints(), "validations": [*validations, marker], **spec}
        name = f"validating.{self.namespace}"
        self.put("Validating", body, {"policyName": name, "validationActions": list(actions)})
        if "Deny" in actions:
            self.in_force(lambda: self.denied({}, "marker") != "")

    def mutating(self, *mutations: dict[str, Any]) -> None:
        """A mutating policy; returns when it is in force."""
        body = {
            "matchConstraints": self.constraints(),
            "mutations": list(mutations),
            "reinvocationPolicy": "Never",
        }
        self.put("Mutating", body, {"policyName": f"mutating.{self.namespace}"})
        self.in_force(
            lambda: self.create(labels={"probe": "yes"}, dry=True)["metadata"].get("annotations") is not None
        )

    def in_force(self, condition: Callable[[], bool]) -> None:
        """Wait until the server's admission has seen the policies."""
        wait_until(condition, "the policy to be in force")

    def create(self, data: dict[str, str] | None = None, name: str = "", *, dry: bool = False, **metadata: Any) -> dict[str, Any]:  # fmt: skip
        """A config map as stored."""
        self._count += 1
        meta = {"name": name or f"map-{self._count}", **metadata}
        query = "?dryRun=All" if dry else ""
        return self.client.create(self.maps + query, {"metadata": meta, "data": data or {}})

    def denied(self, data: dict[str, str], name: str = "") -> str:
        """The refusal of a config map; empty if it is taken."""
        try:
            self.create(data, name, dry=True)
        except ApiError as error:
            return error.message
        return ""

    def close(self) -> None:
        for path in self._made:
            with suppress(ApiError):
                self.client.delete(path)


@pytest.fixture
def policies(apiserver: Server, namespace: str) -> Iterator[Policies]:
    made = Policies(apiserver, namespace)
    yield made
    made.close()


def test_a_denial_names_policy_binding_and_message(policies: Policies) -> None:
    message = "'at most 2, not ' + string(size(object.data))"
    policies.validating({"expression": "size(object.data) <= 2", "messageExpression": message})

    told = policies.denied({"a": "", "b": "", "c": ""}, "big")

    name = f"validating.{policies.namespace}"
    assert told == (
        f"configmaps \"big\" is forbidden: ValidatingAdmissionPolicy '{name}' with binding '{name}' denied request: "
        "at most 2, not 3"
    )
    assert policies.denied({"a": ""}) == ""


def test_a_denial_has_code_reason_and_cause(policies: Policies) -> None:
    policies.validating({"expression": "false", "reason": "Forbidden"})

    with pytest.raises(ApiError) as caught:
        policies.create({}, "any")

    assert (caught.value.code, caught.value.reason) == (403, "Forbidden")
    causes = caught.value.status["details"]["causes"]
    assert causes[0]["message"].endswith("denied request: failed expression: false")


def test_an_expression_without_a_value_denies(policies: Policies) -> None:
    policies.validating({"expression": "object.data['key'] == 'x'"})

    assert policies.denied({"other": ""}).endswith(
        "expression 'object.data['key'] == 'x'' resulted in error: no such key: key"
    )


def test_variables_conditions_and_the_namespace_are_seen(policies: Policies) -> None:
    policies.validating(
        {"expression": "variables.short || namespaceObject.metadata.name == 'elsewhere'"},
        variables=[
            {"name": "length", "expression": "size(object.metadata.name)"},
            {"name": "short", "expression": "variables.length < 10 && request.namespace != 'elsewhere'"},
        ],
        matchConditions=[
            {"name": "asked", "expression": "'asked' in object.?data.orValue({}) || request.name == 'marker'"}
        ],
    )

    assert policies.denied({"asked": ""}, "short") == ""
    assert policies.denied({"asked": ""}, "a-long-name-indeed") != ""
    assert policies.denied({}, "a-long-name-indeed") == ""


def test_parameters_are_read_by_name(policies: Policies, namespace: str) -> None:
    policies.client.create(policies.maps, {"metadata": {"name": "limits"}, "data": {"most": "1"}})
    body = {
        "matchConstraints": policies.constraints(),
        "paramKind": {"apiVersion": "v1", "kind": "ConfigMap"},
        "validations": [{"expression": "size(object.data) <= int(params.data.most)"}],
    }
    reference = {"name": "limits", "namespace": namespace, "parameterNotFoundAction": "Deny"}
    binding = {
        "policyName": f"validating.{namespace}",
        "validationActions": ["Deny"],
        "paramRef": reference,
    }
    policies.put("Validating", body, binding)

    wait_until(
        lambda: "failed expression" in policies.denied({"a": "", "b": ""}), "the policy to be in force"
    )
    assert policies.denied({"a": ""}) == ""


def test_a_binding_that_warns_sets_a_header(policies: Policies) -> None:
    policies.validating({"expression": "false", "message": "mind this"}, actions=("Warn", "Audit"))
    body = {"metadata": {"name": "warned"}}

    def warned() -> bool:
        _, headers = policies.client.raw("POST", policies.maps + "?dryRun=All", body)
        return "mind this" in headers.get("warning", "")

    wait_until(warned, "the warning")


def test_an_apply_configuration_is_merged(policies: Policies) -> None:
    expression = """
        Object{metadata: Object.metadata{
            annotations: {"changed-by": "policy"},
            labels: {"size": string(size(object.?data.orValue({})))}
        }}"""
    policies.mutating({"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": expression}})

    made = policies.create({"a": "1"}, labels={"kept": "yes"})

    assert made["metadata"]["annotations"] == {"changed-by": "policy"}
    assert made["metadata"]["labels"] == {"kept": "yes", "size": "1"}


def test_a_json_patch_is_applied(policies: Policies) -> None:
    expression = """[
        JSONPatch{op: "test", path: "/kind", value: "ConfigMap"},
        JSONPatch{op: "add", path: "/metadata/annotations", value: {"x": "y"}},
        JSONPatch{op: "add", path: "/metadata/annotations/" + jsonpatch.escapeKey("a/b"), value: "c"}
    ]"""
    policies.mutating({"patchType": "JSONPatch", "jsonPatch": {"expression": expression}})

    assert policies.create({})["metadata"]["annotations"] == {"x": "y", "a/b": "c"}


def test_the_authorizer_knows_the_rights_of_users_and_accounts(policies: Policies) -> None:
    account = f"authorizer.serviceAccount('{policies.namespace}', 'nobody')"
    policies.validating(
        {"expression": "authorizer.group('apps').resource('deployments').check('create').allowed()"},
        {"expression": "authorizer.requestResource.check('create').allowed()"},
        {"expression": "authorizer.path('/healthz').check('get').allowed()"},
        {"expression": f"!{account}.group('').resource('secrets').namespace('x').check('get').allowed()"},
    )

    assert policies.denied({}) == ""

"""Admission policies judge and change requests of a store, as they do on a Kubernetes API server."""

from __future__ import annotations

import copy

import pytest

from vcray.api.jsonview import dig_objects
from vcray.api.meta import JsonObject
from vcray.api.resources import CONFIGMAPS, DEPLOYMENTS, NAMESPACES, REPLICASETS
from vcray.cluster.admission.policygate import PolicyGate
from vcray.cluster.objects.store import Store
from vcray.cluster.objects.write import Write
from vcray.kube.errors import ApiError

RULE: JsonObject = {
    "operations": ["CREATE", "UPDATE"],
    "apiGroups": ["apps"],
    "apiVersions": ["v1"],
    "resources": ["deployments"],
}
MAPS: JsonObject = {**RULE, "apiGroups": [""], "resources": ["configmaps"]}


@pytest.fixture
def store() -> Store:
    one = Store()
    one.gates.append(PolicyGate(one.storage, one.catalog))
    return one


def put(store: Store, kind: str, name: str, spec: JsonObject) -> None:
    resource = store.catalog.at("admissionregistration.k8s.io", "v1", f"{kind.lower()}".replace("policy", "policies")
                                if kind.endswith("Policy") else f"{kind.lower()}s").resource  # fmt: skip
    obj: JsonObject = {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": kind,
        "metadata": {"name": name},
        "spec": copy.deepcopy(spec),
    }
    store.create(resource, "", obj)


def validating(
    store: Store, *validations: JsonObject, binding: JsonObject | None = None, **spec: object
) -> None:
    """A policy `p` with these validations and a binding `b` that denies."""
    whole: JsonObject = {
        "failurePolicy": "Fail",
        "matchConstraints": {"resourceRules": [RULE]},
        "validations": list(validations),
    }
    put(store, "ValidatingAdmissionPolicy", "p", {**whole, **spec})  # type: ignore[dict-item]
    bound: JsonObject = {"policyName": "p", "validationActions": ["Deny"], **(binding or {})}
    put(store, "ValidatingAdmissionPolicyBinding", "b", bound)


def mutating(store: Store, *mutations: JsonObject, name: str = "p", **spec: object) -> None:
    whole: JsonObject = {
        "failurePolicy": "Fail",
        "reinvocationPolicy": "Never",
        "matchConstraints": {"resourceRules": [RULE]},
        "mutations": list(mutations),
    }
    put(store, "MutatingAdmissionPolicy", name, {**whole, **spec})  # type: ignore[dict-item]
    put(store, "MutatingAdmissionPolicyBinding", f"{name}-b", {"policyName": name})


def deployment(replicas: int = 1, name: str = "web", **labels: str) -> JsonObject:
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "labels": dict(labels)},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": {"app": "web"}},
            "template": {
                "metadata": {"labels": {"app": "web"}},
                "spec": {"containers": [{"name": "c", "image": "i"}]},
            },
        },
    }


def denied(store: Store, obj: JsonObject) -> ApiError:
    with pytest.raises(ApiError) as caught:
        store.create(DEPLOYMENTS, "default", obj)
    return caught.value


def created(store: Store, obj: JsonObject) -> JsonObject:
    return store.create(DEPLOYMENTS, "default", obj).decode()


def test_a_validation_denies_with_its_message_expression(store: Store) -> None:
    message = "'wants replicas > 1, got ' + string(object.spec.replicas)"
    validating(store, {"expression": "object.spec.replicas > 1", "messageExpression": message})

    error = denied(store, deployment(1))

    told = "ValidatingAdmissionPolicy 'p' with binding 'b' denied request: wants replicas > 1, got 1"
    assert error.message == f'deployments.apps "web" is forbidden: {told}'
    assert (error.code, error.reason) == (422, "Invalid")
    assert error.details["causes"] == [{"message": told}]
    created(store, deployment(2))


def test_other_resources_are_not_judged(store: Store) -> None:
    validating(store, {"expression": "false"})
    replicas = deployment(1)
    replicas["kind"] = "ReplicaSet"

    assert store.create(REPLICASETS, "default", replicas).name == "web"


def test_a_validation_without_a_message_names_its_expression(store: Store) -> None:
    validating(store, {"expression": "false", "reason": "Forbidden"})

    error = denied(store, deployment())

    assert error.message.endswith("denied request: failed expression: false")
    assert (error.code, error.reason) == (403, "Forbidden")


def test_variables_are_there_for_validations_and_for_later_variables(store: Store) -> None:
    variables = [
        {"name": "replicas", "expression": "object.spec.replicas"},
        {"name": "odd", "expression": "variables.replicas % 2 == 1"},
    ]
    validating(
        store, {"expression": "variables.replicas > 1"}, {"expression": "variables.odd"}, variables=variables
    )

    assert "variables.odd" in denied(store, deployment(2)).message
    created(store, deployment(3))


def test_an_expression_that_fails_denies_unless_failures_are_ignored(store: Store) -> None:
    validating(store, {"expression": "object.spec.nothing > 1"})
    assert denied(store, deployment()).message.endswith(
        "expression 'object.spec.nothing > 1' resulted in error: no such key: nothing"
    )


def test_ignored_failures_let_the_request_in(store: Store) -> None:
    validating(store, {"expression": "object.spec.nothing > 1"}, failurePolicy="Ignore")
    assert created(store, deployment())["kind"] == "Deployment"


def test_a_binding_may_only_warn(store: Store) -> None:
    validating(
        store, {"expression": "false", "message": "no"}, binding={"validationActions": ["Warn", "Audit"]}
    )
    write = Write()

    store.create(DEPLOYMENTS, "default", deployment(), write)

    assert write.warnings == ["Validation failed for ValidatingAdmissionPolicy 'p' with binding 'b': no"]


def test_a_binding_selects_namespaces_by_their_labels(store: Store) -> None:
    selector: JsonObject = {"namespaceSelector": {"matchLabels": {"watched": "yes"}}}
    validating(store, {"expression": "false"}, binding={"matchResources": selector})
    store.create(NAMESPACES, "", {"metadata": {"name": "watched", "labels": {"watched": "yes"}}})

    created(store, deployment())
    with pytest.raises(ApiError, match="failed expression: false"):
        store.create(DEPLOYMENTS, "watched", deployment())


def test_match_conditions_let_requests_pass(store: Store) -> None:
    condition = {"name": "named", "expression": "request.name == 'other' && request.operation == 'CREATE'"}
    validating(store, {"expression": "false"}, matchConditions=[condition])

    created(store, deployment())
    assert denied(store, deployment(name="other")).code == 422


def test_the_namespace_of_the_request_is_seen(store: Store) -> None:
    validating(store, {"expression": "namespaceObject.metadata.name == 'default'"})
    assert created(store, deployment())["kind"] == "Deployment"


def test_parameters_are_objects_by_name(store: Store) -> None:
    limit: JsonObject = {"metadata": {"name": "limit"}, "data": {"most": "2"}}
    store.create(CONFIGMAPS, "default", limit)
    validating(
        store,
        {"expression": "object.spec.replicas <= int(params.data.most)"},
        binding={"paramRef": {"name": "limit", "parameterNotFoundAction": "Deny"}},
        paramKind={"apiVersion": "v1", "kind": "ConfigMap"},
    )

    created(store, deployment(2))
    assert "failed expression" in denied(store, deployment(3, name="more")).message


def test_missing_parameters_deny_if_the_binding_says_so(store: Store) -> None:
    validating(
        store,
        {"expression": "true"},
        binding={"paramRef": {"name": "none", "parameterNotFoundAction": "Deny"}},
        paramKind={"apiVersion": "v1", "kind": "ConfigMap"},
    )

    assert denied(store, deployment()).message.endswith(
        "failed to configure binding: no params found for policy binding with `Deny` parameterNotFoundAction"
    )


def test_a_mutation_merges_an_apply_configuration(store: Store) -> None:
    mutating(store, {
        "patchType": "ApplyConfiguration",
        "applyConfiguration": {"expression": 'Object{metadata: Object.metadata{annotations: {"by": "policy"}}, '
                                             "spec: Object.spec{replicas: 1337}}"},
    })  # fmt: skip

    obj = created(store, deployment())

    assert obj["metadata"]["annotations"] == {"by": "policy"}  # type: ignore[index, call-overload]
    assert obj["spec"]["replicas"] == 1337  # type: ignore[index, call-overload]


def test_a_mutation_applies_a_json_patch(store: Store) -> None:
    expression = "[JSONPatch{op: 'add', path: '/metadata/labels/' + jsonpatch.escapeKey('a/b'), value: 'c'}]"
    mutating(store, {"patchType": "JSONPatch", "jsonPatch": {"expression": expression}})

    obj = created(store, deployment(x="y"))

    assert obj["metadata"]["labels"] == {"a/b": "c", "x": "y"}  # type: ignore[index, call-overload]


def test_entries_of_lists_with_keys_are_merged(store: Store) -> None:
    expression = (
        "Object{spec: Object.spec{template: Object.spec.template{spec: Object.spec.template.spec{containers: ["
        "Object.spec.template.spec.containers{name: 'c', imagePullPolicy: 'Never'}]}}}}"
    )
    mutating(store, {"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": expression}})

    obj = created(store, deployment())

    (container,) = dig_objects(obj, "spec", "template", "spec", "containers")
    assert (container["image"], container["imagePullPolicy"]) == ("i", "Never")


def test_a_policy_is_run_again_after_a_later_change_if_it_wishes(store: Store) -> None:
    def set_label(name: str) -> JsonObject:
        count = f"object.metadata.labels[?'{name}'].orValue('') + 'x'"
        expression = f"Object{{metadata: Object.metadata{{labels: {{'{name}': {count}}}}}}}"
        return {"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": expression}}

    mutating(store, set_label("a"), name="a", reinvocationPolicy="IfNeeded")
    mutating(store, set_label("b"), name="b")

    obj = created(store, deployment(x="y"))

    assert obj["metadata"]["labels"] == {"x": "y", "a": "xx", "b": "x"}  # type: ignore[index, call-overload]


def test_a_mutation_that_cannot_be_made_denies(store: Store) -> None:
    mutating(
        store,
        {"patchType": "JSONPatch", "jsonPatch": {"expression": "[JSONPatch{op: 'remove', path: '/no'}]"}},
    )

    error = denied(store, deployment())

    assert error.message.startswith("policy 'p' with binding 'p-b' denied request: JSON Patch: ")

"""Requests that an API server refuses, and its very words: the same on the embedded server and on a real one."""

from __future__ import annotations

from typing import Any

import pytest

from tests.conformance.harness.base import STRANGER_TOKEN, Server
from tests.conformance.harness.client import ApiError

NS = "/api/v1/namespaces"
CM = f"{NS}/default/configmaps"
NOT_FOUND = "the server could not find the requested resource"
NOT_ALLOWED = "the server does not allow this method on the requested resource"

READS: list[tuple[str, int, str]] = [
    ("/nope", 404, "404 page not found\n"),
    ("/apis/nope", 404, "404 page not found\n"),
    ("/apis/nope.io/v1/things", 404, "404 page not found\n"),
    ("/apis/apps/v2", 404, NOT_FOUND),
    ("/api/v1/nope", 404, NOT_FOUND),
    ("/api/v1/configmaps/a", 404, NOT_FOUND),
    (f"{NS}/default/nodes", 404, NOT_FOUND),
    (f"{NS}/default/pods/absent", 404, 'pods "absent" not found'),
    (f"{NS}/default/pods/absent/log", 404, 'pods "absent" not found'),
    ("/apis/apps/v1/namespaces/default/deployments/x/scale", 404, 'deployments.apps "x" not found'),
    ("/apis/authentication.k8s.io/v1/tokenreviews", 405, NOT_ALLOWED),
    (f"{NS}?limit=some", 400, 'strconv.ParseInt: parsing "some": invalid syntax'),
    (
        f"{NS}?timeout=soon",
        400,
        'invalid timeout specified in the request URL - time: invalid duration "soon"',
    ),
    (
        "/version?timeout=soon",
        400,
        'invalid timeout specified in the request URL - time: invalid duration "soon"',
    ),
    (f"{NS}?timeout=1ns", 504, "Timeout: request did not complete within the allotted timeout"),
    (f"{NS}?fieldSelector=color=red", 400, "field label not supported: color"),
    (f"{NS}?fieldSelector=color", 400, "invalid selector: 'color'; can't understand 'color'"),
    (
        f"{NS}?resourceVersion=new",
        400,
        'invalid resource version: resourceVersion: Invalid value: "new": strconv.ParseUint: parsing "new": '
        "invalid syntax",
    ),
    (
        f"{NS}?watch=true&timeoutSeconds=1&resourceVersion=new",
        500,
        'resourceVersion: Invalid value: "new": strconv.ParseUint: parsing "new": invalid syntax',
    ),
    (
        f"{NS}?resourceVersionMatch=Exact",
        422,
        'ListOptions.meta.k8s.io "" is invalid: resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden '
        "unless resourceVersion is provided",
    ),
    (
        f"{NS}?resourceVersionMatch=Best&resourceVersion=1",
        422,
        'ListOptions.meta.k8s.io "" is invalid: resourceVersionMatch: Unsupported value: "Best": supported values: '
        '"Exact", "NotOlderThan", ""',
    ),
    (
        f"{NS}?watch=true&timeoutSeconds=1&sendInitialEvents=true",
        422,
        'ListOptions.meta.k8s.io "" is invalid: resourceVersionMatch: Forbidden: sendInitialEvents requires setting '
        "resourceVersionMatch to NotOlderThan",
    ),
]

WRITES: list[tuple[str, str, Any, int, str]] = [
    ("DELETE", "/api/v1/configmaps", None, 405, NOT_ALLOWED),
    ("POST", "/api/v1/configmaps", {}, 405, NOT_ALLOWED),
    ("PUT", CM, {}, 405, NOT_ALLOWED),
    ("POST", f"{CM}/a", {}, 405, NOT_ALLOWED),
    ("OPTIONS", CM, None, 405, NOT_ALLOWED),
    ("POST", f"{NS}/absent/configmaps", {"metadata": {"name": "a"}}, 404, 'namespaces "absent" not found'),
    ("POST", CM, {"metadata": {"name": "a", "resourceVersion": "1"}}, 500,
     "resourceVersion should not be set on objects to be created"),
    ("POST", CM, {"metadata": {"name": "a", "namespace": "kube-system"}}, 400,
     "the namespace of the provided object does not match the namespace sent on the request"),
    ("POST", CM, {"kind": "Pod", "apiVersion": "v1"}, 400,
     'Pod in version "v1" cannot be handled as a ConfigMap: converting (v1.Pod) to (core.ConfigMap): unknown conversion'),
    ("POST", CM, {}, 422, 'ConfigMap "" is invalid: metadata.name: Required value: name or generateName is required'),
    ("POST", f"{CM}?dryRun=most", {"metadata": {"name": "a"}}, 422,
     'CreateOptions.meta.k8s.io "" is invalid: dryRun: Unsupported value: ["most"]: supported values: "All"'),
    ("POST", f"{CM}?fieldValidation=None", {"metadata": {"name": "a"}}, 422,
     'CreateOptions.meta.k8s.io "" is invalid: fieldValidation: Unsupported value: "None": supported values: "", '
     '"Ignore", "Strict", "Warn"'),
    ("DELETE", f"{CM}/absent", {"propagationPolicy": "Sideways"}, 422,
     'DeleteOptions.meta.k8s.io "" is invalid: propagationPolicy: Unsupported value: "Sideways": supported values: '
     '"Foreground", "Background", "Orphan", "nil"'),
    ("DELETE", f"{NS}/kube-system", None, 403,
     'namespaces "kube-system" is forbidden: this namespace may not be deleted'),
    ("POST", f"{NS}/default/pods/absent/binding", {"metadata": {"name": "other"}, "target": {"name": "n"}}, 400,
     "name in URL does not match name in Binding object"),
    ("POST", f"{NS}/default/serviceaccounts/absent/token", {"spec": {}}, 404, 'serviceaccounts "absent" not found'),
]  # fmt: skip


@pytest.mark.parametrize(("path", "code", "message"), READS)
def test_a_read_is_refused_in_the_same_words(apiserver: Server, path: str, code: int, message: str) -> None:
    with pytest.raises(ApiError) as refused:
        apiserver.client.get(path)

    assert (refused.value.code, refused.value.message) == (code, message)


@pytest.mark.parametrize(("method", "path", "body", "code", "message"), WRITES)
def test_a_write_is_refused_in_the_same_words(
    apiserver: Server, method: str, path: str, body: Any, code: int, message: str
) -> None:
    with pytest.raises(ApiError) as refused:
        apiserver.client.request(method, path, body)

    assert (refused.value.code, refused.value.message) == (code, message)


def test_a_version_still_to_come_asks_to_try_again(apiserver: Server) -> None:
    with pytest.raises(ApiError) as refused:
        apiserver.client.get(f"{NS}?resourceVersion=99999999")

    details = refused.value.status["details"]
    assert refused.value.code == 504
    assert details["retryAfterSeconds"] == 1
    assert details["causes"] == [
        {"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}
    ]


def test_each_fault_of_an_object_is_a_cause(apiserver: Server) -> None:
    with pytest.raises(ApiError) as refused:
        apiserver.client.create(NS, {"metadata": {"name": "Upper_Case"}})

    details = refused.value.status["details"]
    assert details["name"] == "Upper_Case"
    assert [(cause["reason"], cause["field"]) for cause in details["causes"]] == [
        ("FieldValueInvalid", "metadata.name")
    ]


def test_an_unknown_token_is_unauthorized(apiserver: Server) -> None:
    with pytest.raises(ApiError) as refused:
        apiserver.client_for("nobody").get(NS)

    assert (refused.value.code, refused.value.message) == (401, "Unauthorized")


@pytest.mark.parametrize(
    ("path", "sentence"),
    [
        (f"{NS}/default/pods", 'pods is forbidden: User "stranger" cannot list resource "pods" in API group "" '
                               'in the namespace "default"'),
        ("/api/v1/nodes/x", 'nodes "x" is forbidden: User "stranger" cannot get resource "nodes" in API group "" '
                            "at the cluster scope"),
        (f"{NS}/default/pods/x/log", 'pods "x" is forbidden: User "stranger" cannot get resource "pods/log" in API '
                                     'group "" in the namespace "default"'),
        ("/apis/apps/v1/deployments", 'deployments.apps is forbidden: User "stranger" cannot list resource '
                                      '"deployments" in API group "apps" at the cluster scope'),
        ("/metrics", 'forbidden: User "stranger" cannot get path "/metrics"'),
    ],
)  # fmt: skip
def test_a_user_without_rights_is_told_what_it_may_not(apiserver: Server, path: str, sentence: str) -> None:
    with pytest.raises(ApiError) as refused:
        apiserver.client_for(STRANGER_TOKEN).get(path)

    assert (refused.value.code, refused.value.message) == (403, sentence)


def test_media_types_that_nobody_knows_are_refused(apiserver: Server) -> None:
    with pytest.raises(ApiError) as unread:
        apiserver.client.raw("GET", NS, accept="text/csv")
    with pytest.raises(ApiError) as unsaid:
        apiserver.client.raw("GET", NS, accept="application/json;as=Poem;g=meta.k8s.io;v=v1")
    with pytest.raises(ApiError) as unwritten:
        apiserver.client.raw("POST", NS, {}, content_type="text/csv")
    with pytest.raises(ApiError) as unpatched:
        apiserver.client.raw("PATCH", f"{NS}/default", {}, content_type="application/json")

    known = "application/json, application/yaml, application/vnd.kubernetes.protobuf"
    assert unread.value.code == 406
    assert unsaid.value.message == f"only the following media types are accepted: {known}"
    assert unwritten.value.message == (
        f"the body of the request was in an unknown format - accepted media types include: {known}"
    )
    assert (unpatched.value.code, unpatched.value.message) == (415, "415: Unsupported Media Type")

"""Who may do what: roles and bindings, reviews of access, tokens of service accounts."""

from __future__ import annotations

from typing import Any

from tests.conformance.harness.base import STRANGER_TOKEN, Server, wait_until
from tests.conformance.harness.client import ApiError, Client

RBAC = "/apis/rbac.authorization.k8s.io/v1"


def bind(apiserver: Server, namespace: str, subject: dict[str, str]) -> None:
    """Let `subject` read the ConfigMaps of a namespace."""
    rules = [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get", "list"]}]
    apiserver.client.create(
        f"{RBAC}/namespaces/{namespace}/roles", {"metadata": {"name": "reader"}, "rules": rules}
    )
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "reader"}
    apiserver.client.create(
        f"{RBAC}/namespaces/{namespace}/rolebindings",
        {"metadata": {"name": "readers"}, "subjects": [subject], "roleRef": role},
    )


def may_read(client: Client, namespace: str) -> bool:
    try:
        client.get(f"/api/v1/namespaces/{namespace}/configmaps")
    except ApiError as error:
        return error.code != 403
    return True


def allowed(client: Client, verb: str, namespace: str) -> bool:
    attributes = {"verb": verb, "resource": "configmaps", "namespace": namespace}
    review = client.create(
        "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", {"spec": {"resourceAttributes": attributes}}
    )
    answer: bool = review["status"]["allowed"]
    return answer


def test_a_binding_gives_a_user_the_rights_of_a_role_in_its_namespace(
    apiserver: Server, namespace: str
) -> None:
    stranger = apiserver.client_for(STRANGER_TOKEN)
    assert not may_read(stranger, namespace)

    user = {"kind": "User", "apiGroup": "rbac.authorization.k8s.io", "name": "stranger"}
    bind(apiserver, namespace, user)

    wait_until(lambda: may_read(stranger, namespace), "the binding to hold")
    assert not may_read(stranger, "default")
    assert allowed(stranger, "list", namespace)
    assert not allowed(stranger, "delete", namespace)


def test_a_token_of_a_service_account_stands_for_it(apiserver: Server, namespace: str) -> None:
    path = f"/api/v1/namespaces/{namespace}/serviceaccounts"
    account = apiserver.client.create(path, {"metadata": {"name": "robot"}})
    bind(apiserver, namespace, {"kind": "ServiceAccount", "namespace": namespace, "name": "robot"})

    answer = apiserver.client.create(f"{path}/robot/token", {"spec": {"expirationSeconds": 1200}})
    robot = apiserver.client_for(answer["status"]["token"])

    wait_until(lambda: may_read(robot, namespace), "the binding to hold")
    info = whoami(robot)
    assert info["username"] == f"system:serviceaccount:{namespace}:robot"
    assert info["uid"] == account["metadata"]["uid"]
    assert info["groups"] == [
        "system:serviceaccounts",
        f"system:serviceaccounts:{namespace}",
        "system:authenticated",
    ]


def whoami(client: Client) -> dict[str, Any]:
    answer = client.create("/apis/authentication.k8s.io/v1/selfsubjectreviews", {})
    info: dict[str, Any] = answer["status"]["userInfo"]
    return info


def test_a_review_tells_whose_a_token_is(apiserver: Server) -> None:
    path = "/apis/authentication.k8s.io/v1/tokenreviews"

    known = apiserver.client.create(path, {"spec": {"token": STRANGER_TOKEN}})["status"]
    unknown = apiserver.client.create(path, {"spec": {"token": "nobody"}})["status"]

    assert known["authenticated"]
    assert known["user"]["username"] == "stranger"
    assert unknown == {"user": {}, "error": "invalid bearer token"}


def test_a_stranger_may_ask_what_it_may(apiserver: Server) -> None:
    stranger = apiserver.client_for(STRANGER_TOKEN)
    answer = stranger.create(
        "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews", {"spec": {"namespace": "default"}}
    )["status"]

    assert {
        "verbs": ["create"],
        "apiGroups": ["authentication.k8s.io"],
        "resources": ["selfsubjectreviews"],
    } in answer["resourceRules"]
    assert answer["incomplete"] is False

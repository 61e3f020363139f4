"""Claims in use stay until nobody uses them; policies learn in their status what does not fit."""

from __future__ import annotations

from typing import Any

from tests.conformance.harness.base import Server, wait_until

FINALIZER = "kubernetes.io/pvc-protection"


def claim(server: Server, namespace: str) -> str:
    """The path of a new claim."""
    path = f"/api/v1/namespaces/{namespace}/persistentvolumeclaims"
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    made = server.client.create(
        path, {"metadata": {"name": "data"}, "spec": {**spec, "storageClassName": ""}}
    )
    assert made["metadata"]["finalizers"] == [FINALIZER]
    return f"{path}/data"


def test_an_unused_claim_goes(embedded_cluster: Server) -> None:
    path = claim(embedded_cluster, embedded_cluster.create_namespace())

    embedded_cluster.client.delete(path)

    wait_until(lambda: not embedded_cluster.client.exists(path), "the claim to go")


def test_a_claim_in_use_waits_for_its_pod(embedded_cluster: Server) -> None:
    server, namespace = embedded_cluster, embedded_cluster.create_namespace()
    path = claim(server, namespace)
    pods = f"/api/v1/namespaces/{namespace}/pods"
    volume = {"name": "v", "persistentVolumeClaim": {"claimName": "data"}}
    spec: dict[str, Any] = {"containers": [{"name": "c", "image": "i"}], "volumes": [volume]}
    server.client.create(pods, {"metadata": {"name": "user"}, "spec": spec})

    server.client.delete(path)
    assert server.client.get(path)["metadata"]["deletionTimestamp"]
    server.client.delete(f"{pods}/user", grace_s=0)

    wait_until(lambda: not server.client.exists(path), "the claim to go")


def test_a_policy_that_does_not_fit_its_kind_is_told_so(embedded_cluster: Server) -> None:
    client, path = (
        embedded_cluster.client,
        "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies",
    )
    rule = {
        "operations": ["CREATE"],
        "apiGroups": ["apps"],
        "apiVersions": ["v1"],
        "resources": ["deployments"],
    }
    spec = {
        "matchConstraints": {"resourceRules": [rule]},
        "validations": [{"expression": "object.spec.replicas > '1'"}],
    }
    body = {"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicy"}
    client.create(path, {**body, "metadata": {"name": "confused"}, "spec": spec})
    try:
        wait_until(
            lambda: "typeChecking" in client.get(f"{path}/confused").get("status", {}), "the type check"
        )
        status = client.get(f"{path}/confused")["status"]
        assert status["observedGeneration"] == 1
        (warning,) = status["typeChecking"]["expressionWarnings"]
        assert warning["fieldRef"] == "spec.validations[0].expression"
        assert warning["warning"].startswith(
            "apps/v1, Kind=Deployment: ERROR: <input>:1:22: found no matching overload"
        )
    finally:
        client.delete(f"{path}/confused")

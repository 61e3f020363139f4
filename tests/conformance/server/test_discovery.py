"""What a server says of itself: groups, resources, the aggregated document, probes, its version."""

from __future__ import annotations

import json
from typing import Any

from tests.conformance.harness.base import STRANGER_TOKEN, Server
from tests.conformance.harness.definitions import install

AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
DEFINITION: dict[str, Any] = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "gears.discovery.example.com"},
    "spec": {
        "group": "discovery.example.com",
        "scope": "Namespaced",
        "names": {
            "plural": "gears",
            "singular": "gear",
            "kind": "Gear",
            "shortNames": ["gr"],
            "categories": ["all"],
        },
        "versions": [
            {
                "name": name,
                "served": True,
                "storage": name == "v1",
                "schema": {
                    "openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
                },
                "subresources": {
                    "status": {},
                    "scale": {"specReplicasPath": ".spec.teeth", "statusReplicasPath": ".status.teeth"},
                },
            }
            for name in ("v1", "v1beta1")
        ],
    },
}
GEAR_ROWS = [
    {
        "name": "gears",
        "singularName": "gear",
        "namespaced": True,
        "kind": "Gear",
        "verbs": ["delete", "deletecollection", "get", "list", "patch", "create", "update", "watch"],
        "shortNames": ["gr"],
        "categories": ["all"],
    },
    {
        "name": "gears/status",
        "singularName": "",
        "namespaced": True,
        "kind": "Gear",
        "verbs": ["get", "patch", "update"],
    },
    {
        "name": "gears/scale",
        "singularName": "",
        "namespaced": True,
        "group": "autoscaling",
        "version": "v1",
        "kind": "Scale",
        "verbs": ["get", "patch", "update"],
    },
]


def aggregated(server: Server, path: str) -> dict[str, dict[str, Any]]:
    answer, headers = server.client.raw("GET", path, accept=AGGREGATED)
    assert headers["content-type"] == AGGREGATED
    assert headers["etag"].startswith('"')
    return {item["metadata"].get("name", ""): item for item in json.loads(answer)["items"]}


def test_a_definition_shows_in_every_document_of_discovery(apiserver: Server) -> None:
    install(apiserver.client, [DEFINITION])

    group = apiserver.client.get("/apis/discovery.example.com")
    rows = apiserver.client.get("/apis/discovery.example.com/v1")["resources"]
    item = aggregated(apiserver, "/apis")["discovery.example.com"]

    assert [version["version"] for version in group["versions"]] == ["v1", "v1beta1"]
    assert group["preferredVersion"]["groupVersion"] == "discovery.example.com/v1"
    hashed = rows[0].pop("storageVersionHash")
    assert (
        hashed
        == apiserver.client.get("/apis/discovery.example.com/v1beta1")["resources"][0]["storageVersionHash"]
    )
    assert rows == GEAR_ROWS
    resource = item["versions"][0]["resources"][0]
    assert [sub["subresource"] for sub in resource["subresources"]] == ["status", "scale"]
    assert resource["responseKind"] == {"group": "discovery.example.com", "version": "v1", "kind": "Gear"}
    assert [version["freshness"] for version in item["versions"]] == ["Current", "Current"]


def test_both_servers_serve_the_same_built_in_resources(
    embedded_apiserver: Server, real_apiserver: Server
) -> None:
    def own(server: Server, path: str) -> dict[str, dict[str, Any]]:
        return {
            name: item
            for name, item in aggregated(server, path).items()
            if "." not in name or name.endswith(".k8s.io")
        }

    assert own(embedded_apiserver, "/api") == own(real_apiserver, "/api")
    mine, theirs = own(embedded_apiserver, "/apis"), own(real_apiserver, "/apis")
    assert mine == theirs


def test_probes_answer_and_name_their_checks(apiserver: Server) -> None:
    for name in ("healthz", "livez", "readyz"):
        assert apiserver.client.raw("GET", f"/{name}")[0] == b"ok"
        verbose = apiserver.client.raw("GET", f"/{name}?verbose")[0].decode()
        assert "[+]ping ok\n" in verbose
        assert verbose.endswith(f"{name} check passed\n")
        assert apiserver.client.raw("GET", f"/{name}/ping")[0] == b"ok"


def test_the_version_is_known_to_everybody(apiserver: Server) -> None:
    version = apiserver.client_for(STRANGER_TOKEN).get("/version")

    assert (version["major"], version["minor"], version["gitVersion"]) == ("1", "36", "v1.36.1")


def test_answers_tell_their_class_of_fairness_and_an_audit_number(apiserver: Server) -> None:
    _, headers = apiserver.client.raw("GET", "/api/v1/namespaces")
    flow = "/apis/flowcontrol.apiserver.k8s.io/v1"
    exempt = apiserver.client.get(f"{flow}/flowschemas/exempt")
    level = apiserver.client.get(f"{flow}/prioritylevelconfigurations/exempt")

    assert headers["x-kubernetes-pf-flowschema-uid"] == exempt["metadata"]["uid"]
    assert headers["x-kubernetes-pf-prioritylevel-uid"] == level["metadata"]["uid"]
    assert len(headers["audit-id"]) == 36
    assert headers["cache-control"] == "no-cache, private"

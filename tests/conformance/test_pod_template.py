"""The embedded core/v1 schemas: equal to the server's, structural, and free of surprises."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.conformance.harness.definitions import collection, conditions, install
from tests.conformance.harness.server import ControlPlane
from tools.openapi.pod_template import OUTPUT, Resolver, SchemaError, embedded_schemas, render

FILE_LIMIT = 300 * 1024
PORTS = ("spec", "containers", "items", "ports")


@pytest.fixture(scope="module")
def schemas(apiserver: ControlPlane) -> dict[str, Any]:
    return embedded_schemas(apiserver.client.get("/openapi/v3/api/v1"))


def field(schema: Any, path: tuple[str, ...]) -> dict[str, Any]:
    for step in path:
        schema = schema["items"] if step == "items" else schema["properties"][step]
    assert isinstance(schema, dict)
    return schema


def subschemas(schema: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield schema
    inner = list(schema.get("properties", {}).values())
    inner += [schema[key] for key in ("items", "additionalProperties") if key in schema]
    for each in inner:
        yield from subschemas(each)


def test_the_committed_file_is_what_the_server_says_today(schemas: dict[str, Any]) -> None:
    assert OUTPUT.read_text() == render(schemas)


def test_the_file_stays_small_enough_to_embed(schemas: dict[str, Any]) -> None:
    assert len(render(schemas).encode()) < FILE_LIMIT


def test_only_the_named_defaults_are_left(schemas: dict[str, Any]) -> None:
    defaults = {repr(s["default"]) for s in subschemas(schemas["podTemplateSpec"]) if "default" in s}
    in_claims = [s for s in subschemas(schemas["persistentVolumeClaimSpec"]) if "default" in s]

    assert defaults == {
        "''", "'TCP'", "False", "'ext4'", "'default'", "'/etc/ceph/keyring'", "'rbd'", "'admin'", "'xfs'",
        "'ThinProvisioned'",
    }  # fmt: skip
    assert in_claims == []


def test_ports_keep_their_list_keys_and_the_default_of_the_protocol(schemas: dict[str, Any]) -> None:
    ports = field(schemas["podTemplateSpec"], PORTS)

    assert ports["x-kubernetes-list-type"] == "map"
    assert ports["x-kubernetes-list-map-keys"] == ["containerPort", "protocol"]
    assert ports["items"]["properties"]["protocol"]["default"] == "TCP"


@pytest.mark.parametrize(
    "path",
    [
        ("spec", "hostnameOverride"),
        ("spec", "schedulingGroup"),
        ("spec", "resourceClaims"),
        ("spec", "resources"),
        ("spec", "containers", "items", "env", "items", "valueFrom", "fileKeyRef"),
    ],
    ids=lambda path: path[-1],
)
def test_fields_new_in_this_version_are_there(schemas: dict[str, Any], path: tuple[str, ...]) -> None:
    assert field(schemas["podTemplateSpec"], path)["type"]


@pytest.mark.parametrize(
    "path",
    [("metadata",), ("spec", "volumes", "items", "ephemeral", "volumeClaimTemplate", "metadata")],
    ids=["template", "claim template"],
)
def test_embedded_metadata_keeps_five_fields(schemas: dict[str, Any], path: tuple[str, ...]) -> None:
    metadata = field(schemas["podTemplateSpec"], path)

    assert set(metadata["properties"]) == {"name", "namespace", "labels", "annotations", "finalizers"}


def test_nothing_but_structure_is_kept(schemas: dict[str, Any]) -> None:
    keys = {
        key
        for name in ("podTemplateSpec", "persistentVolumeClaimSpec")
        for s in subschemas(schemas[name])
        for key in s
    }

    assert keys == {
        "type", "format", "properties", "items", "additionalProperties", "required", "default", "anyOf", "pattern",
        "x-kubernetes-int-or-string", "x-kubernetes-list-type", "x-kubernetes-list-map-keys", "x-kubernetes-map-type",
    }  # fmt: skip


def test_a_definition_with_both_schemas_is_accepted_and_served(
    apiserver: ControlPlane, namespace: str, schemas: dict[str, Any]
) -> None:
    properties = {
        "template": schemas["podTemplateSpec"],
        "volumeClaim": schemas["persistentVolumeClaimSpec"],
    }
    names = {"plural": "embedders", "singular": "embedder", "kind": "Embedder", "listKind": "EmbedderList"}
    version = {
        "name": "v1",
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": {"type": "object", "properties": properties}},
    }
    definition = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "embedders.test.vcray.io"},
        "spec": {"group": "test.vcray.io", "scope": "Namespaced", "names": names, "versions": [version]},
    }

    install(apiserver.client, [definition])

    assert "NonStructuralSchema" not in conditions(apiserver.client, "embedders.test.vcray.io")
    container = {"name": "main", "image": "x", "ports": [{"containerPort": 80}], "colour": "red"}
    stored = apiserver.client.create(
        collection(definition, namespace),
        {
            "apiVersion": "test.vcray.io/v1",
            "kind": "Embedder",
            "metadata": {"name": "one"},
            "template": {"spec": {"containers": [container]}},
        },
    )
    assert stored["template"]["spec"]["containers"] == [
        {"name": "main", "image": "x", "ports": [{"containerPort": 80, "protocol": "TCP"}]}
    ]


def test_a_type_that_contains_itself_is_refused() -> None:
    reference: dict[str, Any] = {"$ref": "#/components/schemas/Tree"}
    tree: dict[str, Any] = {"type": "object", "properties": {"child": reference}}

    with pytest.raises(SchemaError, match="Tree contains itself"):
        Resolver({"Tree": tree}).named("Tree")

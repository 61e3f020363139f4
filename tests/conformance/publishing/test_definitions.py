"""The life of definitions on the embedded server and on a real one: faults, names, versions, deletion."""

from __future__ import annotations

import copy
import json
import secrets
import ssl
import time
import urllib.request
from typing import Any

import pytest

from tests.conformance.harness.base import Server, wait_until
from tests.conformance.harness.client import ApiError, Client
from tests.conformance.harness.definitions import conditions, install
from vcray.cluster.objects.catalog import default_catalog
from vcray.cluster.openapi.documents import Publisher

DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
SIZE = {"type": "integer", "default": 1}
SCHEMA = {
    "type": "object",
    "properties": {
        "spec": {"type": "object", "properties": {"size": SIZE, "colour": {"type": "string"}}},
        "status": {"type": "object", "properties": {"size": {"type": "integer"}}},
    },
}


def version(name: str = "v1", storage: bool = True, **more: Any) -> dict[str, Any]:
    return {
        "name": name,
        "served": True,
        "storage": storage,
        "schema": {"openAPIV3Schema": copy.deepcopy(SCHEMA)},
        **more,
    }


def definition(group: str, *versions: dict[str, Any], **names: Any) -> dict[str, Any]:
    plural = names.get("plural", "widgets")
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{group}"},
        "spec": {
            "group": group,
            "scope": "Cluster",
            "names": {"plural": "widgets", "kind": "Widget", **names},
            "versions": list(versions) or [version()],
        },
    }


@pytest.fixture
def client(apiserver: Server) -> Client:
    return apiserver.client


@pytest.fixture
def group() -> str:
    """A group that no other test uses."""
    return f"g{secrets.token_hex(4)}.example.com"


def field(schema: dict[str, Any]) -> dict[str, Any]:
    return version(
        schema={"openAPIV3Schema": {"type": "object", "properties": {"f": schema}}},
    )


FAULTS: list[tuple[str, dict[str, Any], str]] = [
    (
        "no type",
        field({}),
        "properties[f].type: Required value: must not be empty for specified object fields",
    ),
    ("no items", field({"type": "array"}), "properties[f].items: Required value: must be specified"),
    (
        "a wrong default",
        field({"type": "string", "default": 1}),
        'properties[f].default: Invalid value: "integer":  in body must be of type string: "integer"',
    ),
    (
        "map keys without default",
        field(
            {
                "type": "array",
                "x-kubernetes-list-type": "map",
                "x-kubernetes-list-map-keys": ["k"],
                "items": {"type": "object", "properties": {"k": {"type": "string"}}},
            }
        ),
        "properties[f].items.properties[k].default: Required value: this property is in x-kubernetes-list-map-keys, so "
        "it must have a default or be a required property",
    ),
    (
        "properties and additional ones",
        field({"type": "object", "properties": {"g": SIZE}, "additionalProperties": False}),
        "properties[f].additionalProperties: Forbidden: additionalProperties and properties are mutual exclusive",
    ),
    (
        "a column without path",
        version(additionalPrinterColumns=[{"name": "A", "type": "string", "jsonPath": "a"}]),
        'spec.additionalPrinterColumns[0].JSONPath: Invalid value: "a": must be a simple json path starting with .',
    ),
    (
        "a selectable object",
        version(selectableFields=[{"jsonPath": ".spec"}]),
        "must point to a field of type string, boolean or integer.",
    ),
]


@pytest.mark.parametrize(("made", "fault"), [each[1:] for each in FAULTS], ids=[each[0] for each in FAULTS])
def test_a_faulty_definition_is_refused(client: Client, group: str, made: dict[str, Any], fault: str) -> None:
    with pytest.raises(ApiError) as refused:
        client.create(DEFINITIONS, definition(group, made))

    assert refused.value.code == 422
    assert fault in refused.value.message


def test_a_definition_without_storage_version_is_refused(client: Client, group: str) -> None:
    with pytest.raises(ApiError, match="must have exactly one version marked as storage version"):
        client.create(DEFINITIONS, definition(group, version(storage=False)))


def test_names_are_completed_and_accepted(client: Client, group: str) -> None:
    answered = client.create(DEFINITIONS, definition(group))
    install(client, [definition(group)])

    found = client.get(f"{DEFINITIONS}/widgets.{group}")
    assert answered["status"]["storedVersions"] == ["v1"]
    assert found["spec"]["conversion"] == {"strategy": "None"}
    assert found["status"]["acceptedNames"] == {
        "plural": "widgets",
        "singular": "widget",
        "kind": "Widget",
        "listKind": "WidgetList",
    }
    reasons = [(each["type"], each["reason"]) for each in found["status"]["conditions"]]
    assert reasons == [("NamesAccepted", "NoConflicts"), ("Established", "InitialNamesAccepted")]


def test_a_taken_short_name_waits_for_its_owner(client: Client, group: str) -> None:
    install(client, [definition(group, shortNames=["wx"])])
    later = definition(group, plural="wagons", kind="Wagon", shortNames=["wx"])
    client.create(DEFINITIONS, later)

    def refused() -> bool:
        return conditions(client, f"wagons.{group}").get("NamesAccepted") == "False"

    def accepted() -> bool:
        return conditions(client, f"wagons.{group}").get("Established") == "True"

    wait_until(refused, "the names to be refused")
    client.delete(f"{DEFINITIONS}/widgets.{group}")
    wait_until(accepted, "the names to be accepted")


def test_every_version_shows_the_same_object(client: Client, group: str) -> None:
    install(client, [definition(group, version("v1"), version("v2", storage=False))])
    client.create(
        f"/apis/{group}/v1/widgets",
        {"apiVersion": f"{group}/v1", "kind": "Widget", "metadata": {"name": "w"}, "spec": {"size": 3}},
    )

    first, second = (client.get(f"/apis/{group}/{name}/widgets/w") for name in ("v1", "v2"))
    listed = client.get(f"/apis/{group}/v2/widgets")

    assert (first.pop("apiVersion"), second.pop("apiVersion")) == (f"{group}/v1", f"{group}/v2")
    first["metadata"].pop("managedFields"), second["metadata"].pop("managedFields")
    assert first == second
    assert [item["apiVersion"] for item in listed["items"]] == [f"{group}/v2"]


def test_a_changed_schema_holds_at_once_and_for_what_is_stored(client: Client, group: str) -> None:
    install(client, [definition(group)])
    collection = f"/apis/{group}/v1/widgets"
    body = {"apiVersion": f"{group}/v1", "kind": "Widget", "metadata": {"name": "old"}, "spec": {}}
    client.create(collection, body)
    stored = client.get(f"{DEFINITIONS}/widgets.{group}")
    fields = stored["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]
    fields["colour"]["default"] = "red"
    client.replace(f"{DEFINITIONS}/widgets.{group}", stored)

    def defaulted() -> bool:
        colour: str | None = client.get(f"{collection}/old")["spec"].get("colour")
        return colour == "red"

    wait_until(defaulted, "the new default to be read")
    fresh = client.create(collection, {**body, "metadata": {"name": "new"}})
    assert fresh["spec"] == {"size": 1, "colour": "red"}


def test_a_scale_has_the_paths_of_its_definition(client: Client, group: str) -> None:
    paths = {"specReplicasPath": ".spec.size", "statusReplicasPath": ".status.size"}
    install(client, [definition(group, version(subresources={"status": {}, "scale": paths}))])
    collection = f"/apis/{group}/v1/widgets"
    client.create(
        collection,
        {"apiVersion": f"{group}/v1", "kind": "Widget", "metadata": {"name": "w"}, "spec": {"size": 2}},
    )

    scale = client.get(f"{collection}/w/scale")
    scale["spec"]["replicas"] = 5
    client.replace(f"{collection}/w/scale", scale)

    assert (scale["kind"], scale["apiVersion"]) == ("Scale", "autoscaling/v1")
    assert client.get(f"{collection}/w")["spec"]["size"] == 5


def test_selectable_fields_narrow_a_list(client: Client, group: str) -> None:
    install(client, [definition(group, version(selectableFields=[{"jsonPath": ".spec.colour"}]))])
    collection = f"/apis/{group}/v1/widgets"
    for name, colour in (("a", "red"), ("b", "blue")):
        client.create(
            collection,
            {
                "apiVersion": f"{group}/v1",
                "kind": "Widget",
                "metadata": {"name": name},
                "spec": {"colour": colour},
            },
        )

    found = client.get(f"{collection}?fieldSelector=spec.colour%3Dblue")

    assert [item["metadata"]["name"] for item in found["items"]] == ["b"]
    with pytest.raises(ApiError, match=r"field label not supported: spec\.size"):
        client.get(f"{collection}?fieldSelector=spec.size%3D1")


def test_a_definition_takes_its_objects_with_it(client: Client, group: str) -> None:
    install(client, [definition(group)])
    collection = f"/apis/{group}/v1/widgets"
    client.create(collection, {"apiVersion": f"{group}/v1", "kind": "Widget", "metadata": {"name": "w"}})

    answered = client.delete(f"{DEFINITIONS}/widgets.{group}")

    assert answered["kind"] == "CustomResourceDefinition"
    terminating = [each for each in answered["status"]["conditions"] if each["type"] == "Terminating"]
    assert terminating[0]["reason"] == "InstanceDeletionPending"
    wait_until(lambda: not client.exists(f"{DEFINITIONS}/widgets.{group}"), "the definition to be gone")
    wait_until(lambda: not client.exists(collection), "the kind to be gone")


def test_a_definition_waits_for_finalizers(client: Client, group: str) -> None:
    install(client, [definition(group)])
    collection = f"/apis/{group}/v1/widgets"
    held = {"name": "w", "finalizers": ["example.com/hold"]}
    client.create(collection, {"apiVersion": f"{group}/v1", "kind": "Widget", "metadata": held})
    client.delete(f"{DEFINITIONS}/widgets.{group}")

    def terminating() -> bool:
        return bool(client.get(f"{collection}/w")["metadata"].get("deletionTimestamp"))

    wait_until(terminating, "the object to be deleted")
    with pytest.raises(ApiError, match="create not allowed while custom resource definition is terminating"):
        client.create(
            collection, {"apiVersion": f"{group}/v1", "kind": "Widget", "metadata": {"name": "late"}}
        )
    client.patch(f"{collection}/w", {"metadata": {"finalizers": None}})
    wait_until(lambda: not client.exists(f"{DEFINITIONS}/widgets.{group}"), "the definition to be gone")


def test_a_deprecated_version_warns(client: Client, group: str) -> None:
    old = version("v1", storage=False, deprecated=True)
    install(client, [definition(group, old, version("v2"))])

    _, headers = client.raw("GET", f"/apis/{group}/v1/widgets")

    assert headers["warning"] == f'299 - "{group}/v1 Widget is deprecated; use {group}/v2 Widget"'


def test_openapi_publishes_the_kind(client: Client, group: str) -> None:
    install(client, [definition(group)])
    name = ".".join((*reversed(group.split(".")), "v1", "Widget"))

    def published() -> bool:
        index = client.get("/openapi/v3")["paths"]
        return f"apis/{group}/v1" in index and name in client.get("/openapi/v2")["definitions"]

    wait_until(published, "the kind to be published")
    document = client.get(f"/openapi/v3/apis/{group}/v1")
    newer, older = (
        document["components"]["schemas"][name],
        client.get("/openapi/v2")["definitions"][name],
    )
    spec: Any = copy.deepcopy(SCHEMA["properties"])
    assert newer["properties"]["spec"] == spec["spec"]
    del spec["spec"]["properties"]["size"]["default"]
    assert older["properties"]["spec"] == spec["spec"]
    for schema in (newer, older):
        gvk = [{"group": group, "kind": "Widget", "version": "v1"}]
        assert schema["x-kubernetes-group-version-kind"] == gvk


def test_openapi_documents_have_tags(client: Client) -> None:
    index = client.get("/openapi/v3")["paths"]
    place = index["apis/apps/v1"]["serverRelativeURL"]

    body, headers = client.raw("GET", place)

    assert headers["etag"].strip('"') == place.partition("hash=")[2]
    assert json.loads(body)["openapi"].startswith("3.0")
    with pytest.raises(ApiError) as refused:
        client.raw("GET", "/openapi/v3/apis/nobody.example.com/v1")
    assert refused.value.code == 404


@pytest.mark.parametrize(
    "path", ["apis/apps/v1", "api/v1", "apis/batch/v1", "apis/policy/v1", "apis/storage.k8s.io/v1"]
)
def test_published_types_are_a_real_servers(client: Client, path: str) -> None:
    """On a real server this judges the documents that we make, on the embedded one the way to them."""
    document = Publisher(default_catalog(volcano=False)).v3(path)
    assert document is not None
    ours = json.loads(document.body)["components"]["schemas"]

    published: Any = client.get(f"/openapi/v3/{path}")["components"]["schemas"]

    for name in published:
        assert bare(published[name]) == bare(ours[name]), name


def bare(schema: Any) -> Any:
    """A schema without its descriptions, and without the wrapping that a reference has because of one."""
    if isinstance(schema, dict):
        told = {key: bare(value) for key, value in schema.items()}
        if isinstance(told.get("description"), str):
            del told["description"]
        return told["allOf"][0] if set(told) == {"allOf"} else told
    return [bare(item) for item in schema] if isinstance(schema, list) else schema


def test_a_watch_ends_with_its_kind(client: Client, group: str) -> None:
    install(client, [definition(group)])
    collection = f"/apis/{group}/v1/widgets"
    client.create(collection, {"apiVersion": f"{group}/v1", "kind": "Widget", "metadata": {"name": "w"}})
    version_now = client.get(collection)["metadata"]["resourceVersion"]
    watch = f"{client.url}{collection}?watch=1&timeoutSeconds=60&resourceVersion={version_now}"
    request = urllib.request.Request(watch, headers={"Authorization": f"Bearer {client.token}"})
    context = ssl.create_default_context(cafile=str(client.certificate_authority))

    began = time.monotonic()
    with urllib.request.urlopen(request, timeout=40, context=context) as answer:
        client.delete(f"{DEFINITIONS}/widgets.{group}")
        lines = answer.read().splitlines()

    assert time.monotonic() - began < 30
    assert [json.loads(line)["type"] for line in lines] == ["DELETED"]


def test_an_unknown_format_is_warned_of(client: Client, group: str) -> None:
    made = definition(group, field({"type": "string", "format": "colour"}))

    _, headers = client.raw("POST", DEFINITIONS, made)

    assert headers["warning"] == '299 - "unrecognized format \\"colour\\""'

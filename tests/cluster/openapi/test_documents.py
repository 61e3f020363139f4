"""The OpenAPI documents hold what is served, change with it, and are the same as long as it is."""

import json
from typing import Any

import pytest

from vcray.api.resources import CUSTOMRESOURCEDEFINITIONS
from vcray.cluster.objects.store import Store
from vcray.cluster.openapi.answers import V2_PROTOBUF, OpenApi
from vcray.cluster.openapi.documents import Publisher
from vcray.cluster.protobuf.wire import fields


def widget_definition(schema: dict[str, Any]) -> dict[str, Any]:
    return {
        "metadata": {"name": "widgets.example.com"},
        "spec": {
            "group": "example.com",
            "scope": "Namespaced",
            "names": {"plural": "widgets", "kind": "Widget"},
            "versions": [
                {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
            ],
        },
    }


@pytest.fixture(scope="module")
def store() -> Store:
    return Store()


@pytest.fixture
def openapi(store: Store) -> OpenApi:
    return OpenApi(Publisher(store.catalog))


def get(openapi: OpenApi, path: str, **headers: str) -> Any:
    return json.loads(openapi.answer(path, {}, headers).body)


def publish(schema: dict[str, Any]) -> tuple[Any, Any]:
    """The kind's schema in the v2 and in the v3 document."""
    store = Store()
    store.create(CUSTOMRESOURCEDEFINITIONS, "", widget_definition(schema))
    openapi = OpenApi(Publisher(store.catalog))
    v2 = get(openapi, "/openapi/v2")["definitions"]["com.example.v1.Widget"]
    v3 = get(openapi, "/openapi/v3/apis/example.com/v1")["components"]["schemas"]["com.example.v1.Widget"]
    return v2, v3


def test_the_index_leads_to_a_document_of_each_group_version(openapi: OpenApi) -> None:
    index = get(openapi, "/openapi/v3")["paths"]

    place = index["apis/apps/v1"]["serverRelativeURL"]
    path, _, hashed = place.partition("?hash=")
    answer = openapi.answer(path, {"hash": hashed}, {})

    assert {"api/v1", "apis/batch/v1", "apis/batch.volcano.sh/v1alpha1"} <= set(index)
    assert (answer.status, answer.headers["etag"]) == (200, f'"{hashed}"')
    assert answer.headers["cache-control"] == "public, immutable"


def test_an_old_hash_is_sent_on_to_the_present_one(openapi: OpenApi) -> None:
    answer = openapi.answer("/openapi/v3/apis/apps/v1", {"hash": "0"}, {})

    assert answer.status == 301
    assert answer.headers["location"].startswith("/openapi/v3/apis/apps/v1?hash=")


def test_a_client_that_has_the_document_gets_304(openapi: OpenApi) -> None:
    for path in ("/openapi/v2", "/openapi/v3/apis/apps/v1"):
        tag = openapi.answer(path, {}, {}).headers["etag"]

        again = openapi.answer(path, {}, {"If-None-Match": tag})

        assert (again.status, again.body) == (304, b"")


def test_a_group_that_is_not_served_has_no_document(openapi: OpenApi) -> None:
    assert openapi.answer("/openapi/v3/apis/nobody.example.com/v1", {}, {}).status == 404


def test_every_reference_of_a_v3_document_stays_within_it(openapi: OpenApi, store: Store) -> None:
    for path in get(openapi, "/openapi/v3")["paths"]:
        text = openapi.answer(f"/openapi/v3/{path}", {}, {}).body.decode()
        schemas = json.loads(text)["components"]["schemas"]

        asked = {part.partition('"')[0] for part in text.split('"#/components/schemas/')[1:]}

        assert asked <= set(schemas), path


def test_every_reference_of_the_v2_document_stays_within_it(openapi: OpenApi) -> None:
    text = openapi.answer("/openapi/v2", {}, {}).body.decode()

    asked = {part.partition('"')[0] for part in text.split('"#/definitions/')[1:]}

    assert asked <= set(json.loads(text)["definitions"])


def test_patch_operations_have_the_parameters_that_kubectl_looks_for(openapi: OpenApi) -> None:
    paths = get(openapi, "/openapi/v3/apis/batch.volcano.sh/v1alpha1")["paths"]

    patch = paths["/apis/batch.volcano.sh/v1alpha1/namespaces/{namespace}/jobs/{name}"]["patch"]

    assert {each["name"] for each in patch["parameters"]} >= {"dryRun", "fieldValidation"}
    assert patch["x-kubernetes-group-version-kind"] == {
        "group": "batch.volcano.sh",
        "kind": "Job",
        "version": "v1alpha1",
    }


def test_the_protobuf_document_has_gnostics_fields(openapi: OpenApi) -> None:
    answer = openapi.answer("/openapi/v2", {}, {"Accept": f"{V2_PROTOBUF},application/json"})

    found = {number: value for number, _, value in fields(answer.body)}

    assert answer.headers["content-type"] == V2_PROTOBUF
    assert found[1] == b"2.0"
    assert set(found) == {1, 2, 8, 9, 12, 13}


def test_a_definition_is_published_under_its_group_backwards() -> None:
    v2, v3 = publish({"type": "object", "properties": {"spec": {"type": "object", "description": "Wish."}}})

    for published in (v2, v3):
        assert published["properties"]["spec"] == {"type": "object", "description": "Wish."}
        assert set(published["properties"]) == {"apiVersion", "kind", "metadata", "spec"}
        assert published["x-kubernetes-group-version-kind"] == [
            {"group": "example.com", "kind": "Widget", "version": "v1"}
        ]


def test_version_2_leaves_out_what_it_has_no_words_for() -> None:
    v2, v3 = publish(
        {
            "type": "object",
            "properties": {
                "a": {"type": "string", "nullable": True},
                "b": {"x-kubernetes-int-or-string": True},
                "c": {
                    "type": "object",
                    "x-kubernetes-preserve-unknown-fields": True,
                    "properties": {"d": {"type": "string"}},
                },
            },
            "required": ["a", "b"],
        }
    )

    assert v2["properties"]["a"] == {}
    assert v2["properties"]["b"] == {"x-kubernetes-int-or-string": True}
    assert v2["properties"]["c"] == {"x-kubernetes-preserve-unknown-fields": True}
    assert v2["required"] == ["b"]
    assert v3["properties"]["a"] == {"type": "string", "nullable": True}
    assert v3["properties"]["b"]["anyOf"] == [{"type": "integer"}, {"type": "string"}]
    assert v3["properties"]["c"]["properties"] == {"d": {"type": "string"}}


def test_a_schema_where_anything_goes_is_a_bare_object_in_version_2() -> None:
    v2, _ = publish({"type": "object", "x-kubernetes-preserve-unknown-fields": True})

    assert set(v2) == {"type", "x-kubernetes-group-version-kind"}


def test_a_changed_definition_changes_its_document_and_no_other() -> None:
    store = Store()
    openapi = OpenApi(Publisher(store.catalog))
    store.create(CUSTOMRESOURCEDEFINITIONS, "", widget_definition({"type": "object"}))
    before = get(openapi, "/openapi/v3")["paths"]
    record = store.read(CUSTOMRESOURCEDEFINITIONS, "", "widgets.example.com")
    changed: Any = record.decode()
    changed["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["description"] = "New."

    store.update(CUSTOMRESOURCEDEFINITIONS, "", record.name, changed)
    after = get(openapi, "/openapi/v3")["paths"]
    store.delete(CUSTOMRESOURCEDEFINITIONS, "", record.name)

    assert [path for path in before if before[path] != after[path]] == ["apis/example.com/v1"]
    assert "apis/example.com/v1" not in get(openapi, "/openapi/v3")["paths"]

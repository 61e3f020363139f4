"""Protobuf bodies of every built-in kind, both ways, on the embedded server and on a real one."""

from __future__ import annotations

import json
import ssl
import urllib.error
import urllib.request
from typing import Any

import pytest

from tests.conformance.harness.base import Server
from tests.conformance.publishing.conftest import EXAMPLES
from vcray.cluster.kinds.data import kinds_data
from vcray.cluster.protobuf import codec
from vcray.cluster.protobuf.wire import fields

CONFIGMAPS = "/api/v1/namespaces/examples/configmaps"
ITEMS_ALONE = {"ComponentStatus", "FlowSchema"}  # the order of these lists is not settled on a real server


OWN = {
    "Service": ("clusterIP", "clusterIPs"),
    "Job": ("selector", "template"),
    "Pod": ("containers", "initContainers"),
}
"""Fields of specs that the server makes anew for each object."""


def call(
    server: Server,
    method: str,
    path: str,
    body: bytes | None = None,
    accept: str = codec.PROTOBUF,
    content_type: str = codec.PROTOBUF,
) -> tuple[int, bytes, str]:
    """Status, body and content type of one request."""
    request = urllib.request.Request(server.url + path, data=body, method=method)
    request.add_header("Authorization", f"Bearer {server.client.token}")
    request.add_header("Accept", accept)
    if body is not None:
        request.add_header("Content-Type", content_type)
    context = ssl.create_default_context(cafile=str(server.certificate_authority))
    try:
        with urllib.request.urlopen(request, timeout=30, context=context) as answer:
            return answer.status, answer.read(), answer.headers["Content-Type"]
    except urllib.error.HTTPError as failure:
        with failure:
            return failure.code, failure.read(), failure.headers["Content-Type"]


def shown(value: Any) -> Any:
    """An object without nulls, empty texts and lists, which protobuf does not tell apart from absent fields."""
    if isinstance(value, dict):
        kept = {key: shown(item) for key, item in value.items()}
        return {key: item for key, item in kept.items() if item is not None and item not in ("", [])}
    if isinstance(value, list):
        return [shown(item) for item in value]
    return value


def collections() -> list[Any]:
    found = []
    for group in kinds_data().groups:
        for version in group.versions:
            root = f"/apis/{group.group}/{version.version}" if group.group else f"/api/{version.version}"
            for row in version.resources:
                verbs = row["verbs"]
                listed = "/" not in str(row["name"]) and isinstance(verbs, list) and "list" in verbs
                if listed and row["kind"] not in ITEMS_ALONE:
                    found.append(pytest.param(f"{root}/{row['name']}", id=f"{group.group}/{row['kind']}"))
    return found


@pytest.mark.parametrize("path", collections())
def test_a_list_in_protobuf_says_what_its_json_says(furnished: Server, path: str) -> None:
    listed = furnished.client.get(path)

    status, body, kind = call(furnished, "GET", path)

    decoded = codec.decode(body)[2]
    for each in (listed, decoded):
        each.pop("metadata")
        for item in each.get("items") or []:  # type: ignore[union-attr]
            for claim in item.get("spec", {}).get("volumeClaimTemplates", []):  # type: ignore[union-attr]
                claim.pop("kind", None), claim.pop("apiVersion", None)
    assert (status, kind) == (200, codec.PROTOBUF)
    assert shown(decoded) == shown(listed)


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda each: each["path"].rpartition("/")[2])
def test_an_object_sent_as_protobuf_becomes_the_same(furnished: Server, example: dict[str, Any]) -> None:
    wanted = furnished.client.get(f"{example['path']}/{example['object']['metadata']['name']}")
    sent = {**example["object"], "kind": wanted["kind"], "apiVersion": wanted["apiVersion"]}
    sent["metadata"] = {"generateName": "again-", **sent["metadata"]}
    del sent["metadata"]["name"]
    if wanted["kind"] == "CustomResourceDefinition":
        pytest.skip("the name of a definition follows from its spec")

    status, body, _ = call(furnished, "POST", f"{example['path']}?dryRun=All", codec.encode(sent))

    made = codec.decode(body)[2]
    assert status == 201, made
    assert made["metadata"]["name"].startswith("again-")  # type: ignore[index,call-overload,union-attr]
    for each in (wanted, made):
        each.pop("metadata")
        each.pop("status", None)
        spec: Any = each.get("spec", {})
        for key in OWN.get(str(each["kind"]), ()):
            spec.pop(key, None)
        for claim in each.get("spec", {}).get("volumeClaimTemplates", []):  # type: ignore[union-attr]
            claim.pop("kind", None), claim.pop("apiVersion", None)
    assert shown(made) == shown(wanted)


def test_a_watch_in_protobuf_is_framed(furnished: Server) -> None:
    query = "watch=1&resourceVersion=0&timeoutSeconds=1&sendInitialEvents=true&allowWatchBookmarks=true"

    status, body, kind = call(
        furnished, "GET", f"{CONFIGMAPS}?{query}&resourceVersionMatch=NotOlderThan", accept=codec.WATCH
    )

    found = []
    while body:
        size = int.from_bytes(body[:4], "big")
        event = {number: value for number, _, value in fields(body[4 : 4 + size])}
        raw = next(value for number, _, value in fields(bytes(event[2])) if number == 1)
        found.append((bytes(event[1]).decode(), codec.decode(bytes(raw))[1]))
        body = body[4 + size :]
    assert (status, kind) == (200, codec.WATCH)
    assert found[0] == ("ADDED", "ConfigMap")
    assert ("BOOKMARK", "ConfigMap") in found


def test_a_refusal_is_a_status_in_protobuf(furnished: Server) -> None:
    status, body, _ = call(furnished, "GET", f"{CONFIGMAPS}/nobody")

    decoded = codec.decode(body)[2]
    assert status == 404
    assert (decoded["kind"], decoded["reason"], decoded["code"]) == ("Status", "NotFound", 404)
    assert decoded["details"] == {"name": "nobody", "kind": "configmaps"}


def test_delete_options_may_come_as_protobuf(furnished: Server) -> None:
    furnished.client.create(CONFIGMAPS, {"metadata": {"name": "short-lived"}})
    options = {"kind": "DeleteOptions", "apiVersion": "v1", "propagationPolicy": "Background"}

    status, body, _ = call(furnished, "DELETE", f"{CONFIGMAPS}/short-lived", codec.encode(options))

    assert (status, codec.decode(body)[2]["status"]) == (200, "Success")


def test_metadata_alone_comes_as_protobuf_too(furnished: Server) -> None:
    accept = f"{codec.PROTOBUF};as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json"

    _, body, _ = call(furnished, "GET", CONFIGMAPS, accept=accept)

    api_version, kind, decoded = codec.decode(body)
    assert (api_version, kind) == ("meta.k8s.io/v1", "PartialObjectMetadataList")
    assert decoded["items"][0]["metadata"]["name"]  # type: ignore[index,call-overload]


@pytest.mark.parametrize("body", [b"garbage", codec.MAGIC + b"\x0a\xff\xff"])
def test_a_broken_body_is_a_bad_request(furnished: Server, body: bytes) -> None:
    status, answer, _ = call(furnished, "POST", CONFIGMAPS, body, accept="application/json")

    assert status == 400
    assert json.loads(answer)["message"].startswith(
        "the object provided is unrecognized (must be of type ConfigMap): "
    )


def test_custom_kinds_are_never_protobuf(furnished: Server) -> None:
    path = "/apis/pb.example.com/v1/foos"

    asked, _, _ = call(furnished, "GET", path)
    either, _, kind = call(furnished, "GET", path, accept=f"{codec.PROTOBUF},application/json")

    assert (asked, either, kind) == (406, 200, "application/json")

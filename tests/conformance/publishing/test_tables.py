"""Tables and partial objects of every built-in kind, on the embedded server and on a real one.

The cells of a server's table are compared with those that our printers make of the same server's list: on a real server
this judges the printers, on the embedded one the way from the list to the table.
"""

from __future__ import annotations

import json
import re
import time
from typing import Any

import pytest

from tests.conformance.harness.base import Server
from tests.conformance.harness.client import ApiError
from tests.conformance.publishing.test_protobuf import collections
from vcray.cluster.objects.catalog import Kind, default_catalog
from vcray.cluster.tables.render import as_table

CONFIGMAPS = "/api/v1/namespaces/examples/configmaps"
PODS = "/api/v1/namespaces/examples/pods"
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
PARTIAL = "application/json;as=PartialObjectMetadata{};v=v1;g=meta.k8s.io"
AGE = re.compile(r"\d+[smhd](\d+[smhd])?")
_CATALOG = default_catalog(volcano=False)


def kind_at(path: str) -> Kind:
    """The built-in kind that a collection holds."""
    *root, plural = path.strip("/").split("/")
    return _CATALOG.at(root[1] if root[0] == "apis" else "", root[-1], plural)


def asked(server: Server, path: str, accept: str) -> Any:
    """What the server answers in the form that is asked for."""
    body, _ = server.client.raw("GET", path, accept=accept)
    return json.loads(body)


def settled(cells: list[Any]) -> list[Any]:
    """Cells without the ages that tick between two requests."""
    return [AGE.sub("AGE", cell) if isinstance(cell, str) else cell for cell in cells]


@pytest.mark.parametrize("path", collections())
def test_a_table_has_a_real_servers_columns_and_cells(furnished: Server, path: str) -> None:
    kind = kind_at(path)
    told = asked(furnished, path, TABLE)
    listed = furnished.client.get(path)

    head = {"kind": kind.resource.kind, "apiVersion": kind.resource.api_version}
    items = [json.dumps({**head, **item}).encode() for item in listed.get("items") or []]
    ours = json.loads(as_table(kind, items, {}, time.time()))

    keys = ("name", "type", "format", "priority")
    columns, wanted = (
        [[column[key] for key in keys] for column in table["columnDefinitions"]] for table in (told, ours)
    )
    assert columns == wanted
    rows, printed = ([settled(row["cells"]) for row in table["rows"] or []] for table in (told, ours))
    assert sorted(map(str, rows)) == sorted(map(str, printed))


def test_a_pods_row_follows_its_status(furnished: Server) -> None:
    client = furnished.client
    client.create(PODS, {"metadata": {"name": "row"}, "spec": {"containers": [{"name": "c", "image": "i"}]}})
    states = [
        ({"phase": "Pending"}, "0/1", "Pending"),
        (
            {
                "phase": "Running",
                "containerStatuses": [
                    {
                        "name": "c",
                        "ready": True,
                        "restartCount": 0,
                        "image": "i",
                        "imageID": "",
                        "state": {"running": {}},
                    }
                ],
            },
            "1/1",
            "Running",
        ),
        (
            {
                "phase": "Failed",
                "containerStatuses": [
                    {
                        "name": "c",
                        "ready": False,
                        "restartCount": 0,
                        "image": "i",
                        "imageID": "",
                        "state": {"terminated": {"exitCode": 2}},
                    }
                ],
            },
            "0/1",
            "ExitCode:2",
        ),
    ]
    for status, ready, word in states:
        client.patch(f"{PODS}/row/status", {"status": status})

        cells = asked(furnished, f"{PODS}/row", TABLE)["rows"][0]["cells"]

        assert cells[:3] == ["row", ready, word]
    finished = asked(furnished, f"{PODS}/row", TABLE)["rows"][0]["conditions"]
    assert [(each["type"], each["reason"]) for each in finished] == [("Completed", "Failed")]


@pytest.mark.parametrize(
    ("include", "kind"), [("", "PartialObjectMetadata"), ("Object", "ConfigMap"), ("None", None)]
)
def test_a_row_holds_what_was_asked_for(furnished: Server, include: str, kind: str | None) -> None:
    row = asked(furnished, f"{CONFIGMAPS}/cm?includeObject={include}", TABLE)["rows"][0]

    assert (row["object"] or {}).get("kind") == kind


def test_another_wish_is_refused(furnished: Server) -> None:
    with pytest.raises(ApiError, match='includeObject: Invalid value: "Foo"'):
        asked(furnished, f"{CONFIGMAPS}?includeObject=Foo", TABLE)


def test_a_watch_of_tables_tells_its_columns_once(furnished: Server) -> None:
    query = "watch=1&timeoutSeconds=1&sendInitialEvents=true&allowWatchBookmarks=true&resourceVersionMatch=NotOlderThan"
    body, _ = furnished.client.raw("GET", f"{CONFIGMAPS}?{query}", accept=TABLE)

    events = [json.loads(line) for line in body.splitlines()]

    assert {event["object"]["kind"] for event in events} == {"Table"}
    assert events[0]["object"]["columnDefinitions"][0]["name"] == "Name"
    mark = next(event["object"] for event in events if event["type"] == "BOOKMARK")
    assert mark["columnDefinitions"] is None
    metadata = mark["rows"][0]["object"]["metadata"]
    assert metadata["annotations"] == {"k8s.io/initial-events-end": "true"}


def test_partial_objects_have_metadata_alone(furnished: Server) -> None:
    one = asked(furnished, f"{CONFIGMAPS}/cm", PARTIAL.format(""))
    several = asked(furnished, CONFIGMAPS, PARTIAL.format("List"))

    assert set(one) == {"kind", "apiVersion", "metadata"}
    assert several["kind"] == "PartialObjectMetadataList"
    assert {item["kind"] for item in several["items"]} == {"PartialObjectMetadata"}
    with pytest.raises(ApiError) as refused:
        asked(furnished, CONFIGMAPS, PARTIAL.format(""))
    assert refused.value.code == 406


def test_reviews_have_no_table(furnished: Server) -> None:
    body = {"spec": {"resourceAttributes": {"verb": "get", "resource": "pods"}}}

    with pytest.raises(ApiError) as refused:
        furnished.client.raw(
            "POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", body, accept=TABLE
        )

    assert refused.value.code == 406

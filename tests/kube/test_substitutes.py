"""What is done by other rights where those to get and to patch are missing."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec
import pytest

from vcray.api.meta import JsonObject, JsonValue
from vcray.api.resources import CONFIGMAPS, PODS, QUEUES
from vcray.cluster import InProcessTransport, Store
from vcray.kube.client import KubeClient, PatchType
from vcray.kube.errors import Conflict, Forbidden, Invalid, NotFound
from vcray.kube.paths import target_of
from vcray.kube.substitutes import SubstitutingTransport, patched
from vcray.kube.transport import JSON, Query, Response

WORDS = {"GET": "get", "PATCH": "patch", "PUT": "update"}


class Guarded(InProcessTransport):
    """A server that keeps some verbs on single objects from us, in the words of RBAC."""

    def __init__(self, missing: Iterable[str]) -> None:
        super().__init__(Store())
        self.missing = set(missing)
        self.asked: list[str] = []
        self.between: JsonObject | None = None  # somebody else's version, written just before our next update

    async def request(
        self,
        method: str,
        path: str,
        query: Query | None = None,
        body: bytes | None = None,
        content_type: str = JSON,
    ) -> Response:
        target = target_of(path)
        if target is not None and target.name:
            self.asked.append(method)
            if method in self.missing:
                what = f'x is forbidden: User "u" cannot {WORDS[method]} resource "{target.resource}"'
                status = {"kind": "Status", "code": 403, "reason": "Forbidden", "message": what}
                return Response(403, msgspec.json.encode(status))
        if method == "PUT" and self.between is not None:
            other, self.between = self.between, None
            await super().request("PUT", path, None, msgspec.json.encode(other))
        return await super().request(method, path, query, body, content_type)


@pytest.fixture
def server() -> Guarded:
    return Guarded({"GET", "PATCH"})


@pytest.fixture
def client(server: Guarded) -> KubeClient:
    return KubeClient(SubstitutingTransport(server), "ours")


def a_map(**data: JsonValue) -> JsonObject:
    return {"metadata": {"name": "m"}, "data": {**data}}


async def test_an_object_is_read_by_a_list_of_one_and_refused_only_once(
    server: Guarded, client: KubeClient
) -> None:
    await client.create(CONFIGMAPS, "default", a_map(a="1"))

    found = [await client.get(CONFIGMAPS, "default", "m") for _ in range(2)]

    assert [(each["kind"], each["apiVersion"], each["data"]) for each in found] == [
        ("ConfigMap", "v1", {"a": "1"})
    ] * 2
    assert server.asked == ["GET"]
    with pytest.raises(NotFound):
        await client.get(CONFIGMAPS, "default", "none")


async def test_a_patch_becomes_an_update_of_what_is_there(server: Guarded, client: KubeClient) -> None:
    await client.create(CONFIGMAPS, "default", a_map(a="1", b="2"))

    await client.patch(CONFIGMAPS, "default", "m", {"data": {"a": None, "c": "3"}})
    await client.patch(
        CONFIGMAPS, "default", "m", [{"op": "add", "path": "/data/d", "value": "4"}], PatchType.JSON
    )
    found = await client.get(CONFIGMAPS, "default", "m")

    assert found["data"] == {"b": "2", "c": "3", "d": "4"}
    assert server.asked == ["PATCH", "GET", "PUT", "PUT"]


async def test_an_update_is_made_over_again_when_somebody_was_faster(
    server: Guarded, client: KubeClient
) -> None:
    made = await client.create(CONFIGMAPS, "default", a_map(a="1"))
    server.between = {**made, "data": {"theirs": "x"}}

    found = await client.patch(CONFIGMAPS, "default", "m", {"data": {"ours": "y"}})

    assert found["data"] == {"theirs": "x", "ours": "y"}


@pytest.mark.parametrize("metadata", [{"uid": "another"}, {"resourceVersion": "1"}])
async def test_a_patch_of_another_object_or_version_is_a_conflict_at_once(
    server: Guarded, client: KubeClient, metadata: JsonObject
) -> None:
    await client.create(CONFIGMAPS, "default", a_map(a="1"))

    with pytest.raises(Conflict):
        await client.patch(CONFIGMAPS, "default", "m", {"metadata": metadata, "data": {"a": "2"}})

    assert server.asked.count("PUT") == 1


@pytest.mark.parametrize("own", [False, True], ids=["substitute", "server"])
@pytest.mark.parametrize(
    "operation",
    [
        {"op": "replace", "path": "/data/b", "value": "2"},
        {"op": "remove", "path": "/spec/none"},
        {"op": "test", "path": "/data/a", "value": "2"},
        {"op": "add", "path": "/data/a/b", "value": "2"},
        {"op": "turn", "path": "/data/a"},
        {"op": "remove", "path": "data"},
        {"op": "remove"},
        "no operation",
    ],
    ids=str,
)
async def test_a_patch_that_cannot_be_applied_is_invalid_as_on_a_server(
    server: Guarded, client: KubeClient, operation: JsonValue, own: bool
) -> None:
    server.missing = set() if own else {"PATCH"}
    await client.create(CONFIGMAPS, "default", a_map(a="1"))

    with pytest.raises(Invalid, match="the server rejected our request due to an error in our request"):
        await client.patch(CONFIGMAPS, "default", "m", [operation], PatchType.JSON)

    assert "PUT" not in server.asked


async def test_nothing_is_written_where_nothing_changes(server: Guarded, client: KubeClient) -> None:
    await client.create(CONFIGMAPS, "default", a_map(a="1"))

    await client.patch(CONFIGMAPS, "default", "m", {"data": {"a": "1"}})

    assert "PUT" not in server.asked


async def test_a_status_is_written_as_a_status_and_an_apply_replaces_what_it_names(
    server: Guarded, client: KubeClient
) -> None:
    await client.create(QUEUES, None, {"metadata": {"name": "q"}, "spec": {"weight": 1}})
    for allocated in ({"cpu": "1", "gpu": "2"}, {"cpu": "3"}):
        body: JsonObject = {"metadata": {"name": "q"}, "status": {"allocated": {**allocated}}}
        await client.apply(QUEUES, body, force=True, subresource="status")
    await client.patch(QUEUES, None, "q", {"status": {"state": "Open"}}, subresource="status")

    found = await client.get(QUEUES, None, "q")

    assert found["status"]["allocated"] == {"cpu": "3"}  # type: ignore[index, call-overload]
    assert found["status"]["state"] == "Open"  # type: ignore[index, call-overload]


def test_conditions_are_one_by_their_type_and_gates_by_their_name() -> None:
    pod: JsonObject = {
        "status": {
            "conditions": [{"type": "A", "status": "True", "reason": "r"}, {"type": "B", "status": "True"}]
        },
        "spec": {"schedulingGates": [{"name": "x"}, {"name": "y"}]},
    }
    patch: JsonObject = {
        "status": {"conditions": [{"type": "A", "status": "False"}, {"type": "C", "status": "True"}]},
        "spec": {"schedulingGates": [{"name": "x", "$patch": "delete"}]},
    }

    assert patched(pod, patch, PatchType.STRATEGIC) == {
        "status": {
            "conditions": [
                {"type": "A", "status": "False", "reason": "r"},
                {"type": "B", "status": "True"},
                {"type": "C", "status": "True"},
            ]
        },
        "spec": {"schedulingGates": [{"name": "y"}]},
    }
    assert patched(pod, patch, PatchType.MERGE)["status"] == patch["status"]


async def test_who_may_patch_patches_and_who_may_do_nothing_is_told(
    server: Guarded, client: KubeClient
) -> None:
    server.missing = set()
    await client.create(CONFIGMAPS, "default", a_map(a="1"))
    await client.patch(CONFIGMAPS, "default", "m", {"data": {"a": "2"}})
    assert server.asked == ["PATCH"]

    server.missing = {"PATCH", "PUT"}
    with pytest.raises(Forbidden, match="cannot update resource"):
        await client.patch(CONFIGMAPS, "default", "m", {"data": {"a": "3"}})


async def test_a_refusal_by_admission_is_no_missing_right(client: KubeClient) -> None:
    class Refusing(InProcessTransport):
        async def request(self, *_: object, **__: object) -> Response:
            status = {
                "kind": "Status",
                "code": 403,
                "reason": "Forbidden",
                "message": "a webhook denied the request",
            }
            return Response(403, msgspec.json.encode(status))

    refused = KubeClient(SubstitutingTransport(Refusing(Store())))

    with pytest.raises(Forbidden, match="a webhook denied"):
        await refused.patch(PODS, "default", "p", {"metadata": {"labels": {"a": "b"}}})

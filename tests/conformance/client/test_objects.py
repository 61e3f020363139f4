"""Create, read, list, update, delete: the same on the embedded store and on a real kube-apiserver."""

from __future__ import annotations

import pytest

from tests.conformance.client.conftest import Backend, eventually
from vcray.api.meta import JsonObject
from vcray.api.resources import CONFIGMAPS, JOBS, NAMESPACES, PODGROUPS, PODS, QUEUES, Resource
from vcray.errors import VcrayError
from vcray.kube.client import KubeClient, Propagation
from vcray.kube.errors import (
    AlreadyExists,
    ApiError,
    BadRequest,
    Conflict,
    Invalid,
    NotFound,
    ResourceMissing,
)


def config_map(name: str, **data: str) -> JsonObject:
    return {"metadata": {"name": name}, "data": dict(data)}


def metadata(obj: JsonObject) -> JsonObject:
    found = obj["metadata"]
    assert isinstance(found, dict)
    return found


async def test_a_created_object_comes_back_with_identity_time_and_version(backend: Backend) -> None:
    made = await backend.client.create(CONFIGMAPS, backend.namespace, config_map("a", x="1"))

    got = await backend.client.get(CONFIGMAPS, backend.namespace, "a")
    assert got == made
    assert (got["apiVersion"], got["kind"], got["data"]) == ("v1", "ConfigMap", {"x": "1"})
    assert {"uid", "creationTimestamp", "resourceVersion", "namespace"} <= set(metadata(got))


async def test_a_generated_name_starts_with_the_prefix_and_differs_each_time(backend: Backend) -> None:
    body: JsonObject = {"metadata": {"generateName": "part-"}}

    names = {
        str(metadata(await backend.client.create(CONFIGMAPS, backend.namespace, body))["name"]) for _ in "abc"
    }

    assert len(names) == 3
    assert all(name.startswith("part-") and len(name) == len("part-") + 5 for name in names)


async def test_a_second_object_of_the_same_name_already_exists(backend: Backend) -> None:
    await backend.client.create(CONFIGMAPS, backend.namespace, config_map("a"))

    with pytest.raises(AlreadyExists, match='configmaps "a" already exists'):
        await backend.client.create(CONFIGMAPS, backend.namespace, config_map("a"))


async def test_a_missing_object_is_not_found(backend: Backend) -> None:
    with pytest.raises(NotFound, match=r'queues\.scheduling\.volcano\.sh "none" not found') as refused:
        await backend.client.get(QUEUES, None, "none")

    assert refused.value.code == 404
    assert not isinstance(refused.value, ResourceMissing)


async def test_a_resource_that_is_not_served_is_told_apart_from_a_missing_object(backend: Backend) -> None:
    unknown = Resource("nowhere.example", "v1", "Thing", "things")

    with pytest.raises(ResourceMissing):
        await backend.client.list(unknown)


async def test_nothing_is_created_in_a_namespace_that_does_not_exist(backend: Backend) -> None:
    with pytest.raises(NotFound, match='namespaces "nowhere" not found'):
        await backend.client.create(CONFIGMAPS, "nowhere", config_map("a"))


async def test_a_name_that_is_not_dns_like_is_invalid(backend: Backend) -> None:
    with pytest.raises(Invalid) as refused:
        await backend.client.create(CONFIGMAPS, backend.namespace, config_map("Bad_Name"))

    assert refused.value.message.startswith(
        'ConfigMap "Bad_Name" is invalid: metadata.name: Invalid value: "Bad_Name": a lowercase RFC 1123 subdomain'
    )


async def test_an_object_without_a_name_is_invalid(backend: Backend) -> None:
    with pytest.raises(Invalid, match="name or generateName is required"):
        await backend.client.create(CONFIGMAPS, backend.namespace, {"metadata": {}})


async def test_a_dry_run_leaves_nothing(backend: Backend) -> None:
    told = await backend.client.create(CONFIGMAPS, backend.namespace, config_map("a", x="1"), dry_run=True)

    assert told["data"] == {"x": "1"}
    with pytest.raises(NotFound):
        await backend.client.get(CONFIGMAPS, backend.namespace, "a")


async def test_a_list_is_gathered_page_by_page_in_name_order(backend: Backend) -> None:
    for number in range(7):
        await backend.client.create(CONFIGMAPS, backend.namespace, config_map(f"m{number}"))

    page = await backend.client.list(CONFIGMAPS, backend.namespace, page_size=2)

    names = [str(metadata(item)["name"]) for item in page.items]
    assert [name for name in names if name.startswith("m")] == [f"m{n}" for n in range(7)]
    assert all(item["kind"] == "ConfigMap" for item in page.items)
    assert int(page.resource_version) > 0


async def test_pages_of_one_list_show_one_moment(backend: Backend) -> None:
    for name in ("a", "b", "c"):
        await backend.client.create(CONFIGMAPS, backend.namespace, config_map(name, v="old"))
    path, query = CONFIGMAPS.path(backend.namespace), {"limit": "1"}
    first = await backend.client.transport.request("GET", path, query)
    token = _list(first.body)["metadata"]["continue"]  # type: ignore[index,call-overload]

    await backend.client.patch(CONFIGMAPS, backend.namespace, "b", {"data": {"v": "new"}})
    await backend.client.delete(CONFIGMAPS, backend.namespace, "c")
    second = await backend.client.transport.request("GET", path, {"continue": str(token)})

    shown = [
        (item["metadata"]["name"], item["data"]["v"])
        for item in _list(second.body)["items"]
        if "data" in item
    ]  # type: ignore[index,call-overload,union-attr]
    assert [pair for pair in shown if pair[0] in "abc"] == [("b", "old"), ("c", "old")]


def _list(body: bytes) -> JsonObject:
    from vcray.api.wire import decode_object

    return decode_object(body)


async def test_lists_select_by_labels(backend: Backend) -> None:
    for name, labels in (("a", {"app": "web"}), ("b", {"app": "db"}), ("c", {"tier": "x"})):
        body: JsonObject = {"metadata": {"name": name, "labels": labels}}
        await backend.client.create(CONFIGMAPS, backend.namespace, body)

    async def chosen(selector: str) -> list[str]:
        page = await backend.client.list(CONFIGMAPS, backend.namespace, label_selector=selector)
        return [str(metadata(item)["name"]) for item in page.items if metadata(item)["name"] in "abc"]

    assert await chosen("app=web") == ["a"]
    assert await chosen("app") == ["a", "b"]
    assert await chosen("app in (db, web),app!=web") == ["b"]
    assert await chosen("!app,tier") == ["c"]
    assert await chosen("app notin (db),app") == ["a"]


async def test_lists_select_by_fields(backend: Backend) -> None:
    pod: JsonObject = {"spec": {"containers": [{"name": "c", "image": "i"}], "schedulerName": "volcano"}}
    for name in ("p1", "p2"):
        await backend.client.create(PODS, backend.namespace, {**pod, "metadata": {"name": name}})
    await backend.client.bind(backend.namespace, "p2", "node-1")

    async def chosen(selector: str) -> list[str]:
        page = await backend.client.list(PODS, backend.namespace, field_selector=selector)
        return [str(metadata(pod)["name"]) for pod in page.items]

    assert await chosen("spec.nodeName=") == ["p1"]
    assert await chosen("spec.nodeName=node-1,status.phase=Pending") == ["p2"]
    assert await chosen("metadata.name=p1,spec.schedulerName=volcano") == ["p1"]
    with pytest.raises(BadRequest):
        await chosen("spec.nonsense=1")


async def test_an_update_from_an_old_version_conflicts(backend: Backend) -> None:
    old = await backend.client.create(CONFIGMAPS, backend.namespace, config_map("a", x="1"))
    await backend.client.update(CONFIGMAPS, {**old, "data": {"x": "2"}})

    with pytest.raises(Conflict) as refused:
        await backend.client.update(CONFIGMAPS, {**old, "data": {"x": "3"}})

    assert refused.value.message == (
        'Operation cannot be fulfilled on configmaps "a": the object has been modified; '
        "please apply your changes to the latest version and try again"
    )
    assert (await backend.client.get(CONFIGMAPS, backend.namespace, "a"))["data"] == {"x": "2"}


async def test_an_update_that_changes_nothing_makes_no_new_version(backend: Backend) -> None:
    made = await backend.client.create(CONFIGMAPS, backend.namespace, config_map("a", x="1"))

    again = await backend.client.update(CONFIGMAPS, made)

    assert metadata(again)["resourceVersion"] == metadata(made)["resourceVersion"]


async def test_a_custom_object_is_not_updated_without_a_version(backend: Backend) -> None:
    made = await backend.client.create(QUEUES, None, {"metadata": {"name": backend.name("q")}})
    metadata(made).pop("resourceVersion")

    with pytest.raises(
        Invalid, match=r"metadata\.resourceVersion: Invalid value: .*: must be specified for an update"
    ):
        await backend.client.update(QUEUES, made)


async def test_an_update_of_a_recreated_object_is_refused_by_its_uid(backend: Backend) -> None:
    old = await backend.client.create(CONFIGMAPS, backend.namespace, config_map("a"))
    await backend.client.delete(CONFIGMAPS, backend.namespace, "a")
    await backend.client.create(CONFIGMAPS, backend.namespace, config_map("a"))
    metadata(old).pop("resourceVersion")

    with pytest.raises(Conflict, match="Precondition failed: UID in precondition"):
        await backend.client.update(CONFIGMAPS, old)


async def test_modify_wins_against_a_writer_that_is_always_faster_once(backend: Backend) -> None:
    await backend.client.create(CONFIGMAPS, backend.namespace, config_map("a", n="0"))
    rival = backend.second_client("rival")
    tries = 0

    def count_up(obj: JsonObject) -> JsonObject:
        nonlocal tries
        tries += 1
        return {**obj, "data": {"n": str(tries)}}

    async def meddle(*_: float) -> None:
        return None

    client = KubeClient(_Interrupted(backend.client, rival, backend.namespace), "tests", sleep=meddle)  # type: ignore[arg-type]
    done = await client.modify(CONFIGMAPS, backend.namespace, "a", count_up)

    assert tries == 2
    assert done["data"] == {"n": "2"}


class _Interrupted:
    """A transport on which somebody else writes between the first read and the first write."""

    def __init__(self, client: KubeClient, rival: KubeClient, namespace: str) -> None:
        self._inner, self._rival, self._namespace = client.transport, rival, namespace
        self._meddled = False
        self.address = self._inner.address

    async def request(self, method: str, *args: object) -> object:
        if method == "PUT" and not self._meddled:
            self._meddled = True
            await self._rival.patch(CONFIGMAPS, self._namespace, "a", {"data": {"other": "x"}})
        return await self._inner.request(method, *args)  # type: ignore[arg-type]


async def test_a_status_is_written_only_through_its_subresource(backend: Backend) -> None:
    name = backend.name("q")
    body: JsonObject = {"metadata": {"name": name}, "spec": {"weight": 2}, "status": {"state": "Open"}}
    made = await backend.client.create(QUEUES, None, body)
    assert "status" not in made

    with_status = await backend.client.update_status(
        QUEUES, {**made, "spec": {"weight": 9}, "status": {"state": "Open"}}
    )
    assert with_status["status"] == {"state": "Open"}
    assert with_status["spec"]["weight"] == 2  # type: ignore[index,call-overload]
    assert metadata(with_status)["generation"] == 1

    after = await backend.client.update(
        QUEUES, {**with_status, "spec": {"weight": 3}, "status": {"state": "Closed"}}
    )
    assert after["status"] == {"state": "Open"}
    assert after["spec"]["weight"] == 3  # type: ignore[index,call-overload]
    assert metadata(after)["generation"] == 2


async def test_a_pod_group_has_no_status_subresource(backend: Backend) -> None:
    body: JsonObject = {"metadata": {"name": "pg"}, "spec": {"minMember": 2}, "status": {"phase": "Pending"}}
    made = await backend.client.create(PODGROUPS, backend.namespace, body)
    assert made["status"] == {"phase": "Pending"}

    with pytest.raises(NotFound):
        await backend.client.update_status(PODGROUPS, made)

    after = await backend.client.update(PODGROUPS, {**made, "status": {"phase": "Inqueue"}})
    assert after["status"] == {"phase": "Inqueue"}
    assert metadata(after)["generation"] == 2


async def test_a_finalizer_holds_an_object_until_it_is_taken_off(backend: Backend) -> None:
    body: JsonObject = {"metadata": {"name": "a", "finalizers": ["example.com/hold"]}}
    await backend.client.create(CONFIGMAPS, backend.namespace, body)

    await backend.client.delete(CONFIGMAPS, backend.namespace, "a")
    held = await backend.client.get(CONFIGMAPS, backend.namespace, "a")
    assert metadata(held)["deletionTimestamp"]
    assert metadata(held)["deletionGracePeriodSeconds"] == 0

    await backend.client.patch(CONFIGMAPS, backend.namespace, "a", {"metadata": {"finalizers": None}})
    with pytest.raises(NotFound):
        await backend.client.get(CONFIGMAPS, backend.namespace, "a")


async def test_a_delete_is_refused_for_another_uid_or_version(backend: Backend) -> None:
    made = await backend.client.create(CONFIGMAPS, backend.namespace, config_map("a"))

    with pytest.raises(Conflict, match="the UID in the precondition"):
        await backend.client.delete(CONFIGMAPS, backend.namespace, "a", uid="0000")
    with pytest.raises(Conflict, match="the ResourceVersion in the precondition"):
        await backend.client.delete(CONFIGMAPS, backend.namespace, "a", resource_version="1")
    await backend.client.delete(CONFIGMAPS, backend.namespace, "a", uid=str(metadata(made)["uid"]))

    with pytest.raises(NotFound):
        await backend.client.delete(CONFIGMAPS, backend.namespace, "a")


async def _owned(backend: Backend, name: str, owner: JsonObject, **reference: bool) -> None:
    head = metadata(owner)
    link: JsonObject = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "name": head["name"],
        "uid": head["uid"],
        **reference,
    }
    body: JsonObject = {"metadata": {"name": name, "ownerReferences": [link]}}
    await backend.client.create(CONFIGMAPS, backend.namespace, body)


async def _gone(backend: Backend, name: str) -> bool:
    try:
        await backend.client.get(CONFIGMAPS, backend.namespace, name)
    except NotFound:
        return True
    return False


async def test_what_an_owner_owned_goes_after_it(collecting: Backend) -> None:
    owner = await collecting.client.create(CONFIGMAPS, collecting.namespace, config_map("owner"))
    await _owned(collecting, "owned", owner)

    await collecting.client.delete(CONFIGMAPS, collecting.namespace, "owner")

    await eventually(lambda: _gone(collecting, "owned"), "the owned object to be collected")


async def test_a_foreground_delete_ends_with_the_owner(collecting: Backend) -> None:
    owner = await collecting.client.create(CONFIGMAPS, collecting.namespace, config_map("owner"))
    await _owned(collecting, "owned", owner, blockOwnerDeletion=True)

    await collecting.client.delete(
        CONFIGMAPS, collecting.namespace, "owner", propagation=Propagation.FOREGROUND
    )

    await eventually(lambda: _gone(collecting, "owner"), "the owner to go")
    assert await _gone(collecting, "owned")


async def test_an_orphaning_delete_leaves_what_was_owned_without_an_owner(collecting: Backend) -> None:
    owner = await collecting.client.create(CONFIGMAPS, collecting.namespace, config_map("owner"))
    await _owned(collecting, "owned", owner)

    await collecting.client.delete(CONFIGMAPS, collecting.namespace, "owner", propagation=Propagation.ORPHAN)

    await eventually(lambda: _gone(collecting, "owner"), "the owner to go")
    left = await collecting.client.get(CONFIGMAPS, collecting.namespace, "owned")
    assert not metadata(left).get("ownerReferences")


async def test_an_object_whose_owner_is_gone_already_is_collected(collecting: Backend) -> None:
    owner = await collecting.client.create(CONFIGMAPS, collecting.namespace, config_map("owner"))
    await collecting.client.delete(CONFIGMAPS, collecting.namespace, "owner")

    await _owned(collecting, "late", owner)

    await eventually(lambda: _gone(collecting, "late"), "the late object to be collected")


async def test_a_namespace_takes_its_objects_along(collecting: Backend) -> None:
    name = collecting.name("short")
    await collecting.client.create(NAMESPACES, None, {"metadata": {"name": name}})
    await collecting.client.create(CONFIGMAPS, name, config_map("a"))

    await collecting.client.delete(NAMESPACES, None, name)

    async def gone() -> bool:
        try:
            await collecting.client.get(NAMESPACES, None, name)
        except NotFound:
            return True
        return False

    await eventually(gone, "the namespace to go")


async def test_refusals_are_one_sentence_with_a_code(backend: Backend) -> None:
    with pytest.raises(VcrayError) as refused:
        await backend.client.get(JOBS, backend.namespace, "none")

    assert isinstance(refused.value, ApiError)
    assert str(refused.value).startswith("VC0501 GET /apis/batch.volcano.sh/")
    assert "\n" not in str(refused.value)

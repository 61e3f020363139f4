"""Merge, JSON and strategic patches, server-side apply and its field managers: the same on both servers."""

from __future__ import annotations

import pytest

from tests.conformance.client.conftest import Backend
from vcray.api.meta import JsonObject, JsonValue
from vcray.api.resources import CONFIGMAPS, JOBS, NODES, PODGROUPS, PODS, QUEUES, SERVICES
from vcray.kube.client import PatchType
from vcray.kube.errors import Conflict, Invalid, NotFound, UnsupportedMediaType

POD: JsonObject = {
    "metadata": {"name": "p"},
    "spec": {"containers": [{"name": "main", "image": "a:1", "env": [{"name": "X", "value": "1"}]}]},
}


async def make(backend: Backend, name: str = "a", **data: str) -> JsonObject:
    return await backend.client.create(
        CONFIGMAPS, backend.namespace, {"metadata": {"name": name}, "data": dict(data)}
    )


def at(obj: JsonValue, *path: str | int) -> JsonValue:
    for step in path:
        obj = obj[step]  # type: ignore[index,call-overload]
    return obj


async def test_a_merge_patch_sets_and_removes(backend: Backend) -> None:
    await make(backend, x="1", y="2")

    patched = await backend.client.patch(
        CONFIGMAPS,
        backend.namespace,
        "a",
        {"data": {"x": None, "z": "3"}, "metadata": {"labels": {"l": "v"}}},
    )

    assert patched["data"] == {"y": "2", "z": "3"}
    assert at(patched, "metadata", "labels") == {"l": "v"}


async def test_a_merge_patch_with_an_old_version_conflicts(backend: Backend) -> None:
    old = await make(backend, x="1")
    await backend.client.patch(CONFIGMAPS, backend.namespace, "a", {"data": {"x": "2"}})

    with pytest.raises(Conflict):
        await backend.client.patch(
            CONFIGMAPS,
            backend.namespace,
            "a",
            {"metadata": {"resourceVersion": at(old, "metadata", "resourceVersion")}, "data": {"x": "3"}},
        )


async def test_a_patch_of_a_missing_object_is_not_found(backend: Backend) -> None:
    with pytest.raises(NotFound):
        await backend.client.patch(CONFIGMAPS, backend.namespace, "none", {"data": {}})


async def test_a_json_patch_tests_and_changes(backend: Backend) -> None:
    await make(backend, x="1", y="2")
    steps: list[JsonValue] = [
        {"op": "test", "path": "/data/x", "value": "1"},
        {"op": "replace", "path": "/data/x", "value": "9"},
        {"op": "remove", "path": "/data/y"},
    ]

    patched = await backend.client.patch(CONFIGMAPS, backend.namespace, "a", steps, PatchType.JSON)

    assert patched["data"] == {"x": "9"}


async def test_a_json_patch_whose_test_fails_changes_nothing(backend: Backend) -> None:
    await make(backend, x="1")
    steps: list[JsonValue] = [
        {"op": "test", "path": "/data/x", "value": "2"},
        {"op": "replace", "path": "/data/x", "value": "9"},
    ]

    with pytest.raises(Invalid):
        await backend.client.patch(CONFIGMAPS, backend.namespace, "a", steps, PatchType.JSON)

    assert (await backend.client.get(CONFIGMAPS, backend.namespace, "a"))["data"] == {"x": "1"}


async def test_a_strategic_patch_merges_containers_by_name_and_conditions_by_type(backend: Backend) -> None:
    await backend.client.create(PODS, backend.namespace, POD)

    patched = await backend.client.patch(
        PODS,
        backend.namespace,
        "p",
        {"spec": {"containers": [{"name": "main", "image": "a:2"}]}},
        PatchType.STRATEGIC,
    )
    assert at(patched, "spec", "containers", 0, "image") == "a:2"
    assert at(patched, "spec", "containers", 0, "env") == [{"name": "X", "value": "1"}]

    for kind in ("Ready", "Initialized"):
        condition: JsonObject = {"type": kind, "status": "True"}
        patched = await backend.client.patch(
            PODS,
            backend.namespace,
            "p",
            {"status": {"conditions": [condition]}},
            PatchType.STRATEGIC,
            "status",
        )
    conditions = at(patched, "status", "conditions")
    assert isinstance(conditions, list)
    assert [at(c, "type") for c in conditions] == ["Initialized", "Ready"] or [
        at(c, "type") for c in conditions
    ] == [
        "Ready",
        "Initialized",
    ]


async def test_a_strategic_patch_deletes_an_entry_and_replaces_atomic_lists(backend: Backend) -> None:
    name = backend.name("node")
    taint: JsonObject = {"key": "k", "effect": "NoSchedule"}
    await backend.client.create(NODES, None, {"metadata": {"name": name}, "spec": {"taints": [taint]}})

    # A node's taints are one list that a patch replaces.
    patched = await backend.client.patch(
        NODES,
        None,
        name,
        {"spec": {"taints": [{"key": "other", "effect": "NoExecute"}]}},
        PatchType.STRATEGIC,
    )
    keys = [at(t, "key") for t in at(patched, "spec", "taints")]  # type: ignore[union-attr]
    assert "other" in keys
    assert "k" not in keys

    ports: list[JsonValue] = [{"name": "a", "port": 80}, {"name": "b", "port": 81}]
    await backend.client.create(
        SERVICES,
        backend.namespace,
        {"metadata": {"name": "s"}, "spec": {"clusterIP": "None", "ports": ports}},
    )
    removed = await backend.client.patch(
        SERVICES,
        backend.namespace,
        "s",
        {"spec": {"ports": [{"port": 80, "$patch": "delete"}]}},
        PatchType.STRATEGIC,
    )
    assert [at(p, "port") for p in at(removed, "spec", "ports")] == [81]  # type: ignore[union-attr]


async def test_a_custom_object_takes_no_strategic_patch(backend: Backend) -> None:
    name = backend.name("q")
    await backend.client.create(QUEUES, None, {"metadata": {"name": name}})

    with pytest.raises(UnsupportedMediaType):
        await backend.client.patch(QUEUES, None, name, {"spec": {"weight": 2}}, PatchType.STRATEGIC)


async def test_apply_creates_and_then_owns_what_it_named(backend: Backend) -> None:
    document: JsonObject = {
        "metadata": {"name": "a", "namespace": backend.namespace},
        "data": {"x": "1", "y": "2"},
    }
    made = await backend.client.apply(CONFIGMAPS, document, field_manager="alice")
    managed = at(made, "metadata", "managedFields")
    assert [(at(m, "manager"), at(m, "operation"), at(m, "fieldsV1")) for m in managed] == [  # type: ignore[union-attr]
        ("alice", "Apply", {"f:data": {"f:x": {}, "f:y": {}}})
    ]

    # What the manager no longer names goes; what others own stays.
    await backend.client.patch(CONFIGMAPS, backend.namespace, "a", {"data": {"z": "3"}})
    shorter: JsonObject = {"metadata": {"name": "a", "namespace": backend.namespace}, "data": {"x": "1"}}
    after = await backend.client.apply(CONFIGMAPS, shorter, field_manager="alice")
    assert after["data"] == {"x": "1", "z": "3"}


async def test_apply_conflicts_with_another_manager_unless_forced(backend: Backend) -> None:
    def document(value: str) -> JsonObject:
        return {"metadata": {"name": "a", "namespace": backend.namespace}, "data": {"x": value}}

    await backend.client.apply(CONFIGMAPS, document("1"), field_manager="alice")
    with pytest.raises(Conflict) as refused:
        await backend.client.apply(CONFIGMAPS, document("2"), field_manager="bob")
    assert refused.value.message == 'Apply failed with 1 conflict: conflict with "alice": .data.x'

    shared = await backend.client.apply(CONFIGMAPS, document("1"), field_manager="bob")
    assert {at(m, "manager") for m in at(shared, "metadata", "managedFields")} == {"alice", "bob"}  # type: ignore[union-attr]

    forced = await backend.client.apply(CONFIGMAPS, document("2"), force=True, field_manager="bob")
    assert forced["data"] == {"x": "2"}
    assert {at(m, "manager") for m in at(forced, "metadata", "managedFields")} == {"bob"}  # type: ignore[union-attr]


async def test_apply_of_a_status_conflicts_with_whoever_wrote_it_last(backend: Backend) -> None:
    name = backend.name("q")
    await backend.client.create(QUEUES, None, {"metadata": {"name": name}})
    status: JsonObject = {"metadata": {"name": name}, "status": {"state": "Open"}}
    applied = await backend.client.apply(
        QUEUES, status, subresource="status", field_manager="queue-controller"
    )
    assert at(applied, "status", "state") == "Open"

    await backend.client.patch(QUEUES, None, name, {"status": {"state": "Closed"}}, subresource="status")
    with pytest.raises(Conflict) as refused:
        await backend.client.apply(QUEUES, status, subresource="status", field_manager="queue-controller")

    assert refused.value.message == (
        'Apply failed with 1 conflict: conflict with "tests" with subresource "status" using '
        "scheduling.volcano.sh/v1beta1: .status.state"
    )


async def test_apply_names_every_conflict(backend: Backend) -> None:
    namespace = backend.namespace
    first: JsonObject = {"metadata": {"name": "a", "namespace": namespace}, "data": {"x": "1", "y": "1"}}
    other: JsonObject = {"metadata": {"name": "a", "namespace": namespace}, "data": {"x": "2", "y": "2"}}
    await backend.client.apply(CONFIGMAPS, first, field_manager="alice")

    with pytest.raises(Conflict) as refused:
        await backend.client.apply(CONFIGMAPS, other, field_manager="bob")

    assert refused.value.message == (
        'Apply failed with 2 conflicts: conflicts with "alice":\n- .data.x\n- .data.y'
    )


async def test_an_apply_without_change_makes_no_new_version(backend: Backend) -> None:
    document: JsonObject = {"metadata": {"name": "a", "namespace": backend.namespace}, "data": {"x": "1"}}
    first = await backend.client.apply(CONFIGMAPS, document)

    second = await backend.client.apply(CONFIGMAPS, document)

    assert at(first, "metadata", "resourceVersion") == at(second, "metadata", "resourceVersion")


async def test_apply_merges_keyed_lists_by_key(backend: Backend) -> None:
    def pod(name: str, **container: JsonValue) -> JsonObject:
        listed: list[JsonValue] = [{"name": name, **container}]
        return {"metadata": {"name": "p", "namespace": backend.namespace}, "spec": {"containers": listed}}

    await backend.client.create(PODS, backend.namespace, POD)
    after = await backend.client.apply(PODS, pod("main", image="a:2"), force=True, field_manager="bob")

    assert at(after, "spec", "containers", 0, "image") == "a:2"
    assert at(after, "spec", "containers", 0, "env") == [{"name": "X", "value": "1"}]


async def test_apply_owns_finalizers_one_by_one(backend: Backend) -> None:
    def document(*finalizers: str) -> JsonObject:
        listed: list[JsonValue] = list(finalizers)
        return {"metadata": {"name": "a", "namespace": backend.namespace, "finalizers": listed}}

    await backend.client.apply(CONFIGMAPS, document("a.com/x"), field_manager="alice")
    both = await backend.client.apply(CONFIGMAPS, document("a.com/y"), field_manager="bob")
    assert at(both, "metadata", "finalizers") == ["a.com/x", "a.com/y"]

    left = await backend.client.apply(CONFIGMAPS, document(), field_manager="alice")
    assert at(left, "metadata", "finalizers") == ["a.com/y"]
    await backend.client.apply(CONFIGMAPS, document(), field_manager="bob")


async def test_apply_needs_a_field_manager(backend: Backend) -> None:
    body = b'{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"}}'
    path = CONFIGMAPS.path(backend.namespace, "a")

    answer = await backend.client.transport.request("PATCH", path, {}, body, PatchType.APPLY)

    assert answer.status == 422
    assert b"is required for apply patch" in answer.body


async def test_ordinary_writers_are_recorded_and_lose_what_others_change(backend: Backend) -> None:
    await make(backend, x="1", y="1")
    other = backend.second_client("other")
    changed = await other.patch(CONFIGMAPS, backend.namespace, "a", {"data": {"x": "2"}})

    owners = {
        str(at(m, "manager")): set(at(m, "fieldsV1", "f:data")) - {"."}  # type: ignore[arg-type]
        for m in at(changed, "metadata", "managedFields")  # type: ignore[union-attr]
    }
    assert owners == {"tests": {"f:y"}, "other": {"f:x"}}


async def test_a_pod_group_keeps_a_concurrent_writers_minimum_when_its_status_is_patched(
    backend: Backend,
) -> None:
    await backend.client.create(
        PODGROUPS, backend.namespace, {"metadata": {"name": "g"}, "spec": {"minMember": 1}}
    )
    await backend.client.patch(PODGROUPS, backend.namespace, "g", {"spec": {"minMember": 5}})

    after = await backend.client.patch(PODGROUPS, backend.namespace, "g", {"status": {"phase": "Running"}})

    assert at(after, "spec", "minMember") == 5


async def test_a_patch_that_breaks_the_schema_is_refused_in_words(backend: Backend) -> None:
    name = backend.name("q")
    await backend.client.create(QUEUES, None, {"metadata": {"name": name}})

    with pytest.raises(Invalid) as refused:
        await backend.client.patch(QUEUES, None, name, {"spec": {"weight": "heavy"}})

    assert refused.value.message == (
        f'Queue.scheduling.volcano.sh "{name}" is invalid: spec.weight: Invalid value: "string": '
        'spec.weight in body must be of type integer: "string"'
    )


async def test_a_job_is_applied_like_any_other_object(backend: Backend) -> None:
    task: JsonObject = {
        "name": "w",
        "replicas": 2,
        "minAvailable": 2,
        "maxRetry": 3,
        "template": {"spec": {"containers": [{"name": "c", "image": "i"}]}},
    }
    document: JsonObject = {
        "metadata": {"name": "j", "namespace": backend.namespace},
        "spec": {"tasks": [task]},
    }
    made = await backend.client.apply(JOBS, document)
    again = await backend.client.apply(JOBS, document)

    assert at(made, "spec", "queue") == "default"
    assert at(again, "metadata", "generation") == 1

"""Server-side apply on a store."""

import pytest

from vcray.api.resources import CONFIGMAPS
from vcray.cluster.objects.store import Store
from vcray.cluster.objects.write import Write
from vcray.kube.client import PatchType
from vcray.kube.errors import ApiError, Conflict


def apply(store, data, manager, force=False):
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}, "data": data}
    write = Write(manager=manager, force=force)
    return store.patch(CONFIGMAPS, "default", "c", body, PatchType.APPLY, write).decode()


def managers(obj):
    return {entry["manager"]: entry["fieldsV1"] for entry in obj["metadata"]["managedFields"]}


def test_a_field_goes_when_its_last_applier_does_not_name_it_any_more():
    store = Store()
    apply(store, {"x": "1", "y": "2"}, "one")
    apply(store, {"x": "1"}, "two")

    left = apply(store, {}, "one")

    assert left["data"] == {"x": "1"}
    assert managers(left) == {"one": {"f:data": {}}, "two": {"f:data": {"f:x": {}}}}


def test_a_field_of_another_is_a_conflict_unless_forced():
    store = Store()
    apply(store, {"x": "1"}, "one")

    with pytest.raises(Conflict, match=r'conflict with "one": \.data\.x'):
        apply(store, {"x": "2"}, "two")

    assert apply(store, {"x": "2"}, "two", force=True)["data"] == {"x": "2"}


def test_a_document_that_does_not_fit_its_type_is_refused():
    with pytest.raises(ApiError, match=r"\.data\.x: expected string, got int"):
        apply(Store(), {"x": 1}, "one")


def test_many_writers_are_joined_into_one():
    store = Store()
    store.create(CONFIGMAPS, "default", {"metadata": {"name": "c"}, "data": {"a": "b"}})
    for number in range(14):
        change = {"data": {f"k{number}": "v"}}
        store.patch(CONFIGMAPS, "default", "c", change, PatchType.MERGE, Write(manager=f"m{number}"))

    found = managers(store.read(CONFIGMAPS, "default", "c").decode())

    assert len(found) == 10
    assert "ancient-changes" in found

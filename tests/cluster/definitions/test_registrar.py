"""Definitions come, change and go with everything that hangs on them."""

import json
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from vcray.api.jsonview import condition_of
from vcray.api.resources import CUSTOMRESOURCEDEFINITIONS, NAMESPACES, Resource
from vcray.cluster.objects.catalog import default_catalog
from vcray.cluster.objects.deletion import DeleteOptions
from vcray.cluster.objects.persistence import Database
from vcray.cluster.objects.store import Store
from vcray.cluster.objects.versions import shown
from vcray.cluster.objects.watching import Delivery, Watcher
from vcray.kube.errors import Invalid, MethodNotAllowed, ResourceMissing

SCHEMA = {
    "type": "object",
    "properties": {"spec": {"type": "object", "properties": {"size": {"type": "integer", "default": 1}}}},
}


def definition(plural: str = "widgets", kind: str = "Widget", **names: Any) -> dict[str, Any]:
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.example.com"},
        "spec": {
            "group": "example.com",
            "scope": "Namespaced",
            "names": {"plural": plural, "kind": kind, **names},
            "versions": [
                {
                    "name": "v1",
                    "served": True,
                    "storage": True,
                    "schema": {"openAPIV3Schema": deepcopy(SCHEMA)},
                }
            ],
        },
    }


def widget(name: str = "w", **metadata: Any) -> dict[str, Any]:
    return {
        "apiVersion": "example.com/v1",
        "kind": "Widget",
        "metadata": {"name": name, "namespace": "default", **metadata},
        "spec": {},
    }


WIDGETS = Resource("example.com", "v1", "Widget", "widgets")


@pytest.fixture
def store() -> Store:
    return Store(catalog=default_catalog())


def create(store: Store, document: dict[str, Any]) -> Any:
    return store.create(CUSTOMRESOURCEDEFINITIONS, "", document).decode()


def read(store: Store, name: str = "widgets.example.com") -> Any:
    return store.read(CUSTOMRESOURCEDEFINITIONS, "", name).decode()


def test_the_answer_to_a_create_has_no_condition_yet(store: Store) -> None:
    answered = create(store, definition())

    assert answered["status"] == {
        "conditions": None,
        "acceptedNames": {"plural": "", "kind": ""},
        "storedVersions": ["v1"],
    }
    assert answered["spec"]["conversion"] == {"strategy": "None"}


def test_a_new_kind_is_established_and_served_at_once(store: Store) -> None:
    create(store, definition())

    found = read(store)["status"]
    made = store.create(WIDGETS, "default", widget()).decode()

    assert [(each["type"], each["status"], each["reason"]) for each in found["conditions"]] == [
        ("NamesAccepted", "True", "NoConflicts"),
        ("Established", "True", "InitialNamesAccepted"),
    ]
    assert found["acceptedNames"] == {
        "plural": "widgets",
        "singular": "widget",
        "kind": "Widget",
        "listKind": "WidgetList",
    }
    assert made["spec"] == {"size": 1}


def test_a_taken_name_is_refused_until_its_owner_goes(store: Store) -> None:
    create(store, definition(shortNames=["w"]))
    create(store, definition("wagons", "Wagon", shortNames=["w"]))

    waiting = read(store, "wagons.example.com")
    store.delete(CUSTOMRESOURCEDEFINITIONS, "", "widgets.example.com")
    settled = read(store, "wagons.example.com")

    assert condition_of(waiting, "NamesAccepted")["reason"] == "ShortNamesConflict"
    assert condition_of(waiting, "NamesAccepted")["message"] == '"w" is already in use'
    assert condition_of(waiting, "Established")["reason"] == "NotAccepted"
    assert condition_of(settled, "Established")["status"] == "True"
    assert settled["status"]["acceptedNames"]["shortNames"] == ["w"]


def test_a_kind_whose_names_are_taken_is_not_served(store: Store) -> None:
    create(store, definition())
    create(store, definition("gadgets", "Widget"))

    with pytest.raises(ResourceMissing):
        store.catalog.at("example.com", "v1", "gadgets")


def test_a_changed_schema_holds_for_the_next_object(store: Store) -> None:
    create(store, definition())
    changed = read(store)
    properties = changed["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]
    properties["spec"]["properties"]["size"]["default"] = 7

    store.update(CUSTOMRESOURCEDEFINITIONS, "", "widgets.example.com", changed)

    assert store.create(WIDGETS, "default", widget()).decode()["spec"] == {"size": 7}
    assert read(store)["metadata"]["generation"] == 2


def test_a_new_storage_version_is_remembered_among_the_stored_ones(store: Store) -> None:
    create(store, definition())
    store.create(WIDGETS, "default", widget())
    changed = read(store)
    first = changed["spec"]["versions"][0]
    changed["spec"]["versions"] = [
        {**first, "storage": False},
        {**deepcopy(first), "name": "v2", "storage": True},
    ]

    store.update(CUSTOMRESOURCEDEFINITIONS, "", "widgets.example.com", changed)

    assert read(store)["status"]["storedVersions"] == ["v1", "v2"]
    assert store.catalog.at("example.com", "v2", "widgets").stored == WIDGETS


def test_deletion_takes_the_objects_and_ends_their_watches(store: Store) -> None:
    create(store, definition())
    store.create(WIDGETS, "default", widget())
    delivery = Delivery(store.storage)
    watcher = Watcher(store.catalog.of(WIDGETS), "", lambda record: True)
    delivery.open(watcher, store.storage.version)

    last, gone = store.delete(CUSTOMRESOURCEDEFINITIONS, "", "widgets.example.com")

    lines = watcher.lines.take()
    assert not isinstance(last, bool)
    assert condition_of(last.decode(), "Terminating")["reason"] == "InstanceDeletionPending"
    assert not gone
    assert lines[0] is not None
    assert lines[0].startswith(b'{"type":"DELETED"')
    assert lines[-1] is None
    with pytest.raises(ResourceMissing):
        store.catalog.of(WIDGETS)


def test_a_definition_waits_for_an_object_with_a_finalizer(store: Store) -> None:
    create(store, definition())
    store.create(WIDGETS, "default", widget(finalizers=["example.com/hold"]))
    store.delete(CUSTOMRESOURCEDEFINITIONS, "", "widgets.example.com")

    waiting = read(store)
    with pytest.raises(MethodNotAllowed, match="create not allowed while custom resource definition is"):
        store.create(WIDGETS, "default", widget("late"))
    held = store.read(WIDGETS, "default", "w").decode()
    held["metadata"]["finalizers"] = []  # type: ignore[call-overload,index]
    store.update(WIDGETS, "default", "w", held)

    assert condition_of(waiting, "Terminating")["reason"] == "InstanceDeletionInProgress"
    assert waiting["metadata"]["finalizers"] == ["customresourcecleanup.apiextensions.k8s.io"]
    assert store.storage.get(CUSTOMRESOURCEDEFINITIONS, "", "widgets.example.com") is None


def test_established_names_and_scope_are_fixed(store: Store) -> None:
    create(store, definition())
    changed = read(store)
    changed["spec"]["scope"] = "Cluster"

    with pytest.raises(Invalid, match=r'spec\.scope: Invalid value: "Cluster": field is immutable'):
        store.update(CUSTOMRESOURCEDEFINITIONS, "", "widgets.example.com", changed)


def test_a_protected_group_tells_whether_it_was_approved(store: Store) -> None:
    document = definition()
    document["spec"]["group"] = "x.k8s.io"
    document["metadata"] |= {
        "name": "widgets.x.k8s.io",
        "annotations": {"api-approved.kubernetes.io": "unapproved, for a test"},
    }
    create(store, document)

    found = condition_of(read(store, "widgets.x.k8s.io"), "KubernetesAPIApprovalPolicyConformant")
    assert (found["status"], found["reason"]) == ("False", "UnapprovedAnnotation")


def test_a_namespace_with_custom_objects_can_go(store: Store) -> None:
    create(store, definition())
    store.create(NAMESPACES, "", {"metadata": {"name": "n"}})
    store.create(WIDGETS, "n", {**widget(), "metadata": {"name": "w", "namespace": "n"}})

    store.delete(NAMESPACES, "", "n", DeleteOptions())

    assert store.storage.get(WIDGETS, "n", "w") is None


def test_objects_get_later_defaults_when_they_are_read(store: Store) -> None:
    create(store, definition())
    record = store.create(WIDGETS, "default", widget())
    changed = read(store)
    fields = changed["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]
    fields["colour"] = {"type": "string", "default": "red"}
    store.update(CUSTOMRESOURCEDEFINITIONS, "", "widgets.example.com", changed)

    again = shown(store.catalog.of(WIDGETS), record)

    assert json.loads(again)["spec"] == {"size": 1, "colour": "red"}


def test_another_version_shows_what_its_own_schema_has(store: Store) -> None:
    document = definition()
    second: Any = deepcopy(document["spec"]["versions"][0])
    second |= {"name": "v2", "storage": False}
    second["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"] = {
        "wheels": {"type": "integer", "default": 4}
    }
    document["spec"]["versions"].append(second)
    create(store, document)
    record = store.create(WIDGETS, "default", widget())

    other = json.loads(shown(store.catalog.at("example.com", "v2", "widgets"), record))

    assert (other["apiVersion"], other["spec"]) == ("example.com/v2", {"wheels": 4})


def test_a_definition_that_never_got_its_names_can_go(store: Store) -> None:
    create(store, definition())
    create(store, definition("gadgets", "Widget"))

    store.delete(CUSTOMRESOURCEDEFINITIONS, "", "gadgets.example.com")

    assert store.storage.get(CUSTOMRESOURCEDEFINITIONS, "", "gadgets.example.com") is None
    assert store.catalog.of(WIDGETS)


def test_a_deletion_goes_on_after_a_restart(store: Store, tmp_path: Path) -> None:
    database = Database(tmp_path)
    first = Store(catalog=default_catalog(), database=database)
    create(first, definition())
    first.create(WIDGETS, "default", widget())
    marked: Any = read(first)
    marked["metadata"] |= {
        "deletionTimestamp": "2026-01-01T00:00:00Z",
        "finalizers": ["customresourcecleanup.apiextensions.k8s.io"],
    }
    first.storage.put(CUSTOMRESOURCEDEFINITIONS, marked)
    database.close()

    again = Database(tmp_path)
    second = Store(catalog=default_catalog(), database=again, seed=1)
    again.close()

    assert second.storage.get(CUSTOMRESOURCEDEFINITIONS, "", "widgets.example.com") is None
    assert second.storage.get(WIDGETS, "default", "w") is None

"""Tables and partial objects have the form that kubectl reads."""

import json
from typing import Any

import pytest

from vcray.cluster.objects.catalog import Catalog, default_catalog
from vcray.cluster.tables.render import as_partial, as_partial_list, as_table
from vcray.kube.errors import BadRequest

NOW = 1_700_000_000.0  # 2023-11-14T22:13:20Z
CONFIG = {
    "kind": "ConfigMap",
    "apiVersion": "v1",
    "metadata": {"name": "c", "namespace": "n", "creationTimestamp": "2023-11-14T22:13:00Z"},
    "data": {"a": "1", "b": "2"},
}


@pytest.fixture(scope="module")
def catalog() -> Catalog:
    return default_catalog()


def table(catalog: Catalog, plural: str, *objects: dict[str, Any], group: str = "", **options: Any) -> Any:
    version = "v1alpha1" if group.endswith("volcano.sh") else "v1"
    kind = catalog.at(group, version, plural)
    items = [json.dumps(each).encode() for each in objects]
    return json.loads(as_table(kind, items, {"resourceVersion": "5"}, NOW, **options))


def test_a_table_has_columns_and_a_row_for_each_object(catalog: Catalog) -> None:
    made = table(catalog, "configmaps", CONFIG)

    assert (made["kind"], made["apiVersion"]) == ("Table", "meta.k8s.io/v1")
    assert made["metadata"] == {"resourceVersion": "5"}
    assert [column["name"] for column in made["columnDefinitions"]] == ["Name", "Data", "Age"]
    assert made["columnDefinitions"][0]["format"] == "name"
    assert made["rows"][0]["cells"] == ["c", 2, "20s"]


def test_a_row_holds_the_metadata_unless_asked_otherwise(catalog: Catalog) -> None:
    held = {
        include: table(catalog, "configmaps", CONFIG, include=include)["rows"][0]["object"]
        for include in ("", "Metadata", "Object", "None")
    }

    partial = {
        "kind": "PartialObjectMetadata",
        "apiVersion": "meta.k8s.io/v1",
        "metadata": CONFIG["metadata"],
    }
    assert held == {"": partial, "Metadata": partial, "Object": CONFIG, "None": None}


def test_another_wish_is_refused(catalog: Catalog) -> None:
    with pytest.raises(BadRequest, match="must be 'Metadata', 'Object', 'None', or empty"):
        table(catalog, "configmaps", include="Everything")


def test_later_tables_of_a_watch_have_no_columns(catalog: Catalog) -> None:
    assert table(catalog, "configmaps", CONFIG, headers=False)["columnDefinitions"] is None


def test_a_kind_without_columns_of_its_own_shows_when_it_was_created(catalog: Catalog) -> None:
    made = table(catalog, "limitranges", {"metadata": CONFIG["metadata"]})

    assert [column["name"] for column in made["columnDefinitions"]] == ["Name", "Created At"]
    assert made["rows"][0]["cells"] == ["c", "2023-11-14T22:13:00Z"]


def test_volcanos_jobs_show_the_columns_of_their_definition(catalog: Catalog) -> None:
    job = {
        "metadata": CONFIG["metadata"],
        "spec": {"queue": "q"},
        "status": {"state": {"phase": "Running"}, "minAvailable": 2},
    }

    made = table(catalog, "jobs", job, group="batch.volcano.sh")

    columns = [(column["name"], column["priority"]) for column in made["columnDefinitions"]]
    assert columns[-1] == ("QUEUE", 1)
    assert made["rows"][0]["cells"] == ["c", "Running", 2, None, "20s", "q"]


def test_a_finished_pods_row_says_so(catalog: Catalog) -> None:
    pod = {"metadata": CONFIG["metadata"], "status": {"phase": "Succeeded"}}

    assert table(catalog, "pods", pod)["rows"][0]["conditions"] == [
        {
            "type": "Completed",
            "status": "True",
            "reason": "Succeeded",
            "message": "The pod has completed successfully.",
        }
    ]


def test_an_object_is_reduced_to_its_metadata() -> None:
    item = json.dumps(CONFIG).encode()

    one, several = json.loads(as_partial(item)), json.loads(as_partial_list([item], {}, "v1beta1"))

    assert one == {
        "kind": "PartialObjectMetadata",
        "apiVersion": "meta.k8s.io/v1",
        "metadata": CONFIG["metadata"],
    }
    assert several["kind"] == "PartialObjectMetadataList"
    assert several["items"][0]["apiVersion"] == "meta.k8s.io/v1beta1"

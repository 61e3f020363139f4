"""Read-views: unknown fields, nulls, times; raw JSON readers; the resource table."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from pydantic import ValidationError

from vcray.api.jsonview import dig, dig_int, dig_list, dig_object, dig_objects, dig_str, dig_strings
from vcray.api.meta import (
    JsonObject,
    LabelSelector,
    ObjectMeta,
    OwnerReference,
    format_time,
    parse_time,
    to_json,
)
from vcray.api.resources import (
    ALL_RESOURCES,
    GVK,
    JOBS,
    KUBERNETES_JOBS,
    NODES,
    PODS,
    QUEUES,
    resolve,
    resource_at,
    resource_for,
)


def test_unknown_fields_and_nulls_are_no_error() -> None:
    meta = ObjectMeta.model_validate(
        {"name": "a", "creationTimestamp": None, "labels": None, "selfLink": "x"}
    )
    assert (meta.name, meta.creation_timestamp, meta.labels) == ("a", None, {})


def test_fields_are_set_by_either_name_and_written_in_camel_case() -> None:
    assert ObjectMeta(resource_version="7") == ObjectMeta.model_validate({"resourceVersion": "7"})
    assert to_json(ObjectMeta(name="a", generate_name="b-")) == {"name": "a", "generateName": "b-"}


def test_read_views_cannot_be_changed() -> None:
    with pytest.raises(ValidationError):
        ObjectMeta(name="a").name = "b"


def test_times_are_read_in_any_zone_and_written_in_utc_with_whole_seconds() -> None:
    assert format_time(parse_time("2026-11-29T12:00:00.9+02:00")) == "2026-11-29T10:00:00Z"
    meta = ObjectMeta(creation_timestamp=datetime(2026, 1, 2, 3, 4, 5, 600, UTC))
    assert to_json(meta) == {"creationTimestamp": "2026-01-02T03:04:05Z"}


def test_the_controller_is_the_owner_marked_so() -> None:
    owner = {"apiVersion": "v1", "kind": "A", "name": "a", "uid": "1"}
    meta = ObjectMeta.model_validate({"ownerReferences": [owner, owner | {"kind": "B", "controller": True}]})
    assert isinstance(meta.controller, OwnerReference)
    assert meta.controller.kind == "B"
    assert ObjectMeta().controller is None


def test_keys_join_namespace_and_name() -> None:
    assert ObjectMeta(namespace="ns", name="a").key == "ns/a"
    assert ObjectMeta(name="a").key == "a"


def test_an_empty_selector_is_not_an_absent_one() -> None:
    assert LabelSelector.model_validate({}).match_expressions == []


def test_raw_readers_answer_empty_where_the_path_ends() -> None:
    raw: JsonObject = {"a": {"b": [{"c": 3}, "x"], "s": "t", "labels": {"k": "v", "n": 1}}}
    assert dig(raw, "a", "b", 0, "c") == 3
    assert dig(raw, "a", "b", 5) is None
    assert dig_int(raw, "a", "s", default=9) == 9
    assert dig_int(raw, "a", "b", 0, "c") == 3
    assert dig_str(raw, "a", "s") == "t"
    assert dig_str(raw, "a", "b") == ""
    assert dig_list(raw, "a", "s") == []
    assert dig_objects(raw, "a", "b") == [{"c": 3}]
    assert dig_object(raw, "z") == {}
    assert dig_strings(raw, "a", "labels") == {"k": "v"}


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        (PODS.path(), "/api/v1/pods"),
        (PODS.path("ns", "a", "binding"), "/api/v1/namespaces/ns/pods/a/binding"),
        (JOBS.path("ns"), "/apis/batch.volcano.sh/v1alpha1/namespaces/ns/jobs"),
        (QUEUES.path("ignored", "q", "status"), "/apis/scheduling.volcano.sh/v1beta1/queues/q/status"),
        (NODES.path(name="n1"), "/api/v1/nodes/n1"),
    ],
)
def test_paths_are_those_of_the_api_server(path: str, expected: str) -> None:
    assert path == expected


def test_resources_are_found_by_kind_by_path_and_by_any_word_a_user_may_type() -> None:
    assert resource_for("batch.volcano.sh/v1alpha1", "Job") is JOBS
    assert resource_for("batch/v1", "Job") is KUBERNETES_JOBS
    assert resource_at("", "v1", "pods") is PODS
    assert [resolve(word) for word in ("vcjob", "VJ", "jobs.batch.volcano.sh", "queue", "q", "po")] == [
        JOBS,
        JOBS,
        JOBS,
        QUEUES,
        QUEUES,
        PODS,
    ]
    assert resolve("nothing") is None
    assert JOBS.gvk == GVK("batch.volcano.sh", "v1alpha1", "Job")
    assert JOBS.gvk.api_version == JOBS.api_version


def test_no_two_resources_share_a_path() -> None:
    assert len({resource.gvr for resource in ALL_RESOURCES}) == len(ALL_RESOURCES)

"""What admission fills into a new Job."""

from __future__ import annotations

from copy import deepcopy

import pytest

from vcray.api.meta import JsonObject, JsonValue
from vcray.webhooks.jobs_defaults import default_job

TEMPLATE: JsonObject = {"spec": {"containers": [{"name": "c", "image": "i"}]}}


def spec_of(*tasks: JsonValue, **fields: JsonValue) -> JsonObject:
    """The spec after defaulting."""
    job: JsonObject = {"metadata": {"name": "j"}, "spec": {"tasks": list(tasks), **fields}}
    before = deepcopy(job)
    result = default_job(job, "volcano")
    assert job == before
    spec = result["spec"]
    assert isinstance(spec, dict)
    return spec


def task(**fields: JsonValue) -> JsonObject:
    return {"template": TEMPLATE, **fields}


def test_queue_scheduler_and_retries_are_filled_in() -> None:
    spec = spec_of(task(replicas=1))

    assert (spec["queue"], spec["schedulerName"], spec["maxRetry"]) == ("default", "volcano", 3)


def test_what_is_set_stays() -> None:
    given: JsonObject = {"queue": "q", "schedulerName": "s", "maxRetry": 7, "minAvailable": 1}

    spec = spec_of(task(name="w", replicas=2, minAvailable=0, maxRetry=5), **given)

    assert {key: spec[key] for key in given} == given
    assert spec["tasks"] == [task(name="w", replicas=2, minAvailable=0, maxRetry=5)]


@pytest.mark.parametrize("empty", ["", None])
def test_an_empty_word_counts_as_absent(empty: JsonValue) -> None:
    spec = spec_of(task(replicas=1), queue=empty, schedulerName=empty)

    assert (spec["queue"], spec["schedulerName"]) == ("default", "volcano")


def test_a_zero_written_out_becomes_the_default() -> None:
    """api-controllers.md 10.3."""
    spec = spec_of(task(replicas=2, maxRetry=0), maxRetry=0, minAvailable=0)

    assert (spec["maxRetry"], spec["minAvailable"], spec["tasks"][0]["maxRetry"]) == (3, 2, 3)  # type: ignore[index,call-overload]


def test_nameless_tasks_are_named_by_their_place() -> None:
    spec = spec_of(task(), task(name="named"), task(name=""))

    assert [item["name"] for item in spec["tasks"]] == ["default0", "named", "default2"]  # type: ignore[union-attr,index,call-overload]


def test_a_tasks_minimum_is_its_replicas_and_the_jobs_the_sum() -> None:
    spec = spec_of(task(replicas=3), task(replicas=4, minAvailable=1), task())

    assert [item["minAvailable"] for item in spec["tasks"]] == [3, 1, 0]  # type: ignore[union-attr,index,call-overload]
    assert spec["minAvailable"] == 4


def test_a_partitioned_tasks_minimum_is_that_of_its_partitions() -> None:
    policy: JsonObject = {"totalPartitions": 4, "partitionSize": 2, "minPartitions": 3}

    spec = spec_of(
        task(replicas=8, partitionPolicy=policy),
        task(replicas=8, partitionPolicy={**policy, "minPartitions": 0}),
    )

    assert [item["minAvailable"] for item in spec["tasks"]] == [6, 8]  # type: ignore[union-attr,index,call-overload]
    assert spec["minAvailable"] == 14


def test_a_pod_on_the_hosts_network_still_finds_services() -> None:
    host: JsonObject = {"spec": {"hostNetwork": True, "containers": []}}
    chosen: JsonObject = {"spec": {"hostNetwork": True, "dnsPolicy": "Default", "containers": []}}

    spec = spec_of(task(template=host), task(template=chosen), task())

    policies = [item["template"]["spec"].get("dnsPolicy") for item in spec["tasks"]]  # type: ignore[union-attr,index,call-overload]
    assert policies == ["ClusterFirstWithHostNet", "Default", None]


@pytest.mark.parametrize(
    ("given", "filled"),
    [
        ({"pytorch": ["--port=1"]}, {"pytorch": ["--port=1"], "svc": []}),
        ({"tensorflow": []}, {"tensorflow": [], "svc": []}),
        ({"ray": []}, {"ray": [], "svc": []}),
        ({"mpi": []}, {"mpi": [], "svc": [], "ssh": []}),
        ({"mpi": [], "ssh": ["--no-root"]}, {"mpi": [], "svc": [], "ssh": ["--no-root"]}),
        ({"env": []}, {"env": []}),
        ({}, {}),
    ],
)
def test_plugins_bring_those_that_they_need(given: JsonObject, filled: JsonObject) -> None:
    assert spec_of(task(), plugins=given)["plugins"] == filled


def test_an_absent_plugin_map_stays_absent() -> None:
    assert "plugins" not in spec_of(task())


@pytest.mark.parametrize(
    "spec", [None, [], "text", {"tasks": "text"}, {"tasks": [1]}, {"tasks": [{"template": []}]}]
)
def test_malformed_jobs_are_left_for_the_schema_to_refuse(spec: JsonValue) -> None:
    assert default_job({"spec": spec})

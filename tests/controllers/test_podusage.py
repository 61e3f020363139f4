"""What pods count in quotas, and from it minResources of a job's PodGroup."""

from __future__ import annotations

import pytest

from tests.controllers.world import World, a_task
from vcray.api.meta import JsonObject
from vcray.api.resources import PRIORITYCLASSES
from vcray.controllers import raw
from vcray.controllers.job.controller import JobController
from vcray.controllers.podusage import pod_usage, usage_json


def container(requests: JsonObject | None = None, limits: JsonObject | None = None) -> JsonObject:
    resources: JsonObject = {}
    if requests is not None:
        resources["requests"] = requests
    if limits is not None:
        resources["limits"] = limits
    return {"name": "c", "resources": resources}


def usage(**spec: object) -> JsonObject:
    found: JsonObject = spec  # type: ignore[assignment]
    return usage_json(pod_usage(found))


def test_keys_are_exactly_those_of_the_quota_and_bare_extended_names() -> None:
    amounts: JsonObject = {"cpu": "500m", "memory": "1Gi", "nvidia.com/gpu": "1"}

    assert usage(containers=[container(amounts, amounts)]) == {
        "count/pods": "1",
        "pods": "1",
        "cpu": "500m",
        "requests.cpu": "500m",
        "limits.cpu": "500m",
        "memory": "1Gi",
        "requests.memory": "1Gi",
        "limits.memory": "1Gi",
        "nvidia.com/gpu": "1",
        "requests.nvidia.com/gpu": "1",
    }


def test_request_that_is_left_out_is_the_limit() -> None:
    found = usage(containers=[container(limits={"nvidia.com/gpu": 2, "cpu": 1})])

    assert found["nvidia.com/gpu"] == "2"
    assert (found["cpu"], found["limits.cpu"]) == ("1", "1")


def test_containers_add_up_and_the_largest_start_counts() -> None:
    found = usage(
        containers=[container({"cpu": "1"}), container({"cpu": "500m"})],
        initContainers=[container({"cpu": "4", "memory": "1Gi"})],
    )

    assert (found["cpu"], found["memory"]) == ("4", "1Gi")


def test_sidecars_run_beside_the_containers_and_the_later_starts() -> None:
    sidecar = {**container({"cpu": "1"}), "restartPolicy": "Always"}
    found = usage(containers=[container({"cpu": "1"})], initContainers=[sidecar, container({"cpu": "2"})])

    assert found["cpu"] == "3"


def test_pod_level_requests_go_before_the_containers_and_overhead_comes_on_top() -> None:
    found = usage(
        containers=[container({"cpu": "1"})],
        resources={"requests": {"cpu": "3"}},
        overhead={"cpu": "250m", "memory": "10Mi"},
    )

    assert found["cpu"] == "3250m"
    assert found["memory"] == "10Mi"
    assert "limits.cpu" not in found


def test_amounts_that_cannot_be_read_and_names_without_a_quota_key_count_nothing() -> None:
    found = usage(containers=[container({"cpu": "much", "storage": "1Gi", "hugepages-2Mi": "4Mi"})])

    assert found == {
        "count/pods": "1",
        "pods": "1",
        "hugepages-2Mi": "4Mi",
        "requests.hugepages-2Mi": "4Mi",
    }


@pytest.mark.parametrize(
    ("minimum", "high", "low", "cpu"),
    [
        (5, (2, 2), (3, 3), "2300m"),
        (2, (2, 2), (3, 3), "2"),
        (3, (2, 2), (3, 3), "2100m"),
        (3, (3, 1), (3, 1), "2100m"),
        (1, (3, 1), (3, 1), "1"),
    ],
)
def test_min_resources_take_the_tasks_of_higher_priority_first(
    minimum: int, high: tuple[int, int], low: tuple[int, int], cpu: str
) -> None:
    def task(name: str, size: tuple[int, int], amount: str, priority: str) -> JsonObject:
        spec: JsonObject = {"containers": [container({"cpu": amount})], "priorityClassName": priority}
        return a_task(name, size[0], size[1], template={"spec": spec})

    w = World([JobController()])
    w.put(PRIORITYCLASSES, {"metadata": {"name": "high"}, "value": 1000})

    w.submit(minAvailable=minimum, tasks=[task("b", low, "100m", "none"), task("a", high, "1", "high")])

    least = raw.table(w.podgroups()[0], "spec", "minResources")
    assert (least["cpu"], least["pods"]) == (cpu, str(minimum))

"""What a pod asks for: containers, sidecars, init containers, overhead, pod level, resize; and the unit rule."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vcray.api.meta import JsonObject, JsonValue
from vcray.api.podresources import (
    format_amount,
    nonzero_requests,
    pod_requests,
    resource_amounts,
    resource_list,
)
from vcray.api.wire import to_pod

Requests = dict[str, str]


def container(
    name: str = "main", always: bool = False, limits: Requests | None = None, **requests: str
) -> JsonObject:
    resources: JsonObject = {"requests": dict(requests)}
    if limits:
        resources["limits"] = dict(limits)
    built: JsonObject = {"name": name, "resources": resources}
    if always:
        built["restartPolicy"] = "Always"
    return built


def pod_of(
    *containers: JsonValue,
    init: tuple[JsonValue, ...] = (),
    status: JsonObject | None = None,
    **spec: JsonValue,
) -> JsonObject:
    return {
        "spec": {"containers": list(containers), "initContainers": list(init), **spec},
        "status": status or {},
    }


def requests(pod: JsonObject) -> dict[str, int]:
    return pod_requests(to_pod(pod))


def test_o_040_a_large_init_container_counts_once_the_pod_runs() -> None:
    pod = pod_of(container(cpu="100m"), init=(container("init", cpu="6"),), status={"phase": "Running"})
    assert requests(pod)["cpu"] == 6000


def test_o_041_overhead_and_a_native_sidecar_are_part_of_the_request() -> None:
    pod = pod_of(
        container(cpu="1"), init=(container("sidecar", always=True, cpu="500m"),), overhead={"cpu": "250m"}
    )
    assert requests(pod)["cpu"] == 1750


def test_a_pod_without_requests_counts_one_pod_and_nothing_else() -> None:
    assert requests(pod_of(container())) == {"pods": 1}


def test_containers_add_up_in_scheduler_units() -> None:
    pod = pod_of(
        container("a", **{"cpu": "1500m", "memory": "1Gi", "nvidia.com/gpu": "2"}),
        container("b", **{"cpu": "1", "memory": "512Mi", "ephemeral-storage": "1Gi", "hugepages-2Mi": "4Mi"}),
    )
    assert requests(pod) == {
        "cpu": 2500,
        "memory": 1536 * 2**20,
        "nvidia.com/gpu": 2000,
        "ephemeral-storage": 2**30,
        "hugepages-2Mi": 4 * 2**20,
        "pods": 1,
    }


def test_an_init_container_runs_beside_the_sidecars_before_it_only() -> None:
    early, late = container("early", always=True, cpu="1"), container("late", always=True, cpu="4")
    pod = pod_of(container(cpu="1"), init=(early, container("init", cpu="6"), late))
    assert requests(pod)["cpu"] == 7000  # init 6 + early 1, above main 1 + early 1 + late 4


def test_a_request_left_out_is_the_limit() -> None:
    pod = pod_of(container(limits={"cpu": "2", "nvidia.com/gpu": "1"}, cpu="1"))
    assert requests(pod) == {"cpu": 1000, "nvidia.com/gpu": 1000, "pods": 1}


def test_pod_level_requests_override_cpu_and_memory_but_no_extended_resource() -> None:
    pod = pod_of(
        container(**{"cpu": "1", "nvidia.com/gpu": "1"}),
        resources={"requests": {"cpu": "3", "nvidia.com/gpu": "9"}},
        overhead={"cpu": "1"},
    )
    assert requests(pod) == {"cpu": 4000, "nvidia.com/gpu": 1000, "pods": 1}


def resized(requested: str, has: str, promised: str, infeasible: bool = False) -> JsonObject:
    conditions: list[JsonValue] = [{"type": "PodResizePending", "status": "True", "reason": "Infeasible"}]
    statuses: list[JsonValue] = [
        {"name": "main", "resources": {"requests": {"cpu": has}}, "allocatedResources": {"cpu": promised}}
    ]
    status: JsonObject = {"containerStatuses": statuses, "conditions": conditions if infeasible else []}
    return pod_of(container(cpu=requested), status=status)


@pytest.mark.parametrize(
    ("triple", "expected"), [(("1", "3", "2"), 3000), (("5", "3", "2"), 5000), (("1", "1", "4"), 4000)]
)
def test_a_resize_in_place_counts_the_most_of_wish_state_and_promise(
    triple: tuple[str, str, str], expected: int
) -> None:
    assert requests(resized(*triple))["cpu"] == expected


def test_an_infeasible_resize_counts_what_the_pod_has() -> None:
    assert requests(resized("9", "3", "2", infeasible=True))["cpu"] == 3000


def test_parts_of_a_byte_round_up_once_over_the_sum() -> None:
    assert requests(pod_of(container("a", memory="500m"), container("b", memory="500m")))["memory"] == 1


def test_scoring_counts_defaults_for_a_container_without_requests() -> None:
    pod = to_pod(pod_of(container("a"), container("b", cpu="1")))
    assert nonzero_requests(pod) == (1100, 2 * 200 * 2**20)


def test_scoring_keeps_an_explicit_zero() -> None:
    assert nonzero_requests(to_pod(pod_of(container(cpu="0", memory="0")))) == (0, 0)


def test_a_request_of_zero_is_kept_as_present() -> None:
    assert requests(pod_of(container(**{"nvidia.com/gpu": "0"}))) == {"nvidia.com/gpu": 0, "pods": 1}


@pytest.mark.parametrize(
    "name",
    [
        "storage",
        "requests.cpu",
        "limits.cpu",
        "requests.nvidia.com/gpu",
        "count/jobs.batch.volcano.sh",
        "gpu",
        "a/b/c",
        "x.com/",
        "UP_.com/x",
    ],
)
def test_names_that_are_no_scalar_resource_are_dropped(name: str) -> None:
    assert resource_amounts({name: "1"}) == {}


@pytest.mark.parametrize(
    ("name", "amount"),
    [
        ("limits.nvidia.com/gpu", 1000),
        ("kubernetes.io/batch-cpu", 1000),
        ("attachable-volumes-csi-x", 1000),
        ("pods", 1),
        ("hugepages-1Gi", 1),
    ],
)
def test_names_that_count_have_their_unit(name: str, amount: int) -> None:
    assert resource_amounts({name: "1"}) == {name: amount}


def test_ten_pebibytes_of_memory_do_not_saturate() -> None:
    assert resource_amounts({"memory": "10Pi"}) == {"memory": 10 * 2**50}


@given(
    st.dictionaries(
        st.sampled_from(["cpu", "memory", "pods", "nvidia.com/gpu", "ephemeral-storage"]),
        st.integers(0, 2**50),
    )
)
def test_amounts_survive_being_written_as_quantities(amounts: dict[str, int]) -> None:
    assert resource_amounts(resource_list(amounts)) == amounts


def test_amounts_are_written_as_volcano_writes_them() -> None:
    assert format_amount("cpu", 1500) == "1500m"
    assert format_amount("memory", 2**31) == "2Gi"
    assert format_amount("nvidia.com/gpu", 8000) == "8"
    assert format_amount("pods", 110) == "110"

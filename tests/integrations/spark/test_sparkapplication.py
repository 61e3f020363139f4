"""Gangs of SparkApplications and of spark-submit's drivers."""

from __future__ import annotations

import pytest

from tests.integrations.objects import GROUP, TASK, world
from vcray.api.meta import JsonObject
from vcray.api.resources import PODGROUPS, PODS, SPARKAPPLICATIONS
from vcray.cluster.operators.spark import gangs as operators
from vcray.controllers import raw
from vcray.integrations.base import Malformed
from vcray.integrations.binarysizes import memory_bytes
from vcray.integrations.podgroups import spec_of
from vcray.integrations.spark.sparkapplication import SparkApplication

PI: JsonObject = {
    "type": "Scala",
    "mode": "cluster",
    "batchScheduler": "volcano",
    "driver": {"cores": 1, "coreLimit": "1200m", "memory": "512m", "labels": {"version": "3.5"}},
    "executor": {"cores": 1, "instances": 2, "memory": "512m"},
}
"""The sample spark-pi with Volcano, in our words."""
ELASTIC: JsonObject = {"enabled": True, "initialExecutors": 2, "minExecutors": 1, "maxExecutors": 5}


def app(status: JsonObject | None = None, **spec: object) -> JsonObject:
    made: JsonObject = {
        "metadata": {"name": "a", "namespace": "ns", "uid": "u", "labels": {"volcano.sh/queue-name": "q"}},
        "spec": {**PI, "batchScheduler": None, **spec},  # type: ignore[dict-item]
    }
    return made if status is None else {**made, "status": status}


def minima(owner: JsonObject) -> tuple[object, JsonObject]:
    (gang,) = SparkApplication().gangs(owner, world())
    spec = spec_of(gang, "q", "", {})
    return spec["minMember"], raw.table(spec, "minResources")


@pytest.mark.parametrize(
    ("spec", "ours", "theirs"),
    [
        # 512 MiB and the least overhead of 384 MiB, three times over; the operator reads half a byte
        ({}, {"cpu": "3", "memory": "2688Mi"}, {"cpu": "3", "memory": "1536m"}),
        (
            {"executor": {"cores": 1, "instances": 1, "memory": "512m"}, "dynamicAllocation": ELASTIC},
            {"cpu": "3", "memory": "2688Mi"},
            {"cpu": "3", "memory": "1536m"},
        ),
        (
            {"driver": {"cores": 2, "memory": "8g"}, "executor": {"instances": 1, "memory": "8g"}},
            {"cpu": "3", "memory": "18022Mi"},
            {"cpu": "2"},
        ),
        (
            {"type": "Python", "driver": {"memory": "1g"}, "executor": {"instances": 1, "memory": "4g"}},
            {"cpu": "2", "memory": "7167Mi"},
            {},
        ),
        (
            {
                "memoryOverheadFactor": "0.5",
                "driver": {"coreRequest": "500m", "memory": "1g", "memoryOverhead": "1g"},
                "executor": {
                    "coreRequest": "250m",
                    "instances": 2,
                    "memory": "2g",
                    "gpu": {"name": "nvidia.com/gpu", "quantity": 1},
                },
            },
            {"cpu": "1", "memory": "8Gi", "nvidia.com/gpu": "2"},
            {"cpu": "500m"},
        ),
    ],
    ids=["pi", "elastic", "gigabytes", "python", "everything"],
)
def test_t09_memory_is_read_in_sparks_units_where_the_operator_reads_kubernetes(spec, ours, theirs) -> None:
    """minResources of mode B and, with the operator's own arithmetic, of mode A; minMember is 1 in both."""
    minimum, resources = minima(app(**spec))

    assert minimum == 1
    assert resources == ours
    assert operators.spec_of(app(**spec)) == {"minMember": 1, "minResources": theirs}


@pytest.mark.parametrize(
    ("spelled", "unit", "wanted"),
    [
        ("512m", "m", 2**29),
        ("512", "m", 2**29),
        (1024, "b", 1024),
        ("2g", "m", 2**31),
        ("2GB", "m", 2**31),
        ("1 gib", "b", 2**30),
        ("1t", "m", 2**40),
        ("64k", "m", 2**16),
    ],
)
def test_t09_amounts(spelled, unit, wanted) -> None:
    assert memory_bytes(spelled, "memory", unit) == wanted


@pytest.mark.parametrize("spelled", ["", "m", "1.5g", "-1g", "1x", True, None, "1mx"])
def test_amounts_that_are_none_are_told(spelled) -> None:
    with pytest.raises(Malformed, match="memory: must be an amount"):
        memory_bytes(spelled, "memory", "m")


@pytest.mark.parametrize(
    ("spec", "why"),
    [
        ({"driver": {"memory": "lots"}}, "spec.driver.memory"),
        ({"executor": {"instances": -1}}, "spec.executor.instances"),
        ({"executor": {"coreRequest": "two"}}, "spec.executor.coreRequest"),
        ({"memoryOverheadFactor": "much"}, "spec.memoryOverheadFactor"),
        (
            {"dynamicAllocation": {"enabled": True, "minExecutors": "x"}},
            "spec.dynamicAllocation.minExecutors",
        ),
    ],
)
def test_malformed_application_is_told(spec, why) -> None:
    w = world()
    w.put(SPARKAPPLICATIONS, app(**spec))
    w.settle()

    assert [(reason, why in message) for reason, message in w.events] == [("InvalidSpec", True)]
    assert not w.podgroups()


@pytest.mark.parametrize(
    ("status", "spec", "names"),
    [
        ("", {}, ["spark-a-pg"]),
        ("RUNNING", {}, ["spark-a-pg"]),
        ("COMPLETED", {}, []),
        ("FAILED", {}, []),
        ("PENDING_RERUN", {}, []),
        ("SUSPENDED", {"suspend": True}, []),
        ("", {"mode": "in-cluster-client"}, []),
        ("", {"driver": {"annotations": {GROUP: "mine"}}}, []),
        ("", {"batchScheduler": "volcano"}, []),
        ("SUBMITTED", {"batchScheduler": "volcano"}, ["spark-a-pg"]),
    ],
)
def test_group_is_there_as_long_as_the_application_wants_room(status, spec, names) -> None:
    state: JsonObject = {"applicationState": {"state": status}}

    found = SparkApplication().gangs(app(state, **spec), world())

    assert [gang.name for gang in found] == names


def test_room_of_executors_that_went_is_kept_no_longer() -> None:
    had: JsonObject = {
        "applicationState": {"state": "RUNNING"},
        "executorState": {"a-exec-1": "RUNNING", "a-exec-2": "COMPLETED"},
    }

    assert minima(app(had, dynamicAllocation=ELASTIC))[1]["cpu"] == "2"
    assert minima(app(had))[1]["cpu"] == "3"
    assert minima(app(had, batchSchedulerOptions={"resources": {"cpu": "9"}}))[1] == {"cpu": "9"}
    assert minima(app(mode="client"))[0] == 1
    assert minima(app(mode="client"))[1]["cpu"] == "2"


def spark_pod(role: str, owner: JsonObject, name: str, *, by_operator: bool) -> JsonObject:
    labels = {"spark-role": role, "spark-app-selector": "spark-1"}
    if by_operator:
        labels["sparkoperator.k8s.io/app-name"] = "a"
    kind = ("sparkoperator.k8s.io/v1beta2", "SparkApplication") if "spec" in owner and by_operator else None
    api, named = kind if kind and role == "driver" else ("v1", "Pod")
    references = [raw.owner_reference(api, named, owner)] if owner else []
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "ns", "labels": dict(labels), "ownerReferences": references},
        "spec": {"schedulerName": "volcano", "containers": [{"name": "c"}]},
    }


@pytest.mark.parametrize(("by_operator", "group"), [(True, "spark-a-pg"), (False, "spark-1-podgroup")])
def test_t14_pods_get_their_role_as_task(by_operator, group) -> None:
    """Nothing of Spark's names a task; without, the unlike pods of one application count as alike."""
    w = world()
    owner = w.put(SPARKAPPLICATIONS, app()) if by_operator else {}
    driver = w.put(PODS, spark_pod("driver", owner, "d", by_operator=by_operator))
    w.put(PODS, spark_pod("executor", driver, "e", by_operator=by_operator))
    w.settle()

    found = [
        (raw.annotation(pod, GROUP), raw.annotation(pod, TASK)) for pod in sorted(w.list(PODS), key=raw.name)
    ]
    assert found == [(group, "driver"), (group, "executor")]
    assert raw.controller(w.objects[PODGROUPS, "ns", group])["kind"] == (
        "SparkApplication" if by_operator else "Pod"
    )


def test_executors_of_client_mode_have_a_gang_for_each_application() -> None:
    """The pod that runs the driver, a notebook, starts one application after the other and is in no gang itself."""
    w = world()
    notebook = spark_pod("driver", {}, "notebook", by_operator=False)
    raw.table(notebook, "metadata", "labels").pop("spark-app-selector")
    driver = w.put(PODS, notebook)
    w.put(PODS, spark_pod("executor", driver, "e", by_operator=False))
    w.settle()

    group = w.objects[PODGROUPS, "ns", "spark-1-podgroup"]
    assert raw.number(group, "spec", "minMember") == 1
    assert raw.controller(group)["name"] == "notebook"
    assert raw.annotation(w.objects[PODS, "ns", "e"], GROUP) == "spark-1-podgroup"
    assert not raw.annotation(w.objects[PODS, "ns", "notebook"], GROUP)

    w.remove(PODS, "ns", "e")
    w.settle()
    assert not w.podgroups()

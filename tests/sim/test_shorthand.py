"""Short forms become the plain objects that they stand for."""

from __future__ import annotations

import pytest

from vcray.api.meta import JsonObject, JsonValue
from vcray.errors import InputError
from vcray.sim import shorthand


def at(obj: JsonValue, *path: str | int) -> JsonValue:
    for key in path:
        obj = obj[key]  # type: ignore[index,call-overload]
    return obj


@pytest.mark.parametrize(
    ("text", "amounts"),
    [
        ("8c/32Gi/4g", {"cpu": "8", "memory": "32Gi", "nvidia.com/gpu": "4"}),
        ("500m", {"cpu": "500m"}),
        ("4g/1.5c", {"nvidia.com/gpu": "4", "cpu": "1.5"}),
        ("1Ti", {"memory": "1Ti"}),
    ],
)
def test_amounts_in_any_order_and_subset(text: str, amounts: dict[str, str]) -> None:
    assert shorthand.amounts(text, "here") == amounts


@pytest.mark.parametrize("text", ["", "8", "c8", "1c/2c", "1c,2Gi", "-1c", "1G"])
def test_what_is_no_amount_is_refused_with_its_place(text: str) -> None:
    with pytest.raises(InputError, match=r"^VC0302 here: '.*"):
        shorthand.amounts(text, "here")


def test_counted_amounts_with_a_minimum() -> None:
    assert shorthand.counted("4 x 1c (min 2)", "here") == (4, {"cpu": "1"}, 2)
    assert shorthand.counted("1c/2Gi", "here") == (1, {"cpu": "1", "memory": "2Gi"}, None)


def test_what_a_node_leaves_out_is_ample() -> None:
    node = shorthand.node("n1", "8c", "here")

    allocatable = {"cpu": "8", "memory": "1Ti", "pods": "110"}
    assert at(node, "status", "allocatable") == at(node, "status", "capacity") == allocatable
    assert at(node, "metadata", "labels") == {"kubernetes.io/hostname": "n1"}
    assert at(node, "spec") == {}


def test_node_that_is_not_ready_has_the_taint_that_kubernetes_gives_it() -> None:
    spec: JsonObject = {"size": "8c/1g", "ready": False, "cordoned": True, "pods": 5, "labels": {"pool": "a"}}

    node = shorthand.node("n1", spec, "here")

    taint = {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}
    assert at(node, "spec") == {"unschedulable": True, "taints": [taint]}
    assert at(node, "status", "conditions", 0, "status") == "False"
    assert at(node, "status", "allocatable", "pods") == "5"
    assert at(node, "metadata", "labels", "pool") == "a"


def test_pod_of_a_size_asks_for_a_little_memory_and_one_without_asks_for_nothing() -> None:
    (sized,) = shorthand.pods("p", "1c/2g", "here")
    (bare,) = shorthand.pods("p", None, "here")

    requests = {"cpu": "1", "memory": "16Mi", "nvidia.com/gpu": "2"}
    limits = {"nvidia.com/gpu": "2"}
    assert at(sized, "spec", "containers", 0, "resources") == {"requests": requests, "limits": limits}
    assert at(bare, "spec", "containers", 0, "resources") == {}
    assert at(sized, "spec", "schedulerName") == "volcano"


def test_several_pods_are_numbered() -> None:
    names = [at(pod, "metadata", "name") for pod in shorthand.pods("p", "3 x 1c", "here")]
    one = [at(pod, "metadata", "name") for pod in shorthand.pods("p", {"count": 1, "size": "1c"}, "here")]

    assert (names, one) == (["p-0", "p-1", "p-2"], ["p-0"])


def test_pod_says_all_that_cases_ask_of_pods() -> None:
    spec: JsonObject = {
        "size": "1c",
        "group": "g",
        "role": "worker",
        "queue": "q",
        "node": "n1",
        "priority": 7,
        "ports": [8080],
        "claims": ["data"],
        "gates": ["wait"],
        "init": "6c",
        "overhead": {"cpu": "250m"},
        "env": {"X": 1},
        "grace": 5,
        "resources": {"example.com/nic": 1},
        "spec": {"restartPolicy": "Always", "dnsConfig": {"nameservers": ["1.1.1.1"]}},
    }

    (pod,) = shorthand.pods("p", spec, "here")

    assert at(pod, "metadata", "annotations") == {
        "scheduling.k8s.io/group-name": "g",
        "volcano.sh/task-spec": "worker",
        "scheduling.volcano.sh/queue-name": "q",
    }
    main = at(pod, "spec", "containers", 0)
    assert at(main, "ports") == [{"containerPort": 8080, "hostPort": 8080}]
    assert at(main, "env") == [{"name": "X", "value": "1"}]
    assert at(main, "resources", "limits") == {"example.com/nic": "1"}
    assert at(pod, "spec", "initContainers", 0, "resources") == {"requests": {"cpu": "6"}}
    found = {key: at(pod, "spec", key) for key in ("nodeName", "priorityClassName", "schedulingGates")}
    assert found == {
        "nodeName": "n1",
        "priorityClassName": "priority-7",
        "schedulingGates": [{"name": "wait"}],
    }
    assert at(pod, "spec", "volumes", 0, "persistentVolumeClaim") == {"claimName": "data"}
    assert at(pod, "spec", "overhead") == {"cpu": "250m"}
    assert at(pod, "spec", "terminationGracePeriodSeconds") == 5
    assert at(pod, "spec", "restartPolicy") == "Always"


def test_job_of_one_amount_has_one_task() -> None:
    job = shorthand.job("j", "4 x 1c (min 2)", "here")

    task = at(job, "spec", "tasks", 0)
    assert (at(task, "name"), at(task, "replicas"), at(task, "minAvailable")) == ("t", 4, 2)
    assert "minAvailable" not in at(job, "spec")  # type: ignore[operator]


def test_job_in_full_and_its_spec_merged_over() -> None:
    spec: JsonObject = {
        "min": 3,
        "queue": "q",
        "priority": "urgent",
        "ttl": 10,
        "maxRetry": 1,
        "tasks": {"ps": "1c", "w": {"size": "2 x 1c (min 1)", "policies": [], "dependsOn": {"name": ["ps"]}}},
        "spec": {"schedulerName": "other"},
    }

    job = at(shorthand.job("j", spec, "here"), "spec")

    assert isinstance(job, dict)
    tasks = job.pop("tasks")
    assert job == {
        "schedulerName": "other",
        "minAvailable": 3,
        "queue": "q",
        "priorityClassName": "urgent",
        "ttlSecondsAfterFinished": 10,
        "maxRetry": 1,
    }
    assert (at(tasks, 1, "replicas"), at(tasks, 1, "minAvailable")) == (2, 1)
    assert at(tasks, 1, "dependsOn") == {"name": ["ps"]}
    assert at(tasks, 0, "template", "spec", "schedulerName") == ""


def test_group_from_its_minimum_or_a_map() -> None:
    spec: JsonObject = {"min": 2, "roles": {"a": 1}, "resources": "2c", "priority": 5, "phase": "Inqueue"}

    plain, full = shorthand.group("g", 4, "here"), shorthand.group("g", spec, "here")

    assert at(plain, "spec") == {"minMember": 4}
    assert at(full, "spec") == {
        "minMember": 2,
        "minTaskMember": {"a": 1},
        "minResources": {"cpu": "2"},
        "priorityClassName": "priority-5",
    }
    assert at(full, "status") == {"phase": "Inqueue"}


def test_queue_lists_resources_as_amounts_or_in_full() -> None:
    spec: JsonObject = {
        "weight": 2,
        "capability": "4c",
        "deserved": {"cpu": 1, "ephemeral-storage": "1Gi"},
        "guarantee": "1c",
        "state": "Closed",
    }

    queue = shorthand.queue("q", spec, "here")

    assert at(queue, "spec") == {
        "weight": 2,
        "capability": {"cpu": "4"},
        "deserved": {"cpu": 1, "ephemeral-storage": "1Gi"},
        "guarantee": {"resource": {"cpu": "1"}},
    }
    assert at(queue, "status") == {"state": "Closed"}


@pytest.mark.parametrize(
    "make",
    [
        lambda: shorthand.node("n", {"sise": "1c"}, "x"),
        lambda: shorthand.queue("q", {"wieght": 1}, "x"),
        lambda: shorthand.group("g", {"minimum": 1}, "x"),
        lambda: shorthand.job("j", {"task": {}}, "x"),
        lambda: list(shorthand.pods("p", {"groop": "g"}, "x")),
    ],
)
def test_unknown_key_is_refused_and_the_nearest_named(make: object) -> None:
    with pytest.raises(InputError, match=r"VC0302 x\.\w+: unknown key '\w+'; did you mean '"):
        make()  # type: ignore[operator]


@pytest.mark.parametrize(
    ("spec", "what"),
    [
        ({"count": "many"}, "VC0302 x.count: expected a number, got 'many'"),
        ({"priority": True}, "VC0302 priority: expected a number or a name, got True"),
        ({"ports": 80}, "VC0302 x.ports: expected a list, got 80"),
        ({"claims": "data"}, "VC0302 x.claims: expected a list, got 'data'"),
        ({"labels": "a"}, "VC0302 labels: expected a map, got 'a'"),
        ({"size": "2 x 1c", "count": 2}, "VC0302 x: pods have one count and no minimum; a group has `min`"),
    ],
)
def test_wrong_type_is_one_sentence(spec: JsonObject, what: str) -> None:
    with pytest.raises(InputError) as told:
        list(shorthand.pods("p", spec, "x"))

    assert str(told.value) == what

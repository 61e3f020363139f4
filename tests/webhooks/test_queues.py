"""Defaults of a new queue, and each reason to refuse one by itself."""

from __future__ import annotations

import pytest

from tests.webhooks.seen import Seen, ask, queue
from vcray.api import names
from vcray.api.meta import JsonObject, JsonValue
from vcray.webhooks.queues import mutate, validate


def annotated(path: str, weights: str, name: str = "q") -> JsonObject:
    marks: JsonObject = {names.HIERARCHY: path, names.HIERARCHY_WEIGHTS: weights}
    return {
        "metadata": {"name": name, "annotations": marks},
        "spec": {"weight": 1, "reclaimable": True},
    }


def problem_of(new: JsonObject, *others: JsonObject) -> str:
    return validate(ask("CREATE", new, seen=Seen(others))).problem


# -- mutate -------------------------------------------------------------------------------------------------------


def test_new_queue_becomes_reclaimable_and_weighs_one() -> None:
    answer = mutate(ask("CREATE", {"metadata": {"name": "q"}, "spec": {"weight": 0}}))

    assert answer.patch == (
        {"op": "add", "path": "/spec/reclaimable", "value": True},
        {"op": "add", "path": "/spec/weight", "value": 1},
    )


def test_hierarchy_is_put_below_the_root_before_all_else() -> None:
    new = annotated("sci/dev", "1/2")
    new["spec"] = {"weight": 3}

    answer = mutate(ask("CREATE", new))

    assert answer.patch == (
        {"op": "add", "path": "/metadata/annotations/volcano.sh~1hierarchy", "value": "root/sci/dev"},
        {"op": "add", "path": "/metadata/annotations/volcano.sh~1hierarchy-weights", "value": "1/1/2"},
        {"op": "add", "path": "/spec/reclaimable", "value": True},
    )


@pytest.mark.parametrize(("path", "weights"), [("root/sci", "1/2"), ("rooted", "1"), ("sci", ""), ("", "1")])
def test_hierarchy_from_the_root_or_half_given_stays(path: str, weights: str) -> None:
    assert mutate(ask("CREATE", annotated(path, weights))).patch == ()


def test_queue_without_a_spec_is_given_one() -> None:
    answer = mutate(ask("CREATE", {"metadata": {"name": "q"}}))

    assert [step["path"] for step in answer.patch or ()] == ["/spec", "/spec/reclaimable", "/spec/weight"]


def test_what_a_user_said_is_kept() -> None:
    assert mutate(ask("CREATE", queue("q", weight=4, reclaimable=False))).patch == ()


def test_mutate_answers_only_creations() -> None:
    assert mutate(ask("UPDATE")).problem == "invalid operation `UPDATE`, expect operation to be `CREATE`"


# -- validate: the queue by itself -----------------------------------------------------------------------------------


def test_good_queue_passes() -> None:
    new = queue("q", capability={"cpu": "4"}, deserved={"cpu": "2"}, guarantee={"resource": {"cpu": "1"}})

    assert problem_of(new) == ""


@pytest.mark.parametrize(
    ("spec", "problem"),
    [
        (
            {"guarantee": {"resource": {"cpu": "1"}}},
            'requestBody.spec.deserved.cpu: Invalid value: "<nil>": deserved[cpu] must be >= guarantee[cpu]=1',
        ),
        (
            {"guarantee": {"resource": {"cpu": "2"}}, "deserved": {"cpu": "1500m"}},
            'requestBody.spec.deserved.cpu: Invalid value: "1500m": deserved[cpu]=1500m must be >= guarantee[cpu]=2',
        ),
        (
            {"deserved": {"memory": "2Gi"}, "capability": {"memory": "1Gi"}},
            'requestBody.spec.deserved.memory: Invalid value: "2Gi": deserved[memory]=2Gi must be <= capability[memory]=1Gi',
        ),
        (
            {"capability": {"cpu": "-1"}},
            'requestBody.spec.capability.cpu: Invalid value: "-1": must be greater than or equal to 0',
        ),
        (
            {"deserved": {"nvidia.com/gpu": "500m"}},
            'requestBody.spec.deserved.nvidia.com/gpu: Invalid value: "500m": must be an integer',
        ),
        (
            {"deserved": {"pods": "1"}, "guarantee": {"resource": {"pods": "500m"}}},
            'requestBody.spec.guarantee.resource.pods: Invalid value: "500m": must be an integer',
        ),
    ],
)
def test_amounts_that_do_not_fit_each_other_are_refused(spec: JsonObject, problem: str) -> None:
    assert problem_of(queue("q", **spec)) == problem


def test_every_dimension_is_told_in_brackets() -> None:
    new = queue("q", capability={"cpu": "4", "memory": "4Gi"}, deserved={"cpu": "8", "memory": "8Gi"})

    problem = problem_of(new)

    assert problem.startswith("[requestBody.spec.deserved.cpu: ")
    assert ", requestBody.spec.deserved.memory: " in problem
    assert problem.endswith("]")


def test_resource_without_capability_has_no_limit() -> None:
    assert problem_of(queue("q", capability={"cpu": "4"}, deserved={"memory": "8Gi"})) == ""


@pytest.mark.parametrize("state", ["Closing", "Unknown", "open"])
@pytest.mark.parametrize("operation", ["CREATE", "UPDATE"])
def test_queue_between_states_takes_no_write(operation: str, state: str) -> None:
    answer = validate(ask(operation, queue("q", state), queue("q", state) if operation == "UPDATE" else None))

    assert answer.problem == (
        f'requestBody.spec.state: Invalid value: "{state}": queue state must be in [Open Closed]'
    )


@pytest.mark.parametrize("state", ["", "Open", "Closed"])
def test_settled_queue_takes_an_update(state: str) -> None:
    assert validate(ask("UPDATE", queue("q", state), queue("q", state))).allowed


@pytest.mark.parametrize(
    ("path", "weights", "problem"),
    [
        (
            "root/sci",
            "1",
            '"root/sci": volcano.sh/hierarchy must have the same length with volcano.sh/hierarchy-weights',
        ),
        (
            "",
            "1/2",
            '"": volcano.sh/hierarchy must have the same length with volcano.sh/hierarchy-weights',
        ),
        (
            "root/sci",
            "1/x",
            '"1/x": x in the 1/x is invalid number: strconv.ParseFloat: parsing "x": invalid syntax',
        ),
        (
            "root",
            "1e999",
            '"1e999": 1e999 in the 1e999 is invalid number: strconv.ParseFloat: parsing "1e999": value out of range',
        ),
        ("root/sci", "1/-2", '"1/-2": -2 in the 1/-2 must be larger than 0'),
        ("root/sci", "1/0", '"1/0": 0 in the 1/0 must be larger than 0'),
    ],
)
def test_hierarchy_and_weights_belong_together(path: str, weights: str, problem: str) -> None:
    found = problem_of(annotated(path, weights))

    assert found == f"requestBody.metadata.annotations: Invalid value: {problem}"


def test_hierarchy_does_not_lie_on_the_way_to_another_queue() -> None:
    other = annotated("root/sci/dev", "1/1/1", "below")

    assert problem_of(annotated("root/sci", "1/1"), other) == (
        'requestBody.metadata.annotations: Invalid value: "root/sci": '
        "root/sci is not allowed to be in the sub path of root/sci/dev of queue below"
    )
    assert problem_of(annotated("root/sc", "1/1"), other) == ""
    assert problem_of(annotated("root/sci", "1/1", "below"), other) == ""


# -- validate: root, deletion, operations ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "spec", [{"capability": {"cpu": "9"}}, {"deserved": {"cpu": "9"}}, {"guarantee": {"resource": {}}}]
)
def test_resources_of_the_root_do_not_change(spec: dict[str, JsonValue]) -> None:
    old = queue("root", deserved={"cpu": "1"}, guarantee={"resource": {"cpu": "1"}})
    new = queue("root", **{"deserved": {"cpu": "1"}, "guarantee": {"resource": {"cpu": "1"}}, **spec})
    told = "root queue's resource attributes (capability, deserved, guarantee) cannot be modified"

    assert validate(ask("UPDATE", new, old)).problem == told
    assert validate(ask("UPDATE", new, old, protect_root_queue=False)).allowed
    assert validate(ask("UPDATE", old, old)).allowed


@pytest.mark.parametrize("name", ["default", "root"])
def test_two_queues_are_never_deleted(name: str) -> None:
    answer = validate(ask("DELETE", seen=Seen([queue(name)]), name=name))

    assert answer.problem == f"`{name}` queue can not be deleted"


def test_deletion_goes_by_the_name_of_the_request() -> None:
    assert validate(ask("DELETE", seen=Seen([queue("q")]), name="q")).allowed
    assert validate(ask("DELETE", name="q")).problem == 'queue.scheduling.volcano.sh "q" not found'


def test_queue_with_children_is_not_deleted() -> None:
    seen = Seen([queue("q"), queue("b", parent="q"), queue("a", parent="q")])

    answer = validate(ask("DELETE", seen=seen, name="q"))

    assert answer.problem == "queue q can not be deleted because it has 2 child queues: a, b"


def test_queue_with_pods_is_deleted_unless_that_is_checked() -> None:
    seen = Seen([queue("q", pods=3)])

    assert validate(ask("DELETE", seen=seen, name="q")).allowed
    assert validate(ask("DELETE", seen=seen, name="q", check_allocated_pods=True)).problem == (
        "queue q cannot be deleted because it has allocated Pods: 3"
    )


def test_validate_answers_no_other_operation() -> None:
    assert validate(ask("CONNECT")).problem == (
        "invalid operation `CONNECT`, expect operation to be `CREATE`, `UPDATE` or `DELETE`"
    )

"""Queues through an API server and our webhooks."""

from __future__ import annotations

from typing import Any

import pytest

from tests.conformance.harness.client import ApiError
from tests.conformance.webhooks.conftest import QUEUES, Admitted, denial, queue_object

Object = dict[str, Any]
VALIDATE = "validatequeue.volcano.sh"


def refused(admitted: Admitted, name: str = "refused", **spec: Any) -> str:
    """What the webhook says of a queue that must not be stored."""
    with pytest.raises(ApiError) as error:
        admitted.queue(name=name, **spec)
    assert not admitted.client.exists(f"{QUEUES}/{name}")
    return denial(VALIDATE, error.value)


def change(admitted: Admitted, name: str, **spec: Any) -> Object:
    return admitted.client.patch(f"{QUEUES}/{name}", {"spec": spec})


def marked(path: str, weights: str) -> Object:
    return {
        **queue_object("marked"),
        "metadata": {
            "name": "marked",
            "annotations": {"volcano.sh/hierarchy": path, "volcano.sh/hierarchy-weights": weights},
        },
    }


# -- defaults -------------------------------------------------------------------------------------------------------


def test_new_queue_is_reclaimable_and_weighs_one(admitted: Admitted) -> None:
    spec = admitted.client.get(f"{QUEUES}/{admitted.queue()}")["spec"]

    assert (spec["reclaimable"], spec["weight"]) == (True, 1)


def test_what_a_user_chose_is_kept(admitted: Admitted) -> None:
    spec = admitted.client.get(f"{QUEUES}/{admitted.queue(reclaimable=False, weight=4)}")["spec"]

    assert (spec["reclaimable"], spec["weight"]) == (False, 4)


def test_queue_without_a_spec_gets_one(admitted: Admitted) -> None:
    bare = queue_object("bare")
    del bare["spec"]
    admitted.queues.append("bare")

    spec = admitted.client.create(QUEUES, bare)["spec"]

    assert (spec["reclaimable"], spec["weight"]) == (True, 1)


def test_hierarchy_is_put_below_the_root(admitted: Admitted) -> None:
    admitted.queues.append("marked")

    annotations = admitted.client.create(QUEUES, marked("sci/dev", "2/3"))["metadata"]["annotations"]

    assert annotations["volcano.sh/hierarchy"] == "root/sci/dev"
    assert annotations["volcano.sh/hierarchy-weights"] == "1/2/3"


# -- refusals -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("spec", "told"),
    [
        (
            {"guarantee": {"resource": {"cpu": "2"}}, "deserved": {"cpu": "1"}},
            '"1": deserved[cpu]=1 must be >= guarantee[cpu]=2',
        ),
        (
            {"guarantee": {"resource": {"cpu": "1"}}},
            '"<nil>": deserved[cpu] must be >= guarantee[cpu]=1',
        ),
    ],
)
def test_guarantee_needs_what_is_deserved(admitted: Admitted, spec: Object, told: str) -> None:
    assert refused(admitted, **spec) == f"requestBody.spec.deserved.cpu: Invalid value: {told}"


@pytest.mark.parametrize(
    ("path", "weights", "told"),
    [
        ("root/sci", "", "volcano.sh/hierarchy must have the same length with volcano.sh/hierarchy-weights"),
        ("root/sci", "1/x", 'is invalid number: strconv.ParseFloat: parsing "x": invalid syntax'),
        ("root/sci", "1/-2", "-2 in the 1/-2 must be larger than 0"),
    ],
)
def test_wrong_hierarchy_is_refused(admitted: Admitted, path: str, weights: str, told: str) -> None:
    with pytest.raises(ApiError) as error:
        admitted.client.create(QUEUES, marked(path, weights))

    assert denial(VALIDATE, error.value).endswith(told)


def test_parent_exists_and_is_not_the_queue_itself(admitted: Admitted) -> None:
    assert refused(admitted, "self", parent="self") == "queue self cannot use itself as parent"
    assert refused(admitted, parent="nowhere") == (
        'failed to get parent queue nowhere of queue refused: queue.scheduling.volcano.sh "nowhere" not found'
    )


def test_tree_has_at_most_five_levels(admitted: Admitted) -> None:
    parent = "root"
    for _ in range(5):
        parent = admitted.queue(parent=parent)

    assert refused(admitted, parent=parent) == "queue refused exceeds the maximum allowed depth of 5"


def test_children_stay_within_their_parent(admitted: Admitted) -> None:
    parent = admitted.queue(capability={"cpu": "4"}, deserved={"cpu": "2"})
    admitted.queue(parent=parent, deserved={"cpu": "1500m"})

    assert refused(admitted, parent=parent, capability={"cpu": "5"}) == (
        "queue refused capability[cpu]=5 exceeds its ancestor's capability=4"
    )
    assert refused(admitted, parent=parent, deserved={"cpu": "1"}) == (
        f"parent queue {parent} validation failed: sum of children's deserved (cpu 2500.00, memory 0.00) "
        "exceeds parent's deserved limit (cpu 2000.00, memory 0.00)"
    )


def test_closing_queue_changes_only_through_its_status(admitted: Admitted) -> None:
    name = admitted.queue("Closing")

    with pytest.raises(ApiError) as error:
        change(admitted, name, weight=2)
    admitted.client.patch(f"{QUEUES}/{name}/status", {"status": {"state": "Closed"}})

    assert denial(VALIDATE, error.value) == (
        'requestBody.spec.state: Invalid value: "Closing": queue state must be in [Open Closed]'
    )
    assert change(admitted, name, weight=2)["spec"]["weight"] == 2


def test_root_and_default_are_protected(admitted: Admitted) -> None:
    with pytest.raises(ApiError) as resources:
        change(admitted, "root", capability={"cpu": "4"})
    deletions = []
    for name in ("root", "default"):
        with pytest.raises(ApiError) as error:
            admitted.client.delete(f"{QUEUES}/{name}")
        deletions.append(denial(VALIDATE, error.value))

    assert denial(VALIDATE, resources.value) == (
        "root queue's resource attributes (capability, deserved, guarantee) cannot be modified"
    )
    assert deletions == ["`root` queue can not be deleted", "`default` queue can not be deleted"]


def test_parent_goes_after_its_children(admitted: Admitted) -> None:
    parent = admitted.queue()
    child = admitted.queue(parent=parent)

    with pytest.raises(ApiError) as error:
        admitted.client.delete(f"{QUEUES}/{parent}")
    admitted.client.delete(f"{QUEUES}/{child}")
    admitted.client.delete(f"{QUEUES}/{parent}")

    assert denial(VALIDATE, error.value) == (
        f"queue {parent} can not be deleted because it has 1 child queues: {child}"
    )


def test_queue_is_created_and_deleted_as_fast_as_can_be(admitted: Admitted) -> None:
    for _ in range(10):
        name = admitted.queue(state="")
        admitted.client.delete(f"{QUEUES}/{name}")

    assert not any(admitted.client.exists(f"{QUEUES}/{name}") for name in admitted.queues)


def test_o_065_deserved_or_guarantee_above_capability_is_refused_per_dimension(admitted: Admitted) -> None:
    good = admitted.queue(capability={"cpu": "4"}, deserved={"cpu": "2"})
    above = {"cpu": "8", "memory": "8Gi"}

    created = refused(admitted, capability={"cpu": "4", "memory": "4Gi"}, deserved=above)
    guaranteed = refused(
        admitted, capability={"cpu": "1"}, guarantee={"resource": {"cpu": "4"}}, deserved={"cpu": "4"}
    )
    with pytest.raises(ApiError) as updated:
        change(admitted, good, deserved={"cpu": "8"})

    assert created == (
        '[requestBody.spec.deserved.cpu: Invalid value: "8": deserved[cpu]=8 must be <= capability[cpu]=4, '
        'requestBody.spec.deserved.memory: Invalid value: "8Gi": deserved[memory]=8Gi must be <= capability[memory]=4Gi]'
    )
    assert guaranteed == (
        'requestBody.spec.deserved.cpu: Invalid value: "4": deserved[cpu]=4 must be <= capability[cpu]=1'
    )
    assert denial(VALIDATE, updated.value) == (
        'requestBody.spec.deserved.cpu: Invalid value: "8": deserved[cpu]=8 must be <= capability[cpu]=4'
    )
    assert admitted.queue(capability={"cpu": "4"}, deserved={"memory": "8Gi"})

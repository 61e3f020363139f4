"""The hcclrank plugin: whose word on the rank counts."""

from __future__ import annotations

import pytest

from tests.controllers.dressing import a_role, container, made
from tests.controllers.world import World
from vcray.api.resources import PODS
from vcray.controllers import raw


def ranks(w: World) -> dict[str, str]:
    return {raw.name(pod): raw.annotation(pod, "hccl/rankIndex") for pod in w.list(PODS)}


def test_masters_come_first_then_workers_and_others_have_no_rank():
    """api-controllers.md 10.29."""
    w = made({"hcclrank": []}, a_role("worker", 2), a_role("master", 2), a_role("logger"))

    assert ranks(w) == {
        "j-master-0": "0",
        "j-master-1": "1",
        "j-worker-0": "2",
        "j-worker-1": "3",
        "j-logger-0": "",
    }


def test_it_leaves_no_mark():
    w = made({"hcclrank": []}, a_role("master"))

    assert "controlledResources" not in w.status()


def test_arguments_name_the_tasks():
    w = made({"hcclrank": ["--master", "lead", "--worker", "hand"]}, a_role("lead"), a_role("hand"))

    assert ranks(w) == {"j-lead-0": "0", "j-hand-0": "1"}


def test_unknown_argument_ends_the_reading():
    w = made({"hcclrank": ["--rank=1", "--master=lead"]}, a_role("lead"), a_role("master"))

    assert ranks(w) == {"j-lead-0": "", "j-master-0": "0"}


def test_workers_without_a_master_start_at_0():
    w = made({"hcclrank": []}, a_role("worker", 2))

    assert ranks(w) == {"j-worker-0": "0", "j-worker-1": "1"}


def test_annotation_of_the_template_stays():
    task = a_role("master")
    raw.table(task, "template")["metadata"] = {"annotations": {"hccl/rankIndex": "7"}}

    w = made({"hcclrank": []}, task)

    assert ranks(w) == {"j-master-0": "7"}


@pytest.mark.parametrize("task", ["master", "worker", "other"])
def test_rank_of_the_environment_counts_for_pods_of_every_task(task):
    side = container("side", env=[{"name": "RANK", "value": "9"}])
    ranked = container(env=[{"name": "RANK", "value": "4"}, {"name": "RANK", "value": "5"}])

    w = made({"hcclrank": []}, a_role(task, 1, container("first"), ranked, side))

    assert ranks(w) == {f"j-{task}-0": "5"}


def test_rank_that_is_not_literal_does_not_count():
    source = {"fieldRef": {"fieldPath": "metadata.labels['rank']"}}

    w = made({"hcclrank": []}, a_role("worker", 1, container(env=[{"name": "RANK", "valueFrom": source}])))

    assert ranks(w) == {"j-worker-0": "0"}


@pytest.mark.parametrize("masters", [1, 2])
def test_with_pytorch_the_annotation_is_its_rank(masters):
    w = made({"pytorch": [], "hcclrank": []}, a_role("master", masters), a_role("worker", 2))

    assert ranks(w) == {
        **{f"j-master-{index}": "0" for index in range(masters)},
        "j-worker-0": "1",
        "j-worker-1": "2",
    }
    for pod in w.list(PODS):
        rank = raw.tables(raw.tables(pod, "spec", "containers")[0], "env")[3]
        assert rank == {"name": "RANK", "value": ranks(w)[raw.name(pod)]}


def test_pods_made_by_scaling_up_follow():
    w = made({"hcclrank": []}, a_role("master"), a_role("worker", 1))
    w.pod_phase("Running")

    w.change_tasks(worker=2)

    assert ranks(w)["j-worker-1"] == "2"

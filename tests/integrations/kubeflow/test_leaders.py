"""Which pods of a training job lead it: they are placed first, and evicted last."""

from __future__ import annotations

import pytest

from tests.controllers.world import World
from tests.integrations.kubeflow.goldens import golden, resource_of
from vcray.api import names
from vcray.api.resources import PODS
from vcray.cluster.operators.definitions import REPLICA_SPECS
from vcray.cluster.operators.table import STAND_INS
from vcray.controllers import raw
from vcray.integrations.keeping import GroupKeeper
from vcray.integrations.known import built_in

ELASTIC = {"minReplicas": 1, "maxReplicas": 4}
ONE, TWO = {"n": 1}, {"n": 2}


def put(kind, spec, **roles):
    """A world with one such job, at rest."""
    row = {"kind": kind, "spec": spec, "roles": roles, "version": "v1"}
    world = World([*(make("") for make in STAND_INS["training-operator"].makes), GroupKeeper(built_in())])
    job = golden(row)
    for role in raw.table(job, "spec", REPLICA_SPECS[resource_of(row)][0]).values():
        role["template"]["spec"]["schedulerName"] = names.SCHEDULER_NAME
    world.put(resource_of(row), job)
    world.settle()
    return world


@pytest.mark.parametrize(
    ("kind", "elastic", "roles", "leaders"),
    [
        ("PyTorchJob", ELASTIC, {"Worker": TWO}, {"j-worker-0"}),
        ("PyTorchJob", {}, {"Worker": TWO}, {"j-worker-0"}),
        ("PyTorchJob", ELASTIC, {"Master": ONE, "Worker": TWO}, {"j-master-0", "j-worker-0"}),
        ("PyTorchJob", ELASTIC | {"rdzvBackend": "etcd-v2"}, {"Worker": TWO}, set()),
        ("PyTorchJob", ELASTIC | {"rdzvBackend": "etcd"}, {"Worker": TWO}, set()),
        ("PyTorchJob", ELASTIC | {"rdzvHost": "j-worker-1.default.svc"}, {"Worker": TWO}, {"j-worker-1"}),
        ("PyTorchJob", ELASTIC | {"rdzvHost": "store.example.com"}, {"Worker": TWO}, set()),
        ("PyTorchJob", None, {"Master": ONE, "Worker": TWO}, {"j-master-0"}),
        ("PyTorchJob", None, {"Worker": TWO}, {"j-worker-0"}),
        ("PaddleJob", ELASTIC, {"Worker": TWO}, {"j-worker-0"}),
        ("PaddleJob", ELASTIC, {"Master": ONE, "Worker": TWO}, {"j-master-0"}),
        ("JAXJob", None, {"Worker": TWO}, {"j-worker-0"}),
        ("XGBoostJob", None, {"Master": ONE, "Worker": TWO}, {"j-master-0"}),
        ("TFJob", None, {"PS": ONE, "Worker": TWO}, {"j-worker-0"}),
    ],
)
def test_a_pod_leads_through_which_the_others_meet(kind, elastic, roles, leaders):
    world = put(kind, {} if elastic is None else {"elasticPolicy": elastic}, **roles)

    pods = world.list(PODS)
    leading = {raw.name(each) for each in pods if raw.annotation(each, names.TASK_PRIORITY)}
    assert len(pods) == sum(role["n"] for role in roles.values())
    assert leading == leaders


def test_torchrun_is_told_where_to_meet():
    conf = {"rdzvConf": [{"key": "timeout", "value": "60"}, {"key": "last", "value": "1"}]}
    elastic = {**ELASTIC, **conf, "rdzvId": "x", "rdzvPort": 99, "maxRestarts": 3, "nProcPerNode": 8}

    told = environment(put("PyTorchJob", {"elasticPolicy": elastic}, Worker=TWO))

    assert told == {
        "PET_RDZV_ENDPOINT": "j-worker-0:99",
        "PET_RDZV_BACKEND": "c10d",
        "PET_NNODES": "1:4",
        "PET_NPROC_PER_NODE": "8",
        "PET_MAX_RESTARTS": "3",
        "PET_RDZV_ID": "x",
        "PET_RDZV_CONF": "timeout=60,last=1",
    }


@pytest.mark.parametrize(
    ("given", "sizes"),
    [
        ({}, "2:2"),
        ({"minReplicas": 1}, "1:1"),
        ({"maxReplicas": 4}, "4:4"),
        ({"minReplicas": 0, "maxReplicas": 4}, "0:4"),
    ],
)
def test_sizes_that_are_left_out_are_as_the_operator_has_them(given, sizes):
    assert environment(put("PyTorchJob", {"elasticPolicy": given}, Worker=TWO))["PET_NNODES"] == sizes


def test_a_job_that_is_not_elastic_is_told_nothing():
    assert environment(put("PyTorchJob", {}, Worker=TWO)) == {}
    assert environment(put("PaddleJob", {"elasticPolicy": ELASTIC}, Worker=TWO)) == {}


def environment(world):
    """Of the first container of each pod, which all have the same."""
    told = [raw.tables(pod, "spec", "containers", 0, "env") for pod in world.list(PODS)]
    assert all(each == told[0] for each in told)
    return {each["name"]: each["value"] for each in told[0]}

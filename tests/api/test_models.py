"""Volcano's kinds as read-views: defaults, bounds, and what they let through."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from vcray.api.batch import CronJob, Job, JobEvent, JobPhase, JobSpec, TaskSpec
from vcray.api.bus import Command
from vcray.api.crds import MODELS
from vcray.api.flow import JobFlow
from vcray.api.meta import JsonObject, to_json
from vcray.api.nodeinfo import Numatopology
from vcray.api.objects import KubeObject, TopologyMode
from vcray.api.podresources import resource_amounts
from vcray.api.scheduling import PodGroup, PodGroupPhase, Queue, QueueState
from vcray.api.topology import HyperNode

JOB: JsonObject = {
    "apiVersion": "batch.volcano.sh/v1alpha1",
    "kind": "Job",
    "metadata": {"name": "train", "namespace": "ml"},
    "spec": {
        "minAvailable": 3,
        "schedulerName": "volcano",
        "plugins": {"svc": [], "env": ["--x"]},
        "policies": [{"event": "PodEvicted", "action": "RestartJob", "unknown": 1}],
        "networkTopology": {"highestTierAllowed": 2},
        "tasks": [
            {
                "name": "worker",
                "replicas": 3,
                "policies": [{"events": ["*"], "action": "TerminateJob", "timeout": "1m"}, {"exitCode": 3}],
                "template": {"spec": {"containers": [{"name": "m", "image": "i", "unknown": True}]}},
            }
        ],
    },
    "status": {"state": {"phase": "Running", "lastTransitionTime": "2026-01-02T03:04:05Z"}, "running": 3},
}


def test_a_job_is_read_and_its_template_stays_raw() -> None:
    job = Job.model_validate(JOB)
    assert job.key == "ml/train"
    assert job.spec.queue == "default"
    assert job.spec.max_retry == 3
    assert job.spec.policies[0].event is JobEvent.POD_EVICTED
    assert job.spec.tasks[0].policies[1].exit_code == 3
    assert job.spec.tasks[0].template == {
        "spec": {"containers": [{"name": "m", "image": "i", "unknown": True}]}
    }
    assert job.spec.network_topology is not None
    assert job.spec.network_topology.mode is TopologyMode.HARD
    assert job.status.state.phase is JobPhase.RUNNING


def test_an_absent_task_minimum_is_told_from_zero() -> None:
    assert TaskSpec().min_available is None
    assert TaskSpec.model_validate({"minAvailable": 0}).min_available == 0


@pytest.mark.parametrize(
    "spec",
    [
        {"minAvailable": -1},
        {"queue": "Not_A_Name"},
        {"tasks": []},
        {"minSuccess": 0},
        {"tasks": [{"name": "UP"}]},
        {"policies": [{"event": "Nothing"}]},
        {"networkTopology": {"mode": "firm"}},
        {"volumes": [{"mountPath": "a:b"}]},
    ],
)
def test_a_job_spec_out_of_bounds_is_refused(spec: JsonObject) -> None:
    with pytest.raises(ValidationError):
        JobSpec.model_validate(spec)


def test_a_new_pod_group_has_no_phase() -> None:
    assert PodGroup.model_validate({"metadata": {"name": "g"}}).status.phase is None
    assert PodGroup.model_validate({"status": {"phase": "Inqueue"}}).status.phase is PodGroupPhase.INQUEUE


def test_a_queue_reads_its_resources_as_written() -> None:
    queue = Queue.model_validate(
        {
            "spec": {"capability": {"cpu": 4, "memory": "8Gi"}, "guarantee": {"resource": {"cpu": "500m"}}},
            "status": {"state": "Open", "allocated": None},
        }
    )
    assert resource_amounts(queue.spec.capability) == {"cpu": 4000, "memory": 8 * 2**30}
    assert resource_amounts(queue.spec.guarantee.resource) == {"cpu": 500}
    assert (queue.spec.weight, queue.spec.reclaimable, queue.status.state) == (1, None, QueueState.OPEN)


def test_a_command_names_its_target() -> None:
    target = {"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job", "name": "train", "uid": "1"}
    command = Command.model_validate({"action": "AbortJob", "target": target})
    assert command.target is not None
    assert command.target.name == "train"


def test_other_kinds_read_their_odd_names() -> None:
    assert JobFlow.model_validate({"status": {"unKnowJobs": ["a"]}}).status.unknown_jobs == ["a"]
    node = Numatopology.model_validate(
        {"spec": {"cpuDetail": {"0": {"numa": 1, "core": 2}}, "resReserved": {"cpu": "1"}}}
    )
    assert node.spec.cpu_detail["0"].numa == 1
    hyper = HyperNode.model_validate(
        {"spec": {"tier": 1, "members": [{"type": "Node", "selector": {"labelMatch": {}}}]}}
    )
    assert hyper.spec is not None
    assert hyper.spec.members[0].selector is not None
    assert hyper.spec.members[0].selector.label_match is not None
    cron = CronJob.model_validate(
        {"spec": {"schedule": "* * * * *", "jobTemplate": {"spec": {"queue": "q"}}}}
    )
    assert cron.spec is not None
    assert (cron.spec.concurrency_policy, cron.spec.job_template.spec.queue) == ("Allow", "q")


def test_a_model_is_written_without_what_was_never_set() -> None:
    job = Job(spec=JobSpec(min_available=2, tasks=[TaskSpec(name="w", replicas=2)]))
    assert to_json(job) == {"spec": {"minAvailable": 2, "tasks": [{"name": "w", "replicas": 2}]}}


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.__name__)
def test_each_kind_knows_where_it_is_served(model: type[KubeObject]) -> None:
    assert model.resource.kind == model.__name__

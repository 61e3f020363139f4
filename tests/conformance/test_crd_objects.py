"""Objects of Volcano's kinds on a real kube-apiserver: what is filled in, what is cut away, what is refused and how."""

from __future__ import annotations

from typing import Any

import pytest

from tests.conformance.harness.client import ApiError, Client
from tests.conformance.harness.server import ControlPlane

POD = {"spec": {"containers": [{"name": "main", "image": "none", "ports": [{"containerPort": 2222}]}]}}
TASK = {"name": "worker", "replicas": 1, "template": POD}
FLOW = {"name": "step"}

PATHS = {
    "Job": "batch.volcano.sh/v1alpha1/jobs",
    "CronJob": "batch.volcano.sh/v1alpha1/cronjobs",
    "PodGroup": "scheduling.volcano.sh/v1beta1/podgroups",
    "Queue": "scheduling.volcano.sh/v1beta1/queues",
    "Command": "bus.volcano.sh/v1alpha1/commands",
    "Numatopology": "nodeinfo.volcano.sh/v1alpha1/numatopologies",
    "HyperNode": "topology.volcano.sh/v1alpha1/hypernodes",
    "JobFlow": "flow.volcano.sh/v1alpha1/jobflows",
    "JobTemplate": "flow.volcano.sh/v1alpha1/jobtemplates",
    "NodeShard": "shard.volcano.sh/v1alpha1/nodeshards",
    "ColocationConfiguration": "config.volcano.sh/v1alpha1/colocationconfigurations",
}
CLUSTER_SCOPED = {"Queue", "Numatopology", "HyperNode", "NodeShard"}


class Objects:
    """Creates objects of Volcano's kinds in one namespace; cluster-scoped ones are named after it."""

    def __init__(self, client: Client, namespace: str) -> None:
        self.client = client
        self.namespace = namespace

    def collection(self, kind: str) -> str:
        group, version, plural = PATHS[kind].split("/")
        inside = "" if kind in CLUSTER_SCOPED else f"/namespaces/{self.namespace}"
        return f"/apis/{group}/{version}{inside}/{plural}"

    def path(self, kind: str) -> str:
        return f"{self.collection(kind)}/{self.namespace}"

    def create(self, kind: str, **body: Any) -> dict[str, Any]:
        api_version = PATHS[kind].rsplit("/", 1)[0]
        head = {"apiVersion": api_version, "kind": kind, "metadata": {"name": self.namespace}}
        return self.client.create(self.collection(kind), {**head, **body})

    def refusal(self, kind: str, **body: Any) -> str:
        with pytest.raises(ApiError) as refused:
            self.create(kind, **body)
        assert (refused.value.code, refused.value.reason) == (422, "Invalid")
        return refused.value.message.removeprefix(
            f'{kind}.{PATHS[kind].split("/")[0]} "{self.namespace}" is invalid: '
        )


@pytest.fixture
def objects(volcano_apiserver: ControlPlane, namespace: str) -> Objects:
    return Objects(volcano_apiserver.client, namespace)


# -- what is filled in ------------------------------------------------------------------------------------------------

JOB_DEFAULTS = {"queue": "default", "maxRetry": 3}


def test_a_job_gets_queue_and_retries_and_nothing_else(objects: Objects) -> None:
    assert objects.create("Job", spec={})["spec"] == JOB_DEFAULTS


def test_a_job_without_spec_gets_no_defaults(objects: Objects) -> None:
    assert "spec" not in objects.create("Job")


def test_a_port_of_a_task_gets_its_protocol(objects: Objects) -> None:
    created = objects.create("Job", spec={"tasks": [TASK]})

    container = created["spec"]["tasks"][0]["template"]["spec"]["containers"][0]
    assert container["ports"] == [{"containerPort": 2222, "protocol": "TCP"}]


def test_network_topology_is_hard_unless_told(objects: Objects) -> None:
    topology = {"networkTopology": {"highestTierAllowed": 2}}

    assert objects.create("Job", spec=topology)["spec"]["networkTopology"]["mode"] == "hard"
    assert objects.create("PodGroup", spec=topology)["spec"]["networkTopology"]["mode"] == "hard"


def test_a_cron_job_and_its_template_get_their_defaults(objects: Objects) -> None:
    spec = objects.create("CronJob", spec={"schedule": "@daily", "jobTemplate": {"spec": {}}})["spec"]

    assert spec == {
        "schedule": "@daily",
        "concurrencyPolicy": "Allow",
        "suspend": False,
        "successfulJobsHistoryLimit": 3,
        "failedJobsHistoryLimit": 1,
        "jobTemplate": {"spec": JOB_DEFAULTS},
    }


def test_a_pod_group_and_its_subgroups_get_their_defaults(objects: Objects) -> None:
    spec = objects.create("PodGroup", spec={"subGroupPolicy": [{"name": "a"}]})["spec"]

    assert spec == {
        "queue": "default",
        "subGroupPolicy": [{"name": "a", "subGroupSize": 1, "minSubGroups": 0}],
    }


def test_a_queue_gets_weight_and_strategy_but_not_reclaimable(objects: Objects) -> None:
    assert objects.create("Queue", spec={})["spec"] == {"weight": 1, "dequeueStrategy": "traverse"}


def test_a_partition_policy_gets_its_minimum(objects: Objects) -> None:
    policy = {"totalPartitions": 2, "partitionSize": 4}

    created = objects.create("Job", spec={"tasks": [{**TASK, "partitionPolicy": policy}]})

    assert created["spec"]["tasks"][0]["partitionPolicy"] == {**policy, "minPartitions": 0}


def test_job_defaults_reach_a_job_template_and_a_flows_patch(objects: Objects) -> None:
    template = objects.create("JobTemplate", spec={})
    flow = objects.create("JobFlow", spec={"flows": [{**FLOW, "patch": {"jobSpec": {}}}]})

    assert template["spec"] == JOB_DEFAULTS
    assert flow["spec"] == {"flows": [{**FLOW, "patch": {"jobSpec": JOB_DEFAULTS}}]}


def test_ratios_get_defaults_only_where_memory_qos_is_set(objects: Objects) -> None:
    created = objects.create("ColocationConfiguration", spec={"memoryQos": {}})
    objects.client.delete(objects.path("ColocationConfiguration"))
    bare = objects.create("ColocationConfiguration", spec={})

    assert created["spec"]["memoryQos"] == {"highRatio": 100, "lowRatio": 0, "minRatio": 0}
    assert bare["spec"] == {}


# -- what is cut away and what the subresources guard -----------------------------------------------------------------


def test_unknown_fields_are_pruned_at_every_depth(objects: Objects) -> None:
    noisy = {**POD, "metadata": {"labels": {"a": "b"}, "generateName": "x"}}

    created = objects.create("Job", spec={"colour": "red", "tasks": [{"template": noisy, "size": 3}]})

    assert "colour" not in created["spec"]
    assert "size" not in created["spec"]["tasks"][0]
    assert created["spec"]["tasks"][0]["template"]["metadata"] == {"labels": {"a": "b"}}


def test_the_status_of_a_job_is_written_only_through_its_subresource(objects: Objects) -> None:
    running = {"state": {"phase": "Running"}, "running": 1}

    created = objects.create("Job", spec={}, status=running)
    written = objects.client.patch(
        objects.path("Job") + "/status", {"status": running, "spec": {"maxRetry": 9}}
    )

    assert "status" not in created
    assert written["status"] == running
    assert written["spec"]["maxRetry"] == 3


def test_a_pod_group_has_no_status_subresource(objects: Objects) -> None:
    created = objects.create("PodGroup", spec={}, status={"phase": "Running"})

    assert created["status"] == {"phase": "Running"}
    assert not objects.client.exists(objects.path("PodGroup") + "/status")


def test_a_table_row_shows_a_jobs_phase_and_counts(objects: Objects) -> None:
    objects.create("Job", spec={"queue": "research"})
    status = {"state": {"phase": "Running"}, "minAvailable": 4, "running": 3}
    objects.client.patch(objects.path("Job") + "/status", {"status": status})

    cells = objects.client.table(objects.path("Job"))["rows"][0]["cells"]

    assert [cells[0], cells[1], cells[2], cells[3], cells[5]] == [
        objects.namespace, "Running", 4, 3, "research",
    ]  # fmt: skip


def test_a_hypernode_shows_its_tier_as_text(objects: Objects) -> None:
    objects.create("HyperNode", spec={"tier": 2, "tierName": "rack"})

    assert objects.client.table(objects.path("HyperNode"))["rows"][0]["cells"][1:3] == ["2", "rack"]


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        ("Command", {"action": "AbortJob"}),
        ("Command", {}),
        ("Numatopology", {"spec": {"cpuDetail": {"0": {"numa": 0, "socket": 0, "core": 0}}}}),
        ("NodeShard", {"spec": {"nodesDesired": []}}),
        ("HyperNode", {"spec": {"tier": 0, "members": [{"type": "Node"}]}}),
        ("Queue", {"spec": {"capability": {"cpu": 4, "memory": "4Gi", "nvidia.com/gpu": "8"}}}),
        ("JobFlow", {}),
        ("PodGroup", {}),
    ],
)
def test_small_objects_are_accepted(objects: Objects, kind: str, body: dict[str, Any]) -> None:
    assert objects.create(kind, **body)["kind"] == kind


# -- what is refused --------------------------------------------------------------------------------------------------

SUBDOMAIN = r"'^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$'"
JOB_REFUSALS = [
    ({"minAvailable": -1}, "spec.minAvailable: Invalid value: -1: spec.minAvailable in body should be greater than or equal to 0"),
    ({"maxRetry": -1}, "spec.maxRetry in body should be greater than or equal to 0"),
    ({"ttlSecondsAfterFinished": -1}, "spec.ttlSecondsAfterFinished in body should be greater than or equal to 0"),
    ({"minSuccess": 0}, "spec.minSuccess in body should be greater than or equal to 1"),
    ({"minAvailable": "two"}, 'spec.minAvailable in body must be of type integer: "string"'),
    ({"minAvailable": 2**31}, "Checked value must be of type integer with format int32 in spec.minAvailable"),
    ({"tasks": []}, "spec.tasks in body should have at least 1 items"),
    ({"queue": "Big_One"}, f'spec.queue: Invalid value: "Big_One": spec.queue in body should match {SUBDOMAIN}'),
    ({"queue": "q" * 254}, "spec.queue: Too long: may not be more than 253 bytes"),
    ({"schedulerName": "s" * 64}, "spec.schedulerName: Too long: may not be more than 63 bytes"),
    ({"priorityClassName": "High"}, f"spec.priorityClassName in body should match {SUBDOMAIN}"),
    ({"networkTopology": {"mode": "firm"}}, 'mode: Unsupported value: "firm": supported values: "hard", "soft"'),
    ({"networkTopology": {"highestTierAllowed": -1}}, "highestTierAllowed in body should be greater than or equal to 0"),
    ({"volumes": [{}]}, "spec.volumes[0].mountPath: Required value"),
    ({"volumes": [{"mountPath": ""}]}, "spec.volumes[0].mountPath in body should be at least 1 chars long"),
    ({"volumes": [{"mountPath": "a:b"}]}, "spec.volumes[0].mountPath in body should match '^[^:]+$'"),
    (
        {"policies": [{"event": "PodLost"}]},
        'spec.policies[0].event: Unsupported value: "PodLost": supported values: "*", "PodPending", "PodRunning", '
        '"PodFailed", "PodEvicted", "Unknown", "TaskCompleted", "OutOfSync", "CommandIssued", "JobUpdated", "TaskFailed"',
    ),
    ({"policies": [{"events": ["PodLost"]}]}, 'spec.policies[0].events[0]: Unsupported value: "PodLost"'),
]  # fmt: skip
TASK_REFUSALS = [
    ({"name": "Worker"}, "spec.tasks[0].name in body should match '^[a-z0-9]([-a-z0-9]*[a-z0-9])?$'"),
    ({"name": "w" * 64}, "spec.tasks[0].name: Too long: may not be more than 63 bytes"),
    ({"replicas": -1}, "spec.tasks[0].replicas in body should be greater than or equal to 0"),
    ({"minAvailable": -1}, "spec.tasks[0].minAvailable in body should be greater than or equal to 0"),
    ({"maxRetry": -1}, "spec.tasks[0].maxRetry in body should be greater than or equal to 0"),
    ({"topologyPolicy": "numa"}, '"none", "best-effort", "restricted", "single-numa-node"'),
    ({"partitionPolicy": {}}, "spec.tasks[0].partitionPolicy.totalPartitions: Required value"),
    ({"partitionPolicy": {"totalPartitions": 0, "partitionSize": 1}}, "totalPartitions in body should be greater than or equal to 1"),
    ({"template": {"spec": {}}}, "spec.tasks[0].template.spec.containers: Required value"),
]  # fmt: skip
OTHER_REFUSALS = [
    ("CronJob", {"spec": {}}, "spec.schedule: Required value"),
    ("CronJob", {"spec": {"schedule": "@daily"}}, "spec.jobTemplate: Required value"),
    ("CronJob", {"spec": {"schedule": "@daily", "jobTemplate": {}, "concurrencyPolicy": "Wait"}}, '"Allow", "Forbid", "Replace"'),
    ("CronJob", {"spec": {"schedule": "@daily", "jobTemplate": {"spec": {"minAvailable": -1}}}}, "spec.jobTemplate.spec.minAvailable in body should be greater than or equal to 0"),
    ("PodGroup", {"spec": {"minMember": -1}}, "spec.minMember in body should be greater than or equal to 0"),
    ("PodGroup", {"spec": {"subGroupPolicy": [{"subGroupSize": 0}]}}, "subGroupSize in body should be greater than or equal to 1"),
    ("PodGroup", {"spec": {"minResources": {"cpu": "many"}}}, "spec.minResources.cpu in body should match"),
    ("PodGroup", {"status": {"phase": "Waiting"}}, 'status.phase: Unsupported value: "Waiting"'),
    ("Queue", {"spec": {"weight": 0}}, "spec.weight in body should be greater than or equal to 1"),
    ("Queue", {"spec": {"weight": 65536}}, "spec.weight in body should be less than or equal to 65535"),
    ("Queue", {"spec": {"priority": -1}}, "spec.priority in body should be greater than or equal to 0"),
    ("Queue", {"spec": {"dequeueStrategy": "lifo"}}, 'supported values: "fifo", "traverse"'),
    ("Queue", {"spec": {"parent": "Root"}}, f"spec.parent in body should match {SUBDOMAIN}"),
    ("Queue", {"spec": {"capability": {"cpu": True}}}, "spec.capability.cpu in body must be of type integer,string"),
    ("Command", {"target": {}}, "target.apiVersion: Required value, target.kind: Required value, target.name: Required value, target.uid: Required value"),
    ("Numatopology", {"spec": {"cpuDetail": {"0": {"numa": -1}}}}, "spec.cpuDetail.0.numa in body should be greater than or equal to 0"),
    ("HyperNode", {"spec": {}}, "spec.tier: Required value"),
    ("HyperNode", {"spec": {"tier": -1}}, "spec.tier in body should be greater than or equal to 0"),
    ("HyperNode", {"spec": {"tier": 1, "members": []}}, "spec.members in body should have at least 1 items"),
    ("JobFlow", {"spec": {"flows": [{"name": ""}]}}, "spec.flows[0].name in body should be at least 1 chars long"),
    ("JobFlow", {"spec": {"jobRetainPolicy": "keep"}}, 'supported values: "retain", "delete"'),
    ("JobTemplate", {"spec": {"maxRetry": -1}}, "spec.maxRetry in body should be greater than or equal to 0"),
    ("NodeShard", {}, "spec: Required value"),
    ("NodeShard", {"spec": {}}, "spec.nodesDesired: Required value"),
    ("ColocationConfiguration", {}, "spec: Required value"),
    ("ColocationConfiguration", {"spec": {"memoryQos": {"highRatio": 101}}}, "spec.memoryQos.highRatio in body should be less than or equal to 100"),
]  # fmt: skip
NEITHER = "Invalid value: Either ExactMatch or RegexMatch or LabelMatch must be specified"
BOTH = "Invalid value: Only one of ExactMatch, RegexMatch, or LabelMatch can be specified"
SELECTOR_REFUSALS = [
    ({}, f"spec.members[0].selector: {NEITHER}"),
    ({"exactMatch": {"name": "a"}, "regexMatch": {"pattern": "b"}}, f"spec.members[0].selector: {BOTH}"),
    ({"regexMatch": {"pattern": "b"}, "labelMatch": {}}, f"spec.members[0].selector: {BOTH}"),
    ({"exactMatch": {"name": "a"}, "regexMatch": {"pattern": "b"}, "labelMatch": {}}, f"spec.members[0].selector: {BOTH}"),
    ({"exactMatch": {"name": ""}}, "selector.exactMatch.name in body should be at least 1 chars long"),
    ({"exactMatch": {"name": "Node_1"}}, f"selector.exactMatch.name in body should match {SUBDOMAIN}"),
    ({"exactMatch": {}}, "spec.members[0].selector.exactMatch.name: Required value"),
    ({"regexMatch": {"pattern": ""}}, "selector.regexMatch.pattern in body should be at least 1 chars long"),
]  # fmt: skip


def told(value: object) -> str | None:
    """A test id: the body and the message are too long, so only kinds speak."""
    return value if isinstance(value, str) and value in PATHS else None


@pytest.mark.parametrize(
    ("spec", "message"), JOB_REFUSALS, ids=lambda v: next(iter(v)) if v and isinstance(v, dict) else ""
)
def test_a_bad_job_is_refused_with_the_schemas_words(
    objects: Objects, spec: dict[str, Any], message: str
) -> None:
    assert message in objects.refusal("Job", spec=spec)


@pytest.mark.parametrize(
    ("task", "message"), TASK_REFUSALS, ids=lambda v: next(iter(v)) if v and isinstance(v, dict) else ""
)
def test_a_bad_task_is_refused_with_the_schemas_words(
    objects: Objects, task: dict[str, Any], message: str
) -> None:
    assert message in objects.refusal("Job", spec={"tasks": [{**TASK, **task}]})


@pytest.mark.parametrize(("kind", "body", "message"), OTHER_REFUSALS, ids=told)
def test_a_bad_object_is_refused_with_the_schemas_words(
    objects: Objects, kind: str, body: dict[str, Any], message: str
) -> None:
    assert message in objects.refusal(kind, **body)


@pytest.mark.parametrize(("selector", "message"), SELECTOR_REFUSALS)
def test_a_bad_member_selector_is_refused_with_the_rules_words(
    objects: Objects, selector: dict[str, Any], message: str
) -> None:
    members = [{"type": "Node", "selector": selector}]

    assert message in objects.refusal("HyperNode", spec={"tier": 1, "members": members})


@pytest.mark.parametrize(
    "selector",
    [
        {"exactMatch": {"name": "n-1"}},
        {"regexMatch": {"pattern": "^n-"}},
        {"labelMatch": {"matchLabels": {"a": "b"}}},
    ],
    ids=lambda selector: next(iter(selector)),
)
def test_each_member_selector_alone_is_accepted(objects: Objects, selector: dict[str, Any]) -> None:
    created = objects.create(
        "HyperNode", spec={"tier": 1, "members": [{"type": "Node", "selector": selector}]}
    )

    assert created["spec"]["members"][0]["selector"] == selector

"""The generated CRDs, row by row against a table of Volcano's fields, bounds, enums and defaults.

The tables below were written from Volcano's API, not from the generator. A row is a path and its rules; `!` marks a
required field. Objects without rules of their own have no row; the pod template and claim spec are data, checked apart.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from vcray.api.crds import MODELS, all_crds, crd_for, crd_yaml, file_name, schema_for, write_crds
from vcray.api.jsonview import dig, dig_list, dig_object, dig_objects, dig_str
from vcray.api.meta import JsonObject, JsonValue

CRDS = {dig_str(crd, "spec", "names", "kind"): crd for crd in all_crds()}

LABEL = "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"
SUB = r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$"
PATTERNS = {
    LABEL: "label",
    SUB: "sub",
    "^[^:]+$": "no-colon",
    r"^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$": "reason",
    r"^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$": "qualified",
    r"^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$": "quantity",
}
WORDS = {
    "format": "",
    "minimum": "min=",
    "maximum": "max=",
    "minLength": "minLen=",
    "maxLength": "maxLen=",
    "minItems": "minItems=",
    "default": "default=",
    "x-kubernetes-list-type": "list=",
    "x-kubernetes-map-type": "map=",
}

TOPOLOGY = """
mode: string enum=hard|soft default=hard
highestTierAllowed: integer min=0
highestTierName: string maxLen=253
"""
POLICY = """
action: string
event: string enum=*|PodPending|PodRunning|PodFailed|PodEvicted|Unknown|TaskCompleted|OutOfSync|CommandIssued|JobUpdated|TaskFailed
events[]: string enum=*|PodPending|PodRunning|PodFailed|PodEvicted|Unknown|TaskCompleted|OutOfSync|CommandIssued|JobUpdated|TaskFailed
exitCode: integer int32
timeout: string
"""
JOB_SPEC = """
schedulerName: string maxLen=63
minAvailable: integer int32 min=0
volumes[].mountPath: string minLen=1 no-colon !
volumes[].volumeClaimName: string maxLen=253
volumes[].volumeClaim: CORE
tasks: array minItems=1
tasks[].name: string maxLen=63 label
tasks[].replicas: integer int32 min=0
tasks[].minAvailable: integer int32 min=0
tasks[].template: CORE
tasks[].policies[].<POLICY>
tasks[].topologyPolicy: string enum=none|best-effort|restricted|single-numa-node
tasks[].maxRetry: integer int32 min=0
tasks[].dependsOn.name[]: string
tasks[].dependsOn.iteration: string
tasks[].partitionPolicy.totalPartitions: integer int32 min=1 !
tasks[].partitionPolicy.partitionSize: integer int32 min=1 !
tasks[].partitionPolicy.minPartitions: integer int32 min=0 default=0
tasks[].partitionPolicy.networkTopology.<TOPOLOGY>
policies[].<POLICY>
plugins{}[]: string
runningEstimate: string
queue: string default=default maxLen=253 sub
maxRetry: integer int32 min=0 default=3
ttlSecondsAfterFinished: integer int32 min=0
priorityClassName: string maxLen=253 sub
minSuccess: integer int32 min=1
networkTopology.<TOPOLOGY>
"""
SELECTOR = """
matchLabels{}: string
matchExpressions: array list=atomic
matchExpressions[].key: string !
matchExpressions[].operator: string !
matchExpressions[].values: array list=atomic
matchExpressions[].values[]: string
"""
CONDITION = """
type: string maxLen=316 qualified !
status: string enum=True|False|Unknown !
reason: string minLen=1 maxLen=1024 reason !
message: string maxLen=32768 !
lastTransitionTime: string date-time !
observedGeneration: integer int64 min=0
"""
FRAGMENTS = {
    "TOPOLOGY": TOPOLOGY,
    "POLICY": POLICY,
    "JOB_SPEC": JOB_SPEC,
    "SELECTOR": SELECTOR,
    "CONDITION": CONDITION,
}

TABLES = {
    "Job": """
spec.<JOB_SPEC>
status.state.phase: string enum=Pending|Aborting|Aborted|Running|Restarting|Completing|Completed|Terminating|Terminated|Failed
status.state.reason: string
status.state.message: string
status.state.lastTransitionTime: string date-time
status.minAvailable: integer int32 min=0
status.pending: integer int32 min=0
status.running: integer int32 min=0
status.succeeded: integer int32 min=0
status.failed: integer int32 min=0
status.terminating: integer int32 min=0
status.unknown: integer int32 min=0
status.version: integer int32 min=0
status.retryCount: integer int32 min=0
status.taskStatusCount{}.phase{}: integer int32
status.runningDuration: string
status.controlledResources{}: string
status.conditions[].status: string !
status.conditions[].lastTransitionTime: string date-time
""",
    "CronJob": """
spec.schedule: string !
spec.timeZone: string
spec.startingDeadlineSeconds: integer int64 min=0
spec.concurrencyPolicy: string enum=Allow|Forbid|Replace default=Allow
spec.suspend: boolean default=False
spec.jobTemplate: object !
spec.jobTemplate.metadata.name: string
spec.jobTemplate.metadata.namespace: string
spec.jobTemplate.metadata.labels{}: string
spec.jobTemplate.metadata.annotations{}: string
spec.jobTemplate.metadata.finalizers[]: string
spec.jobTemplate.spec.<JOB_SPEC>
spec.successfulJobsHistoryLimit: integer int32 min=0 default=3
spec.failedJobsHistoryLimit: integer int32 min=0 default=1
status.active: array list=atomic
status.active[]: object map=atomic
status.active[].apiVersion: string
status.active[].fieldPath: string
status.active[].kind: string
status.active[].name: string
status.active[].namespace: string
status.active[].resourceVersion: string
status.active[].uid: string
status.lastScheduleTime: string date-time
status.lastSuccessfulTime: string date-time
""",
    "PodGroup": """
spec.minMember: integer int32 min=0
spec.minTaskMember{}: integer int32
spec.queue: string default=default maxLen=253 sub
spec.priorityClassName: string maxLen=253
spec.minResources{}: int-or-string quantity
spec.networkTopology.<TOPOLOGY>
spec.subGroupPolicy[].name: string maxLen=253
spec.subGroupPolicy[].networkTopology.<TOPOLOGY>
spec.subGroupPolicy[].subGroupSize: integer int32 min=1 default=1
spec.subGroupPolicy[].minSubGroups: integer int32 min=0 default=0
spec.subGroupPolicy[].labelSelector: object map=atomic
spec.subGroupPolicy[].labelSelector.<SELECTOR>
spec.subGroupPolicy[].matchLabelKeys: array list=atomic
spec.subGroupPolicy[].matchLabelKeys[]: string
status.phase: string enum=Pending|Running|Unknown|Inqueue|Completed
status.conditions[].type: string
status.conditions[].status: string
status.conditions[].transitionID: string
status.conditions[].lastTransitionTime: string date-time
status.conditions[].reason: string
status.conditions[].message: string
status.running: integer int32 min=0
status.succeeded: integer int32 min=0
status.failed: integer int32 min=0
""",
    "Queue": """
spec.weight: integer int32 min=1 max=65535 default=1
spec.capability{}: int-or-string quantity
spec.deserved{}: int-or-string quantity
spec.reclaimable: boolean
spec.extendClusters[].name: string
spec.extendClusters[].weight: integer int32
spec.extendClusters[].capacity{}: int-or-string quantity
spec.guarantee.resource{}: int-or-string quantity
spec.affinity.nodeGroupAffinity.requiredDuringSchedulingIgnoredDuringExecution[]: string
spec.affinity.nodeGroupAffinity.preferredDuringSchedulingIgnoredDuringExecution[]: string
spec.affinity.nodeGroupAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution[]: string
spec.affinity.nodeGroupAntiAffinity.preferredDuringSchedulingIgnoredDuringExecution[]: string
spec.type: string maxLen=253
spec.parent: string maxLen=253 sub
spec.priority: integer int32 min=0
spec.dequeueStrategy: string enum=fifo|traverse default=traverse
status.state: string enum=Open|Closed|Closing|Unknown
status.unknown: integer int32 min=0
status.pending: integer int32 min=0
status.running: integer int32 min=0
status.inqueue: integer int32 min=0
status.completed: integer int32 min=0
status.reservation.nodes[]: string
status.reservation.resource{}: int-or-string quantity
status.allocated{}: int-or-string quantity
""",
    "Command": """
action: string
target: object map=atomic
target.apiVersion: string !
target.kind: string !
target.name: string !
target.uid: string !
target.controller: boolean
target.blockOwnerDeletion: boolean
reason: string
message: string
""",
    "Numatopology": """
spec.policies{}: string
spec.resReserved{}: string
spec.numares{}.allocatable: string
spec.numares{}.capacity: integer
spec.cpuDetail{}.numa: integer min=0
spec.cpuDetail{}.socket: integer min=0
spec.cpuDetail{}.core: integer min=0
spec.podAllocations[].uid: string
spec.podAllocations[].name: string
spec.podAllocations[].namespace: string
spec.podAllocations[].containerAllocations[].name: string
spec.podAllocations[].containerAllocations[].allocations{}: string
""",
    "HyperNode": """
spec.tier: integer min=0 !
spec.tierName: string maxLen=253
spec.members: array minItems=1
spec.members[].type: string enum=Node|HyperNode !
spec.members[].selector: object rules=2
spec.members[].selector.exactMatch.name: string minLen=1 maxLen=253 sub !
spec.members[].selector.regexMatch.pattern: string minLen=1 !
spec.members[].selector.labelMatch: object map=atomic
spec.members[].selector.labelMatch.<SELECTOR>
status.conditions[].<CONDITION>
status.nodeCount: integer int64 min=0
""",
    "JobFlow": """
spec.flows[].name: string minLen=1 !
spec.flows[].dependsOn.targets[]: string
spec.flows[].dependsOn.probe.httpGetList[].taskName: string maxLen=253
spec.flows[].dependsOn.probe.httpGetList[].path: string
spec.flows[].dependsOn.probe.httpGetList[].port: integer min=0 max=65535
spec.flows[].dependsOn.probe.httpGetList[].httpHeader.name: string !
spec.flows[].dependsOn.probe.httpGetList[].httpHeader.value: string !
spec.flows[].dependsOn.probe.tcpSocketList[].taskName: string maxLen=253
spec.flows[].dependsOn.probe.tcpSocketList[].port: integer min=0 max=65535 !
spec.flows[].dependsOn.probe.taskStatusList[].taskName: string maxLen=253
spec.flows[].dependsOn.probe.taskStatusList[].phase: string maxLen=63
spec.flows[].patch.jobSpec.<JOB_SPEC>
spec.jobRetainPolicy: string enum=retain|delete
status.pendingJobs[]: string
status.runningJobs[]: string
status.failedJobs[]: string
status.completedJobs[]: string
status.terminatedJobs[]: string
status.unKnowJobs[]: string
status.jobStatusList[].name: string
status.jobStatusList[].state: string
status.jobStatusList[].startTimestamp: string date-time
status.jobStatusList[].endTimestamp: string date-time
status.jobStatusList[].restartCount: integer int32 min=0
status.jobStatusList[].runningHistories[].startTimestamp: string date-time
status.jobStatusList[].runningHistories[].endTimestamp: string date-time
status.jobStatusList[].runningHistories[].state: string
status.conditions{}.phase: string
status.conditions{}.createTime: string date-time
status.conditions{}.runningDuration: string
status.conditions{}.taskStatusCount{}.phase{}: integer int32
status.state.phase: string enum=Succeed|Terminating|Failed|Running|Pending
""",
    "JobTemplate": """
spec.<JOB_SPEC>
status.jobDependsOnList[]: string
""",
    "NodeShard": """
spec: object !
spec.nodesDesired: array !
spec.nodesDesired[]: string
status.lastUpdateTime: string date-time
status.nodesInUse[]: string
status.nodesToRemove[]: string
status.nodesToAdd[]: string
""",
    "ColocationConfiguration": """
spec: object !
spec.selector: object map=atomic
spec.selector.<SELECTOR>
spec.memoryQos.highRatio: integer min=0 max=100 default=100
spec.memoryQos.lowRatio: integer min=0 max=100 default=0
spec.memoryQos.minRatio: integer min=0 max=100 default=0
status.conditions: array list=map
status.conditions[].<CONDITION>
""",
}

AGE = ".metadata.creationTimestamp"
FRAMES = {
    # kind: group, version, scope, plural, short names, subresources, columns
    "Job": ("batch.volcano.sh", "v1alpha1", "Namespaced", "jobs", ["vcjob", "vj"], {"status": {}}),
    "CronJob": (
        "batch.volcano.sh",
        "v1alpha1",
        "Namespaced",
        "cronjobs",
        ["cronvcjob", "cronvj"],
        {"status": {}},
    ),
    "PodGroup": (
        "scheduling.volcano.sh",
        "v1beta1",
        "Namespaced",
        "podgroups",
        ["pg", "podgroup-v1beta1"],
        {},
    ),
    "Queue": (
        "scheduling.volcano.sh",
        "v1beta1",
        "Cluster",
        "queues",
        ["q", "queue-v1beta1"],
        {"status": {}},
    ),
    "Command": ("bus.volcano.sh", "v1alpha1", "Namespaced", "commands", None, None),
    "Numatopology": ("nodeinfo.volcano.sh", "v1alpha1", "Cluster", "numatopologies", ["numatopo"], None),
    "HyperNode": ("topology.volcano.sh", "v1alpha1", "Cluster", "hypernodes", ["hn"], {"status": {}}),
    "JobFlow": ("flow.volcano.sh", "v1alpha1", "Namespaced", "jobflows", ["jf"], {"status": {}}),
    "JobTemplate": ("flow.volcano.sh", "v1alpha1", "Namespaced", "jobtemplates", ["jt"], {"status": {}}),
    "NodeShard": ("shard.volcano.sh", "v1alpha1", "Cluster", "nodeshards", ["nsh"], {"status": {}}),
    "ColocationConfiguration": (
        "config.volcano.sh",
        "v1alpha1",
        "Namespaced",
        "colocationconfigurations",
        None,
        {"status": {}},
    ),
}
COLUMNS = {
    "Job": [
        ("STATUS", "string", ".status.state.phase", None),
        ("minAvailable", "integer", ".status.minAvailable", None),
        ("RUNNINGS", "integer", ".status.running", None),
        ("AGE", "date", AGE, None),
        ("QUEUE", "string", ".spec.queue", 1),
    ],
    "PodGroup": [
        ("STATUS", "string", ".status.phase", None),
        ("minMember", "integer", ".spec.minMember", None),
        ("RUNNINGS", "integer", ".status.running", None),
        ("AGE", "date", AGE, None),
        ("QUEUE", "string", ".spec.queue", 1),
    ],
    "Queue": [("PARENT", "string", ".spec.parent", None)],
    "HyperNode": [
        ("Tier", "string", ".spec.tier", None),
        ("TierName", "string", ".spec.tierName", None),
        ("NodeCount", "integer", ".status.nodeCount", None),
        ("Age", "date", AGE, None),
    ],
    "JobFlow": [("Status", "string", ".status.state.phase", None), ("Age", "date", AGE, None)],
    "NodeShard": [("AGE", "date", AGE, None)],
}


def rows_of(table: str, prefix: str = "") -> dict[str, frozenset[str]]:
    """A table's rows, fragments put in."""
    rows: dict[str, frozenset[str]] = {}
    for line in filter(None, table.splitlines()):
        if line.endswith(">"):
            path, _, fragment = line[:-1].rpartition("<")
            rows |= rows_of(FRAGMENTS[fragment], prefix + path)
        else:
            path, _, rules = line.partition(": ")
            rows[prefix + path] = frozenset(rules.split(" "))
    return rows


def rules_of(schema: JsonObject, required: bool) -> frozenset[str]:
    """One schema's own rules in the words of the tables."""
    words = {"int-or-string" if schema.get("x-kubernetes-int-or-string") else dig_str(schema, "type")}
    words |= {f"{word}{schema[key]}" for key, word in WORDS.items() if key in schema}
    if "pattern" in schema:
        words.add(PATTERNS[dig_str(schema, "pattern")])
    if "enum" in schema:
        words.add("enum=" + "|".join(map(str, dig_list(schema, "enum"))))
    if "x-kubernetes-validations" in schema:
        words.add(f"rules={len(dig_list(schema, 'x-kubernetes-validations'))}")
    return frozenset(words | ({"!"} if required else set()))


def flatten(
    schema: JsonObject, path: str = "", required: bool = False
) -> Iterator[tuple[str, frozenset[str]]]:
    """Every path of a schema that has a rule of its own."""
    if path.endswith((".template", ".volumeClaim")):
        yield path, frozenset({"CORE"})
        return
    rules = rules_of(schema, required)
    if path and rules not in ({"object"}, {"array"}):
        yield path, rules
    needed = dig_list(schema, "required")
    for name, inner in dig_object(schema, "properties").items():
        assert isinstance(inner, dict)
        yield from flatten(inner, f"{path}.{name}" if path else name, name in needed)
    for key, mark in (("items", "[]"), ("additionalProperties", "{}")):
        if isinstance(inner := schema.get(key), dict):
            yield from flatten(inner, path + mark)


def version_of(kind: str) -> JsonObject:
    (version,) = dig_objects(CRDS[kind], "spec", "versions")
    return version


def schema_of(kind: str) -> JsonObject:
    return dig_object(version_of(kind), "schema", "openAPIV3Schema")


def test_there_is_a_crd_for_each_kind() -> None:
    assert CRDS.keys() == TABLES.keys() == FRAMES.keys()


@pytest.mark.parametrize("kind", TABLES)
def test_fields_bounds_enums_and_defaults_are_volcanos(kind: str) -> None:
    found = dict(flatten(schema_of(kind)))
    assert found.pop("apiVersion") == found.pop("kind") == {"string"}
    assert found == rows_of(TABLES[kind])


@pytest.mark.parametrize("kind", FRAMES)
def test_names_scope_and_subresources_are_volcanos(kind: str) -> None:
    group, version, scope, plural, short_names, subresources = FRAMES[kind]
    crd = CRDS[kind]
    assert crd["apiVersion"] == "apiextensions.k8s.io/v1"
    assert dig_object(crd, "metadata") == {
        "name": f"{plural}.{group}",
        "annotations": {
            "controller-gen.kubebuilder.io/version": "v0.20.0",
            "helm.sh/resource-policy": "keep",
        },
    }
    assert dig_object(crd, "spec", "names") == {
        "kind": kind,
        "listKind": f"{kind}List",
        "plural": plural,
        "singular": kind.lower(),
    } | ({"shortNames": short_names} if short_names else {})
    assert (dig(crd, "spec", "group"), dig(crd, "spec", "scope")) == (group, scope)
    served = version_of(kind)
    assert (served["name"], served["served"], served["storage"]) == (version, True, True)
    assert served.get("subresources") == subresources


@pytest.mark.parametrize("kind", FRAMES)
def test_printer_columns_are_volcanos(kind: str) -> None:
    columns = dig_objects(version_of(kind), "additionalPrinterColumns")
    found = [(c["name"], c["type"], c["jsonPath"], c.get("priority")) for c in columns]
    assert found == COLUMNS.get(kind, [])


def test_the_rules_of_a_member_selector_speak_volcanos_words() -> None:
    selector = dig_object(
        schema_of("HyperNode"),
        "properties",
        "spec",
        "properties",
        "members",
        "items",
        "properties",
        "selector",
    )
    first, second = dig_objects(selector, "x-kubernetes-validations")
    assert first["rule"] == "has(self.exactMatch) || has(self.regexMatch) || has(self.labelMatch)"
    assert first["message"] == "Either ExactMatch or RegexMatch or LabelMatch must be specified"
    assert second["message"] == "Only one of ExactMatch, RegexMatch, or LabelMatch can be specified"


def test_conditions_of_a_colocation_configuration_are_keyed_by_type() -> None:
    conditions = dig_object(
        schema_of("ColocationConfiguration"), "properties", "status", "properties", "conditions"
    )
    assert conditions["x-kubernetes-list-map-keys"] == ["type"]


def every_schema(value: JsonValue) -> Iterator[JsonObject]:
    if isinstance(value, dict):
        if "type" in value and not isinstance(value["type"], dict):
            yield value
        for inner in value.values():
            yield from every_schema(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from every_schema(inner)


def task_template() -> JsonObject:
    tasks = dig_object(schema_of("Job"), "properties", "spec", "properties", "tasks")
    return dig_object(tasks, "items", "properties", "template")


def test_the_pod_template_is_kubernetes_own_with_trimmed_metadata() -> None:
    template = task_template()
    metadata = dig_object(template, "properties", "metadata", "properties")
    assert sorted(metadata) == ["annotations", "finalizers", "labels", "name", "namespace"]
    spec = dig_object(template, "properties", "spec")
    assert spec["required"] == ["containers"]
    assert {"hostnameOverride", "resourceClaims", "resources"} <= dig_object(spec, "properties").keys()
    port = dig_object(spec, "properties", "containers", "items", "properties", "ports", "items", "properties")
    assert dig(port, "protocol", "default") == "TCP"


@pytest.mark.parametrize("kind", TABLES)
def test_unknown_fields_are_pruned_everywhere(kind: str) -> None:
    for schema in every_schema(schema_of(kind)):
        assert "x-kubernetes-preserve-unknown-fields" not in schema


@pytest.mark.parametrize("kind", TABLES)
def test_each_field_of_ours_has_a_description(kind: str) -> None:
    def undescribed(schema: JsonObject, path: str) -> Iterator[str]:
        for name, inner in dig_object(schema, "properties").items():
            assert isinstance(inner, dict)
            here = f"{path}.{name}"
            if "description" not in inner and here != ".metadata":
                yield here
            if name not in ("template", "volumeClaim"):
                yield from undescribed(inner, here)
        for key in ("items", "additionalProperties"):
            if isinstance(inner := schema.get(key), dict):
                yield from undescribed(inner, path)

    assert list(undescribed(schema_of(kind), "")) == []


def test_the_files_in_deploy_are_what_the_models_generate(tmp_path: Path) -> None:
    folder = Path(__file__).parents[2] / "deploy" / "crds"
    written = {path.name: path.read_text() for path in write_crds(tmp_path)}
    kept = {path.name: path.read_text() for path in folder.glob("*.yaml")}
    assert kept == written, "run `vcray crds` and commit deploy/crds"
    listed = yaml.safe_load((folder.parent / "kustomization.yaml").read_text())["resources"]
    assert {each for each in listed if each.startswith("crds/")} == {f"crds/{name}" for name in kept}


def test_a_crd_read_back_from_yaml_is_the_same_object() -> None:
    crd = CRDS["Queue"]
    assert yaml.safe_load(crd_yaml(crd)) == crd
    assert file_name(crd) == "scheduling.volcano.sh_queues.yaml"


def test_a_crd_may_be_changed_without_touching_the_next() -> None:
    crd = crd_for(MODELS[0])
    dig_object(crd, "spec", "versions", 0, "schema", "openAPIV3Schema").clear()
    assert crd_for(MODELS[0]) == CRDS["Job"]


def test_schemas_are_found_by_kind_and_told_apart_by_api_version() -> None:
    assert schema_for("Job") is schema_for("Job", "batch.volcano.sh/v1alpha1")
    with pytest.raises(KeyError):
        schema_for("Job", "batch/v1")


@pytest.mark.parametrize("kind", TABLES)
def test_a_crd_fits_into_the_annotation_that_kubectl_apply_writes(kind: str) -> None:
    assert len(json.dumps(CRDS[kind])) < 262_144

"""Each rule of a pod template by itself."""

from __future__ import annotations

import pytest

from vcray.api.meta import JsonObject, JsonValue
from vcray.api.podchecks import template_problems


def problems(container: JsonObject | None = None, name: str = "t", **spec: JsonValue) -> list[str]:
    whole: JsonObject = {"containers": [{"name": "c", "image": "i", **(container or {})}], **spec}
    return list(template_problems(name, {"spec": whole}))


C = "template.spec.containers[0]"
NODE: JsonObject = {"fieldPath": "spec.nodeName"}
KEY: JsonObject = {"name": "n", "key": "k"}
TRUE: JsonObject = {"command": ["true"]}
NEGATIVE = "must be greater than or equal to 0"


def test_good_template_has_no_problem() -> None:
    good: JsonObject = {
        "ports": [{"containerPort": 80, "hostPort": 80, "name": "http"}],
        "env": [{"name": "A", "value": "b"}, {"name": "B", "valueFrom": {"fieldRef": {}}}],
        "volumeMounts": [{"name": "v", "mountPath": "/v"}],
        "imagePullPolicy": "Never",
        "resources": {"requests": {"cpu": "1"}, "limits": {"cpu": "2", "nvidia.com/gpu": 1}},
        "livenessProbe": {"exec": {"command": ["true"]}},
    }

    assert (
        problems(
            good,
            volumes=[{"name": "v", "emptyDir": {}}, {"name": "w"}],
            hostNetwork=True,
            nodeSelector={"a/b": "c"},
            tolerations=[{"operator": "Exists"}, {"key": "k", "value": "v", "effect": "NoSchedule"}],
            schedulingGates=[{"name": "example.com/gate"}],
            activeDeadlineSeconds=1,
            hostname="h",
            priorityClassName="high",
            initContainers=[{"name": "s", "image": "i", "restartPolicy": "Always", "lifecycle": {}}],
        )
        == []
    )


WRONG_CONTAINERS: list[tuple[JsonObject, str]] = [
    ({"name": ""}, f"{C}.name: Required value"),
    ({"image": ""}, f"{C}.image: Required value"),
    ({"ports": [{}]}, f"{C}.ports[0].containerPort: Required value"),
    (
        {"ports": [{"containerPort": 70000}]},
        f"{C}.ports[0].containerPort: Invalid value: 70000: must be between 1 and 65535, inclusive",
    ),
    (
        {"ports": [{"containerPort": 1, "hostPort": -1}]},
        f"{C}.ports[0].hostPort: Invalid value: -1: must be between 1 and 65535, inclusive",
    ),
    (
        {"ports": [{"containerPort": 1, "protocol": "X"}]},
        f'{C}.ports[0].protocol: Unsupported value: "X": supported values: "SCTP", "TCP", "UDP"',
    ),
    (
        {"ports": [{"containerPort": 1, "name": "a"}, {"containerPort": 2, "name": "a"}]},
        f'{C}.ports[1].name: Duplicate value: "a"',
    ),
    (
        {"ports": [{"containerPort": 1, "hostPort": 9}, {"containerPort": 2, "hostPort": 9}]},
        f'{C}.ports[1].hostPort: Duplicate value: "TCP//9"',
    ),
    ({"env": [{"value": "x"}]}, f"{C}.env[0].name: Required value"),
    (
        {"env": [{"name": "A", "valueFrom": {}}]},
        f'{C}.env[0].valueFrom: Invalid value: "": must specify one of: `fieldRef`, `resourceFieldRef`, '
        "`configMapKeyRef` or `secretKeyRef`",
    ),
    (
        {"env": [{"name": "A", "value": "x", "valueFrom": {"fieldRef": NODE}}]},
        f'{C}.env[0].valueFrom: Invalid value: "": may not be specified when `value` is not empty',
    ),
    (
        {"env": [{"name": "A", "valueFrom": {"fieldRef": NODE, "secretKeyRef": KEY}}]},
        f'{C}.env[0].valueFrom: Invalid value: "": may not have more than one field specified at a time',
    ),
    (
        {"imagePullPolicy": "X"},
        f'{C}.imagePullPolicy: Unsupported value: "X": supported values: "Always", "IfNotPresent", "Never"',
    ),
    ({"volumeMounts": [{"name": "v", "mountPath": "/v"}]}, f'{C}.volumeMounts[0].name: Not found: "v"'),
    ({"livenessProbe": {}}, f"{C}.livenessProbe: Required value: must specify a handler type"),
    (
        {"startupProbe": {"exec": TRUE, "grpc": {"port": 1}}},
        f"{C}.startupProbe.grpc: Forbidden: may not specify more than 1 handler type",
    ),
    (
        {"livenessProbe": {"exec": TRUE, "successThreshold": 2}},
        f"{C}.livenessProbe.successThreshold: Invalid value: 2: must be 1",
    ),
]
"""What is wrong, and what is told of it."""


@pytest.mark.parametrize(("container", "problem"), WRONG_CONTAINERS)
def test_wrong_container_is_told(container: JsonObject, problem: str) -> None:
    assert problems(container) == [problem]


WRONG_RESOURCES: list[tuple[JsonObject, str]] = [
    ({"requests": {"cpu": "-1"}}, f'requests[cpu]: Invalid value: "-1": {NEGATIVE}'),
    (
        {"requests": {"cpu": "2"}, "limits": {"cpu": "1"}},
        'requests: Invalid value: "2": must be less than or equal to cpu limit of 1',
    ),
    (
        {"requests": {"nvidia.com/gpu": "1"}},
        "limits: Required value: Limit must be set for non overcommitable resources",
    ),
    (
        {"requests": {"nvidia.com/gpu": "1"}, "limits": {"nvidia.com/gpu": "2"}},
        'requests: Invalid value: "1": must be equal to nvidia.com/gpu limit of 2',
    ),
    (
        {"limits": {"requests.example.com/a": "1"}},
        'limits[requests.example.com/a]: Invalid value: "requests.example.com/a": '
        "doesn't follow extended resource name standard",
    ),
]
"""What is wrong, and what is told of it."""


@pytest.mark.parametrize(("resources", "problem"), WRONG_RESOURCES)
def test_wrong_amount_is_told(resources: JsonObject, problem: str) -> None:
    assert problems({"resources": resources}) == [f"{C}.resources.{problem}"]


def test_negative_limit_is_told() -> None:
    told = problems({"resources": {"limits": {"memory": "-1"}}})

    assert told == [f'{C}.resources.limits[memory]: Invalid value: "-1": {NEGATIVE}']


def test_fractions_of_devices_and_unknown_plain_names_are_told() -> None:
    assert f'{C}.resources.limits[nvidia.com/gpu]: Invalid value: "500m": must be an integer' in problems(
        {"resources": {"limits": {"nvidia.com/gpu": "500m"}}}
    )
    assert (
        f'{C}.resources.requests[gpu]: Invalid value: "gpu": must be a standard resource type or fully qualified'
        in problems({"resources": {"requests": {"gpu": "1"}}})
    )


def test_huge_pages_need_cpu_or_memory() -> None:
    alone: JsonObject = {"limits": {"hugepages-2Mi": "4Mi"}}

    assert problems({"resources": alone}) == [f"{C}.resources: Forbidden: HugePages require cpu or memory"]


def test_mounts_are_told_apart() -> None:
    mounts: list[JsonValue] = [
        {"name": "v", "mountPath": "/v"},
        {"name": "v", "mountPath": "/v"},
        {"name": "v"},
    ]

    assert problems({"volumeMounts": mounts}, volumes=[{"name": "v"}]) == [
        f'{C}.volumeMounts[1].mountPath: Invalid value: "/v": must be unique',
        f"{C}.volumeMounts[2].mountPath: Required value",
    ]


WRONG_SPECS: list[tuple[JsonObject, str]] = [
    ({"containers": []}, "containers: Required value"),
    (
        {"restartPolicy": "X"},
        'restartPolicy: Unsupported value: "X": supported values: "Always", "OnFailure", "Never"',
    ),
    (
        {"dnsPolicy": "X"},
        'dnsPolicy: Unsupported value: "X": supported values: '
        '"ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"',
    ),
    ({"volumes": [{"name": "v"}, {"name": "v"}]}, 'volumes[1].name: Duplicate value: "v"'),
    ({"volumes": [{"emptyDir": {}}]}, "volumes[0].name: Required value"),
    (
        {"volumes": [{"name": "v", "emptyDir": {}, "hostPath": {}}]},
        "volumes[0].hostPath: Forbidden: may not specify more than 1 volume type",
    ),
    ({"schedulingGates": [{"name": "g"}, {"name": "g"}]}, 'schedulingGates[1]: Duplicate value: "g"'),
    (
        {"activeDeadlineSeconds": 0},
        "activeDeadlineSeconds: Invalid value: 0: must be between 1 and 2147483647, inclusive",
    ),
    (
        {"initContainers": [{"name": "c", "image": "i"}]},
        'initContainers[0].name: Duplicate value: "c"',
    ),
    (
        {"initContainers": [{"name": "d", "image": "i", "readinessProbe": {"exec": {}}}]},
        "initContainers[0].readinessProbe: Forbidden: "
        "may not be set for init containers without restartPolicy=Always",
    ),
    (
        {"tolerations": [{"key": ""}]},
        'tolerations[0].operator: Invalid value: "": '
        'operator must be Exists when `key` is empty, which means "match all values and all keys"',
    ),
    (
        {"tolerations": [{"key": "k", "tolerationSeconds": 1}]},
        "tolerations[0].effect: Invalid value: \"\": effect must be 'NoExecute' when `tolerationSeconds` is set",
    ),
    (
        {"tolerations": [{"key": "k", "operator": "Exists", "value": "v"}]},
        "tolerations[0].operator: Invalid value: \"v\": value must be empty when `operator` is 'Exists'",
    ),
    (
        {"tolerations": [{"key": "k", "operator": "X"}]},
        'tolerations[0].operator: Unsupported value: "X": supported values: "Equal", "Exists"',
    ),
    (
        {"tolerations": [{"key": "k", "effect": "X"}]},
        'tolerations[0].effect: Unsupported value: "X": supported values: '
        '"NoSchedule", "PreferNoSchedule", "NoExecute"',
    ),
    (
        {
            "hostNetwork": True,
            "containers": [{"name": "c", "image": "i", "ports": [{"containerPort": 1, "hostPort": 2}]}],
        },
        "containers[0].ports[0].hostPort: Invalid value: 2: must match `containerPort` when `hostNetwork` is true",
    ),
    (
        {"hostname": "a.b"},
        'hostname: Invalid value: "a.b": must not contain dots',
    ),
]
"""What is wrong, and what is told of it."""


@pytest.mark.parametrize(("spec", "problem"), WRONG_SPECS)
def test_wrong_spec_is_told(spec: dict[str, JsonValue], problem: str) -> None:
    assert problems(**spec) == [f"template.spec.{problem}"]


@pytest.mark.parametrize("field", ["serviceAccountName", "nodeName", "priorityClassName"])
def test_names_of_other_objects_are_subdomains(field: str) -> None:
    (told,) = problems(**{field: "No_Name"})

    assert told.startswith(f'template.spec.{field}: Invalid value: "No_Name": a lowercase RFC 1123 subdomain')


def test_labels_annotations_and_selectors_have_keys_and_values() -> None:
    template: JsonObject = {
        "metadata": {"labels": {"a/b/c": "x"}, "annotations": {"-": "x"}},
        "spec": {"containers": [{"name": "c", "image": "i"}], "nodeSelector": {"k": "-"}},
    }

    told = [each.partition(":")[0] for each in template_problems("t", template)]

    assert told == ["template.labels", "template.annotations", "template.spec.nodeSelector"]


def test_template_needs_a_name_and_no_ephemeral_containers() -> None:
    assert problems(name="") == ["metadata.name: Required value: name or generateName is required"]
    assert problems(ephemeralContainers=[{"name": "e"}]) == [
        "template.spec.ephemeralContainers: Forbidden: ephemeral containers not allowed in pod template"
    ]

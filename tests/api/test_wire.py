"""Pods and nodes from bytes: the fields we read, nulls, shapes that are wrong, watch lines."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vcray.api.meta import JsonObject
from vcray.api.wire import (
    Metadata,
    Pod,
    PodSpec,
    decode_claim,
    decode_list,
    decode_node,
    decode_object,
    decode_pod,
    decode_priority_class,
    decode_watch_line,
    encode_object,
    from_wire,
    to_node,
    to_pod,
)

POD: JsonObject = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {
        "name": "a",
        "namespace": "ns",
        "uid": "u",
        "resourceVersion": "9",
        "creationTimestamp": "2026-01-02T03:04:05Z",
        "deletionGracePeriodSeconds": 30,
        "labels": {"app": "x"},
        "managedFields": [{"manager": "m"}],
        "ownerReferences": [{"apiVersion": "v1", "kind": "B", "name": "b", "uid": "1", "controller": True}],
    },
    "spec": {
        "nodeName": "n1",
        "schedulerName": "volcano",
        "priority": -5,
        "hostNetwork": True,
        "nodeSelector": {"disk": "ssd"},
        "schedulingGates": [{"name": "g"}],
        "tolerations": [{"key": "k", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}],
        "overhead": {"cpu": "250m"},
        "volumes": [
            {"name": "v", "persistentVolumeClaim": {"claimName": "c"}},
            {"name": "e", "ephemeral": {"volumeClaimTemplate": {"spec": {}}}},
            {"name": "x", "emptyDir": {}},
        ],
        "affinity": {
            "nodeAffinity": {
                "requiredDuringSchedulingIgnoredDuringExecution": {
                    "nodeSelectorTerms": [
                        {"matchExpressions": [{"key": "z", "operator": "In", "values": ["1"]}]}
                    ]
                }
            },
            "podAntiAffinity": {
                "preferredDuringSchedulingIgnoredDuringExecution": [
                    {
                        "weight": 7,
                        "podAffinityTerm": {"topologyKey": "t", "labelSelector": {"matchLabels": {"a": "b"}}},
                    }
                ]
            },
        },
        "topologySpreadConstraints": [
            {"topologyKey": "t", "maxSkew": 2, "whenUnsatisfiable": "ScheduleAnyway"}
        ],
        "containers": [
            {
                "name": "m",
                "image": "i",
                "ports": [{"containerPort": 80, "hostPort": 81, "hostIP": "1.1.1.1"}],
                "resources": {"requests": {"cpu": 1, "memory": "1Gi"}},
            }
        ],
    },
    "status": {
        "phase": "Running",
        "podIP": "10.0.0.1",
        "startTime": "2026-01-02T03:04:06Z",
        "conditions": [
            {"type": "Ready", "status": "True", "lastProbeTime": None, "lastTransitionTime": None}
        ],
        "containerStatuses": [
            {
                "name": "m",
                "ready": True,
                "restartCount": 2,
                "state": {"terminated": {"exitCode": 137, "reason": "OOMKilled"}},
            }
        ],
    },
}


def encoded(value: JsonObject) -> bytes:
    return json.dumps(value).encode()


def test_a_pod_is_read_field_by_field() -> None:
    pod = decode_pod(encoded(POD))
    assert pod.metadata.key == "ns/a"
    assert pod.metadata.creation_timestamp == datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
    assert pod.metadata.controller is not None
    assert pod.metadata.controller.kind == "B"
    assert (pod.spec.node_name, pod.spec.priority, pod.spec.host_network) == ("n1", -5, True)
    assert pod.spec.containers[0].ports[0].host_ip == "1.1.1.1"
    assert pod.spec.containers[0].resources.requests == {"cpu": 1, "memory": "1Gi"}
    assert pod.spec.affinity is not None
    assert pod.spec.affinity.node_affinity is not None
    assert pod.spec.affinity.node_affinity.required is not None
    assert pod.spec.affinity.node_affinity.required.node_selector_terms[0].match_expressions[0].values == (
        "1",
    )
    assert pod.spec.affinity.pod_anti_affinity is not None
    assert pod.spec.affinity.pod_anti_affinity.preferred[0].weight == 7
    assert [v.persistent_volume_claim is not None for v in pod.spec.volumes] == [True, False, False]
    assert [v.ephemeral is not None for v in pod.spec.volumes] == [False, True, False]
    assert pod.status.pod_ip == "10.0.0.1"
    terminated = pod.status.container_statuses[0].state.terminated
    assert terminated is not None
    assert terminated.exit_code == 137


def test_bytes_and_decoded_json_give_the_same_pod() -> None:
    assert to_pod(POD) == decode_pod(encoded(POD))


def test_a_struct_written_as_json_reads_back() -> None:
    pod = to_pod(POD)
    assert to_pod(from_wire(pod)) == pod
    assert from_wire(Pod(metadata=Metadata(name="a"), spec=PodSpec(node_name="n"))) == {
        "metadata": {"name": "a"},
        "spec": {"nodeName": "n"},
    }


@pytest.mark.parametrize(
    "path", ["metadata.labels", "spec.containers", "spec.nodeName", "status.conditions", "status"]
)
def test_null_means_absent_anywhere(path: str) -> None:
    *parents, last = path.split(".")
    pod = json.loads(encoded(POD))
    target = pod
    for parent in parents:
        target = target[parent]
    nulled = target | {last: None}
    del target[last]
    absent = decode_pod(encoded(pod))
    target.update(nulled)
    assert decode_pod(encoded(pod)) == absent
    assert to_pod(pod) == absent


def test_a_wrong_shape_is_an_error_that_says_where() -> None:
    with pytest.raises(msgspec.ValidationError, match=r"\$\.spec\.priority"):
        decode_pod(b'{"spec": {"priority": "high"}}')
    with pytest.raises(msgspec.DecodeError):
        decode_pod(b'{"spec": ')


def test_a_node_is_read_field_by_field() -> None:
    node: JsonObject = {
        "metadata": {"name": "n1", "labels": {"zone": "z"}},
        "spec": {"unschedulable": True, "taints": [{"key": "k", "value": "v", "effect": "NoSchedule"}]},
        "status": {
            "allocatable": {"cpu": "8", "nvidia.com/gpu": "4"},
            "capacity": {"cpu": "9"},
            "conditions": [{"type": "Ready", "status": "True"}],
            "images": [{"names": ["a", "b"], "sizeBytes": 5}, {"names": None, "sizeBytes": 1}],
        },
    }
    read = decode_node(encoded(node))
    assert read == to_node(node)
    assert read.spec.taints[0].effect == "NoSchedule"
    assert read.status.allocatable["nvidia.com/gpu"] == "4"
    assert [image.names for image in read.status.images] == [("a", "b"), ()]


def test_claims_and_priority_classes_are_read() -> None:
    claim = decode_claim(b'{"metadata":{"name":"c"},"spec":{"volumeName":"v"},"status":{"phase":"Bound"}}')
    assert (claim.spec.volume_name, claim.status.phase, claim.spec.storage_class_name) == ("v", "Bound", None)
    priority_class = decode_priority_class(b'{"metadata":{"name":"high"},"value":100,"globalDefault":true}')
    assert (priority_class.value, priority_class.global_default) == (100, True)


def test_a_watch_line_is_split_without_reading_the_object() -> None:
    line = decode_watch_line(b'{"type":"MODIFIED","object":' + encoded(POD) + b"}\n")
    assert line.type == "MODIFIED"
    assert decode_pod(line.object) == to_pod(POD)
    assert decode_object(line.object) == POD


def test_a_list_is_split_into_its_version_and_raw_items() -> None:
    listed = decode_list(
        b'{"metadata":{"resourceVersion":"7","continue":"t"},"items":[{"kind":"A"},{"kind":"B"}]}'
    )
    assert (listed.metadata.resource_version, listed.metadata.continue_token) == ("7", "t")
    assert [decode_object(item)["kind"] for item in listed.items] == ["A", "B"]


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=10,
)


@given(st.dictionaries(st.text(), json_values, max_size=4))
def test_any_object_survives_encoding(value: JsonObject) -> None:
    assert decode_object(encode_object(value)) == value

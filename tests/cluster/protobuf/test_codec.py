"""Objects survive protobuf, in the forms that clients of Kubernetes write and read."""

import base64
from typing import Any

import pytest

from vcray.cluster.kinds.data import kinds_data, type_name
from vcray.cluster.protobuf import codec
from vcray.cluster.protobuf.messages import read_value, table, write_value
from vcray.cluster.protobuf.wire import bytes_field, fields, number_field, read_varint, signed, varint

POD: dict[str, Any] = {
    "kind": "Pod",
    "apiVersion": "v1",
    "metadata": {
        "name": "p",
        "labels": {"a": "", "b": "ü"},
        "creationTimestamp": "2026-01-02T03:04:05Z",
        "managedFields": [{"manager": "m", "fieldsType": "FieldsV1", "fieldsV1": {"f:spec": {"f:x": {}}}}],
    },
    "spec": {
        "containers": [
            {
                "name": "c",
                "resources": {"limits": {"cpu": "500m", "nvidia.com/gpu": "1"}},
                "livenessProbe": {"httpGet": {"port": "http"}, "periodSeconds": 3},
                "readinessProbe": {"tcpSocket": {"port": 80}},
                "env": [{"name": "A", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}}],
            }
        ],
        "volumes": [
            {"name": "v", "emptyDir": {"sizeLimit": "1Gi"}},
            {"name": "w", "configMap": {"name": "m"}},
        ],
        "terminationGracePeriodSeconds": 0,
        "priority": -5,
    },
    "status": {"phase": "Running"},
}

REAL_STATUS = base64.b64decode(
    "azhzAAoMCgJ2MRIGU3RhdHVzElMKBgoAEgAaABIHRmFpbHVyZRoaY29uZmlnbWFwcyAienp6IiBub3QgZm91bmQiCE5vdEZv"
    "dW5kKhcKA3p6ehIAGgpjb25maWdtYXBzKAAyADCUAxoAIgA="
)
"""What a kube-apiserver v1.36.1 answers to GET of a ConfigMap that is not there."""


def test_a_pod_comes_back_as_it_was() -> None:
    api_version, kind, decoded = codec.decode(codec.encode(POD))

    assert (api_version, kind) == ("v1", "Pod")
    assert decoded == POD


def test_inlined_structs_stand_in_a_message_of_their_own() -> None:
    volume = table("io.k8s.api.core.v1.Volume").write({"name": "v", "emptyDir": {}})

    assert [(number, value) for number, _, value in fields(volume)] == [(1, b"v"), (2, b"\x12\x00")]


def test_a_real_servers_status_is_read() -> None:
    assert codec.decode(REAL_STATUS)[2] == {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": 'configmaps "zzz" not found',
        "reason": "NotFound",
        "details": {"name": "zzz", "kind": "configmaps"},
        "code": 404,
    }


def test_a_list_has_its_metadata_and_items() -> None:
    body = codec.encode_list("v1", "PodList", {"resourceVersion": "7"}, [b'{"metadata":{"name":"a"}}'])

    assert codec.decode(body)[2] == {
        "kind": "PodList",
        "apiVersion": "v1",
        "metadata": {"resourceVersion": "7"},
        "items": [{"metadata": {"name": "a"}}],
    }


def test_a_frame_of_a_watch_has_its_length_and_an_enveloped_object() -> None:
    frame = codec.encode_event("ADDED", POD)

    event = {number: value for number, _, value in fields(frame[4:])}
    assert int.from_bytes(frame[:4], "big") == len(frame) - 4
    assert event[1] == b"ADDED"
    raw = next(value for number, _, value in fields(bytes(event[2])) if number == 1)
    assert codec.decode(bytes(raw))[2] == POD


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("JSONSchemaPropsOrBool", True),
        ("JSONSchemaPropsOrBool", {"type": "string"}),
        ("JSONSchemaPropsOrArray", {"type": "string"}),
        ("JSONSchemaPropsOrArray", [{"type": "string"}, {"type": "integer"}]),
        ("JSONSchemaPropsOrStringArray", ["a", "b"]),
        ("JSON", {"a": [1, None, "x"]}),
    ],
)
def test_schemas_keep_their_either_or_types(kind: str, value: Any) -> None:
    name = f"io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.{kind}"

    assert read_value(name, write_value(name, value)) == value


def test_micro_times_keep_their_fraction() -> None:
    lease = {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "spec": {"renewTime": "2026-01-01T00:00:00.123456Z"},
    }

    assert codec.decode(codec.encode(lease))[2]["spec"] == lease["spec"]  # type: ignore[comparison-overlap]


def test_delete_options_are_known_in_every_group() -> None:
    for api_version in ("v1", "apps/v1", "unknown.example.com/v9"):
        options = {"kind": "DeleteOptions", "apiVersion": api_version, "gracePeriodSeconds": 0}

        assert codec.decode(codec.encode(options))[2] == options


def test_custom_kinds_and_tables_have_no_message() -> None:
    assert codec.has_message("v1", "Pod")
    assert not codec.has_message("batch.volcano.sh/v1alpha1", "Job")
    assert not codec.has_message("meta.k8s.io/v1", "Table")


def test_partial_objects_have_a_message() -> None:
    partial = {
        "kind": "PartialObjectMetadata",
        "apiVersion": "meta.k8s.io/v1",
        "metadata": {"name": "a", "uid": "u"},
    }

    assert codec.decode(codec.encode(partial))[2] == partial


@pytest.mark.parametrize("body", [b"garbage", codec.MAGIC + b"\x0a\xff\xff", b"", codec.MAGIC + b"\x0f"])
def test_anything_else_is_refused(body: bytes) -> None:
    with pytest.raises(codec.NotProtobuf):
        codec.decode(body)


def test_every_built_in_kind_can_be_compiled() -> None:
    kinds = [
        (f"{group.group}/{version.version}" if group.group else version.version, str(row["kind"]))
        for group in kinds_data().groups
        for version in group.versions
        for row in version.resources
        if "/" not in str(row["name"])
    ]

    for api_version, kind in kinds:
        name = type_name(api_version, kind)
        assert name is not None
        assert table(name).names(), kind


@pytest.mark.parametrize("number", [0, 1, 127, 128, 300, 2**31, 2**63 - 1, -1, -(2**31)])
def test_whole_numbers_are_varints(number: int) -> None:
    value, end = read_varint(varint(number), 0)

    assert signed(value) == number
    assert end == len(varint(number))


def test_fields_of_later_versions_are_passed_over() -> None:
    raw = (
        number_field(1000, 5)
        + bytes_field(1001, b"x")
        + table("io.k8s.api.core.v1.Volume").write({"name": "v"})
    )

    assert table("io.k8s.api.core.v1.Volume").read(raw) == {"name": "v"}

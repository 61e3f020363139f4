"""Objects are read as Go's decoder reads them."""

import pytest

from vcray.cluster.kinds.decoding import read_object
from vcray.cluster.kinds.faults import DecodeError, Faults

POD = "io.k8s.api.core.v1.Pod"
CONFIG = "io.k8s.api.core.v1.ConfigMap"
DEPLOYMENT = "io.k8s.api.apps.v1.Deployment"


def read(name, **obj):
    faults = Faults()
    return read_object(name, obj, faults), faults.unknown


def test_unknown_fields_are_dropped_and_told_with_their_place():
    container = {"name": "c", "image": "i", "bogus": 1}

    obj, unknown = read(POD, spec={"containers": [container], "more": 2}, Kind="x")

    assert unknown == ["spec.containers[0].bogus", "spec.more", "Kind"]
    assert "more" not in obj["spec"]


def test_empty_fields_vanish_and_fields_that_are_always_written_appear():
    obj, _ = read(CONFIG, data={}, immutable=False)

    assert obj == {"immutable": False, "metadata": {}}


def test_defaults_stand_wherever_their_type_stands():
    probe = {"tcpSocket": {"port": 1}}
    containers = [{"name": "c", "image": "i:1", "livenessProbe": probe}]

    obj, _ = read(DEPLOYMENT, spec={"template": {"spec": {"containers": containers}}})

    pod = obj["spec"]["template"]["spec"]
    assert pod["restartPolicy"] == "Always"
    assert "enableServiceLinks" not in pod
    assert pod["containers"][0]["livenessProbe"]["periodSeconds"] == 10
    assert obj["spec"]["strategy"]["rollingUpdate"] == {"maxUnavailable": "25%", "maxSurge": "25%"}


def test_amounts_and_times_take_their_canonical_form():
    resources = {"limits": {"cpu": "1000m", "memory": 1024}}

    obj, _ = read(
        POD,
        metadata={"creationTimestamp": "2026-01-02T04:04:05+01:00"},
        spec={"containers": [{"name": "c", "resources": resources}]},
    )

    assert obj["metadata"]["creationTimestamp"] == "2026-01-02T03:04:05Z"
    assert obj["spec"]["containers"][0]["resources"]["requests"] == {"cpu": "1", "memory": "1024"}


@pytest.mark.parametrize(
    ("name", "obj", "message"),
    [
        (
            DEPLOYMENT,
            {"spec": {"replicas": 1.5}},
            "json: cannot unmarshal number 1.5 into Go struct field DeploymentSpec.spec.replicas of type int32",
        ),
        (
            POD,
            {"spec": {"containers": ["a"]}},
            "json: cannot unmarshal string into Go struct field PodSpec.spec.containers of type v1.Container",
        ),
        (
            CONFIG,
            {"data": {"a": 1}},
            "json: cannot unmarshal number into Go struct field ConfigMap.data of type string",
        ),
        (CONFIG, {"binaryData": {"a": "###"}}, "illegal base64 data at input byte 0"),
    ],
)
def test_a_value_that_the_type_cannot_hold_is_an_error_in_go_words(name, obj, message):
    with pytest.raises(DecodeError) as caught:
        read(name, **obj)

    assert str(caught.value) == message

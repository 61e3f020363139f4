"""Versions of one object."""

from vcray.api.resources import EVENTS, EVENTS_V1
from vcray.cluster.kinds.conversion import AUTOSCALERS_V1, AUTOSCALERS_V2, converted


def test_an_event_has_two_shapes_and_goes_there_and_back():
    event = {
        "apiVersion": "events.k8s.io/v1",
        "kind": "Event",
        "metadata": {"name": "e"},
        "regarding": {"kind": "Pod", "name": "p"},
        "note": "it started",
        "eventTime": None,
        "deprecatedCount": 2,
    }

    core = converted(event, EVENTS_V1, EVENTS)

    assert core["apiVersion"] == "v1"
    assert (core["message"], core["count"], core["involvedObject"]["name"]) == ("it started", 2, "p")
    assert converted(core, EVENTS, EVENTS_V1)["note"] == "it started"


def test_an_old_autoscaler_keeps_what_it_has_no_field_for_in_annotations():
    memory = {
        "type": "Resource",
        "resource": {"name": "memory", "target": {"type": "AverageValue", "averageValue": "1Gi"}},
    }
    scaler = {
        "metadata": {"name": "h"},
        "spec": {"maxReplicas": 3, "scaleTargetRef": {"kind": "D", "name": "d"}, "metrics": [memory]},
    }

    old = converted(scaler, AUTOSCALERS_V2, AUTOSCALERS_V1)
    new = converted(old, AUTOSCALERS_V1, AUTOSCALERS_V2)

    assert "metrics" not in old["spec"]
    assert "autoscaling.alpha.kubernetes.io/metrics" in old["metadata"]["annotations"]
    assert new["spec"]["metrics"] == [memory]
    assert "annotations" not in new["metadata"]

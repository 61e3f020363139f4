"""Rules of built-in kinds, a few of each family; the whole is compared with a real server in tests/conformance/objects."""

import pytest

from vcray.api.resources import CONFIGMAPS, DEPLOYMENTS, KUBERNETES_JOBS, PODS, STATEFULSETS
from vcray.cluster.kinds.checks.kinds import validate_changed, validate_new
from vcray.cluster.kinds.checks.workloads import schedule_fault

POD = {"restartPolicy": "Always", "dnsPolicy": "ClusterFirst"}


def test_a_pod_needs_containers_with_names_and_images():
    assert validate_new(PODS, {"spec": POD}) == ["spec.containers: Required value"]
    assert validate_new(PODS, {"spec": {**POD, "containers": [{"name": "a"}]}}) == [
        "spec.containers[0].image: Required value"
    ]


def test_a_selector_must_match_its_template():
    spec = {
        "selector": {"matchLabels": {"a": "b"}},
        "strategy": {"type": "Recreate"},
        "template": {
            "metadata": {"labels": {"a": "c"}},
            "spec": {**POD, "containers": [{"name": "a", "image": "i"}]},
        },
    }

    assert validate_new(DEPLOYMENTS, {"spec": spec}) == [
        'spec.template.metadata.labels: Invalid value: {"a":"c"}: `selector` does not match template `labels`'
    ]


@pytest.mark.parametrize("listed", ["containers", "initContainers"])
def test_claim_templates_of_a_stateful_set_are_volumes_of_its_pods(listed):
    mounts = [{"name": name, "mountPath": f"/{name}"} for name in ("claimed", "own", "neither")]
    pod = {**POD, "containers": [{"name": "a", "image": "i"}], "volumes": [{"name": "own", "emptyDir": {}}]}
    spec = {
        "podManagementPolicy": "Parallel",
        "updateStrategy": {"type": "OnDelete"},
        "selector": {"matchLabels": {"a": "b"}},
        "volumeClaimTemplates": [{"metadata": {"name": "claimed"}}],
        "template": {
            "metadata": {"labels": {"a": "b"}},
            "spec": {**pod, listed: [{"name": "m", "image": "i", "volumeMounts": mounts}]},
        },
    }

    assert validate_new(STATEFULSETS, {"spec": spec}) == [
        f'spec.template.spec.{listed}[0].volumeMounts[2].name: Not found: "neither"'
    ]


def test_what_is_immutable_stays():
    old = {"metadata": {}, "immutable": True, "data": {"a": "1"}}

    assert validate_changed(CONFIGMAPS, old, {**old, "data": {}}) == [
        "data: Forbidden: field is immutable when `immutable` is set"
    ]
    assert validate_changed(KUBERNETES_JOBS, {"spec": {"completions": 1}}, {"spec": {"completions": 2}})[
        0
    ] == ("spec.completions: Invalid value: 2: field is immutable")


@pytest.mark.parametrize(
    "schedule", ["* * * * *", "*/5 0-6 1,15 jan mon-fri", "@hourly", "@every 1h", "0 3 * * 0"]
)
def test_schedules_that_cron_knows(schedule):
    assert schedule_fault(schedule) == ""


@pytest.mark.parametrize(
    "schedule",
    ["* * * *", "60 * * * *", "5-1 * * * *", "x * * * *", "@sometimes", "0 3 * * 7", "TZ=UTC @daily"],
)
def test_schedules_that_it_does_not(schedule):
    assert schedule_fault(schedule) != ""

"""Flags and variables of vc-scheduler become settings, or are refused in a sentence."""

from __future__ import annotations

import pytest

from vcray.config.flags import ENVIRONMENT, FLAGS, by_name
from vcray.config.given import duration, other_gates, read_given
from vcray.config.settings import Settings, load
from vcray.errors import ConfigError


def refused(**given: str) -> list[str]:
    with pytest.raises(ConfigError) as caught:
        settings({name.replace("_", "-"): [text] for name, text in given.items()})
    return [str(problem) for problem in caught.value.problems]


def settings(given: dict[str, list[str]], environment: dict[str, str] | None = None) -> Settings:
    read = read_given(given)
    return load(read.settings, environment or {}, read.origin)


def test_the_flags_of_a_usual_deployment_are_understood() -> None:
    found = settings(
        {
            "scheduler-name": ["volcano", "other"],
            "scheduler-conf": ["/volcano.scheduler/volcano-scheduler.conf"],
            "schedule-period": ["1m500ms"],
            "default-queue": ["main"],
            "listen-address": [":8080"],
            "enable-healthz": ["true"],
            "leader-elect": ["false"],
            "leader-elect-lease-duration": ["20s"],
            "leader-elect-resource-namespace": ["here"],
            "node-selector": ["zone:a", "zone:b,disk:ssd"],
            "feature-gates": [
                "PriorityClass=false,SchedulingGatesQueueAdmission=true",
                "DynamicResourceAllocation=true",
            ],
            "kube-api-qps": ["2000"],
            "v": ["4"],
        }
    )

    assert found.scheduler_names == ("volcano", "other")
    assert str(found.scheduler_conf) == "/volcano.scheduler/volcano-scheduler.conf"
    assert (found.schedule_period_s, found.default_queue, found.leader_elect) == (60.5, "main", False)
    assert (found.metrics_address, found.metrics_port) == ("0.0.0.0", 8080)
    assert (found.health_address, found.health_port) == ("0.0.0.0", 11251)
    assert (found.lease_duration_s, found.lease_namespace) == (20.0, "here")
    assert found.node_selector == ("zone:a", "zone:b", "disk:ssd")
    assert (found.priority_class, found.scheduling_gates_queue_admission) == (False, True)
    assert found.log_level == "DEBUG"


@pytest.mark.parametrize("name", ["lock-object-namespace", "lock_object_namespace"])
def test_the_old_flag_for_the_leases_namespace_counts_wherever_it_stands(name: str) -> None:
    old, new = {name: ["there"]}, {"leader-elect-resource-namespace": ["here"]}

    assert settings(old | new).lease_namespace == settings(new | old).lease_namespace == "there"
    assert settings(new).lease_namespace == "here"
    assert read_given(old | new).origin == {"lease_namespace": f"--{name}"}


def test_metrics_stay_on_unless_they_are_switched_off() -> None:
    assert settings({"enable-metrics": ["true"]}).metrics_port == 8080
    assert settings({"enable-metrics": ["false"], "listen-address": [":1"]}).metrics_port == -1
    assert settings({"healthz-address": [":1"]}).health_port == -1


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        (
            {"tls_cert_file": "x"},
            "VC0502 --tls-cert-file: certificate, private key and the clients' authority go together; give all three",
        ),
        (
            {"schedule_period": "fast"},
            "VC0502 --schedule-period: must be a duration such as 1m30s, got 'fast'",
        ),
        (
            {"gate_removal_worker_num": "many"},
            "VC0502 --gate-removal-worker-num: must be a whole number, got 'many'",
        ),
        ({"enable_metrics": "yes"}, "VC0502 --enable-metrics: must be true or false, got 'yes'"),
        ({"listen_address": "8080"}, "VC0502 --listen-address: must be HOST:PORT or :PORT, got '8080'"),
        ({"listen_address": ":99999"}, "VC0502 --listen-address: must be at most 65535, got 99999"),
        (
            {"scheduler_sharding_mode": "firm"},
            "VC0502 --scheduler-sharding-mode: must be one of none, soft, hard, got 'firm'",
        ),
        (
            {"feature_gates": "PriorityClas=true"},
            "VC0502 --feature-gates: there is no feature gate 'PriorityClas'; did you mean 'PriorityClass'?",
        ),
        (
            {"feature_gates": "PriorityClass"},
            "VC0502 --feature-gates: 'PriorityClass' must be Name=true or Name=false",
        ),
    ],
)
def test_what_cannot_be_used_is_told_by_the_flag_that_was_given(given: dict[str, str], problem: str) -> None:
    assert refused(**given) == [problem]


VC_SCHEDULER = """
master kubeconfig ca-cert-file tls-cert-file tls-private-key-file scheduler-name scheduler-conf schedule-period resync-period
default-queue version listen-address healthz-address enable-healthz enable-metrics enable-pprof priority-class kube-api-qps
kube-api-burst minimum-feasible-nodes minimum-percentage-nodes-to-find percentage-nodes-to-find plugins-dir csi-storage
node-selector cache-dumper cache-dump-dir node-worker-threads gate-removal-worker-num ignored-provisioners
resource-sync-timeout disable-default-scheduler-config scheduler-sharding-mode scheduler-sharding-name lock-object-namespace
leader-elect leader-elect-lease-duration leader-elect-renew-deadline leader-elect-retry-period leader-elect-resource-lock
leader-elect-resource-name leader-elect-resource-namespace feature-gates log-flush-frequency v vmodule logtostderr
alsologtostderr log_dir log_file log_file_max_size stderrthreshold skip_headers skip_log_headers one_output add_dir_header
log_backtrace_at
"""


def test_the_table_has_every_flag_of_vc_scheduler() -> None:
    assert {flag.name for flag in FLAGS} == set(VC_SCHEDULER.split())
    assert {each.name for each in ENVIRONMENT} == {
        "PANIC_ON_ERROR",
        "BATCH_BIND_NUM",
        "MULTI_SCHEDULER_ENABLE",
        "SCHEDULER_POD_NAME",
        "SCHEDULER_NUM",
        "DEBUG_SOCKET_DIR",
        "HELM_RELEASE_NAME",
        "KUBE_POD_NAMESPACE",
    }


def test_a_flag_is_found_in_either_spelling() -> None:
    assert by_name(FLAGS)["log-dir"].name == "log_dir"
    assert read_given({"log_dir": ["x"]}).ineffective == ["log_dir"]
    assert read_given({"log-dir": ["x"]}).ineffective == ["log-dir"]


def test_flags_without_effect_are_counted() -> None:
    read = read_given({"percentage-nodes-to-find": ["50"], "logtostderr": ["true"], "cache-dumper": ["true"]})

    assert read.ineffective == ["percentage-nodes-to-find", "logtostderr", "cache-dumper"]
    assert read.settings == {}


def test_gates_that_are_none_of_volcanos_are_named() -> None:
    assert other_gates(["QueueCommandSync=true", " NodeSwap=true", "Nobodys=false", "NodeSwap=false"]) == [
        "NodeSwap",
        "Nobodys",
    ]


def test_variables_of_vc_scheduler_count_and_ours_beat_them() -> None:
    environment = {"MULTI_SCHEDULER_ENABLE": "true", "SCHEDULER_POD_NAME": "volcano-1", "SCHEDULER_NUM": "3"}

    found = load({}, environment)
    beaten = load({}, {**environment, "VCRAY_SCHEDULER_POD_NAME": "volcano-2"})

    assert (found.multi_scheduler_enable, found.scheduler_pod_name, found.scheduler_num) == (
        True,
        "volcano-1",
        "3",
    )
    assert beaten.scheduler_pod_name == "volcano-2"


def test_a_file_and_a_configmap_exclude_each_other() -> None:
    with pytest.raises(
        ConfigError, match="VC0502 --scheduler-conf-configmap: stands beside --scheduler-conf"
    ):
        load({"scheduler_conf": "x", "scheduler_conf_configmap": "a/b"}, {})
    with pytest.raises(
        ConfigError, match="VC0502 --scheduler-conf-configmap: must be NAMESPACE/NAME, got 'b'"
    ):
        load({"scheduler_conf_configmap": "b"}, {})


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("0", 0),
        ("1s", 1),
        ("1m30s", 90),
        ("1.5h", 5400),
        ("250ms", 0.25),
        (".5s", 0.5),
        ("-1s", -1),
        ("3us", 3e-6),
    ],
)
def test_durations_are_gos(text: str, seconds: float) -> None:
    assert duration(text) == pytest.approx(seconds)


@pytest.mark.parametrize("text", ["", "1", "1x", "s", "1s2", "1 s"])
def test_what_is_no_duration_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="must be a duration"):
        duration(text)


def test_the_charts_variables_say_where_the_configuration_of_controllers_is() -> None:
    chart = {"KUBE_POD_NAMESPACE": "batch", "HELM_RELEASE_NAME": "integration"}
    own = {"VCRAY_CONTROLLER_CONFIGMAP": "a/b"}

    assert load({}, {}).controller_configmap == "volcano-system/volcano-controller-configmap"
    assert load({}, chart).controller_configmap == "batch/integration-controller-configmap"
    assert (
        load({}, {"HELM_RELEASE_NAME": "r"}).controller_configmap == "volcano-system/r-controller-configmap"
    )
    assert load({}, chart | own).controller_configmap == "a/b"
    assert load({"controller_configmap": "c/d"}, chart | own).controller_configmap == "c/d"
    with pytest.raises(ConfigError, match="--controller-configmap: must be NAMESPACE/NAME"):
        load({"controller_configmap": "d"}, {})

"""Volcano's programs: their flags and defaults as Volcano has them, and what the arguments of its chart come to."""

from __future__ import annotations

import pytest

from vcray.config.programs import PROGRAMS
from vcray.config.settings import Settings, load
from vcray.errors import ConfigError

ELECTION = """
leader-elect leader-elect-lease-duration leader-elect-renew-deadline leader-elect-retry-period leader-elect-resource-lock
leader-elect-resource-name leader-elect-resource-namespace lock-object-namespace
"""
LOGGING = """
log-flush-frequency v vmodule logtostderr alsologtostderr log_dir log_file log_file_max_size stderrthreshold skip_headers
skip_log_headers one_output add_dir_header log_backtrace_at feature-gates version
"""
CLUSTER = "master kubeconfig ca-cert-file tls-cert-file tls-private-key-file kube-api-qps kube-api-burst"
FLAGS = {
    "vc-controller-manager": f"""{CLUSTER} {ELECTION} {LOGGING}
        scheduler-name controllers worker-threads worker-threads-for-podgroup worker-threads-for-queue
        worker-threads-for-gc worker-threads-for-cronjob max-requeue-num inherit-owner-annotations sharding-configmap
        sharding-configmap-namespace scheduler-configs shard-sync-period enable-node-event-trigger listen-address
        enable-metrics healthz-address enable-healthz""",
    "vc-webhook-manager": f"""{CLUSTER} {LOGGING}
        scheduler-name listen-address port webhook-namespace webhook-service-name webhook-url enabled-admission
        admission-conf max-queue-depth enable-queue-allocated-pods-check enable-root-queue-protection
        graceful-shutdown-time healthz-address enable-healthz""",
}


def settings(program: str, *arguments: str, environment: dict[str, str] | None = None) -> Settings:
    """Of `--name=value` arguments."""
    given: dict[str, tuple[str, ...]] = {}
    for name, _, text in (each.removeprefix("--").partition("=") for each in arguments):
        given[name] = (*given.get(name, ()), text)
    found = PROGRAMS[program].read(given)
    return load(found.settings, environment or {}, found.origin, PROGRAMS[program].defaults())


@pytest.mark.parametrize("program", FLAGS)
def test_a_program_has_volcanos_flags(program: str) -> None:
    assert sorted(flag.name for flag in PROGRAMS[program].flags) == sorted(FLAGS[program].split())


def test_the_agents_scheduler_has_the_batch_schedulers_flags_and_one_more() -> None:
    agent, batch = (
        {flag.name for flag in PROGRAMS[name].flags} for name in ("vc-agent-scheduler", "vc-scheduler")
    )

    assert agent - batch == {"scheduler-worker-count"}
    assert batch <= agent


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_program_runs_one_component_with_volcanos_defaults(program: str) -> None:
    url = ["--webhook-url=https://a"] if program == "vc-webhook-manager" else []
    found = settings(program, *url)

    assert found.only == (PROGRAMS[program].component,)
    assert (found.metrics_port, found.health_port) == (-1, -1)
    assert found.leader_elect == (program != "vc-webhook-manager")


@pytest.mark.parametrize("program", PROGRAMS)
def test_each_flag_that_works_sets_a_setting_or_has_a_meaning_of_its_own(program: str) -> None:
    alone = {
        "master", "kubeconfig", "version", "listen-address", "enable-metrics", "healthz-address", "enable-healthz",
        "webhook-namespace", "webhook-service-name",
    }  # fmt: skip
    for flag in PROGRAMS[program].flags:
        assert (flag.verdict == "works") == bool(flag.setting or flag.name in alone), flag.name
        assert not flag.setting or flag.setting in Settings.model_fields
        assert flag.note, flag.name


def test_the_controller_manager_of_the_chart() -> None:
    found = settings(
        "vc-controller-manager",
        "--logtostderr=true",
        "--enable-healthz=true",
        "--enable-metrics=true",
        "--leader-elect=false",
        "--controllers=+job-controller,-gc-controller",
        "--worker-threads-for-gc=5",
        "--max-requeue-num=-1",
        "--inherit-owner-annotations=false",
        "--sharding-configmap=integration-sharding-configmap",
        "--shard-sync-period=30s",
        "--v=4",
    )

    assert (found.health_address, found.health_port) == ("0.0.0.0", 11251)
    assert (found.metrics_address, found.metrics_port) == ("0.0.0.0", 8081)
    assert (found.leader_elect, found.lease_name) == (False, "vc-controller-manager")
    assert found.controllers == ("+job-controller", "-gc-controller")
    assert (found.max_requeue_num, found.inherit_owner_annotations) == (-1, False)
    assert (found.sharding_configmap, found.shard_sync_period_s) == ("integration-sharding-configmap", 30.0)
    assert (found.kube_api_qps, found.kube_api_burst) == (50.0, 100)


def test_the_webhook_manager_of_the_chart() -> None:
    found = settings(
        "vc-webhook-manager",
        "--enabled-admission=/jobs/mutate, /cronjobs/validate",
        "--tls-cert-file=c",
        "--tls-private-key-file=k",
        "--ca-cert-file=a",
        "--webhook-namespace=volcano-system",
        "--webhook-service-name=integration-admission-service",
        "--port=9443",
        "--enable-healthz=true",
        "--graceful-shutdown-time=5s",
    )

    assert found.enabled_admission == ("/jobs/mutate", "/cronjobs/validate")
    assert (found.admission_host, found.admission_port) == ("0.0.0.0", 9443)
    assert found.admission_service == "volcano-system/integration-admission-service"
    assert [str(found.admission_cert_file), str(found.health_cert_file)] == ["c", "c"]
    assert (found.admission_registration, found.admission_unregister) == ("bundle", False)
    assert found.graceful_shutdown_time_s == 5.0


def test_the_agents_scheduler_of_the_chart() -> None:
    found = settings(
        "vc-agent-scheduler",
        "--scheduler-name=quick",
        "--scheduler-conf=agent-scheduler.conf",
        "--schedule-period=1s",
        "--scheduler-sharding-mode=soft",
        "--scheduler-sharding-name=mine",
        "--scheduler-worker-count=4",
    )

    assert found.agent_scheduler_names == ("quick",)
    assert str(found.agent_scheduler_conf) == "agent-scheduler.conf"
    assert (found.scheduler_sharding_mode, found.agent_sharding_name) == ("soft", "mine")
    assert (found.lease_name, found.scheduler_conf) == ("vc-agent-scheduler", None)


def test_a_flag_beats_our_variable_and_that_beats_a_default_of_the_program() -> None:
    ours = {"VCRAY_LEADER_ELECT": "false", "VCRAY_METRICS_PORT": "9000", "VCRAY_RUNTIME": "ray"}

    found = settings("vc-scheduler", environment=ours)
    beaten = settings("vc-scheduler", "--leader-elect=true", "--enable-metrics=true", environment=ours)

    assert (found.leader_elect, found.metrics_port, found.runtime) == (False, 9000, "ray")
    assert (beaten.leader_elect, beaten.metrics_port) == (True, 8080)


def test_an_address_alone_opens_no_port() -> None:
    assert settings("vc-scheduler", "--listen-address=:1", "--healthz-address=:2").metrics_port == -1
    assert settings("vc-scheduler", "--listen-address=:1", "--enable-metrics=true").metrics_port == 1


@pytest.mark.parametrize(
    ("program", "argument", "told"),
    [
        (
            "vc-webhook-manager",
            "--port=1",
            "--webhook-url: failed to start webhooks as both 'url' and 'namespace/name' of webhook are empty",
        ),
        ("vc-scheduler", "--kube-api-qps=many", "--kube-api-qps: must be a number, got 'many'"),
        (
            "vc-controller-manager",
            "--shard-sync-period=0s",
            "--shard-sync-period: must be more than 0, got 0.0",
        ),
        (
            "vc-controller-manager",
            "--tls-cert-file=c",
            "--tls-cert-file: certificate, private key and the clients' authority go together; give all three",
        ),
    ],
)
def test_what_cannot_be_used_is_one_sentence_about_the_flag(program: str, argument: str, told: str) -> None:
    with pytest.raises(ConfigError) as refused:
        settings(program, argument)

    assert str(refused.value) == f"VC0502 {told}"


def test_an_empty_text_is_as_none_where_that_is_the_default() -> None:
    assert settings("vc-scheduler", "--scheduler-conf=").scheduler_conf is None
    assert settings("vc-controller-manager", "--sharding-configmap=").sharding_configmap == ""

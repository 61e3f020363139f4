"""Settings of a control plane: flags of `vcray run`, each with an environment variable `VCRAY_<NAME>`.

A flag beats the variable, the variable beats the default. A value that cannot be used is refused with its name.
`docs/settings.md` lists all of them; a test keeps the two equal.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError
from pydantic_core import ErrorDetails

from vcray.config.controllers import wrong_choices
from vcray.config.flags import GATE_SETTINGS
from vcray.config.given import of_environment, read_gates
from vcray.config.roles import derived, unknown_component
from vcray.config.sharding import ShardingError, parse_scheduler_configs
from vcray.errors import ConfigError, Problem

PREFIX = "VCRAY_"
LOG_LEVELS = ("DEBUG", "INFO", "WARNING", "ERROR")

Name = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]
Names: TypeAlias = tuple[Name, ...]
"""Written with commas between in a flag or variable."""


class Settings(BaseModel):
    """What does not change while a control plane runs (the scheduler configuration does)."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    only: Names = Field(
        (),
        description="components to run: scheduler, agent-scheduler, controllers, integrations, admission; all when none is named",
    )
    namespace: str = Field(
        "volcano-system", min_length=1, description="namespace of the release: of its Lease and ConfigMaps"
    )
    release: str = Field("", description="name of the release, whose objects are taken as they are found")
    scheduler_names: Names = Field(
        ("volcano",),
        min_length=1,
        description="schedulerName of the pods to schedule; the first is the default of vcjobs",
    )
    scheduler_conf: Path | None = Field(
        None, description="volcano-scheduler.conf, read again when it changes; without it Volcano's default"
    )
    scheduler_conf_configmap: Annotated[str, StringConstraints(pattern=r"^[^/\s]+/[^/\s]+$")] | None = Field(
        None,
        description="NAMESPACE/NAME of a ConfigMap with key volcano-scheduler.conf, or one other that ends in .conf, in place of a file",
    )
    disable_default_scheduler_config: bool = Field(
        False, description="refuse to start without a configuration instead of taking Volcano's default"
    )
    plugins_dir: Path | None = Field(
        None, description="folder with plugins and actions of your own, read again as they change"
    )
    plugin_budget_ms: float = Field(
        1000.0,
        ge=0,
        description="what your plugins may take of a round before they are left out of it; 0: all",
    )
    strict: bool = Field(False, description="refuse to start with a configuration that `vcray check` faults")
    pools: int = Field(1, ge=1, le=256, description="cache shards for nodes without the node-pool label")
    scorers: int = Field(
        1, ge=1, le=256, description="how many share the scoring of a round; decisions do not change"
    )
    default_queue: str = Field(
        "default", description="queue of PodGroups that name none; created at start when missing"
    )
    node_selector: Names = Field(
        (), description="LABEL:VALUE pairs; only nodes with one of them are used, all when there are none"
    )
    agent_scheduler_names: Names = Field(
        ("agent-scheduler",),
        description="schedulerName of pods that are placed one by one, without group and queue; empty for none",
    )
    agent_scheduler_conf: Path | None = Field(
        None,
        description="configuration of that fast path, read at the start; without it predicates, nodeorder",
    )
    scheduler_sharding_mode: Literal["none", "soft", "hard"] = Field(
        "none", description="what NodeShards mean: nothing, preferred nodes, the only nodes"
    )
    scheduler_sharding_name: str = Field("volcano", description="NodeShard of the batch scheduler")
    agent_sharding_name: str = Field("agent-scheduler", description="NodeShard of the agent fast path")
    gate_removal_worker_num: int = Field(
        5, description="how many scheduling gates are removed at once; 5 when it is below 1"
    )
    scheduling_gates_queue_admission: bool = Field(
        False, description="remove the gate of queue admission once the queue has room for the pod"
    )
    controllers: Names = Field(
        ("*", "-sharding-controller", "-unreliable-node-controller"),
        description="controllers to run: NAME or -NAME, * for all others; all when there are none",
    )
    integrations: Names = Field(
        ("*",),
        description="kinds of other operators whose PodGroups are made: NAME or -NAME, * for all others; all when there are none",
    )
    ray_dashboard_period_s: float = Field(
        30.0,
        ge=0,
        description="seconds between two questions to each RayCluster's dashboard about its workers; 0: none is asked",
    )
    sharding_configmap: str = Field(
        "volcano-sharding-configmap",
        description="ConfigMap with key sharding.yaml for the sharding controller; empty for none",
    )
    sharding_configmap_namespace: str = Field("volcano-system", description="namespace of that ConfigMap")
    scheduler_configs: Names = Field(
        ("volcano:volcano:0.0:0.6:false:2:100", "agent-scheduler:agent:0.7:1.0:true:2:100"),
        description="name:type:min:max:warmup:minNodes:maxNodes of each NodeShard until that ConfigMap exists",
    )
    shard_sync_period_s: float = Field(
        60.0, gt=0, description="seconds between two choices of all NodeShards"
    )
    enable_node_event_trigger: bool = Field(
        True, description="choose NodeShards also when a node comes, goes, or is used much more or less"
    )
    multi_scheduler_enable: bool = Field(
        False, description="share pods, PodGroups and nodes with further schedulers by their names"
    )
    scheduler_pod_name: str = Field("", description="name of this one among them, ending in -N")
    scheduler_num: str = Field("1", description="how many they are; what is no whole number counts as 1")
    schedule_period_s: float = Field(
        1.0, ge=0, description="seconds that something must be unschedulable before it is told"
    )
    max_requeue_num: int = Field(
        15, description="how often a controller tries a request again before it gives up; negative: for ever"
    )
    inherit_owner_annotations: bool = Field(
        True, description="PodGroups of plain pods take over annotations of the pods' owners"
    )
    reservation_timeout_s: float = Field(
        300.0, ge=0, description="seconds that a PodGroup holds room without a pod; 0 for ever"
    )
    priority_class: bool = Field(True, description="read PriorityClasses")
    feature_gates: Names = Field((), description="Name=true or Name=false, with commas between")
    runtime: Literal["local", "ray"] = Field("local", description="what the actors run on: local or ray")
    layout: Literal["small", "standard", "huge"] = Field(
        "standard", description="which actors share a process on Ray: small, standard or huge"
    )
    fan_out_nodes: int = Field(
        100_000, ge=0, description="layout huge: with fewer nodes the coordinator scores by itself"
    )
    ray_address: str | None = Field(
        None,
        description="HOST:PORT of a Ray cluster to join, or auto for that in which we run; without it one is started on loopback",
    )
    metrics_port: int = Field(
        8080, ge=-1, le=65535, description="port of /metrics and /healthz on loopback; 0 picks one, -1 none"
    )
    metrics_address: str = Field("127.0.0.1", description="address that /metrics listens on")
    health_port: int = Field(
        -1, ge=-1, le=65535, description="one more port for /healthz alone; 0 picks one, -1 none"
    )
    health_address: str = Field("127.0.0.1", description="address that this port listens on")
    health_cert_file: Path | None = Field(None, description="certificate of this port; without it plain HTTP")
    health_key_file: Path | None = Field(None, description="private key of that certificate")
    health_ca_file: Path | None = Field(
        None, description="certificates that must vouch for clients which show one"
    )
    leader_elect: bool = Field(False, description="hold a Lease, so that only one control plane acts")
    lease_namespace: str = Field("volcano-system", description="namespace of the Lease; it must exist")
    lease_name: str = Field("volcano", description="name of the Lease")
    lease_duration_s: float = Field(15.0, gt=0, description="seconds that the Lease holds")
    lease_renew_deadline_s: float = Field(
        10.0, gt=0, description="seconds after which a holder that cannot renew gives up"
    )
    lease_retry_period_s: float = Field(2.0, gt=0, description="seconds between two tries")
    admission: bool = Field(False, description="serve and register the webhooks")
    enabled_admission: Names = Field(
        (
            "/jobs/mutate",
            "/jobs/validate",
            "/podgroups/mutate",
            "/podgroups/validate",
            "/queues/mutate",
            "/queues/validate",
            "/hypernodes/validate",
            "/jobflows/validate",
            "/cronjobs/validate",
        ),
        description="webhooks to serve, by their paths; /pods/mutate and /pods/validate only when named here",
    )
    tenants: bool = Field(
        False,
        description="keep tenants apart: queues serve whom their annotations allow, gangs stay their owners'",
    )
    tenant_operators: Names = Field(
        (), description="users and groups, * for any part, whose word on owners and marks of pods counts"
    )
    admission_conf: Path | None = Field(
        None,
        description="volcano-admission.conf with resource groups for /pods/mutate, looked at each second",
    )
    admission_host: str = Field("127.0.0.1", description="address that the webhooks listen on")
    admission_port: int = Field(
        8443, ge=0, le=65535, description="port that the webhooks listen on; 0 picks one"
    )
    admission_url: str | None = Field(
        None, description="how the API server reaches the webhooks; without it https://HOST:PORT"
    )
    admission_service: str | None = Field(
        None, description="NAMESPACE/NAME of a Service in front of the webhooks, in place of a URL"
    )
    admission_cert_file: Path | None = Field(
        None, description="certificate of the webhooks; without it one is made and renewed"
    )
    admission_key_file: Path | None = Field(None, description="private key of that certificate")
    admission_ca_file: Path | None = Field(
        None, description="certificates that vouch for it; without it the certificate itself"
    )
    admission_registration: Literal["own", "adopt", "bundle"] = Field(
        "own",
        description="webhook configurations: own: kept as ours; adopt: those of others keep all but their caBundle; "
        "bundle: none is created",
    )
    graceful_shutdown_time_s: float = Field(
        30.0, ge=0, description="seconds that questions to the webhooks may take to be answered when stopping"
    )
    admission_unregister: bool = Field(True, description="take the registration back when stopping")
    release_namespace: str = Field(
        "volcano-system", description="namespace that the webhooks pass over, beside kube-system"
    )
    controller_configmap: Annotated[str, StringConstraints(pattern=r"^[^/\s]+/[^/\s]+$")] = Field(
        "volcano-system/volcano-controller-configmap",
        description="NAMESPACE/NAME of the ConfigMap that says how HyperNodes are discovered",
    )
    max_queue_depth: int = Field(5, ge=1, description="levels of queues below root that a webhook allows")
    enable_queue_allocated_pods_check: bool = Field(
        False, description="refuse to delete a queue that has pods"
    )
    enable_root_queue_protection: bool = Field(
        True, description="refuse to change the resources of the root queue"
    )
    kube_api_qps: float = Field(
        0.0, ge=0, description="requests a second to the API server of each process; 0 for no limit"
    )
    kube_api_burst: int = Field(2000, ge=1, description="requests that may go out at once under that limit")
    coalesce_ms: float = Field(
        5.0, ge=0, le=1000, description="changes that come within this time share one round"
    )
    seed: int = Field(0, description="breaks ties between equal nodes")
    log_level: str = Field("INFO", pattern=f"^({'|'.join(LOG_LEVELS)})$", description="least level to log")

    def runs(self, component: str) -> bool:
        """Is this component of `vcray.config.roles` among those to run?"""
        return component in self.only if self.only else component != "admission" or self.admission


def load(
    flags: Mapping[str, object],
    environment: Mapping[str, str],
    spelled: Mapping[str, str] | None = None,
    defaults: Mapping[str, object] | None = None,
) -> Settings:
    """Settings from given flags and an environment. ConfigError VC0502 names each value that cannot be used.

    Variables of Volcano's programs count where ours are not set. `spelled`: setting -> the flag, where that has another name.
    `defaults`: those of a program that differ from ours."""
    theirs = of_environment(environment)
    values: dict[str, object] = dict(defaults or {})
    values |= {name: text for name, (_, text) in theirs.items()}
    origin = {name: variable for name, (variable, _) in theirs.items()}  # setting -> how the user spelled it
    for name, field in Settings.model_fields.items():
        text = environment.get(PREFIX + name.upper())
        if text is not None:
            values[name] = _listed(text) if field.annotation == Names else text
            origin[name] = PREFIX + name.upper()
    for name, value in flags.items():
        if value is not None:
            values[name] = value
            origin[name] = (spelled or {}).get(name, "--" + name.replace("_", "-"))
    try:
        settings = Settings.model_validate(values)
    except ValidationError as error:
        raise ConfigError(
            Problem("VC0502", origin.get(str(each["loc"][0]), str(each["loc"][0])), _sentence(each))
            for each in error.errors()
        ) from error
    gates, wrong = read_gates(settings.feature_gates)
    found = [("feature_gates", what) for what in wrong] + _contradictions(settings, origin)
    if found:
        raise ConfigError(Problem("VC0502", origin.get(name, name), what) for name, what in found)
    update = derived(values, settings.only, settings.namespace, settings.release)
    update |= {GATE_SETTINGS[name]: on for name, on in gates.items() if name in GATE_SETTINGS}
    return settings.model_copy(update=update)


def _contradictions(settings: Settings, origin: Mapping[str, str]) -> list[tuple[str, str]]:
    """What cannot stand together or be meant: setting, sentence."""
    found = [("controllers", what) for what in wrong_choices(settings.controllers)]
    try:
        parse_scheduler_configs(settings.scheduler_configs)
    except ShardingError as error:
        found.append(("scheduler_configs", str(error)))
    if settings.scheduler_conf is not None and settings.scheduler_conf_configmap is not None:
        what = f"stands beside {origin.get('scheduler_conf')}; name a file or a ConfigMap"
        found.append(("scheduler_conf_configmap", what))
    found.append(("only", unknown_component(settings.only)))
    if settings.leader_elect and settings.lease_duration_s <= settings.lease_renew_deadline_s:
        deadline = f"{origin.get('lease_renew_deadline_s', '--lease-renew-deadline-s')} ({settings.lease_renew_deadline_s:g} s)"
        what = f"must be more than {deadline}: a Lease must not run out before its holder gives up, got {settings.lease_duration_s:g} s"
        found.append(("lease_duration_s", what))
    tls = {
        name: getattr(settings, name) for name in ("health_cert_file", "health_key_file", "health_ca_file")
    }
    given = [name for name, path in tls.items() if path is not None]
    if given and len(given) < len(tls):
        found.append(
            (given[0], "certificate, private key and the clients' authority go together; give all three")
        )
    return [(name, what) for name, what in found if what]


def _listed(text: str) -> list[str]:
    return text.split(",") if text else []


def _sentence(error: ErrorDetails) -> str:
    """What a value must be, in a user's words, and what it was."""
    context = error.get("ctx", {})
    must = {
        "greater_than": f"must be more than {context.get('gt', 0):g}",
        "greater_than_equal": f"must be at least {context.get('ge', 0):g}",
        "less_than_equal": f"must be at most {context.get('le', 0):g}",
        "int_parsing": "must be a whole number",
        "float_parsing": "must be a number",
        "bool_parsing": "must be true or false",
        "string_pattern_mismatch": (
            "must be NAMESPACE/NAME"
            if "/" in str(context.get("pattern", ""))
            else f"must be one of {', '.join(LOG_LEVELS)}"
        ),
        "literal_error": f"must be one of {str(context.get('expected', '')).replace(' or ', ', ').replace(chr(39), '')}",
        "string_too_short": "must not be empty",
        "too_short": "must name one at least",
    }.get(error["type"], error["msg"])
    return f"{must}, got {error['input']!r}"

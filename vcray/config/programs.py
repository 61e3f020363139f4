"""Volcano's four programs as an installation of it calls them: the flags of each, with Volcano's defaults, and what becomes
of each flag here.

Each program is `vcray run --only …` in a process of its own. What a flag of vc-scheduler means is told in
`vcray.config.flags`; the others share most of them. `docs/programs.md` shows the tables; a test keeps them equal.
Facts: api-controllers.md 2.1, 4.6 and 5, scheduler.md 1.10 and 2.2.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from vcray.config.flags import FLAGS, Flag, by_name
from vcray.config.given import Given, read_given
from vcray.config.roles import ADMISSION, AGENT_SCHEDULER, CONTROLLERS, LEASES, SCHEDULER
from vcray.config.settings import Settings
from vcray.errors import ConfigError, Problem


@dataclass(frozen=True, slots=True)
class Program:
    """One program. `component` is the one that it runs; `settings` hold where no flag and no variable says otherwise."""

    name: str
    component: str
    short: str
    flags: tuple[Flag, ...]
    settings: Mapping[str, object]

    def defaults(self) -> dict[str, object]:
        """The lowest layer of its settings: the defaults of its flags, as Volcano has them."""
        texts = {each.name: [each.default] for each in self.flags if each.default and each.verdict == "works"}
        found = {**read_given(texts, self.flags, metrics_on=False).settings, **self.settings}
        differing = {name: value for name, value in found.items() if not _is_ours(name, value)}
        return {**differing, "only": (self.component,)}

    def read(self, given: Mapping[str, tuple[str, ...]]) -> Given:
        """The flags as they were given. ConfigError VC0502 names all that cannot be used."""
        out = read_given(given, self.flags, metrics_on=False)
        if self.component == ADMISSION and not out.version:
            _complete_address(given, out)
            _share_certificate(out)
        return out


def _is_ours(name: str, value: object) -> bool:
    """Is it the default of `vcray run` too? Such a one is none, so that others may follow from `--namespace` and `--release`."""
    default = Settings.model_fields[name].default
    return bool(value == default or (isinstance(value, list) and tuple(value) == default))


def _complete_address(given: Mapping[str, tuple[str, ...]], out: Given) -> None:
    """Where the API server finds the webhooks: namespace and name of a Service, or a URL; Volcano wants one of them."""
    namespace, name, url = (
        given.get(flag, ("",))[-1] for flag in ("webhook-namespace", "webhook-service-name", "webhook-url")
    )
    if not (namespace or name or url):
        what = "failed to start webhooks as both 'url' and 'namespace/name' of webhook are empty"
        raise ConfigError(Problem("VC0502", "--webhook-url", what))
    if namespace and name and not url:
        out.settings["admission_service"] = f"{namespace}/{name}"
        out.origin["admission_service"] = "--webhook-service-name"


def _share_certificate(out: Given) -> None:
    """As in Volcano /healthz has the certificate of the webhooks, when all three files are given."""
    files = {kind: out.settings.get(f"admission_{kind}_file") for kind in ("cert", "key", "ca")}
    if all(files.values()):
        out.settings |= {f"health_{kind}_file": path for kind, path in files.items()}


_SHARED = by_name(FLAGS)


def _same(*names: str, **defaults: str) -> Iterator[Flag]:
    """Flags of vc-scheduler, with another default where one is named."""
    for name in names:
        known = _SHARED[name]
        yield replace(known, default=defaults.get(name.replace("-", "_"), known.default))


_CLUSTER = ("master", "kubeconfig")
_TLS = ("ca-cert-file", "tls-cert-file", "tls-private-key-file")
_HEALTH = ("healthz-address", "enable-healthz")
_API = ("kube-api-qps", "kube-api-burst")
_ELECTION = tuple(
    name for name in _SHARED if name.startswith("leader-elect") or name == "lock-object-namespace"
)
_LAST = ("feature-gates", "version", *list(_SHARED)[list(_SHARED).index("v") :])
_SIDE_BY_SIDE = "16 requests are handled side by side, those of one object one after the other"

_CONTROLLER_MANAGER = (
    *_same(*_CLUSTER, *_TLS, "scheduler-name"),
    Flag(
        "controllers",
        "list",
        "*,-sharding-controller,-unreliable-node-controller",
        "works",
        "name or +name switches one on, -name off, * is all; the first that names one decides",
        "controllers",
    ),
    Flag("worker-threads", "number", "3", "accepted", _SIDE_BY_SIDE),
    Flag("worker-threads-for-podgroup", "number", "5", "accepted", _SIDE_BY_SIDE),
    Flag("worker-threads-for-queue", "number", "5", "accepted", _SIDE_BY_SIDE),
    Flag("worker-threads-for-gc", "number", "1", "accepted", _SIDE_BY_SIDE),
    Flag("worker-threads-for-cronjob", "number", "3", "accepted", _SIDE_BY_SIDE),
    Flag("max-requeue-num", "number", "15", "works", "negative: tried for ever", "max_requeue_num"),
    Flag(
        "inherit-owner-annotations",
        "switch",
        "true",
        "works",
        "for PodGroups of plain pods",
        "inherit_owner_annotations",
    ),
    Flag(
        "sharding-configmap",
        "text",
        "volcano-sharding-configmap",
        "works",
        "of the sharding controller; empty for none",
        "sharding_configmap",
    ),
    Flag(
        "sharding-configmap-namespace",
        "text",
        "volcano-system",
        "works",
        "of that ConfigMap",
        "sharding_configmap_namespace",
    ),
    Flag(
        "scheduler-configs",
        "list",
        "volcano:volcano:0.0:0.6:false:2:100,agent-scheduler:agent:0.7:1.0:true:2:100",
        "works",
        "without that ConfigMap",
        "scheduler_configs",
    ),
    Flag(
        "shard-sync-period",
        "duration",
        "60s",
        "works",
        "between two whole assignments",
        "shard_sync_period_s",
    ),
    Flag(
        "enable-node-event-trigger",
        "switch",
        "true",
        "works",
        "assigns anew when nodes change much",
        "enable_node_event_trigger",
    ),
    *_same(*_API, kube_api_qps="50", kube_api_burst="100"),
    *_same("listen-address", "enable-metrics", *_HEALTH, listen_address=":8081"),
    *_same(*_ELECTION, leader_elect_resource_name=LEASES[CONTROLLERS]),
    *_same(*_LAST),
)

_WEBHOOK_MANAGER = (
    *_same(*_CLUSTER),
    Flag("ca-cert-file", "text", "", "works", "vouches for the certificate", "admission_ca_file"),
    Flag("tls-cert-file", "text", "", "works", "read again as it changes", "admission_cert_file"),
    Flag("tls-private-key-file", "text", "", "works", "of that certificate", "admission_key_file"),
    Flag("listen-address", "text", "", "works", "empty: all addresses", "admission_host"),
    Flag("port", "number", "8443", "works", "of the webhooks", "admission_port"),
    Flag(
        "webhook-namespace", "text", "", "works", "of the Service in front; passed over by webhooks made here"
    ),
    Flag("webhook-service-name", "text", "", "works", "with webhook-namespace"),
    Flag("webhook-url", "text", "", "works", "in place of a Service", "admission_url"),
    Flag(
        "enabled-admission",
        "list",
        "/jobs/mutate,/jobs/validate,/podgroups/mutate,/pods/validate,/pods/mutate,/queues/mutate,/queues/validate",
        "works",
        "a path that nobody knows ends the start",
        "enabled_admission",
    ),
    *_same("scheduler-name"),
    Flag("admission-conf", "text", "", "works", "looked at each second", "admission_conf"),
    Flag(
        "enable-queue-allocated-pods-check",
        "switch",
        "false",
        "works",
        "a queue with pods is not deleted",
        "enable_queue_allocated_pods_check",
    ),
    Flag("max-queue-depth", "number", "5", "works", "levels of queues below root", "max_queue_depth"),
    Flag(
        "enable-root-queue-protection",
        "switch",
        "true",
        "works",
        "its resources are not changed",
        "enable_root_queue_protection",
    ),
    Flag(
        "graceful-shutdown-time",
        "duration",
        "30s",
        "works",
        "how long a stop waits for questions under way",
        "graceful_shutdown_time_s",
    ),
    *_same(*_HEALTH),
    *_same(*_API, kube_api_qps="50", kube_api_burst="100"),
    *_same(*_LAST),
)

_OWN_AGENT = by_name(
    (
        Flag(
            "scheduler-name", "list", "agent-scheduler", "works", "may be repeated", "agent_scheduler_names"
        ),
        Flag("scheduler-conf", "text", "", "works", "read at the start", "agent_scheduler_conf"),
        Flag("scheduler-worker-count", "number", "1", "accepted", "one turn places all pods that wait"),
        Flag(
            "scheduler-sharding-name",
            "text",
            "agent-scheduler",
            "works",
            "its NodeShard",
            "agent_sharding_name",
        ),
        Flag(
            "leader-elect-resource-name",
            "text",
            "volcano",
            "works",
            "here vc-agent-scheduler: of two programs with one Lease only one would act",
            "lease_name",
        ),
    )
)
_UNKNOWN_TO_AGENT = ("schedule-period", "default-queue", "gate-removal-worker-num")
_BATCH_ONLY = "concerns the batch scheduler"

_AGENT = (
    *(
        replace(each, verdict="accepted", note=_BATCH_ONLY, setting="")
        if each.name in _UNKNOWN_TO_AGENT
        else _OWN_AGENT.get(each.name, each)
        for each in FLAGS
    ),
    _OWN_AGENT["scheduler-worker-count"],
)

PROGRAMS: Mapping[str, Program] = {
    each.name: each
    for each in (
        Program("vc-scheduler", SCHEDULER, "the batch scheduler", FLAGS, {}),
        Program("vc-controller-manager", CONTROLLERS, "the controllers", _CONTROLLER_MANAGER, {}),
        Program(
            "vc-webhook-manager",
            ADMISSION,
            "the webhooks",
            _WEBHOOK_MANAGER,
            {"admission_registration": "bundle", "admission_host": "0.0.0.0", "metrics_port": -1},
        ),
        Program(
            "vc-agent-scheduler",
            AGENT_SCHEDULER,
            "the scheduler of single pods",
            _AGENT,
            {"lease_name": LEASES[AGENT_SCHEDULER]},
        ),
    )
}

"""Flags of Volcano's vc-scheduler, environment and feature gates of all its programs, and what becomes of each here.

`vcray run` takes all of them; `vcray.config.programs` has the tables of the programs that stand in for Volcano's. A flag
`works` (it sets something) or is `accepted` (it has no effect, and the table says why that is right). `docs/flags.md` shows
the table; a test keeps the two equal.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

Verdict = Literal["works", "accepted"]
Kind = Literal["text", "switch", "number", "decimal", "duration", "list"]


@dataclass(frozen=True, slots=True)
class Flag:
    """One flag of a program. `default` is Volcano's; `setting` the field of `Settings` that it sets, where it is one."""

    name: str
    kind: Kind
    default: str
    verdict: Verdict
    note: str
    setting: str = ""


@dataclass(frozen=True, slots=True)
class Variable:
    """One environment variable of Volcano's programs."""

    name: str
    verdict: Verdict
    note: str
    setting: str = ""


_TLS = "serves /healthz over TLS; all three are given, or none"
_ALL_NODES = "every node is looked at in every round"
_KLOG = "log lines go to standard error; --log-level or -v sets how much"

OVERRIDING = "lock-object-namespace"
"""The old flag for the namespace of the Lease: it counts whatever the newer one says (api-controllers.md 2.1)."""

FLAGS: tuple[Flag, ...] = (
    Flag("master", "text", "", "works", "address of the API server in place of the kubeconfig's"),
    Flag(
        "kubeconfig", "text", "", "works", "without it KUBECONFIG, ~/.kube/config, then the service account"
    ),
    Flag("ca-cert-file", "text", "", "works", _TLS, "health_ca_file"),
    Flag("tls-cert-file", "text", "", "works", _TLS, "health_cert_file"),
    Flag("tls-private-key-file", "text", "", "works", _TLS, "health_key_file"),
    Flag("scheduler-name", "list", "volcano", "works", "may be repeated", "scheduler_names"),
    Flag("scheduler-conf", "text", "", "works", "looked at each second", "scheduler_conf"),
    Flag(
        "schedule-period",
        "duration",
        "1s",
        "works",
        "a round follows each change within milliseconds; the period is how long something must be unschedulable "
        "before it is told",
        "schedule_period_s",
    ),
    Flag(
        "resync-period",
        "duration",
        "0s",
        "accepted",
        "a watch that was lost begins with a new list by itself",
    ),
    Flag("default-queue", "text", "default", "works", "created at start when missing", "default_queue"),
    Flag("version", "switch", "false", "works", "prints the version and ends"),
    Flag("listen-address", "text", ":8080", "works", "sets metrics-address and metrics-port"),
    Flag("enable-metrics", "switch", "false", "works", "`vcray run` has them on unless this says false"),
    Flag(
        "healthz-address",
        "text",
        ":11251",
        "works",
        "listens with enable-healthz; /healthz is beside /metrics too",
    ),
    Flag("enable-healthz", "switch", "false", "works", "opens healthz-address"),
    Flag("enable-pprof", "switch", "false", "accepted", "there is no Go profiler in a Python process"),
    Flag(
        "priority-class", "switch", "true", "works", "false: PriorityClasses are not read", "priority_class"
    ),
    Flag(
        "kube-api-qps",
        "decimal",
        "2000",
        "works",
        "`vcray run` has no limit unless one is given",
        "kube_api_qps",
    ),
    Flag("kube-api-burst", "number", "2000", "works", "as kube-api-qps", "kube_api_burst"),
    Flag("minimum-feasible-nodes", "number", "100", "accepted", _ALL_NODES),
    Flag("minimum-percentage-nodes-to-find", "number", "5", "accepted", _ALL_NODES),
    Flag("percentage-nodes-to-find", "number", "0", "accepted", _ALL_NODES),
    Flag(
        "plugins-dir",
        "text",
        "",
        "works",
        "Python files and packages in place of Go's .so files",
        "plugins_dir",
    ),
    Flag(
        "csi-storage",
        "switch",
        "true",
        "accepted",
        "the capacity of storage is looked at where drivers tell it",
    ),
    Flag("node-selector", "list", "", "works", "key:value, any of them; may be repeated", "node_selector"),
    Flag("cache-dumper", "switch", "true", "accepted", "`vcray` keeps its truth in the API server"),
    Flag("cache-dump-dir", "text", "/tmp", "accepted", "as cache-dumper"),
    Flag("node-worker-threads", "number", "20", "accepted", "the cache is fed by one task per shard (pools)"),
    Flag("gate-removal-worker-num", "number", "5", "works", "below 1 counts as 5", "gate_removal_worker_num"),
    Flag(
        "ignored-provisioners",
        "list",
        "",
        "accepted",
        "a provisioner behind which no CSI driver stands counts nothing by itself",
    ),
    Flag("resource-sync-timeout", "duration", "60s", "accepted", "a round never rests on half a picture"),
    Flag(
        "disable-default-scheduler-config",
        "switch",
        "false",
        "works",
        "a missing configuration is an error; one that cannot be used is one at start in any case",
        "disable_default_scheduler_config",
    ),
    Flag("scheduler-sharding-mode", "text", "none", "works", "none, soft or hard", "scheduler_sharding_mode"),
    Flag("scheduler-sharding-name", "text", "volcano", "works", "its NodeShard", "scheduler_sharding_name"),
    Flag(
        OVERRIDING,
        "text",
        "volcano-system",
        "works",
        "counts before leader-elect-resource-namespace",
        "lease_namespace",
    ),
    Flag(
        "leader-elect", "switch", "true", "works", "`vcray run` has it off unless asked for", "leader_elect"
    ),
    Flag(
        "leader-elect-lease-duration",
        "duration",
        "15s",
        "works",
        "how long the Lease holds",
        "lease_duration_s",
    ),
    Flag(
        "leader-elect-renew-deadline",
        "duration",
        "10s",
        "works",
        "when a holder that cannot renew gives up",
        "lease_renew_deadline_s",
    ),
    Flag("leader-elect-retry-period", "duration", "2s", "works", "between two tries", "lease_retry_period_s"),
    Flag("leader-elect-resource-lock", "text", "leases", "accepted", "it is a Lease in any case"),
    Flag("leader-elect-resource-name", "text", "volcano", "works", "name of the Lease", "lease_name"),
    Flag(
        "leader-elect-resource-namespace",
        "text",
        "volcano-system",
        "works",
        "its namespace",
        "lease_namespace",
    ),
    Flag(
        "feature-gates", "list", "", "works", "Name=true or Name=false, with commas between", "feature_gates"
    ),
    Flag("v", "number", "0", "works", "4 or more logs all: log-level DEBUG", "log_level"),
    Flag("log-flush-frequency", "duration", "5s", "accepted", "nothing is held back"),
    Flag("add_dir_header", "switch", "false", "accepted", _KLOG),
    Flag("alsologtostderr", "switch", "false", "accepted", _KLOG),
    Flag("log_backtrace_at", "text", ":0", "accepted", _KLOG),
    Flag("log_dir", "text", "", "accepted", _KLOG),
    Flag("log_file", "text", "", "accepted", _KLOG),
    Flag("log_file_max_size", "number", "1800", "accepted", _KLOG),
    Flag("logtostderr", "switch", "true", "accepted", _KLOG),
    Flag("one_output", "switch", "false", "accepted", _KLOG),
    Flag("skip_headers", "switch", "false", "accepted", _KLOG),
    Flag("skip_log_headers", "switch", "false", "accepted", _KLOG),
    Flag("stderrthreshold", "text", "2", "accepted", _KLOG),
    Flag("vmodule", "text", "", "accepted", _KLOG),
)

ENVIRONMENT: tuple[Variable, ...] = (
    Variable(
        "MULTI_SCHEDULER_ENABLE",
        "works",
        "pods and nodes are shared among replicas",
        "multi_scheduler_enable",
    ),
    Variable("SCHEDULER_POD_NAME", "works", "this replica's pod", "scheduler_pod_name"),
    Variable("SCHEDULER_NUM", "works", "how many replicas there are", "scheduler_num"),
    Variable("HELM_RELEASE_NAME", "works", "the release", "release"),
    Variable("KUBE_POD_NAMESPACE", "works", "its namespace", "namespace"),
    Variable("BATCH_BIND_NUM", "accepted", "bindings of a round go out side by side in any case"),
    Variable("PANIC_ON_ERROR", "accepted", "a fault ends one round, never the process"),
    Variable(
        "DEBUG_SOCKET_DIR", "accepted", "there is no socket to change the log level through; see log-level"
    ),
)

GATES: Mapping[str, tuple[bool, str]] = {
    "WorkLoadSupport": (True, "no effect: owners of pods are always read, as default spreading needs them"),
    "VolcanoJobSupport": (True, "no effect: vcjobs are always served"),
    "PodDisruptionBudgetsSupport": (True, "no effect: budgets are read where plugin pdb is configured"),
    "QueueCommandSync": (True, "no effect: commands on queues are always served"),
    "PriorityClass": (True, "false: as --priority-class=false"),
    "ResourceTopology": (True, "no effect: Numatopologies are read where the cluster serves them"),
    "CronVolcanoJobSupport": (True, "no effect: CronJobs are made vcjobs where the cluster defines them"),
    "CSIStorage": (False, "no effect, as in Volcano"),
    "SchedulingGatesQueueAdmission": (False, "true: the gate of queue admission is taken off admitted pods"),
}
"""Volcano's own feature gates: default, and what one does here. Gates of Kubernetes are accepted and have no effect: the
cluster's objects tell what it serves."""

GATE_SETTINGS: Mapping[str, str] = {
    "PriorityClass": "priority_class",
    "SchedulingGatesQueueAdmission": "scheduling_gates_queue_admission",
}
"""Gates that set something: gate -> the field of `Settings`."""


def by_name(flags: Iterable[Flag]) -> Mapping[str, Flag]:
    """Flags by their names; `-` and `_` are the same, as for Kubernetes' programs."""
    return {each.name.replace("_", "-"): each for each in flags}

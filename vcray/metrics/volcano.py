"""The scheduler's metrics under Volcano's names, labels and buckets, so that its dashboards and alerts work unchanged.

Some exist for their names alone: Volcano declares them and sets none of them either.
"""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

AMOUNTS = ("allocated", "request", "inqueue", "deserved", "capacity", "real_capacity")
"""Families of a queue's amounts: each has a gauge of milli-cpu, of bytes of memory, and of other resources."""

JOB = ("job_name", "queue", "job_namespace")
DEVICE = ("devID", "NodeName")


def geometric(low: float, high: float, count: int) -> tuple[float, ...]:
    """`count` bucket bounds from `low` to `high`, both included, in equal ratios."""
    step = (high / low) ** (1 / (count - 1))
    return tuple(low * step**index for index in range(count))


class PlainCounter(Gauge):
    """A counter whose name does not end in `_total`, and is not made to: Volcano has some of these."""

    _type = "counter"


PLAIN = (
    "volcano_total_preemption_attempts",
    "volcano_job_retry_counts",
    "volcano_job_completed_phase_count",
    "volcano_job_failed_phase_count",
    "volcano_jobflow_succeed_phase_count",
    "volcano_jobflow_failed_phase_count",
)
"""Their names."""


class QueueAmounts:
    """The three gauges of one family of amounts: units are milli-cpu, bytes, and milli of other resources (pods: whole)."""

    def __init__(self, family: str, registry: CollectorRegistry) -> None:
        said = family.replace("_", " ")
        self.cpu = Gauge(
            f"volcano_queue_{family}_milli_cpu", f"CPU {said} of a queue.", ["queue_name"], registry=registry
        )
        self.memory = Gauge(
            f"volcano_queue_{family}_memory_bytes",
            f"Memory {said} of a queue.",
            ["queue_name"],
            registry=registry,
        )
        self.scalars = Gauge(
            f"volcano_queue_{family}_scalar_resources",
            f"Other resources {said} of a queue.",
            ["queue_name", "resource"],
            registry=registry,
        )


class VolcanoMetrics:
    """All of them on one registry."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self.registry = registry
        self._times()
        self._jobs()
        self._queues()
        self._preemption()
        self._agent()
        self._devices()
        self._controllers()

    def _times(self) -> None:
        self.e2e_latency = self._histogram(
            "e2e_scheduling_latency", "One scheduling round: its snapshot and its decision.", 1, 5000, 20
        )
        self.session_latency = self._histogram(
            "open_session_duration", "Building the snapshot of a round.", 1, 5000, 20
        )
        self.job_latency = self._histogram(
            "e2e_job_scheduling_latency", "From a job's creation to a placement of its pods.", 100, 120000, 30
        )
        self.plugin_latency = self._histogram(
            "plugin_scheduling_latency",
            "Opening and closing a plugin's session.",
            0.1,
            100,
            15,
            "plugin",
            "OnSession",
        )
        self.action_latency = self._histogram(
            "action_scheduling_latency", "One run of an action.", 1, 2000, 20, "action"
        )
        self.task_latency = self._histogram(
            "task_scheduling_latency",
            "From a pod's creation to a stage: Watched, Assumed, PreBound, Bound.",
            50,
            60000,
            30,
            "stage",
        )
        self.stage_duration = self._histogram(
            "scheduling_stage_duration", "A pod's time in a stage: PreBind, Bind.", 0.1, 500, 20, "stage"
        )

    def _jobs(self) -> None:
        self.job_duration = self._gauge(
            "e2e_job_scheduling_duration", "Milliseconds from a job's creation to its last placement.", *JOB
        )
        self.job_start = self._gauge("e2e_job_scheduling_start_time", "When a job was created.", *JOB)
        self.job_last = self._gauge(
            "e2e_job_scheduling_last_time", "When a pod of a job was last placed.", *JOB
        )
        self.unscheduled_tasks = self._gauge(
            "unschedule_task_count", "Pods that a job lacks to its minimum.", "job_id"
        )
        self.unscheduled_jobs = self._gauge("unschedule_job_count", "Jobs below their minimum.")
        self.job_retries = self._counter(
            "job_retry_counts", "Rounds that tried a job and left it below its minimum.", "job_id"
        )
        self.job_share = self._gauge("job_share", "Dominant share of a job (drf).", "job_ns", "job_id")
        self.namespace_share = self._gauge("namespace_share", "Declared; never set.", "namespace_name")
        self.namespace_weight = self._gauge("namespace_weight", "Declared; never set.", "namespace_name")
        self.namespace_weighted_share = self._gauge(
            "namespace_weighted_share", "Declared; never set.", "namespace_name"
        )

    def _queues(self) -> None:
        self.queue_amounts = {family: QueueAmounts(family, self.registry) for family in AMOUNTS}
        self.queue_share = self._gauge("queue_share", "Share of a queue.", "queue_name")
        self.queue_weight = self._gauge("queue_weight", "Weight of a queue (proportion).", "queue_name")
        self.queue_overused = self._gauge("queue_overused", "1 for a queue past its share.", "queue_name")

    def _preemption(self) -> None:
        self.victims = self._gauge(
            "pod_preemption_victims", "Victims on the last node that preempt looked at."
        )
        self.preemption_attempts = self._counter("total_preemption_attempts", "Nodes that preempt tried.")
        self.eviction_transactions = Counter(
            "volcano_eviction_transactions",
            "Decisions of an action that evict somebody.",
            ["action"],
            registry=self.registry,
        )
        self.schedule_attempts = Counter(
            "volcano_schedule_attempts", "Declared; never set.", ["result"], registry=self.registry
        )

    def _agent(self) -> None:
        self.agent_cycle = Histogram(
            "volcano_worker_scheduling_cycle_duration_milliseconds",
            "One turn of the agent scheduler.",
            registry=self.registry,
            buckets=tuple(5.0 * 2**index for index in range(15)),
        )
        self.agent_snapshot = Histogram(
            "volcano_update_snapshot_duration_milliseconds",
            "Building the snapshot of a turn of the agent scheduler.",
            registry=self.registry,
            buckets=tuple(5.0 * 2**index for index in range(15)),
        )

    def _devices(self) -> None:
        self.vgpu_shared = self._gauge("vgpu_device_shared_number", "Pods that share a card.", *DEVICE)
        self.vgpu_memory = self._gauge("vgpu_device_allocated_memory", "Memory allocated of a card.", *DEVICE)
        self.vgpu_cores = self._gauge(
            "vgpu_device_allocated_cores", "Percent of a card's cores allocated.", *DEVICE
        )
        self.vgpu_limit = self._gauge("vgpu_device_memory_limit", "Memory of a card.", *DEVICE)
        self.vgpu_pod_memory = self._gauge(
            "vgpu_device_memory_allocation_for_a_certain_pod",
            "Memory of a card that a pod has.",
            *DEVICE,
            "podName",
        )
        self.vgpu_pod_cores = self._gauge(
            "vgpu_device_core_allocation_for_a_certain_pod",
            "Percent of a card's cores that a pod has.",
            *DEVICE,
            "podName",
        )

    def _controllers(self) -> None:
        ended, flows = ("job_name", "queue_name"), ("jobflow_namespace",)
        self.jobs_completed = self._counter(
            "job_completed_phase_count", "How often a vcjob became Completed.", *ended
        )
        self.jobs_failed = self._counter("job_failed_phase_count", "How often a vcjob became Failed.", *ended)
        self.flows_succeeded = self._counter(
            "jobflow_succeed_phase_count", "JobFlows of a namespace that became Succeed.", *flows
        )
        self.flows_failed = self._counter(
            "jobflow_failed_phase_count", "JobFlows of a namespace that became Failed.", *flows
        )
        self.queue_groups = {
            phase: self._gauge(
                f"queue_pod_group_{phase.lower()}_count",
                f"PodGroups of a queue that are {phase}.",
                "queue_name",
            )
            for phase in ("Inqueue", "Pending", "Running", "Unknown", "Completed")
        }
        self.pod_creation_latency = self._histogram(
            "controller_job_to_pod_creation_latency",
            "From a vcjob's creation to the creation of each of its pods.",
            50,
            60000,
            30,
        )

    def _counter(self, name: str, meaning: str, *labels: str) -> PlainCounter:
        return PlainCounter(f"volcano_{name}", meaning, labels, registry=self.registry)

    def _gauge(self, name: str, meaning: str, *labels: str) -> Gauge:
        return Gauge(f"volcano_{name}", meaning, labels, registry=self.registry)

    def _histogram(
        self, name: str, meaning: str, low: float, high: float, count: int, *labels: str
    ) -> Histogram:
        return Histogram(
            f"volcano_{name}_milliseconds",
            meaning,
            labels,
            registry=self.registry,
            buckets=geometric(low, high, count),
        )


def as_volcano_writes(exposition: str) -> str:
    """The text as a Go client writes it: no creation times beside Volcano's families, and no `_total` where it has none."""
    lines = []
    for line in exposition.splitlines():
        name = line.split(" ", 3)[2] if line.startswith("#") else line.partition("{")[0].partition(" ")[0]
        if name.startswith("volcano_") and name.endswith("_created"):
            continue
        if line.startswith("#") and name.removesuffix("_total") in PLAIN:
            line = line.replace(name, name.removesuffix("_total"), 1)
        lines.append(line)
    return "\n".join(lines) + "\n"

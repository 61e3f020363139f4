"""The defaults that admission gives to a new Job, as one pure function.

After Volcano's `/jobs/mutate`, whose outcome `vcray.webhooks.jobs` turns into a patch. Absent and zero count alike, as they
do for a webhook that sees decoded objects.
"""

from __future__ import annotations

from copy import deepcopy

from vcray.api.meta import JsonObject, JsonValue

DEFAULT_QUEUE = "default"
DEFAULT_SCHEDULER = "volcano"
DEFAULT_MAX_RETRY = 3
NEEDS_SERVICE = ("tensorflow", "mpi", "pytorch", "ray")
"""Job plugins whose tasks must find each other by name."""


def default_job(job: JsonObject, scheduler_name: str = DEFAULT_SCHEDULER) -> JsonObject:
    """A copy of the job with queue, scheduler, retries, task names and minima, and implied plugins filled in.

    `scheduler_name` is the first of the schedulers that the control plane serves. The argument is not altered; parts
    of a wrong type are left for the schema to refuse.
    """
    result = deepcopy(job)
    spec = result.get("spec")
    if not isinstance(spec, dict):
        return result
    spec["queue"] = spec.get("queue") or DEFAULT_QUEUE
    spec["schedulerName"] = spec.get("schedulerName") or scheduler_name
    spec["maxRetry"] = spec.get("maxRetry") or DEFAULT_MAX_RETRY
    tasks = spec.get("tasks")
    for index, task in enumerate(tasks if isinstance(tasks, list) else []):
        if isinstance(task, dict):
            _default_task(task, index)
    if not spec.get("minAvailable"):
        spec["minAvailable"] = _total_minimum(tasks)
    plugins = spec.get("plugins")
    if isinstance(plugins, dict):
        _imply_plugins(plugins)
    return result


def _default_task(task: JsonObject, index: int) -> None:
    if not task.get("name"):
        task["name"] = f"default{index}"
    pod = task.get("template")
    pod_spec = pod.get("spec") if isinstance(pod, dict) else None
    if isinstance(pod_spec, dict) and pod_spec.get("hostNetwork") and not pod_spec.get("dnsPolicy"):
        pod_spec["dnsPolicy"] = "ClusterFirstWithHostNet"
    if task.get("minAvailable") is None:
        task["minAvailable"] = _partition_minimum(task.get("partitionPolicy")) or _whole(task.get("replicas"))
    task["maxRetry"] = task.get("maxRetry") or DEFAULT_MAX_RETRY


def _partition_minimum(policy: JsonValue) -> int:
    """Pods in the partitions that must run: minPartitions times partitionSize; zero without a policy."""
    if not isinstance(policy, dict):
        return 0
    return _whole(policy.get("minPartitions")) * _whole(policy.get("partitionSize"))


def _total_minimum(tasks: JsonValue) -> int:
    """Sum over the tasks of their minimum, already defaulted to their replicas."""
    if not isinstance(tasks, list):
        return 0
    return sum(_whole(task.get("minAvailable")) for task in tasks if isinstance(task, dict))


def _imply_plugins(plugins: JsonObject) -> None:
    if any(name in plugins for name in NEEDS_SERVICE):
        plugins.setdefault("svc", [])
    if "mpi" in plugins:
        plugins.setdefault("ssh", [])


def _whole(value: JsonValue) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) else 0

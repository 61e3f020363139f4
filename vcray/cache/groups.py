"""Pod -> gang: which job a pod belongs to, its role and place in it.

A gang is a PodGroup; a pod names it by annotation. A pod without the annotation belongs to no job and is never
scheduled here (the podgroup controller adds the annotation); with a node it still occupies it.
"""

from __future__ import annotations

from collections.abc import Mapping

from vcray.api import names
from vcray.api.wire import Pod
from vcray.core.tables import MISSING, Status

AGENT_JOB = "/agent"
"""Job of the pods that wait for the agent's fast path. No PodGroup has this key, since none has an empty namespace."""

DEFAULT_TASK_PRIORITY = 1
"""Priority of a pod that states none, as Volcano has it."""

_INT32 = 2**31
_TRUE = frozenset({"1", "t", "T", "TRUE", "true", "True"})


def job_of(pod: Pod) -> str:
    """`namespace/group`, or empty for a pod that names no group."""
    group = pod.metadata.annotations.get(names.GROUP_NAME, "")
    return f"{pod.metadata.namespace}/{group}" if group else ""


def role_of(pod: Pod) -> str:
    """The task of a vcjob that the pod belongs to: annotation, then label, else empty."""
    metadata = pod.metadata
    return metadata.annotations.get(names.TASK_SPEC) or metadata.labels.get(names.TASK_SPEC, "")


def ordinal_of(name: str) -> int:
    """The number after the last dash of a name with three or more dash-separated parts, else MISSING."""
    parts = name.split("-")
    if len(parts) < 3 or not parts[-1].isascii() or not parts[-1].isdecimal():
        return MISSING
    return min(int(parts[-1]), _INT32 - 1)


def priority_of(pod: Pod) -> int:
    """Annotation `volcano.sh/task-priority`, then spec.priority, then 1."""
    text = pod.metadata.annotations.get(names.TASK_PRIORITY, "")
    digits = text[1:] if text[:1] in ("-", "+") else text
    if digits.isascii() and digits.isdecimal() and -_INT32 <= int(text) < _INT32:
        return int(text)
    return DEFAULT_TASK_PRIORITY if pod.spec.priority is None else pod.spec.priority


def status_of(pod: Pod) -> Status:
    """Volcano's task status of a pod as the API server has it.

    An API server always writes a phase; a pod without one is taken as new."""
    leaving = pod.metadata.deletion_timestamp is not None
    match pod.status.phase:
        case "Running":
            return Status.RELEASING if leaving else Status.RUNNING
        case "Pending" | "":
            if leaving:
                return Status.RELEASING
            return Status.BOUND if pod.spec.node_name else Status.PENDING
        case "Succeeded":
            return Status.SUCCEEDED
        case "Failed":
            return Status.FAILED
    return Status.UNKNOWN


def preemptable_of(annotations: Mapping[str, str], labels: Mapping[str, str], absent: bool) -> bool:
    """`volcano.sh/preemptable` from the annotation, then the label; a text that is no boolean is False."""
    text = annotations.get(names.PREEMPTABLE, labels.get(names.PREEMPTABLE))
    return absent if text is None else text in _TRUE

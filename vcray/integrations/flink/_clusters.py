"""Labels of Flink's pods, which are the same with its operator and without: `app` is the cluster."""

from __future__ import annotations

from typing import Final

from vcray.api.meta import JsonObject
from vcray.controllers import raw
from vcray.integrations.base import Member

TYPE: Final = "type"
NATIVE: Final = "flink-native-kubernetes"
STANDALONE: Final = "flink-standalone-kubernetes"
COMPONENT: Final = "component"
JOB_MANAGER: Final = "jobmanager"
TASK_MANAGER: Final = "taskmanager"
POD_LABELS: Final = (f"{TYPE}={NATIVE}", f"{TYPE}={STANDALONE}")


def group_name(cluster: str) -> str:
    """The PodGroup of a cluster. Flink makes none, so the name is ours."""
    return f"flink-{cluster}-pg"


def member(cluster: str, pod: JsonObject) -> Member:
    """Any pod of a cluster."""
    component = raw.labels_of(pod).get(COMPONENT, "")
    return Member(group_name(cluster), component, component == JOB_MANAGER)

"""Flink on Kubernetes without its operator: the JobManager's Deployment stands for the cluster, and owns the TaskManagers' pods.

How many TaskManagers there will be is the JobManager's to know, so room is kept for its own pods alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from vcray.api.meta import JsonObject
from vcray.api.resources import DEPLOYMENTS, FLINKDEPLOYMENTS, Resource
from vcray.controllers import raw
from vcray.controllers.base import Seen
from vcray.integrations.base import Asks, Gang, Integration, Member, Part, count, template
from vcray.integrations.flink import _clusters as flink


class FlinkPods(Integration):
    """Deployments of Flink's native mode that no FlinkDeployment stands behind."""

    name: ClassVar[str] = "flinkpods"
    kinds: ClassVar[tuple[Resource, ...]] = (DEPLOYMENTS,)
    pod_labels: ClassVar[tuple[str, ...]] = flink.POD_LABELS[:1]

    def owns(self, obj: JsonObject) -> bool:
        labels = raw.labels_of(obj)
        references = raw.tables(obj, "metadata", "ownerReferences")
        return (
            labels.get(flink.TYPE) == flink.NATIVE
            and labels.get(flink.COMPONENT) == flink.JOB_MANAGER
            and not any(each.get("kind") == FLINKDEPLOYMENTS.kind for each in references)
        )

    def asks(self, owner: JsonObject) -> Asks:
        return Asks(templates=(raw.table(owner, "spec", "template"),))

    def gangs(self, owner: JsonObject, seen: Seen) -> Sequence[Gang]:
        masters = count(owner, "spec.replicas", "spec", "replicas", default=1)
        pod = template(owner, "spec.template", "spec", "template")
        return (Gang(flink.group_name(raw.name(owner)), (Part(flink.JOB_MANAGER, masters, masters, pod),)),)

    def member(self, owner: JsonObject, pod: JsonObject) -> Member | None:
        return flink.member(raw.name(owner), pod)

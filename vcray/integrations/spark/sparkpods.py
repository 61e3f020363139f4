"""Spark on Kubernetes without an operator: a gang for each driver pod, which its executors join.

How many executors there will be stands in a file that the driver alone reads. So room is kept for those that are there, or for what
the driver's annotation `scheduling.volcano.sh/group-min-resources` says (a ResourceList as JSON).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Final, cast

import msgspec

from vcray.api import names
from vcray.api.meta import JsonObject
from vcray.api.resources import PODGROUPS, PODS, Resource
from vcray.controllers import raw
from vcray.controllers.base import Seen
from vcray.controllers.podusage import Usage, add_usage, effective, usage_json
from vcray.integrations.base import Asks, Gang, Integration, Malformed, Member, Part
from vcray.integrations.spark import _pods as spark

_ENDED: Final = ("Succeeded", "Failed")


class SparkPods(Integration):
    """Drivers of spark-submit; those that the Spark operator makes belong to its SparkApplication.

    A pod that runs a driver in client mode is one too if it is labelled `spark-role: driver`: it is no member itself, and its
    executors have a gang for each application that it starts (volcano-sh/volcano#2832)."""

    name: ClassVar[str] = "sparkpods"
    kinds: ClassVar[tuple[Resource, ...]] = (PODS,)
    pod_labels: ClassVar[tuple[str, ...]] = (spark.APP_ID, f"{spark.ROLE}={spark.DRIVER}")
    follows_pods: ClassVar[bool] = True

    def owns(self, obj: JsonObject) -> bool:
        return spark.role(obj) == spark.DRIVER and spark.OPERATOR_APP not in raw.labels_of(obj)

    def asks(self, owner: JsonObject) -> Asks:
        return Asks(templates=(owner,))

    def gangs(self, owner: JsonObject, seen: Seen) -> Sequence[Gang]:
        if raw.text(owner, "status", "phase") in _ENDED:
            return ()
        executors = [
            pod
            for pod in seen.owned(PODS, raw.uid(owner))
            if not raw.terminating(pod) and raw.text(pod, "status", "phase") not in _ENDED
        ]
        found = []
        for name in dict.fromkeys(filter(None, map(group_name, (owner, *executors)))):
            present = seen.get(PODGROUPS, raw.namespace(owner), name)
            if present is not None and names.MANAGED_BY not in raw.labels_of(present):
                continue  # Spark's own feature step made it
            pods = [pod for pod in (owner, *executors) if group_name(pod) == name]
            parts = (Part(spark.DRIVER, 1, 1, owner),) if pods[0] is owner else ()
            found.append(Gang(name, parts, min_member=1, min_resources=_said(owner) or _room(pods)))
        return found

    def member(self, owner: JsonObject, pod: JsonObject) -> Member | None:
        name = group_name(pod)
        return Member(name, spark.role(pod)) if name else None


def group_name(pod: JsonObject) -> str:
    """The PodGroup of a pod's application, as Spark's VolcanoFeatureStep calls it; empty when the pod is of none."""
    app = raw.labels_of(pod).get(spark.APP_ID, "")
    return f"{app}-podgroup" if app else ""


def _said(driver: JsonObject) -> JsonObject | None:
    spelled = raw.annotation(driver, names.GROUP_MIN_RESOURCES)
    if not spelled:
        return None
    try:
        found = msgspec.json.decode(spelled)
    except msgspec.DecodeError:
        found = None
    if not isinstance(found, dict) or not all(isinstance(each, str | int) for each in found.values()):
        raise Malformed(
            f"metadata.annotations[{names.GROUP_MIN_RESOURCES}]: "
            f'must be amounts as JSON, such as {{"cpu": "4"}}, got {spelled!r}'
        )
    return cast(JsonObject, found)


def _room(pods: Sequence[JsonObject]) -> JsonObject:
    total: Usage = {}
    for pod in pods:
        add_usage(total, effective(raw.table(pod, "spec"), "requests"))
    return usage_json(total)

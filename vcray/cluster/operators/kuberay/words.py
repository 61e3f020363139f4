"""KubeRay's labels, annotations and finalizers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from vcray.api import names
from vcray.api.meta import JsonObject
from vcray.controllers import raw

CLUSTER: Final = "ray.io/cluster"
NODE_TYPE: Final = "ray.io/node-type"
GROUP: Final = "ray.io/group"
HEAD_GROUP: Final = "headgroup"
REPLICA_INDEX: Final = "ray.io/worker-group-replica-index"
REPLICA_NAME: Final = "ray.io/worker-group-replica-name"
HOST_INDEX: Final = "ray.io/replica-host-index"
ORIGIN_KIND: Final = "ray.io/originated-from-crd"
ORIGIN_NAME: Final = "ray.io/originated-from-cr-name"
SUBMISSION_MODE: Final = "ray.io/job-submission-mode"
CRON_JOB_NAME: Final = "ray.io/cronjob-name"
SPEC_HASH: Final = "ray.io/hash-without-replicas-and-workers-to-delete"
RECREATE_HASH: Final = "ray.io/upgrade-strategy-recreate-hash"
KEEP_HEAD: Final = "ray.io/disable-provisioned-head-restart"
REDIS_FINALIZER: Final = "ray.io/gcs-ft-redis-cleanup-finalizer"
OPERATOR: Final = "ray.io/kuberay-operator"
SUBMITTER: Final = "submittergroup"
RESULT: Final = "vcray.io/stand-in-result"
"""Annotation of ours on a RayJob: how its attempts end, such as `failed,succeeded`. Ray's dashboard tells it to the real operator."""
DEMAND: Final = "vcray.io/stand-in-demand"
"""Annotation of ours on a RayCluster: replicas that its worker groups need, such as `small=5,large=1`. Ray tells it to the real autoscaler."""

MADE_BY: Final[Mapping[str, str]] = {
    "app.kubernetes.io/name": "kuberay",
    "app.kubernetes.io/created-by": "kuberay-operator",
}


def is_ours(spec: JsonObject) -> bool:
    """Is the object KubeRay's to look after?"""
    return raw.text(spec, "managedBy") in ("", OPERATOR)


def child_metadata(parent: JsonObject, kind: str, **labels: str) -> JsonObject:
    """metadata of a RayCluster that is made for a RayJob or RayService: the parent's labels and annotations go with it."""
    origin = {ORIGIN_KIND: kind, ORIGIN_NAME: raw.name(parent), **labels}
    return {
        "generateName": f"{raw.name(parent)}-",
        "labels": raw.strings({**raw.labels_of(parent), **origin}),
        "annotations": raw.strings(raw.annotations_of(parent)),
    }


def handed_on(cluster: JsonObject) -> dict[str, str]:
    """Labels of a cluster that its pods bear where the volcano plugin is on."""
    wanted = (names.QUEUE_NAME, names.RAY_PRIORITY_CLASS)
    return {key: value for key, value in raw.labels_of(cluster).items() if key in wanted}

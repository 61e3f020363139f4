"""Creating and deleting the pods of a controller, in batches that grow while all goes well."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence

from vcray.api.jsonview import dig_list, dig_object, dig_str
from vcray.api.meta import JsonObject
from vcray.api.resources import PODS, Resource
from vcray.cluster.workloads.base import Controller, owner_reference
from vcray.cluster.workloads.podview import PodView, view_of
from vcray.errors import VcrayError
from vcray.kube.errors import ApiError, Conflict, NotFound
from vcray.kube.events import NORMAL, WARNING

FIRST_BATCH = 1
BURST = 500
"""Most pods that one turn creates or deletes."""
_LONGEST_PREFIX = 58
"""Letters of a `generateName` that the server keeps."""


def pod_from(resource: Resource, owner: JsonObject, template: JsonObject) -> JsonObject:
    """The pod of a template, owned by `owner`; its name is left to the server."""
    metadata: JsonObject = {
        "generateName": dig_str(owner, "metadata", "name")[: _LONGEST_PREFIX - 1] + "-",
        "labels": {**dig_object(template, "metadata", "labels")},
        "ownerReferences": [owner_reference(resource, owner)],
    }
    annotations, finalizers = (
        dig_object(template, "metadata", "annotations"),
        dig_list(template, "metadata", "finalizers"),
    )
    if annotations:
        metadata["annotations"] = {**annotations}
    if finalizers:
        metadata["finalizers"] = [*finalizers]
    return {"metadata": metadata, "spec": {**dig_object(template, "spec")}}


def numbered_prefix(name: str, index: int) -> str:
    """The `generateName` of a numbered pod; a long name is cut so that the number stays."""
    end = f"-{index}-"
    return name[: _LONGEST_PREFIX - len(end)] + end


async def in_batches(makes: Sequence[Callable[[], Awaitable[None]]]) -> VcrayError | None:
    """Run all, one first, then twice as many each time; the first refusal ends it and is returned."""
    at, size = 0, FIRST_BATCH
    while at < len(makes):
        results = await asyncio.gather(*(make() for make in makes[at : at + size]), return_exceptions=True)
        for result in results:
            if isinstance(result, VcrayError):
                return result
            if isinstance(result, BaseException):
                raise result
        at, size = at + size, size * 2
    return None


async def create_pod(controller: Controller, owner: JsonObject, pod: JsonObject) -> None:
    """Create a pod and say so in an event. Raises ApiError when the server refuses, after an event."""
    namespace = dig_str(owner, "metadata", "namespace")
    try:
        made = await controller.client.create(PODS, namespace, pod)
    except ApiError as error:
        if "being terminated" not in error.message:
            await controller.tell(owner, WARNING, "FailedCreate", f"Error creating: {error.message}")
        raise
    view = view_of(made)
    controller.shared.pods.put(view)
    await controller.tell(owner, NORMAL, "SuccessfulCreate", f"Created pod: {view.metadata.name}")


async def delete_pod(controller: Controller, owner: JsonObject, pod: PodView) -> None:
    """Delete a pod, if it is still that one, and say so in an event."""
    if await remove_pod(controller, pod):
        await controller.tell(owner, NORMAL, "SuccessfulDelete", f"Deleted pod: {pod.metadata.name}")


async def remove_pod(controller: Controller, pod: PodView) -> bool:
    """Delete a pod; False if it was gone already, or another's by now."""
    head = pod.metadata
    try:
        answer = await controller.client.delete(PODS, head.namespace, head.name, uid=head.uid)
    except (NotFound, Conflict):
        controller.shared.pods.remove(f"{head.namespace}/{head.name}", head.uid)
        return False
    if answer.get("kind") == "Pod" and dig_str(answer, "metadata", "uid") == head.uid:
        view = view_of(answer)
        if view.deleting and _lingers(answer):
            controller.shared.pods.put(view)
        else:
            controller.shared.pods.remove(f"{head.namespace}/{head.name}", head.uid)
    return True


def _lingers(pod: JsonObject) -> bool:
    grace = dig_object(pod, "metadata").get("deletionGracePeriodSeconds")
    return bool(grace) or bool(dig_list(pod, "metadata", "finalizers"))


def by_expendability(pods: Sequence[PodView]) -> list[PodView]:
    """Pods in the order in which a controller that has too many lets them go.

    First those without a node, then by phase, readiness and `pod-deletion-cost`; of equals those whose node holds more of
    them, the more recently ready, the more often restarted, the younger.
    """
    crowd: dict[str, int] = {}
    for pod in pods:
        if pod.active:
            crowd[pod.spec.node_name] = crowd.get(pod.spec.node_name, 0) + 1

    def rank(pod: PodView) -> tuple[float, ...]:
        condition, created = pod.condition("Ready"), pod.metadata.creation_timestamp
        since = condition.last_transition_time if condition and condition.status == "True" else None
        return (
            float(bool(pod.spec.node_name)),
            {"Pending": 0.0, "": 0.0, "Unknown": 1.0}.get(pod.status.phase, 2.0),
            float(pod.ready),
            float(_cost(pod)),
            -float(crowd.get(pod.spec.node_name, 0)),
            -(since.timestamp() if since else 0.0),
            -float(pod.restarts),
            -(created.timestamp() if created else 0.0),
        )

    return sorted(pods, key=rank)


def _cost(pod: PodView) -> int:
    text = (pod.metadata.annotations or {}).get("controller.kubernetes.io/pod-deletion-cost", "0")
    try:
        return int(text)
    except ValueError:
        return 0

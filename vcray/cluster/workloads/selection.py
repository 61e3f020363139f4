"""Which pods belong to a controller: those it owns and still selects, and orphans that it takes over.

A pod that is owned but selected no longer is let go; an orphan that is selected is adopted, unless its adopter is being
deleted. Both are patches that name the pod's uid.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from vcray.api.jsonview import dig_str
from vcray.api.meta import JsonObject, JsonValue
from vcray.api.resources import PODS, Resource
from vcray.cluster.objects.selectors import selector_matches
from vcray.cluster.workloads.base import Shared, key_of, owner_reference
from vcray.cluster.workloads.informers import Informer
from vcray.cluster.workloads.podview import PodView, view_of
from vcray.kube.client import PatchType
from vcray.kube.errors import Invalid, NotFound

Selects = Callable[[dict[str, str]], bool]


def selects(selector: JsonValue) -> Selects:
    """A test of labels by a LabelSelector; an absent or empty one selects nothing here."""
    if not selector:
        return lambda _: False
    return lambda labels: selector_matches(selector, labels)


def concerned(
    old: PodView | None,
    new: PodView | None,
    resource: Resource,
    owners: Informer[JsonObject],
    selector: Callable[[JsonObject], Selects],
) -> Iterator[str]:
    """The keys of those that a change of a pod concerns: its controllers of this resource, or all that select an orphan."""
    for pod in (old, new):
        if pod is None:
            continue
        owner = pod.controller
        if owner is not None:
            if (owner.kind, owner.api_version) == (resource.kind, resource.api_version):
                yield f"{pod.metadata.namespace}/{owner.name}"
        elif pod.labels:
            for each in owners.in_namespace(pod.metadata.namespace):
                if selector(each)(pod.labels):
                    yield key_of(each)


def unfinished(pod: PodView) -> bool:
    """Whether a pod has not ended: others are not adopted by controllers that only count what runs."""
    return not pod.finished


async def claim(
    shared: Shared,
    resource: Resource,
    owner: JsonObject,
    test: Selects,
    finalizer: str = "",
    fits: Callable[[PodView], bool] = unfinished,
) -> list[PodView]:
    """The pods of `owner`, after letting go and adopting orphans that it selects and that it `fits`.

    With `finalizer` adopted pods get it too.
    """
    uid, namespace = dig_str(owner, "metadata", "uid"), dig_str(owner, "metadata", "namespace")
    deleting = bool(dig_str(owner, "metadata", "deletionTimestamp"))
    claimed: list[PodView] = []
    for pod in list(shared.pods.owned(uid)):
        if test(pod.labels):
            claimed.append(pod)
        elif not deleting:
            await _release(shared, pod, uid, finalizer)
    if deleting:
        return claimed
    for pod in list(shared.pods.orphans(namespace)):
        if not pod.deleting and test(pod.labels) and fits(pod):
            adopted = await _adopt(shared, pod, owner_reference(resource, owner), finalizer)
            if adopted is not None:
                claimed.append(adopted)
    return claimed


async def _release(shared: Shared, pod: PodView, owner: str, finalizer: str) -> None:
    metadata: JsonObject = {
        "uid": pod.metadata.uid,
        "ownerReferences": [{"$patch": "delete", "uid": owner}],
    }
    if finalizer in (pod.metadata.finalizers or ()):
        metadata["$deleteFromPrimitiveList/finalizers"] = [finalizer]
    await _patch(shared, pod, metadata)


async def _adopt(shared: Shared, pod: PodView, reference: JsonObject, finalizer: str) -> PodView | None:
    metadata: JsonObject = {"uid": pod.metadata.uid, "ownerReferences": [reference]}
    if finalizer:
        metadata["finalizers"] = [finalizer]
    return await _patch(shared, pod, metadata)


async def _patch(shared: Shared, pod: PodView, metadata: JsonObject) -> PodView | None:
    try:
        answer = await shared.client.patch(
            PODS, pod.metadata.namespace, pod.metadata.name, {"metadata": metadata}, PatchType.STRATEGIC
        )
    except (NotFound, Invalid):
        return None
    view = view_of(answer)
    shared.pods.put(view)
    return view

"""Pods that run on when their PodGroup is deleted (trap T27, kuberay#4643): their queue is to be charged all the same.

Who deleted the group may make it anew, as most operators do. When it has not come after a while, the pods that still run and name it
are brought into a group called after their controller, as pods are that never had one. It is in the queue of the group that went, has
no minimum, and so holds what runs and nothing else.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Final

from vcray.api import names
from vcray.api.meta import JsonObject
from vcray.api.resources import JOBS, PODGROUPS, PODS
from vcray.controllers import raw
from vcray.controllers.base import Again, Change, Create, Effects, Request, Seen, must
from vcray.controllers.notes import annotate

ABSENT_S: Final = 30.0
"""How long a group may be away while its pods run."""
_ENDED: Final = ("Succeeded", "Failed")


@dataclass(frozen=True, slots=True)
class Regroup:
    """A group went while pods ran in it; `waited`: a while ago."""

    namespace: str
    group: str
    queue: str
    waited: bool = False

    @property
    def key(self) -> str:
        return f"{self.namespace}/{self.group}"


def regroups(change: Change) -> Iterable[Request]:
    """For a group that was deleted and had running pods, as its status tells: to look at all pods for each that goes would take
    too long. That of a vcjob is made anew, or its pods go too."""
    group = change.old
    if change.resource != PODGROUPS or change.new is not None or group is None:
        return
    if raw.number(group, "status", "running") > 0 and raw.text(raw.controller(group), "kind") != JOBS.kind:
        yield Regroup(raw.namespace(group), raw.name(group), raw.text(group, "spec", "queue"))


def regroup(request: Regroup, seen: Seen, schedulers: Collection[str]) -> Effects:
    """Wait, then make the groups and annotate the pods. ReconcileError when a write was refused."""
    if seen.get(PODGROUPS, request.namespace, request.group) is not None:
        return
    if not request.waited:
        yield Again(ABSENT_S, replace(request, waited=True))
        return
    made: set[str] = set()
    for pod in list(_running(request.namespace, request.group, seen, schedulers)):
        name = names.PODGROUP_PREFIX + (raw.text(raw.controller(pod), "uid") or raw.uid(pod))
        if name not in made and seen.get(PODGROUPS, request.namespace, name) is None:
            outcome = yield Create(PODGROUPS, _group(name, pod, request.queue))
            if not outcome.already_exists:
                must(outcome, f"create PodGroup {request.namespace}/{name}")
        made.add(name)
        if name == request.group:
            continue
        yield from annotate(PODS, pod, {names.GROUP_NAME: name})


def _running(namespace: str, group: str, seen: Seen, schedulers: Collection[str]) -> Iterator[JsonObject]:
    """Pods of ours that hold a node, are to stay, and name the group."""
    for pod in seen.list(PODS, namespace):
        if (
            raw.annotation(pod, names.GROUP_NAME) == group
            and raw.text(pod, "spec", "schedulerName") in schedulers
            and raw.text(pod, "spec", "nodeName")
            and raw.text(pod, "status", "phase") not in _ENDED
            and not raw.terminating(pod)
        ):
            yield pod


def _group(name: str, pod: JsonObject, queue: str) -> JsonObject:
    above = raw.controller(pod)
    owner = dict(above) if above else raw.owner_reference(PODS.api_version, PODS.kind, pod)
    return {
        "apiVersion": PODGROUPS.api_version,
        "kind": PODGROUPS.kind,
        "metadata": {"name": name, "namespace": raw.namespace(pod), "ownerReferences": [owner]},
        "spec": {"queue": queue or names.DEFAULT_QUEUE, "minMember": 0, "minResources": {}},
        "status": {"phase": "Pending"},
    }

"""One turn of a StatefulSet: which pod is made, mended or deleted next.

Under OrderedReady a pod waits until all before it are available, one is deleted only while all others are available, and the
turn ends at the first pod that is to be waited for. Under Parallel all pods are treated at once; only updates go one by one.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial

from vcray.api.jsonview import dig, dig_int, dig_object, dig_str
from vcray.api.meta import JsonObject
from vcray.cluster.workloads.history import HASH_LABEL, Revisions, name_of
from vcray.cluster.workloads.podcontrol import in_batches
from vcray.cluster.workloads.podview import PodView
from vcray.cluster.workloads.statefulset.identity import ordinal_of, ordinals
from vcray.cluster.workloads.statefulset.members import Members


def rolls(stateful_set: JsonObject) -> bool:
    """Whether its strategy is RollingUpdate."""
    return dig_str(stateful_set, "spec", "updateStrategy", "type") in ("", "RollingUpdate")


def is_available(pod: PodView, min_ready_s: int, now: float) -> bool:
    """Whether a pod has been ready for long enough at `now`, in seconds since the epoch."""
    at = pod.available_at(min_ready_s)
    return at is not None and at <= now


@dataclass(slots=True)
class Turn:
    """A set at one moment: its pods by ordinal, those that should be there and those that are too many."""

    stateful_set: JsonObject
    revisions: Revisions
    members: Members
    now: float
    replicas: dict[int, PodView | None] = field(default_factory=dict)
    condemned: dict[int, PodView] = field(default_factory=dict)

    def sort(self, pods: Iterable[PodView]) -> None:
        """Take in the pods of the set."""
        self.replicas = dict.fromkeys(ordinals(self.stateful_set))
        for pod in pods:
            ordinal = ordinal_of(self.stateful_set, pod.metadata.name)
            if ordinal in self.replicas:
                self.replicas[ordinal] = pod
            elif ordinal is not None:
                self.condemned[ordinal] = pod

    async def run(self) -> None:
        """Do what is to be done now. Raises what the server refuses."""
        ordered = dig_str(self.stateful_set, "spec", "podManagementPolicy") != "Parallel"
        first = self._first_unavailable()
        surplus = sorted(self.condemned.items(), reverse=True)
        steps = [partial(self._keep, ordinal, ordered) for ordinal in self.replicas]
        if await _stops(steps, ordered):
            return
        for ordinal, pod in surplus:
            await self.members.own_claims(self.stateful_set, pod, ordinal)
        if await _stops([partial(self._let_go, pod, first, ordered) for _, pod in surplus], ordered):
            return
        if rolls(self.stateful_set):
            await self._update()

    def _available(self, pod: PodView) -> bool:
        return is_available(pod, dig_int(self.stateful_set, "spec", "minReadySeconds"), self.now)

    def _first_unavailable(self) -> PodView | None:
        """The lowest pod that is not available, if it exists; those that should be there come first."""
        for pod in (*self.replicas.values(), *(pod for _, pod in sorted(self.condemned.items()))):
            if pod is None or pod.deleting or not self._available(pod):
                return pod
        return None

    async def _keep(self, ordinal: int, ordered: bool) -> bool:
        """See to one pod that should be there; whether all after it must wait."""
        pod = self.replicas[ordinal]
        if pod is not None and pod.finished:
            if not pod.deleting:
                await self.members.delete(self.stateful_set, pod)
            return True
        if pod is None:
            if self.members.waits_for_claims(self.stateful_set, ordinal):
                return True
            revision = self._revision_for(ordinal)
            self.replicas[ordinal] = await self.members.create(self.stateful_set, revision, ordinal)
            return ordered
        if pod.status.phase == "Pending":
            await self.members.create_claims(self.stateful_set, pod.metadata.name, ordinal)
            await self.members.own_claims(self.stateful_set, pod, ordinal)
        running = pod.status.phase == "Running" and not pod.deleting
        if ordered and not (running and self._available(pod)):
            return True
        await self.members.mend(self.stateful_set, pod, ordinal)
        return False

    def _revision_for(self, ordinal: int) -> JsonObject:
        """The revision of a pod that is made now: the current one below the partition."""
        update = self.revisions.update
        current = self.revisions.named(dig_str(self.stateful_set, "status", "currentRevision")) or update
        start, rolling = ordinals(self.stateful_set).start, dig(self.stateful_set, "spec", "updateStrategy")
        if isinstance(dig(rolling, "rollingUpdate"), dict):
            kept = dig_int(rolling, "rollingUpdate", "partition")
        else:
            kept = dig_int(self.stateful_set, "status", "currentReplicas") if rolls(self.stateful_set) else 0
        return current if ordinal < start + kept else update

    async def _let_go(self, pod: PodView, first: PodView | None, ordered: bool) -> bool:
        """See to one pod that is too many; whether all after it must wait."""
        if pod.deleting:
            return ordered
        ready = pod.status.phase == "Running" and self._available(pod)
        if not ordered or ready or pod is first:
            await self.members.delete(self.stateful_set, pod)
        return True

    async def _update(self) -> None:
        """Delete the highest pod that is not of the newest revision, unless one above it is not available."""
        strategy = dig_object(self.stateful_set, "spec", "updateStrategy", "rollingUpdate")
        newest = name_of(self.revisions.update)
        for pod in reversed(list(self.replicas.values())[dig_int(strategy, "partition") :]):
            if pod is not None and pod.labels.get(HASH_LABEL, "") != newest and not pod.deleting:
                await self.members.delete(self.stateful_set, pod)
                return
            if pod is None or pod.deleting or not self._available(pod):
                return


async def _stops(steps: Sequence[Callable[[], Awaitable[bool]]], ordered: bool) -> bool:
    """Run steps one by one until one says stop, or all at once whatever they say. Raises what one of them raises."""
    if ordered:
        for step in steps:
            if await step():
                return True
        return False
    refused = await in_batches([partial(_run, step) for step in steps])
    if refused is not None:
        raise refused
    return False


async def _run(step: Callable[[], Awaitable[bool]]) -> None:
    await step()

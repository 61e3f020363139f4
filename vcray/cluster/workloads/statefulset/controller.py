"""The controller of StatefulSets: pods with names and claims of their own, made, updated and deleted in order.

Behaviour is that of kube-controller-manager 1.36 with its default feature gates: `maxUnavailable` is not among them.
"""

from __future__ import annotations

from collections.abc import Sequence

from vcray.api.jsonview import dig, dig_int, dig_str
from vcray.api.meta import JsonObject
from vcray.api.resources import PERSISTENTVOLUMECLAIMS, STATEFULSETS
from vcray.cluster.workloads.base import Controller, Shared, key_of
from vcray.cluster.workloads.history import HASH_LABEL, History, Revisions, name_of
from vcray.cluster.workloads.podview import PodView
from vcray.cluster.workloads.selection import Selects, claim, concerned, selects
from vcray.cluster.workloads.statefulset.claims import claim_templates
from vcray.cluster.workloads.statefulset.identity import ordinal_of
from vcray.cluster.workloads.statefulset.members import Members
from vcray.cluster.workloads.statefulset.turn import Turn, is_available, rolls
from vcray.errors import VcrayError


class StatefulSetController(Controller):
    """StatefulSets. Each turn makes one step under OrderedReady; changes of pods bring the next."""

    name = "statefulset-controller"

    def __init__(self, shared: Shared) -> None:
        super().__init__(shared)
        self.sets = shared.objects(STATEFULSETS)
        claims = shared.objects(PERSISTENTVOLUMECLAIMS)
        self.history = History(self, STATEFULSETS, "controller.kubernetes.io/hash")
        self.members = Members(self, claims)
        self.sets.on_change(self._set_changed)
        claims.on_change(self._claim_changed)
        shared.pods.on_change(self._pod_changed)

    @staticmethod
    def _selector(stateful_set: JsonObject) -> Selects:
        return selects(dig(stateful_set, "spec", "selector"))

    def _set_changed(self, old: JsonObject | None, new: JsonObject | None) -> None:
        found = new or old
        if found is not None:
            self.queue.add(key_of(found))

    def _pod_changed(self, old: PodView | None, new: PodView | None) -> None:
        for key in concerned(old, new, STATEFULSETS, self.sets, self._selector):
            self.queue.add(key)

    def _claim_changed(self, old: JsonObject | None, new: JsonObject | None) -> None:
        """A pod may have waited for a claim of its former self to go."""
        if new is None and old is not None:
            for each in self.sets.in_namespace(dig_str(old, "metadata", "namespace")):
                if claim_templates(each):
                    self.queue.add(key_of(each))

    async def reconcile(self, key: str) -> float | None:
        stateful_set = self.sets.objects.get(key)
        if stateful_set is None:
            self.queue.forget(key)
            return None
        test = self._selector(stateful_set)
        if dig_str(stateful_set, "metadata", "deletionTimestamp"):
            return None
        await self.history.adopt(stateful_set, test)

        def fits(pod: PodView) -> bool:
            return ordinal_of(stateful_set, pod.metadata.name) is not None

        pods = await claim(self.shared, STATEFULSETS, stateful_set, test, fits=fits)
        revisions = await self.history.bring(stateful_set, test)
        turn = Turn(stateful_set, revisions, self.members, self.time.now())
        turn.sort(pods)
        refused: VcrayError | None = None
        try:
            await turn.run()
        except VcrayError as error:
            refused = error
        again = await self._report(key, revisions, test)
        await self._forget_old(stateful_set, revisions, pods)
        if refused is not None:
            raise refused
        return again

    async def _forget_old(
        self, stateful_set: JsonObject, revisions: Revisions, pods: Sequence[PodView]
    ) -> None:
        """Keep as many revisions as the history limit says, besides those that are in use."""
        live = {pod.labels.get(HASH_LABEL, "") for pod in pods}
        live |= {name_of(revisions.update), dig_str(stateful_set, "status", "currentRevision")}
        dead = [each for each in revisions.every if name_of(each) not in live]
        limit = dig_int(stateful_set, "spec", "revisionHistoryLimit", default=10)
        await self.history.cut(dead, len(dead) - limit)

    # -- status -----------------------------------------------------------------------------------------------

    async def _report(self, key: str, revisions: Revisions, test: Selects) -> float | None:
        stateful_set = self.sets.objects.get(key)
        if stateful_set is None:
            return None
        owned = self.shared.pods.owned(dig_str(stateful_set, "metadata", "uid"))
        status, again = counted(
            stateful_set, revisions, [pod for pod in owned if test(pod.labels)], self.time.now()
        )
        await self.patch_status(STATEFULSETS, self.sets, stateful_set, status)
        return again


def counted(
    stateful_set: JsonObject, revisions: Revisions, pods: Sequence[PodView], now: float
) -> tuple[JsonObject, float | None]:
    """The status of a set with these pods, and the seconds until another of them becomes available.

    Once all pods are of the newest revision and ready, it is the current one.
    """
    min_ready = dig_int(stateful_set, "spec", "minReadySeconds")
    update = name_of(revisions.update)
    named = revisions.named(dig_str(stateful_set, "status", "currentRevision"))
    current = update if named is None else name_of(named)
    ready = [pod for pod in pods if pod.ready and pod.status.phase == "Running"]
    hashes = [pod.labels.get(HASH_LABEL, "") for pod in pods if not pod.deleting]
    updated, wanted = hashes.count(update), dig_int(stateful_set, "spec", "replicas", default=1)
    if rolls(stateful_set) and updated == len(ready) == len(pods) == wanted:
        current = update
    waits = [at - now for pod in ready if (at := pod.available_at(min_ready)) is not None and at > now]
    status: JsonObject = {
        "observedGeneration": dig_int(stateful_set, "metadata", "generation") or None,
        "replicas": len(pods),
        "readyReplicas": len(ready) or None,
        "availableReplicas": sum(is_available(pod, min_ready, now) for pod in ready),
        "currentReplicas": hashes.count(current) or None,
        "updatedReplicas": updated or None,
        "currentRevision": current,
        "updateRevision": update,
        "collisionCount": revisions.collisions,
    }
    return status, min(waits, default=None)

"""The controller of DaemonSets: a pod on every node that its template allows, bound by the scheduler that the pod names."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from vcray.api.jsonview import dig, dig_int, dig_object, dig_str
from vcray.api.meta import JsonObject
from vcray.api.resources import DAEMONSETS, NODES
from vcray.cluster.workloads.base import Controller, Shared, key_of
from vcray.cluster.workloads.daemonset.placing import daemon_for
from vcray.cluster.workloads.daemonset.plan import FailurePace, Plan, Scene, manage, oldest_first
from vcray.cluster.workloads.daemonset.rollout import roll
from vcray.cluster.workloads.history import HASH_LABEL, History, Revisions
from vcray.cluster.workloads.podcontrol import create_pod, delete_pod, in_batches
from vcray.cluster.workloads.podview import PodView
from vcray.cluster.workloads.selection import Selects, claim, concerned, selects
from vcray.errors import VcrayError

BURST = 250
"""Most pods that one turn creates or deletes."""


class DaemonSetController(Controller):
    """DaemonSets. A turn first sees to nodes that have no pod or the wrong ones; a rollout goes on when none has."""

    name = "daemonset-controller"

    def __init__(self, shared: Shared) -> None:
        super().__init__(shared)
        self.sets = shared.objects(DAEMONSETS)
        self.nodes = shared.objects(NODES)
        self.history = History(self, DAEMONSETS, HASH_LABEL)
        self.pace = FailurePace()
        self.sets.on_change(self._set_changed)
        self.nodes.on_change(self._node_changed)
        shared.pods.on_change(self._pod_changed)

    @staticmethod
    def _selector(daemon_set: JsonObject) -> Selects:
        return selects(dig(daemon_set, "spec", "selector"))

    def _set_changed(self, old: JsonObject | None, new: JsonObject | None) -> None:
        found = new or old
        if found is not None:
            self.queue.add(key_of(found))
            if new is None:
                self.pace.forget(dig_str(found, "metadata", "uid"))

    def _node_changed(self, old: JsonObject | None, new: JsonObject | None) -> None:
        """Only labels and taints make a difference."""
        if old is not None and new is not None and _marks(old) == _marks(new):
            return
        for key in self.sets.objects:
            self.queue.add(key)

    def _pod_changed(self, old: PodView | None, new: PodView | None) -> None:
        for key in concerned(old, new, DAEMONSETS, self.sets, self._selector):
            self.queue.add(key)

    # -- one set ----------------------------------------------------------------------------------------------

    async def reconcile(self, key: str) -> float | None:
        daemon_set = self.sets.objects.get(key)
        if daemon_set is None:
            self.queue.forget(key)
            return None
        if dig_str(daemon_set, "metadata", "deletionTimestamp"):
            return None
        test = self._selector(daemon_set)
        await self.history.adopt(daemon_set, test)
        revisions = await self.history.bring(daemon_set, test)
        mark = dig_str(revisions.update, "metadata", "labels", HASH_LABEL)
        pods = await claim(self.shared, DAEMONSETS, daemon_set, test, fits=lambda _: True)
        refused, again = await self._step(self._scene(daemon_set, mark, pods))
        if refused is None:
            await self._forget_old(daemon_set, revisions, pods)
        later = await self._report(key, mark, revisions.collisions)
        if refused is not None:
            raise refused
        return min((each for each in (again, later) if each is not None), default=None)

    def _scene(self, daemon_set: JsonObject, mark: str, pods: Sequence[PodView]) -> Scene:
        return Scene.of(daemon_set, mark, self.time.now(), self.nodes.objects, pods)

    async def _step(self, scene: Scene) -> tuple[VcrayError | None, float | None]:
        """Bring pods to nodes or, when all have theirs, the rollout forward."""
        plan = manage(scene, self.pace)
        for note in plan.notes:
            await self.tell(scene.daemon_set, *note)
        again = plan.again
        rolling = dig_str(scene.daemon_set, "spec", "updateStrategy", "type") in ("", "RollingUpdate")
        if plan.empty and rolling:
            plan = roll(scene)
        return await self._carry_out(scene, plan), again

    async def _carry_out(self, scene: Scene, plan: Plan) -> VcrayError | None:
        owner = scene.daemon_set
        refused = await in_batches(
            [
                partial(create_pod, self, owner, daemon_for(owner, scene.mark, node))
                for node in plan.create[:BURST]
            ]
        )
        failed = await in_batches([partial(delete_pod, self, owner, pod) for pod in plan.delete[:BURST]])
        return refused or failed

    async def _forget_old(
        self, daemon_set: JsonObject, revisions: Revisions, pods: Sequence[PodView]
    ) -> None:
        """Keep as many old revisions as the history limit says; those of pods that are there count, and stay."""
        old = [each for each in revisions.every if each is not revisions.update]
        live = {pod.labels.get(HASH_LABEL, "") for pod in pods}
        dead = [each for each in old if dig_str(each, "metadata", "labels", HASH_LABEL) not in live]
        limit = dig_int(daemon_set, "spec", "revisionHistoryLimit", default=10)
        await self.history.cut(dead, len(old) - limit)

    # -- status -----------------------------------------------------------------------------------------------

    async def _report(self, key: str, mark: str, collisions: int) -> float | None:
        daemon_set = self.sets.objects.get(key)
        if daemon_set is None:
            return None
        test = self._selector(daemon_set)
        owned = self.shared.pods.owned(dig_str(daemon_set, "metadata", "uid"))
        scene = self._scene(daemon_set, mark, [pod for pod in owned if test(pod.labels)])
        status, again = counted(scene)
        await self.patch_status(
            DAEMONSETS, self.sets, daemon_set, {**status, "collisionCount": collisions or None}
        )
        return again


def counted(scene: Scene) -> tuple[JsonObject, float | None]:
    """The status of a set at one moment, and the seconds until another pod becomes available.

    Of several pods of a node the oldest counts.
    """
    scheduled = misplaced = ready = updated = available = 0
    waits: list[float] = []
    for node, verdict in scene.verdicts.items():
        pods = oldest_first(scene.pods.get(node, ()))
        if not pods:
            continue
        if not verdict.run:
            misplaced += 1
            continue
        pod, at = pods[0], pods[0].available_at(scene.min_ready_s)
        scheduled += 1
        ready += pod.ready
        updated += scene.updated(pod)
        available += at is not None and at <= scene.now
        waits += [at - scene.now] if at is not None and at > scene.now else []
    status: JsonObject = {
        "observedGeneration": dig_int(scene.daemon_set, "metadata", "generation") or None,
        "desiredNumberScheduled": scene.desired,
        "currentNumberScheduled": scheduled,
        "numberMisscheduled": misplaced,
        "numberReady": ready,
        "updatedNumberScheduled": updated or None,
        "numberAvailable": available or None,
        "numberUnavailable": scene.desired - available or None,
    }
    return status, min(waits, default=None)


def _marks(node: JsonObject) -> tuple[object, object]:
    return dig_object(node, "metadata").get("labels"), dig_object(node, "spec").get("taints")

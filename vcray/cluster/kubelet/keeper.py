"""All pods of all simulated nodes: one watch, one heap of times, and the status writes of a kubelet.

A pod costs a few hundred bytes here; its object stays with the server. Every write names the pod's uid, so that a new pod of
an old name is never touched, and is made only when the pod itself has changed, so that a status which somebody else wrote
stays as it is.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import aclosing
from datetime import datetime

import msgspec

from vcray.api.resources import PODS
from vcray.cluster.kubelet.boxes import End, Stage
from vcray.cluster.kubelet.claims import ClaimBook, claims_of
from vcray.cluster.kubelet.following import changes
from vcray.cluster.kubelet.lifecycle import Life, PodLife
from vcray.cluster.kubelet.nodes import NodeSlot
from vcray.cluster.kubelet.plan import plan_pod
from vcray.cluster.kubelet.sightings import SeenPod, read_pod
from vcray.cluster.kubelet.status import status_patch
from vcray.cluster.kubelet.surroundings import Storage
from vcray.kube.client import KubeClient, PatchType, delete_options
from vcray.kube.errors import Conflict, Invalid, NotFound
from vcray.kube.workqueue import Time, WorkQueue
from vcray.log import get_logger

log = get_logger("kubelet")

_FINISHED = ("Succeeded", "Failed")
FAST_S = 0.0
"""How long a pod on a node of kwok takes to run."""

FindNode = Callable[[str], NodeSlot | None]


class PodKeeper:
    """Plays the kubelet for the pods of every node that `find` knows.

    `start_s` is the time from binding to Running. `running` counts the pods that were brought to Running.
    """

    def __init__(
        self, client: KubeClient, time: Time, find: FindNode, start_s: float = 1.0, workers: int = 8
    ) -> None:
        self.lives: dict[str, PodLife] = {}
        self.queue: WorkQueue[str] = WorkQueue("kubelet", time, self._turn, workers)
        self.writes = 0
        self._client = client
        self._time = time
        self._find = find
        self._start_s = start_s
        self._query = {"fieldManager": "kubelet"}
        self._by_node: dict[str, set[str]] = {}
        self._host_paths: dict[tuple[str, str], Storage] = {}
        self._claimed: dict[str, dict[str, str]] = {}
        self._volumes: dict[str, Storage] = {}
        self.claims = ClaimBook(client, self._claim_bound)

    async def run(self) -> None:
        """Follow the pods until cancelled."""
        self.queue.start()
        try:
            async with aclosing(changes(self._client, PODS, "spec.nodeName!=")) as pods:
                async for key, body in pods:
                    if body is None:
                        self._forget(key)
                    else:
                        self._see(key, body)
        finally:
            await self.queue.stop()

    def wake(self, node: str) -> None:
        """Look at the pods of a node again."""
        for key in self._by_node.get(node, ()):
            self.queue.add(key)

    def log(self, namespace: str, name: str, container: str = "") -> str | None:
        """What a container has printed; None if there is no such pod or container here."""
        life = self.lives.get(f"{namespace}/{name}")
        for box in (*life.mains, *life.inits) if life is not None else ():
            if box.plan.name == container or not container:
                return box.output
        return None

    # -- seeing -----------------------------------------------------------------------------------------------

    def _see(self, key: str, body: msgspec.Raw) -> None:
        try:
            pod = read_pod(body)
        except msgspec.DecodeError as error:
            log.warning("cannot read a pod", pod=key, why=str(error))
            return
        slot = self._find(pod.spec.node_name or "")
        if slot is None:
            self._forget(key)
            return
        life = self.lives.get(key)
        if life is None or life.uid != pod.metadata.uid:
            life = self._begin(key, pod, slot)
            if life is None:
                return
        elif pod.status.phase in _FINISHED and life.life < Life.OVER:
            life.give_up()
        if pod.metadata.deletion_timestamp:
            grace = 0.0 if slot.fast else float(pod.metadata.deletion_grace_period_seconds or 0)
            life.delete(self._time.now(), grace)
            self.queue.add(key)

    def _begin(self, key: str, pod: SeenPod, slot: NodeSlot) -> PodLife | None:
        self._forget(key)
        ending = pod.metadata.deletion_timestamp is not None
        if (ending and not pod.metadata.deletion_grace_period_seconds) or (
            pod.status.phase in _FINISHED and not ending
        ):
            return None
        plan = plan_pod(pod)
        ip = slot.ip if plan.host_network else pod.status.pod_ip or slot.next_ip()
        begin_at = self._time.now() + (FAST_S if slot.fast else self._start_s)
        life = self.lives[key] = PodLife(pod, plan, begin_at, ip, slot.ip)
        self._by_node.setdefault(slot.name, set()).add(key)
        claimed = claims_of(pod)
        if claimed:
            self._claimed[key] = claimed
        if life.seen is not None:
            for volume in pod.spec.volumes or ():
                if volume.host_path is not None:
                    place = (slot.name, volume.host_path.path)
                    life.volumes[volume.name] = self._host_paths.setdefault(place, {})
        if pod.status.phase in _FINISHED:
            life.give_up()
        elif pod.status.phase == "Running" and pod.status.start_time:
            _resume(life, pod, self._time.now())
        self.queue.timers.at(key, begin_at)
        return life

    def _forget(self, key: str) -> None:
        life = self.lives.pop(key, None)
        if life is not None:
            self._claimed.pop(key, None)
            self.queue.forget(key)
            self._by_node[life.node].discard(key)

    def _claim_bound(self, claim: str) -> None:
        for key, claimed in self._claimed.items():
            if claim in claimed.values():
                self.queue.add(key)

    def _mounted(self, key: str, life: PodLife) -> bool:
        """Whether all claims of a pod have volumes, which it then sees. All pods of a volume share its files."""
        found = {name: self.claims.volume(claim) for name, claim in self._claimed.get(key, {}).items()}
        if not all(found.values()):
            return False
        for name, volume in found.items():
            life.volumes[name] = self._volumes.setdefault(volume, {})
        return True

    # -- acting -----------------------------------------------------------------------------------------------

    async def _turn(self, key: str) -> float | None:
        life = self.lives.get(key)
        slot = self._find(life.node) if life is not None else None
        if life is None or slot is None or not slot.alive:
            return None
        if life.life is Life.WAITING and life.killed_at is None and not self._mounted(key, life):
            return None
        now = self._time.now()
        due = life.advance(now)
        try:
            if life.changed:
                await self._write(life, now)
            if life.life is Life.GONE:
                await self._remove(life)
                self._forget(key)
                return None
        except (NotFound, Conflict):
            if self.lives.get(key) is life:
                self._forget(key)  # gone, or another pod of that name: its own event tells
            return None
        return None if due is None else max(0.0, due - now)

    async def _write(self, life: PodLife, now: float) -> None:
        life.changed = False
        path = PODS.path(life.namespace, life.name, "status")
        self.writes += 1
        try:
            await self._client.request(
                "PATCH", path, self._query, status_patch(life, now), PatchType.STRATEGIC
            )
        except (NotFound, Conflict):
            raise
        except Invalid as error:
            log.warning("a status was refused", pod=f"{life.namespace}/{life.name}", why=str(error))
        except BaseException:
            life.changed = True
            raise

    async def _remove(self, life: PodLife) -> None:
        body = delete_options(grace_seconds=0, uid=life.uid)
        await self._client.request("DELETE", PODS.path(life.namespace, life.name), None, body)


def _resume(life: PodLife, pod: SeenPod, now: float) -> None:
    """Take over a pod that another kubelet, or one before a restart, has started."""
    started = _seconds(pod.status.start_time, now)
    life.begin_at = life.started_at = started
    for box in life.inits:
        if not box.plan.sidecar:
            box.stage, box.end = Stage.ENDED, End(started, started, 0)
    life.advance(started)
    for box, status in zip(life.mains, pod.status.container_statuses or (), strict=False):
        box.restarts = status.restart_count
    life.changed = any(box.stage is not Stage.RUNNING for box in life.mains)


def _seconds(text: str | None, now: float) -> float:
    try:
        return datetime.fromisoformat(text).timestamp() if text else now
    except ValueError:
        return now

"""One pod on its node, from binding to its end: what has happened by a given time, and when to look again.

Pure: the time comes in, and what is to be written is read off afterwards. The rules are those of a kubelet: containers in
order, restarts with back-off by the pod's policy, an end by SIGTERM and the grace period, a deadline. The life of a pod::

    waiting -> starting (init containers) -> running -> over
                        |                       |
                        +-----> stopping <------+            (deleted) -> gone
"""

from __future__ import annotations

import math
from enum import IntEnum

from vcray.cluster.kubelet.boxes import Box, Stage
from vcray.cluster.kubelet.plan import PodPlan
from vcray.cluster.kubelet.sightings import SeenPod
from vcray.cluster.kubelet.surroundings import Storage

DEADLINE = "DeadlineExceeded"


class Life(IntEnum):
    """Where a pod stands."""

    WAITING = 0
    STARTING = 1
    RUNNING = 2
    OVER = 3
    GONE = 4
    """It was deleted and nothing of it runs: it is to be removed."""


class PodLife:
    """The state of one pod. `begin_at` is when its first container starts; times are seconds since the epoch.

    `scheduled` tells whether the pod had its condition PodScheduled when it was first seen. `seen` is kept only as long as a program needs the pod's own fields to run. `changed` says that the status has to be
    written; whoever writes it sets it back.
    """

    __slots__ = (
        "begin_at",
        "changed",
        "finished_at",
        "initialized_at",
        "inits",
        "ip",
        "killed_at",
        "life",
        "mains",
        "name",
        "namespace",
        "node",
        "node_ip",
        "plan",
        "ready",
        "ready_at",
        "reason",
        "scheduled",
        "seen",
        "started_at",
        "stops",
        "succeeded",
        "uid",
        "volumes",
    )

    def __init__(self, pod: SeenPod, plan: PodPlan, begin_at: float, ip: str, node_ip: str) -> None:
        self.name, self.namespace, self.uid = pod.metadata.name, pod.metadata.namespace, pod.metadata.uid
        self.node = pod.spec.node_name or ""
        self.plan = plan
        self.ip, self.node_ip = ip, node_ip
        self.scheduled = any(each.type == "PodScheduled" for each in pod.status.conditions or ())
        self.begin_at = begin_at
        self.life = Life.WAITING
        self.changed = False
        self.inits = [Box(each) for each in plan.inits]
        self.mains = [Box(each) for each in plan.mains]
        needs_pod = any(each.recipe is not None for each in (*plan.inits, *plan.mains))
        self.seen: SeenPod | None = pod if needs_pod else None
        self.volumes: dict[str, Storage] = {}
        self.started_at = self.initialized_at = self.finished_at = self.ready_at = 0.0
        self.ready = False
        self.reason = ""
        self.succeeded = False
        self.killed_at: float | None = None
        self.stops: dict[Box, tuple[float, int]] | None = None

    # -- what happens -----------------------------------------------------------------------------------------

    def advance(self, now: float) -> float | None:
        """Bring the pod up to date; returns when to look again (None: not before something happens to it)."""
        if self.life is Life.WAITING and self.killed_at is None and now >= self.begin_at:
            self.life, self.started_at, self.changed = Life.STARTING, now, True
        if self.life in (Life.STARTING, Life.RUNNING):
            self._run(now)
        if self.killed_at is not None and self.life in (Life.WAITING, Life.OVER):
            self.life = Life.GONE
        return self._next(now)

    def delete(self, now: float, grace_s: float) -> None:
        """The pod is being deleted: SIGTERM now, SIGKILL after the grace period. A second call may shorten it."""
        killed_at = now + grace_s
        if self.killed_at is not None and self.killed_at <= killed_at:
            return
        self.killed_at = killed_at
        self.stops = {}
        for box in self._boxes():
            if box.stage is Stage.RUNNING:
                self.stops[box] = box.terminate(now, killed_at)

    def give_up(self) -> None:
        """Somebody else has ended the pod: leave it alone."""
        self.life, self.changed = Life.OVER, False

    def _run(self, now: float) -> None:
        for box in self._boxes():
            self.changed |= box.advance(now)
        if self.stops is not None:
            self._stop(now)
            return
        if self.plan.deadline_s is not None and now >= self.started_at + self.plan.deadline_s:
            self.reason = DEADLINE
            for box in self._boxes():
                box.kill(now)
            self._finish(now, False)
            return
        self._start_inits(now)
        if self.life is Life.RUNNING:
            self._restart(self.mains, now)
            self._restart([box for box in self.inits if box.plan.sidecar], now)
            self._judge(now)
        self._note_readiness(now)

    def _stop(self, now: float) -> None:
        assert self.stops is not None
        for box, (at, code) in self.stops.items():
            if box.stage is Stage.RUNNING and now >= at:
                box.kill(at, code)
                self.changed = True
        if not any(box.stage is Stage.RUNNING for box in self._boxes()):
            ends = [box.end for box in self.mains]
            self._finish(now, all(end is not None and end.code == 0 for end in ends))

    def _start_inits(self, now: float) -> None:
        """Start init containers one after another, then the others."""
        if self.life is not Life.STARTING:
            return
        for box in self.inits:
            failed = box.end is not None and box.end.code != 0
            if box.stage is Stage.WAITING:
                self._start(box, now)
            elif (
                box.stage is Stage.ENDED
                and failed
                and self.plan.restart_policy == "Never"
                and not box.plan.sidecar
            ):
                self._finish(now, False)
                return
            elif box.stage is Stage.ENDED and self.comes_back(box) and now >= box.restart_at():
                self._start(box, now)
            done = box.stage is Stage.RUNNING if box.plan.sidecar else box.stage is Stage.ENDED and not failed
            if not done:
                return
        self.life, self.initialized_at, self.changed = Life.RUNNING, now, True
        for box in self.mains:
            self._start(box, now)

    def _start(self, box: Box, now: float) -> None:
        box.start(now, self.seen, self.ip, self.volumes)
        self.changed = True

    def _restart(self, boxes: list[Box], now: float) -> None:
        for box in boxes:
            if box.stage is Stage.ENDED and self.comes_back(box) and now >= box.restart_at():
                self._start(box, now)

    def comes_back(self, box: Box) -> bool:
        """Whether an ended container waits to be started again."""
        if self.life not in (Life.STARTING, Life.RUNNING) or self.stops is not None:
            return False
        if box in self.inits and not box.plan.sidecar:
            return box.end is not None and box.end.code != 0
        if box.plan.sidecar or self.plan.restart_policy == "Always":
            return True
        return self.plan.restart_policy == "OnFailure" and box.end is not None and box.end.code != 0

    def _judge(self, now: float) -> None:
        """End the pod when no container runs or comes back."""
        if any(box.stage is not Stage.ENDED or self.comes_back(box) for box in self.mains):
            return
        for box in self.inits:
            box.kill(now, 0)
        self._finish(now, all(box.end is not None and box.end.code == 0 for box in self.mains))

    def _finish(self, now: float, succeeded: bool) -> None:
        self.life, self.succeeded, self.finished_at, self.changed = Life.OVER, succeeded, now, True
        self.ready, self.ready_at, self.seen, self.volumes = False, now, None, {}

    # -- readiness --------------------------------------------------------------------------------------------

    def box_ready(self, box: Box, now: float) -> bool:
        """Whether a container counts as ready."""
        return box.stage is Stage.RUNNING and now >= box.started + box.plan.ready_after

    def _note_readiness(self, now: float) -> None:
        sidecars = (box for box in self.inits if box.plan.sidecar)
        ready = self.life is Life.RUNNING and all(
            self.box_ready(box, now) for boxes in (self.mains, sidecars) for box in boxes
        )
        if ready != self.ready:
            self.ready, self.ready_at, self.changed = ready, now, True

    # -- time -------------------------------------------------------------------------------------------------

    def _next(self, now: float) -> float | None:
        if self.life is Life.WAITING:
            return self.begin_at
        if self.life not in (Life.STARTING, Life.RUNNING):
            return None
        due = min((box.due for box in self._boxes()), default=math.inf)
        if self.stops is not None:
            return min([due, *(at for box, (at, _) in self.stops.items() if box.stage is Stage.RUNNING)])
        if self.plan.deadline_s is not None:
            due = min(due, self.started_at + self.plan.deadline_s)
        for box in self._boxes():
            if box.stage is Stage.ENDED and self.comes_back(box):
                due = min(due, box.restart_at())
            elif (
                box.stage is Stage.RUNNING
                and box.plan.ready_after > 0
                and now < box.started + box.plan.ready_after
            ):
                due = min(due, box.started + box.plan.ready_after)  # infinite for never
        return None if due == math.inf else due

    def _boxes(self) -> list[Box]:
        return [*self.inits, *self.mains] if self.inits else self.mains

"""The scheduler of pods that name none, where no better one runs: each goes to the emptiest node that it fits.

Pods of higher priority come first, then who was there first. It takes nothing away from anybody. Gangs, queues and everything
else are the business of the scheduler that pods name.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from vcray.api.meta import JsonObject
from vcray.api.names import DEFAULT_SCHEDULER_NAME
from vcray.api.resources import NODES, PODS
from vcray.cluster.workloads.base import Controller, Shared, split
from vcray.cluster.workloads.informers import Informer
from vcray.cluster.workloads.scheduling.claims import PodClaims, Step
from vcray.cluster.workloads.scheduling.fitting import Load, dislike, refusals
from vcray.cluster.workloads.scheduling.sightings import Seen, read_pod
from vcray.core.reasons import fit_error
from vcray.kube.client import PatchType
from vcray.kube.errors import ApiError, Conflict, NotFound
from vcray.kube.events import NORMAL, WARNING, Involved

_TURN = "pods"
"""The only key: a turn looks at all pods that wait."""


@dataclass(frozen=True, slots=True)
class _Choice:
    """The node of a pod, empty for none; `steps` are to be taken first; `why` no node would do."""

    node: str = ""
    steps: list[Step] = field(default_factory=list)
    why: str = ""


class DefaultScheduler(Controller):
    """Binds pods that name `default-scheduler`."""

    name = DEFAULT_SCHEDULER_NAME

    def __init__(self, shared: Shared) -> None:
        super().__init__(shared, workers=1)
        self.nodes = shared.objects(NODES)
        self.pods: Informer[Seen] = shared.keep(
            Informer(shared.client, PODS, read_pod, lambda seen: seen.head)
        )
        self.claims = PodClaims(shared)
        self._bound: dict[str, tuple[str, str]] = {}
        self._said: dict[str, tuple[str, str]] = {}
        self.pods.on_change(self._pod_changed)
        for informer in (self.nodes, self.claims.claims, self.claims.volumes, self.claims.classes):
            informer.on_change(lambda old, new: self.queue.add(_TURN))

    def _pod_changed(self, old: Seen | None, new: Seen | None) -> None:
        seen = new or old
        if seen is None:
            return
        if new is None or new.node:
            self._bound.pop(seen.head.key, None)
            self._said.pop(seen.head.key, None)
        if new is None or not new.node:
            self.queue.add(_TURN)

    async def reconcile(self, key: str) -> float | None:
        """Place what can be placed. ApiError when the server refused a pod's turn; the pods behind it had theirs."""
        loads = self._loads()
        waiting = [pod for pod in self.pods.objects.values() if self._is_ours(pod)]
        refused: ApiError | None = None
        for pod in sorted(waiting, key=lambda pod: (-pod.priority, pod.created, pod.head.version)):
            choice = self._choose(pod, loads)
            try:
                if choice.steps:
                    await self.claims.take(choice.steps, choice.node)
                elif choice.node:
                    await self._bind(pod, choice.node)
                else:
                    await self._say(pod, choice.why)
            except (NotFound, Conflict):
                continue
            except ApiError as error:
                refused = error
                continue
            if choice.node:
                loads[choice.node].add(pod.form)
        if refused is not None:
            raise refused
        return None

    def _is_ours(self, pod: Seen) -> bool:
        bound = self._bound.get(pod.head.key, ("", ""))[0] == pod.head.uid
        return pod.scheduler == DEFAULT_SCHEDULER_NAME and not (
            pod.node or pod.gated or pod.deleting or bound
        )

    def _loads(self) -> dict[str, Load]:
        loads = {name: Load() for name in self.nodes.objects}
        for key, pod in self.pods.objects.items():
            uid, node = self._bound.get(key, ("", ""))
            node = pod.node or (node if uid == pod.head.uid else "")
            if node in loads:
                loads[node].add(pod.form)
        return loads

    def _choose(self, pod: Seen, loads: dict[str, Load]) -> _Choice:
        nodes = self.nodes.objects
        if not nodes:
            return _Choice(why="no nodes available to schedule pods")
        claims = self.claims.of(pod.head.namespace, pod.claims)
        if isinstance(claims, str):
            return _Choice(why=f"0/{len(nodes)} nodes are available: {claims}.")
        reasons: Counter[str] = Counter()
        fitting: list[tuple[tuple[int, int, int], str, list[Step]]] = []
        for name, node in nodes.items():
            whys = refusals(pod.form, node, loads[name])
            steps = [] if whys or not claims else self.claims.steps(claims, node)
            if isinstance(steps, str):
                whys = [steps]
            elif not whys:
                fitting.append((dislike(pod.form, node, loads[name]), name, steps))
            reasons.update(whys)
        if not fitting:
            told = fit_error(len(nodes), reasons)
            return _Choice(why=told.replace(" nodes are unavailable", " nodes are available", 1))
        _, name, steps = min(fitting, key=lambda each: each[:2])
        return _Choice(name, steps)

    async def _bind(self, pod: Seen, node: str) -> None:
        head = pod.head
        await self.client.bind(head.namespace, head.name, node, head.uid)
        self._bound[head.key] = (head.uid, node)
        message = f"Successfully assigned {head.key} to {node}"
        await self.recorder.record(_about(pod), NORMAL, "Scheduled", message)

    async def _say(self, pod: Seen, message: str) -> None:
        """Say why a pod waits, once."""
        if self._said.get(pod.head.key) == (pod.head.uid, message):
            return
        condition: JsonObject = {
            "type": "PodScheduled",
            "status": "False",
            "reason": "Unschedulable",
            "message": message,
            "lastTransitionTime": self.shared.now(),
        }
        metadata: JsonObject = {"uid": pod.head.uid}
        patch: JsonObject = {"metadata": metadata, "status": {"conditions": [condition]}}
        await self.client.patch(PODS, *split(pod.head.key), patch, PatchType.STRATEGIC, "status")
        self._said[pod.head.key] = (pod.head.uid, message)
        await self.recorder.record(_about(pod), WARNING, "FailedScheduling", message)


def _about(pod: Seen) -> Involved:
    head = pod.head
    return Involved("v1", PODS.kind, head.namespace, head.name, head.uid, str(head.version))

"""Which pods of a DaemonSet come and go so that each node has the one that it should have. Pure but for the pace of failures.

Between two templates `rollout` goes on from here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from vcray.api.jsonview import dig, dig_int, dig_str
from vcray.api.meta import JsonObject
from vcray.cluster.workloads.daemonset.placing import GENERATION_LABEL, Placing, Verdict, generation
from vcray.cluster.workloads.deployment.sizes import scaled
from vcray.cluster.workloads.history import HASH_LABEL
from vcray.cluster.workloads.podview import PodView
from vcray.kube.events import NORMAL, WARNING

FIRST_PAUSE_S, LONGEST_PAUSE_S = 1.0, 900.0


@dataclass(slots=True)
class Plan:
    """Nodes that get a pod, pods that go, events to tell, and the seconds until something else is to be done."""

    create: list[str] = field(default_factory=list)
    delete: list[PodView] = field(default_factory=list)
    notes: list[tuple[str, str, str]] = field(default_factory=list)
    again: float | None = None

    @property
    def empty(self) -> bool:
        """Whether nothing comes or goes."""
        return not self.create and not self.delete


class FailurePace:
    """Lets a failed pod of a node be replaced at once, the next ones after ever longer pauses."""

    def __init__(self) -> None:
        self._last: dict[tuple[str, int, str], tuple[float, float]] = {}

    def wait(self, daemon_set: JsonObject, node: str, now: float) -> float:
        """Seconds until the next replacement may be made; 0 for now, which is noted."""
        key = (
            dig_str(daemon_set, "metadata", "uid"),
            dig_int(daemon_set, "status", "observedGeneration"),
            node,
        )
        at, pause = self._last.get(key, (0.0, 0.0))
        if now - at < pause:
            return at + pause - now
        recent = bool(pause) and now - at <= 2 * LONGEST_PAUSE_S
        self._last[key] = (now, min(2 * pause, LONGEST_PAUSE_S) if recent else FIRST_PAUSE_S)
        return 0.0

    def forget(self, uid: str) -> None:
        """A set is gone."""
        self._last = {key: value for key, value in self._last.items() if key[0] != uid}


@dataclass(slots=True)
class Scene:
    """A DaemonSet at one moment: what each node wants and the pods that it has; `mark` is the hash of the present template,
    `number` its generation; `desired` nodes should have a pod, which may have company while it is replaced if the set `surges`.

    Pods that have ended and are being deleted are not among them.
    """

    daemon_set: JsonObject
    mark: str
    now: float
    verdicts: dict[str, Verdict]
    pods: dict[str, list[PodView]]
    desired: int
    surges: bool
    number: str
    min_ready_s: int

    @classmethod
    def of(
        cls,
        daemon_set: JsonObject,
        mark: str,
        now: float,
        nodes: dict[str, JsonObject],
        pods: Sequence[PodView],
    ) -> Scene:
        """The scene of these nodes, by name, and pods."""
        placing = Placing(daemon_set)
        placed: dict[str, list[PodView]] = {}
        for pod in pods:
            if pod.target_node and not (pod.finished and pod.deleting):
                placed.setdefault(pod.target_node, []).append(pod)
        verdicts = {name: placing.verdict(nodes[name]) for name in sorted(nodes)}
        desired = sum(verdict.run for verdict in verdicts.values())
        surges = bound(daemon_set, "maxSurge", 1) > 0
        number, min_ready_s = generation(daemon_set), dig_int(daemon_set, "spec", "minReadySeconds")
        return cls(daemon_set, mark, now, verdicts, placed, desired, surges, number, min_ready_s)

    def wants(self, node: str) -> bool:
        """Whether a node should have a pod."""
        verdict = self.verdicts.get(node)
        return verdict is not None and verdict.run

    def available(self, pod: PodView) -> bool:
        """Whether a pod has been ready for long enough."""
        at = pod.available_at(self.min_ready_s)
        return at is not None and at <= self.now

    def updated(self, pod: PodView) -> bool:
        """Whether a pod is of the present template."""
        labels = pod.labels
        return labels.get(HASH_LABEL) == self.mark or (
            bool(self.number) and labels.get(GENERATION_LABEL) == self.number
        )


def bound(daemon_set: JsonObject, name: str, nodes: int) -> int:
    """`maxSurge` or `maxUnavailable` of so many nodes, percentages rounded up; 0 without rolling updates."""
    strategy = dig(daemon_set, "spec", "updateStrategy")
    if dig_str(strategy, "type") not in ("", "RollingUpdate"):
        return 0
    return scaled(dig(strategy, "rollingUpdate", name), nodes, up=True)


def oldest_first(pods: Sequence[PodView]) -> list[PodView]:
    """Pods that have a node first, then by age, then by name."""
    if len(pods) <= 1:
        return list(pods)

    def rank(pod: PodView) -> tuple[bool, float, str]:
        created = pod.metadata.creation_timestamp
        return not pod.spec.node_name, created.timestamp() if created else 0.0, pod.metadata.name

    return sorted(pods, key=rank)


def manage(scene: Scene, pace: FailurePace) -> Plan:
    """Every node gets the pod that it wants and loses those it should not have or has too many."""
    plan = Plan()
    for node, verdict in scene.verdicts.items():
        pods = scene.pods.get(node)
        if verdict.run and not pods:
            plan.create.append(node)
        elif verdict.stay:
            _tend(scene, node, pods or [], pace, plan)
        else:
            plan.delete += [pod for pod in pods or () if not pod.deleting]
    for node, pods in scene.pods.items():
        if node not in scene.verdicts:  # nobody else deletes pods that wait for a node that is gone
            plan.delete += [pod for pod in pods if not pod.spec.node_name and not pod.deleting]
    return plan


def _tend(scene: Scene, node: str, pods: Sequence[PodView], pace: FailurePace, plan: Plan) -> None:
    staying = [pod for pod in pods if not pod.deleting]
    for pod in staying:
        if pod.finished:
            _end(scene, node, pod, pace, plan)
    running = [pod for pod in staying if not pod.finished]
    if not scene.surges:
        plan.delete += oldest_first(running)[1:]
    elif not running:
        if scene.verdicts[node].run:
            plan.create.append(node)
    elif len(running) > 1:
        plan.delete += _superseded(scene, running)


def _end(scene: Scene, node: str, pod: PodView, pace: FailurePace, plan: Plan) -> None:
    """A pod that has ended goes, one that has failed perhaps later."""
    where = f"{pod.metadata.namespace}/{pod.metadata.name} on node {node}"
    if pod.status.phase == "Succeeded":
        note = (NORMAL, "SucceededDaemonPod", f"Found succeeded daemon pod {where}, will try to delete it")
    else:
        left = pace.wait(scene.daemon_set, node, scene.now)
        if left:
            plan.again = min(plan.again or left, left)
            return
        note = (WARNING, "FailedDaemonPod", f"Found failed daemon pod {where}, will try to kill it")
    plan.notes.append(note)
    plan.delete.append(pod)


def _superseded(scene: Scene, running: Sequence[PodView]) -> list[PodView]:
    """While a node surges it keeps its oldest old pod, as long as that is ready, until its oldest new one is available."""
    ordered = oldest_first(running)
    new = [pod for pod in ordered if pod.labels.get(HASH_LABEL) == scene.mark]
    old = [pod for pod in ordered if pod.labels.get(HASH_LABEL) != scene.mark]
    gone = [*new[1:], *old[1:]]
    if new and old and (not old[0].ready or scene.available(new[0])):
        gone.append(old[0])
    return gone

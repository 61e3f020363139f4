"""The next step from pods of old templates to those of the present one, within `maxUnavailable` or `maxSurge`. Pure.

Nodes on which several old or several new pods run are left to `plan`, and count as unavailable.
"""

from __future__ import annotations

from collections.abc import Iterator

from vcray.cluster.workloads.daemonset.plan import Plan, Scene, bound
from vcray.cluster.workloads.podview import PodView

Pair = tuple[PodView | None, PodView | None]


def roll(scene: Scene) -> Plan:
    """Pods that may go, and nodes that may get a second one."""
    surge = bound(scene.daemon_set, "maxSurge", scene.desired)
    if surge:
        return _surge(scene, surge)
    return _replace(scene, bound(scene.daemon_set, "maxUnavailable", scene.desired) or 1)


def _pairs(scene: Scene) -> Iterator[tuple[str, Pair | None]]:
    """Each node's new and old pod; None for a node that has too many of either."""
    wanting = (name for name in scene.verdicts if scene.wants(name) and name not in scene.pods)
    for node in sorted({*scene.pods, *wanting}):
        pods = [pod for pod in scene.pods.get(node, ()) if not pod.deleting]
        new: list[PodView] = []
        old: list[PodView] = []
        for pod in pods:
            (new if scene.updated(pod) else old).append(pod)
        if len(new) > 1 or len(old) > 1:
            yield node, None
        else:
            yield node, (new[0] if new else None, old[0] if old else None)


def _replace(scene: Scene, most: int) -> Plan:
    """Old pods that are not available go at once, available ones as long as not too many nodes are without."""
    missing = 0
    free: list[PodView] = []
    candidates: list[PodView] = []
    for _, pair in _pairs(scene):
        new, old = pair or (None, None)
        if pair is None or (new is None) == (old is None):
            missing += 1
        elif new is not None:
            missing += not scene.available(new)
        elif old is not None and not scene.available(old):
            free.append(old)
            missing += 1
        elif old is not None:
            candidates.append(old)
    return Plan(delete=[*free, *candidates[: max(0, most - missing)]])


def _surge(scene: Scene, most: int) -> Plan:
    """A new pod comes beside an old one, which goes once the new one is available.

    Of nodes that should have no pod any more the old ones go while all others together are enough.
    """
    plan, surging, available = Plan(), 0, 0
    leaving: list[PodView] = []
    candidates: list[str] = []
    for node, pair in _pairs(scene):
        if pair is None:
            surging += 1
            continue
        new, old = pair
        counted = old or new
        available += counted is not None and scene.available(counted)
        if old is None:
            continue
        if new is not None:
            if scene.available(new):
                plan.delete.append(old)
            else:
                surging += 1
        elif not scene.wants(node):
            (leaving if scene.available(old) else plan.delete).append(old)
        elif scene.available(old):
            candidates.append(node)
        else:
            plan.create.append(node)
    plan.delete += leaving[: max(0, available - scene.desired)]
    plan.create += candidates[: max(0, most - surging)]
    return plan

"""Takes nodes whose failures break gangs again and again out of service, until somebody clears them.

When a node stops being Ready and a gang that had started is left with fewer pods than its minimum elsewhere, the moment goes into
the node's annotation `vcray.io/broke-gangs`. With the third within an hour the node gets the taint `vcray.io/unreliable:NoSchedule`,
which every scheduler honours. Who removes the taint clears the node: the annotation goes too. Nothing is remembered here: a moment is
the condition's lastTransitionTime, so an outage that is seen twice counts once. A node object that is deleted takes its record along.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import ClassVar, Final

from vcray.api import names
from vcray.api.jsonview import condition_of, holds
from vcray.api.meta import JsonObject, JsonValue
from vcray.api.minimum import min_member
from vcray.api.resources import NODES, PODGROUPS, PODS, Resource
from vcray.api.times import seconds_of
from vcray.controllers import raw
from vcray.controllers.base import (
    Change,
    Effects,
    Emit,
    Patch,
    Request,
    Seen,
    must,
    one_object_each,
)

OFTEN: Final = 3
WITHIN_S: Final = 3600.0
EVENT: Final = "BrokeGangs"

_HOLDS: Final = ("Pending", "Running", "Unknown")


@dataclass(frozen=True, slots=True)
class NodeRequest:
    """A node failed `at` a time (RFC 3339, empty for just now), or (`cleared`) lost its taint."""

    node: str
    at: str = ""
    cleared: bool = False

    @property
    def key(self) -> str:
        return self.node


class UnreliableNodeController:
    """Keeps the record of nodes that broke gangs, and taints those that did too often."""

    name: ClassVar[str] = "unreliable-node-controller"
    watches: ClassVar[tuple[Resource, ...]] = (NODES, PODS, PODGROUPS)
    starts_anew: bool = True

    def __init__(self, max_requeue: int = 15) -> None:
        self.max_requeue = max_requeue

    def requests(self, change: Change, seen: Seen) -> Iterable[Request]:
        """A node that is not Ready and was, as far as is known; one whose taint was removed."""
        if change.resource != NODES:
            return
        for each in one_object_each(change):
            node, old = each.new, each.old
            if node is None:
                continue
            since = _failed_since(node)
            if since is not None and (since if old is None else _failed_since(old) is None):
                yield NodeRequest(raw.name(node), since)
            if old is not None and _is_tainted(old) and not _is_tainted(node):
                yield NodeRequest(raw.name(node), cleared=True)

    def reconcile(self, request: Request, seen: Seen, now: float) -> Effects:
        """Write the record, and the taint when it is time for it; or drop the record."""
        assert isinstance(request, NodeRequest)
        node = seen.get(NODES, "", request.node)
        if node is None:
            return
        if request.cleared:
            if raw.annotation(node, names.BROKE_GANGS) and not _is_tainted(node):
                yield from _mark(_patch(node, None))
            return
        record = [each for each in raw.annotation(node, names.BROKE_GANGS).split(",") if each]
        at = request.at or _text(now)
        if at in record:
            return
        broken = _broken(request.node, seen)
        if not broken:
            return
        record = [each for each in [*record, at] if (seconds_of(each) or 0.0) > now - WITHIN_S]
        taints = raw.at(node, "spec", "taints")
        given: list[JsonValue] = list(taints) if isinstance(taints, list) else []
        over = len(record) >= OFTEN and not _is_tainted(node)
        if over:
            given.append({"key": names.UNRELIABLE, "effect": "NoSchedule"})
        yield from _mark(_patch(node, ",".join(record), given if over else None))
        if over:
            what = f"its failures broke gangs {len(record)} times within an hour, last {', '.join(broken)}; it takes no pods until the taint {names.UNRELIABLE} is removed"
            yield Emit(NODES, node, "Warning", EVENT, what)

    def gave_up(self, request: Request, seen: Seen, now: float) -> Effects:
        """Never comes: failures of this controller do not count."""
        yield from ()


def _patch(node: JsonObject, record: str | None, taints: list[JsonValue] | None = None) -> Patch:
    """The record, and all taints where one is added: the version makes it a conflict if somebody else was faster."""
    metadata: JsonObject = {
        "annotations": {names.BROKE_GANGS: record},
        "resourceVersion": raw.version(node),
    }
    patch: JsonObject = {"metadata": metadata}
    if taints is not None:
        patch["spec"] = {"taints": taints}
    return Patch(NODES, "", raw.name(node), patch)


def _mark(patch: Patch) -> Effects:
    outcome = yield patch
    if not outcome.not_found:
        must(outcome, f"mark node {patch.name}")


def _broken(node: str, seen: Seen) -> list[str]:
    """Gangs that had started and have too few pods left without the node, by name."""
    lost: set[tuple[str, str]] = set()
    left: dict[tuple[str, str], int] = {}
    for pod in seen.list(PODS):
        group = (raw.namespace(pod), raw.annotation(pod, names.GROUP_NAME))
        place = raw.text(pod, "spec", "nodeName")
        if not group[1] or not place or raw.text(pod, "status", "phase") not in _HOLDS:
            continue
        if place == node:
            lost.add(group)
        elif not raw.terminating(pod):
            left[group] = left.get(group, 0) + 1
    found = []
    for group in sorted(lost):
        gang = seen.get(PODGROUPS, *group)
        if gang is not None and _had_started(gang) and left.get(group, 0) < min_member(gang):
            found.append("/".join(group))
    return found


def _had_started(group: JsonObject) -> bool:
    return holds(group, "Scheduled") or raw.text(group, "status", "phase") in ("Running", "Unknown")


def _failed_since(node: JsonObject) -> str | None:
    """Since when the node is not Ready; None for one that is, or that says nothing of it; empty where it does not say when."""
    ready = condition_of(node, "Ready")
    if not ready or ready.get("status") == "True":
        return None
    return raw.text(ready, "lastTransitionTime")


def _is_tainted(node: JsonObject) -> bool:
    return any(raw.text(each, "key") == names.UNRELIABLE for each in raw.tables(node, "spec", "taints"))


def _text(now: float) -> str:
    return datetime.fromtimestamp(int(now), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")

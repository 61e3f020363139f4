"""Room that was let in for a PodGroup whose pods never come (trap T28: trainer#1574, #1630, #1688).

enqueue holds a group's minResources for it from when it lets it in. Its operator may never make the pods: it does not watch the phase,
or is gone. After a while without any pod the group is marked `vcray.io/unclaimed`, and what it asks for counts no more. Its phase
stays Inqueue: an operator that waits for it must not be stopped. With its first pod the mark goes, and it holds its room again.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from vcray.api import names
from vcray.api.meta import JsonObject
from vcray.api.resources import PODGROUPS, PODS
from vcray.controllers import raw
from vcray.controllers.base import Again, Change, Effects, Emit, Request, Seen
from vcray.controllers.notes import annotate

EVENT = "ReservationExpired"
_LET_IN = "Inqueue"


@dataclass(frozen=True, slots=True)
class Unclaimed:
    """A group was let in; `waited`: a while ago. Or (`claimed`) something came of it."""

    namespace: str
    group: str
    waited: bool = False
    claimed: bool = False

    @property
    def key(self) -> str:
        return f"{self.namespace}/{self.group}"


class Reservations:
    """`timeout_s` seconds is how long a group without pods holds room, 0 for ever."""

    def __init__(self, timeout_s: float) -> None:
        self._timeout_s = timeout_s

    def requests(self, change: Change, seen: Seen) -> Iterable[Request]:
        """Groups that were let in or lost a pod, and those that are marked and have pods or another phase."""
        item, old = change.object, change.old
        gone = change.new is None
        if not self._timeout_s or (gone and change.resource != PODS):
            return
        space = raw.namespace(item)
        if change.resource == PODGROUPS:
            is_in = raw.text(item, "status", "phase") == _LET_IN
            if is_in and (old is None or raw.text(old, "status", "phase") != _LET_IN):
                yield Unclaimed(space, raw.name(item))
            elif not is_in and _is_marked(item):
                yield Unclaimed(space, raw.name(item), claimed=True)
        elif change.resource == PODS:
            name = raw.annotation(item, names.GROUP_NAME)
            group = seen.get(PODGROUPS, space, name) if name else None
            if group is not None and gone and raw.text(group, "status", "phase") == _LET_IN:
                yield Unclaimed(space, name)
            elif group is not None and not gone and _is_marked(group):
                yield Unclaimed(space, name, claimed=True)

    def reconcile(self, request: Unclaimed, seen: Seen) -> Effects:
        """Wait, then mark the group; or take the mark away."""
        group = seen.get(PODGROUPS, request.namespace, request.group)
        if group is None:
            return
        if request.claimed:
            yield from annotate(PODGROUPS, group, {names.UNCLAIMED: ""})
            return
        if raw.text(group, "status", "phase") != _LET_IN or not raw.table(group, "spec", "minResources"):
            return
        if not request.waited:
            yield Again(self._timeout_s, replace(request, waited=True))
        elif any(
            raw.annotation(pod, names.GROUP_NAME) == request.group
            for pod in seen.list(PODS, request.namespace)
        ):
            yield from annotate(PODGROUPS, group, {names.UNCLAIMED: ""})
        elif not _is_marked(group):
            what = f"no pod has come for {self._timeout_s:g} s; the room that was held for it is given back until one does"
            yield Emit(PODGROUPS, group, "Warning", EVENT, what)
            yield from annotate(PODGROUPS, group, {names.UNCLAIMED: "no pods"})


def _is_marked(group: JsonObject) -> bool:
    return bool(raw.annotation(group, names.UNCLAIMED))

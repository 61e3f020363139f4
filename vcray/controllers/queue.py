"""The state of queues: open, closing while groups are left in it, closed.

States follow Volcano's table. The state is written by server-side apply on the status, as `queue-controller` and without
force, so that it never touches what the scheduler writes there (`allocated`, `reservation`).
A queue below a closed one is closed too and remembers that (annotation `volcano.sh/closed-by-parent`), so that opening
the parent opens it again. Remembered in memory: which PodGroups are in which queue, rebuilt from the watch.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import ClassVar, Final

from vcray.api import names
from vcray.api.meta import JsonObject
from vcray.api.resources import COMMANDS, PODGROUPS, QUEUES, Resource
from vcray.api.scheduling import QueueState
from vcray.controllers import raw
from vcray.controllers.base import (
    Again,
    Change,
    Delete,
    Effects,
    Emit,
    Outcome,
    Patch,
    ReconcileError,
    Request,
    Seen,
    Steps,
    one_object_each,
)

FIELD_MANAGER: Final = "queue-controller"


class QueueAction(StrEnum):
    """What a queue can be asked to do; any other action of a command is a sync."""

    SYNC = "SyncQueue"
    OPEN = "OpenQueue"
    CLOSE = "CloseQueue"


class Do(StrEnum):
    """What an action does in a state."""

    OPEN = "open"
    CLOSE = "close"
    STAY = "keep the state"
    DRAIN = "Closed without PodGroups, else Closing"

    @property
    def targets(self) -> tuple[tuple[str, QueueState], ...]:
        """The condition and the state of each way that it may go; the root queue is never closed."""
        if self is Do.OPEN:
            return (("", QueueState.OPEN),)
        if self is Do.STAY:
            return ()
        return (("without PodGroups", QueueState.CLOSED), ("with PodGroups", QueueState.CLOSING))


TABLE: Final[Mapping[QueueState, Mapping[QueueAction, Do]]] = {
    QueueState.OPEN: {QueueAction.OPEN: Do.STAY, QueueAction.CLOSE: Do.CLOSE, QueueAction.SYNC: Do.STAY},
    QueueState.CLOSED: {QueueAction.OPEN: Do.OPEN, QueueAction.CLOSE: Do.STAY, QueueAction.SYNC: Do.STAY},
    QueueState.CLOSING: {QueueAction.OPEN: Do.OPEN, QueueAction.CLOSE: Do.DRAIN, QueueAction.SYNC: Do.DRAIN},
    QueueState.UNKNOWN: {QueueAction.OPEN: Do.OPEN, QueueAction.CLOSE: Do.CLOSE, QueueAction.SYNC: Do.STAY},
}
"""state -> action -> what happens; a queue without a state is Open."""

_SHUT = (QueueState.CLOSED, QueueState.CLOSING)


@dataclass(frozen=True, slots=True)
class QueueRequest:
    """Do something to a queue."""

    queue: str
    action: QueueAction = QueueAction.SYNC

    @property
    def key(self) -> str:
        return self.queue


@dataclass(frozen=True, slots=True)
class QueueCommandRequest:
    """A Command object that names a queue."""

    namespace: str
    command: str
    uid: str
    queue: str
    action: str

    @property
    def key(self) -> str:
        return self.queue


def initial_queues(default_queue: str = names.DEFAULT_QUEUE) -> tuple[JsonObject, ...]:
    """The queues that must exist before any other: root, then the default one. Create them; AlreadyExists is fine."""

    def queue(name: str, reclaimable: bool) -> JsonObject:
        return {
            "apiVersion": QUEUES.api_version,
            "kind": QUEUES.kind,
            "metadata": {"name": name},
            "spec": {"weight": 1, "reclaimable": reclaimable},
        }

    return queue(names.ROOT_QUEUE, False), queue(default_queue, True)


class QueueController:
    """Keeps status.state, the parent and the opening and closing of every queue."""

    name: ClassVar[str] = "queue-controller"
    watches: ClassVar[tuple[Resource, ...]] = (QUEUES, PODGROUPS, COMMANDS)
    starts_anew: bool = True

    def __init__(self, max_requeue: int = 15) -> None:
        self.max_requeue = max_requeue
        self._groups: dict[str, set[tuple[str, str]]] = {}
        self._errors: dict[Request, str] = {}

    def requests(self, change: Change, seen: Seen) -> Iterable[Request]:
        """Queues that appear or change their parent; PodGroups that come, go, move or change phase; commands."""
        if change.resource == QUEUES:
            return self._on_queue(change, seen)
        if change.resource == PODGROUPS:
            return self._on_podgroup(change)
        command = _command(change)
        return () if command is None else (command,)

    def reconcile(self, request: Request, seen: Seen, now: float) -> Effects:
        """Carry out a request; one for a queue that is gone is dropped."""
        if isinstance(request, QueueCommandRequest):
            yield from _take_command(request)
            return
        assert isinstance(request, QueueRequest)
        queue = seen.get(QUEUES, "", request.queue)
        if queue is None:
            return
        try:
            yield from self._act(queue, request.action, seen)
        except ReconcileError as error:
            self._errors[request] = str(error)
            raise
        self._errors.pop(request, None)

    def gave_up(self, request: Request, seen: Seen, now: float) -> Effects:
        """Say so on the queue."""
        error = self._errors.pop(request, "")
        if isinstance(request, QueueRequest):
            queue = seen.get(QUEUES, "", request.queue)
            if queue is not None:
                message = f"{request.action.value} queue failed for {error}"
                yield Emit(QUEUES, queue, "Warning", request.action.value, message)

    def _on_queue(self, change: Change, seen: Seen) -> Iterable[Request]:
        if change.new is None:
            return ()
        queue = raw.name(change.new)
        if change.old is None or len(one_object_each(change)) > 1:
            return [QueueRequest(queue), *(QueueRequest(raw.name(child)) for child in _children(queue, seen))]
        moved = raw.text(change.old, "spec", "parent") != raw.text(change.new, "spec", "parent")
        return (QueueRequest(queue),) if moved else ()

    def _on_podgroup(self, change: Change) -> Iterable[Request]:
        group = change.object
        key = (raw.namespace(group), raw.name(group))
        old = _queue_of(change.old)
        new = _queue_of(change.new)
        if old and old != new:
            self._groups.get(old, set()).discard(key)
        if new:
            self._groups.setdefault(new, set()).add(key)
        if old == new and _phase(change.old) == _phase(change.new):
            return ()
        return [QueueRequest(queue) for queue in dict.fromkeys((old, new)) if queue]

    def _act(self, queue: JsonObject, action: QueueAction, seen: Seen) -> Effects:
        name = raw.name(queue)
        state = _state(queue)
        do = TABLE[state][action]
        if do is Do.CLOSE:
            if name != names.ROOT_QUEUE:
                yield from self._close(queue, seen)
            return
        if do is Do.OPEN:
            yield from _open(queue, seen)
            return
        if name != names.ROOT_QUEUE and not raw.text(queue, "spec", "parent"):
            outcome = yield Patch(QUEUES, "", name, {"spec": {"parent": names.ROOT_QUEUE}})
            _must(outcome, f"set the parent of queue {name}")
        wanted = self._drained(name) if do is Do.DRAIN else state
        yield from _apply_state(queue, wanted)
        if name != names.ROOT_QUEUE:
            yield from _follow_parent(queue, wanted, seen)

    def _drained(self, queue: str) -> QueueState:
        return QueueState.CLOSING if self._groups.get(queue) else QueueState.CLOSED

    def _close(self, queue: JsonObject, seen: Seen) -> Effects:
        try:
            for child in _children(raw.name(queue), seen):
                if _state(child) not in _SHUT:
                    yield from _note_closed_by_parent(child, True)
                    yield Again(0, QueueRequest(raw.name(child), QueueAction.CLOSE))
            changed = yield from _apply_state(queue, self._drained(raw.name(queue)))
        except ReconcileError as error:
            yield Emit(QUEUES, queue, "Warning", "CloseQueue", f"Close queue failed for {error}")
            raise
        if changed:
            yield Emit(QUEUES, queue, "Normal", "CloseQueue", "Close queue succeed")


def _state(queue: JsonObject) -> QueueState:
    stored = raw.text(queue, "status", "state")
    return QueueState(stored) if stored in list(QueueState) else QueueState.OPEN


def _queue_of(group: JsonObject | None) -> str:
    return "" if group is None else raw.text(group, "spec", "queue") or names.DEFAULT_QUEUE


def _phase(group: JsonObject | None) -> str | None:
    return None if group is None else raw.text(group, "status", "phase")


def _parent(queue: JsonObject) -> str:
    return raw.text(queue, "spec", "parent") or names.ROOT_QUEUE


def _children(queue: str, seen: Seen) -> list[JsonObject]:
    return [
        item for item in seen.list(QUEUES) if _parent(item) == queue and raw.name(item) != names.ROOT_QUEUE
    ]


def _must(outcome: Outcome, doing: str) -> None:
    if not outcome.ok and not outcome.not_found:
        raise ReconcileError(f"{doing}: {outcome.why}")


def _apply_state(queue: JsonObject, state: QueueState) -> Steps[bool]:
    """Write the state if it differs from the stored one; whether it did."""
    name = raw.name(queue)
    if raw.text(queue, "status", "state") == state.value:
        return False
    applied: JsonObject = {
        "apiVersion": QUEUES.api_version,
        "kind": QUEUES.kind,
        "metadata": {"name": name},
        "status": {"state": state.value},
    }
    outcome = yield Patch(QUEUES, "", name, applied, "apply", "status", FIELD_MANAGER)
    _must(outcome, f"set queue {name} to {state.value}")
    return True


def _open(queue: JsonObject, seen: Seen) -> Effects:
    """Open the queue, then those below it that it had closed; not while its own parent is shut."""
    name, parent = raw.name(queue), _parent(queue)
    try:
        above = seen.get(QUEUES, "", parent)
        if parent != names.ROOT_QUEUE and above is not None and _state(above) in _SHUT:
            raise ReconcileError(f"parent queue {parent} is {_state(above).value}; open it first")
        for child in _children(name, seen):
            if raw.annotation(child, names.CLOSED_BY_PARENT) == "true":
                yield Again(0, QueueRequest(raw.name(child), QueueAction.OPEN))
        yield from _apply_state(queue, QueueState.OPEN)
        yield from _note_closed_by_parent(queue, False)
    except ReconcileError as error:
        states = f"from {_state(queue).value} to {QueueState.OPEN.value}"
        yield Emit(QUEUES, queue, "Warning", "OpenQueue", f"Update queue status {states} failed for {error}")
        raise


def _follow_parent(queue: JsonObject, state: QueueState, seen: Seen) -> Effects:
    """Close below a closed parent; open again below an open one what had been closed for that reason."""
    name = raw.name(queue)
    parent = seen.get(QUEUES, "", _parent(queue))
    if parent is None:
        raise ReconcileError(f"parent queue {_parent(queue)} of queue {name} not found")
    if _state(parent) in _SHUT and state not in _SHUT:
        yield from _note_closed_by_parent(queue, True)
        yield Again(0, QueueRequest(name, QueueAction.CLOSE))
    closed_by_parent = raw.annotation(queue, names.CLOSED_BY_PARENT) == "true"
    if _state(parent) is QueueState.OPEN and state in _SHUT and closed_by_parent:
        yield Again(0, QueueRequest(name, QueueAction.OPEN))


def _note_closed_by_parent(queue: JsonObject, closed: bool) -> Effects:
    value = "true" if closed else "false"
    if raw.annotation(queue, names.CLOSED_BY_PARENT) != value:
        note: JsonObject = {"metadata": {"annotations": {names.CLOSED_BY_PARENT: value}}}
        outcome = yield Patch(QUEUES, "", raw.name(queue), note)
        _must(outcome, f"annotate queue {raw.name(queue)}")


def _command(change: Change) -> QueueCommandRequest | None:
    command = change.new
    if command is None or change.old is not None:
        return None
    target = raw.table(command, "target")
    if target.get("kind") != QUEUES.kind or target.get("apiVersion") != QUEUES.api_version:
        return None
    return QueueCommandRequest(
        raw.namespace(command),
        raw.name(command),
        raw.uid(command),
        raw.text(target, "name"),
        raw.text(command, "action"),
    )


def _take_command(request: QueueCommandRequest) -> Effects:
    """Delete the command first, so that it acts once at most; then queue its action."""
    outcome = yield Delete(COMMANDS, request.namespace, request.command, uid=request.uid)
    if outcome.not_found or outcome.conflict:
        return
    if not outcome.ok:
        raise ReconcileError(f"delete Command {request.command}: {outcome.message}", counts=False)
    known = request.action in list(QueueAction)
    yield Again(0, QueueRequest(request.queue, QueueAction(request.action) if known else QueueAction.SYNC))

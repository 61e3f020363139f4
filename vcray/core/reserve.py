"""Reservations of a session: what pods hold that is no sum, such as devices, cpus of a NUMA node or volumes.

The ledger asks here before it places or promises a task of a shape that reserves, and keeps what undoes it. Which plugins
reserve is known from the policy; each of them keeps its own state and restores it when its undo is called.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from vcray.core.decisions import Preparation
from vcray.core.hooks import BindBefore, Reserve
from vcray.core.view import Shape, View

Undo = Callable[[], None]


class Reservations:
    """The `reserve` hooks of all plugins as one. `watchers` only take note and never refuse: pods need not come one by one
    for them."""

    def __init__(self, view: View, hooks: Sequence[Reserve] = (), watchers: Sequence[Reserve] = ()) -> None:
        self._view = view
        self._hooks = tuple(hooks)
        self.watchers = tuple(watchers)
        self._wants: dict[int, tuple[Reserve, ...]] = {}
        self._preparing = {id(hook): hook for hook in self._hooks if isinstance(hook, BindBefore)}

    def of(self, shape: Shape) -> tuple[Reserve, ...]:
        """The plugins that reserve something for pods of a shape."""
        if not self._hooks:
            return ()
        found = self._wants.get(shape.row)
        if found is None:
            found = tuple(hook for hook in self._hooks if hook.reserves(self._view, shape))
            self._wants[shape.row] = found
        return found

    def kind(self, shape: Shape, task: int) -> tuple[int, ...]:
        """Tasks of one shape with the same kind are refused alike: same facts and labels, or the very same task where a
        plugin looks at more (`Plugin.particular`)."""
        table = self._view.snapshot.tasks
        if any(getattr(hook, "particular", False) for hook in self.of(shape)):
            return (task,)
        return int(table.facts[task]), int(table.labels[task])

    def take(self, shape: Shape, task: int, node: int, promised: bool) -> Undo | str | None:
        """Reserve for a task on a node: what undoes it, the sentence that refuses the node, None when nothing is needed."""
        hooks = self.of(shape)
        if not hooks:
            return None
        undos: list[Undo] = []
        for hook in hooks:
            said = hook.reserve(self._view, task, node, promised)
            if isinstance(said, str):
                undo_all(undos)
                return said
            undos.append(said)
        return lambda: undo_all(undos)

    def take_all(
        self, shape: Shape, tasks: Sequence[int], nodes: Sequence[int], promised: bool
    ) -> Undo | str | None:
        """As `take`, for several tasks; watchers hear of each. ValueError for several of a shape that reserves."""
        undos: list[Undo] = []
        if self.of(shape):
            if len(tasks) != 1:
                raise ValueError("tasks of a shape that reserves are placed one at a time")
            taken = self.take(shape, tasks[0], nodes[0], promised)
            if isinstance(taken, str):
                return taken or "refused"
            undos += [taken] if taken is not None else []
        for watcher in self.watchers:
            if watcher.reserves(self._view, shape):
                noted = (
                    watcher.reserve(self._view, task, node, promised)
                    for task, node in zip(tasks, nodes, strict=True)
                )
                undos += [undo for undo in noted if not isinstance(undo, str)]
        return (lambda: undo_all(undos)) if undos else None

    def free(self, shape: Shape, task: int, node: int) -> Undo | None:
        """A task starts to free what it holds on a node: what undoes that, None when it holds nothing."""
        hooks = (*self.of(shape), *(each for each in self.watchers if each.reserves(self._view, shape)))
        if not hooks:
            return None
        undos = [hook.release(self._view, task, node) for hook in hooks]
        return lambda: undo_all(undos)

    def notes(self, shape: Shape, task: int, node: int) -> Mapping[str, str]:
        """Annotations that the pod gets with its binding."""
        merged: dict[str, str] = {}
        for hook in self.of(shape):
            merged.update(hook.bind_notes(self._view, task, node))
        return merged

    def before(self, shape: Shape, task: int, node: int) -> Preparation | None:
        """What must be written before the pod is bound; None for nothing."""
        if not self._preparing:
            return None
        found = (self._preparing.get(id(hook)) for hook in self.of(shape))
        asked = [hook.bind_before(self._view, task, node) for hook in found if hook is not None]
        parts = [part for part in asked if part]
        if not parts:
            return None
        return Preparation(
            volumes=tuple(each for part in parts for each in part.volumes),
            provisions=tuple(each for part in parts for each in part.provisions),
            devices=tuple(each for part in parts for each in part.devices),
            timeout_s=max(part.timeout_s for part in parts),
        )


def undo_all(undos: Sequence[Undo]) -> None:
    """Undo the steps, the last one first."""
    for undo in reversed(undos):
        undo()

"""Queues in any history of their groups, commands and parents: states keep to the table, and quiet brings rest."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.controllers.world import World
from vcray.api.meta import JsonObject
from vcray.api.resources import COMMANDS, PODGROUPS, QUEUES, Resource
from vcray.controllers import raw
from vcray.controllers.base import Delete, Effect, Outcome, Patch
from vcray.controllers.queue import TABLE, QueueController, initial_queues

EDGES = {
    (state.value, target.value)
    for state, row in TABLE.items()
    for do in row.values()
    for _, target in do.targets
} | {("", "Open"), ("", "Closed"), ("", "Closing")}
"""Changes of state that the table knows; a queue without a state is Open."""

Step = tuple[str, str, str]
NAMES = st.sampled_from(["parent", "child", "other"])
steps = st.lists(
    st.one_of(
        st.tuples(
            st.just("command"), NAMES, st.sampled_from(["OpenQueue", "CloseQueue", "SyncQueue", "Odd"])
        ),
        st.tuples(st.sampled_from(["group", "group goes", "turn", "refuse"]), NAMES, st.just("")),
        st.tuples(st.sampled_from(["start", "settle"]), st.just(""), st.just("")),
    ),
    min_size=4,
    max_size=24,
)


class QueueWorld(World):
    """Root, a queue with a child, and one beside them; `moves` are the changes of state that a watch shows."""

    def __init__(self) -> None:
        super().__init__([QueueController()])
        self.moves: list[tuple[str, str]] = []
        self.serial = self.refusals = 0
        self.fail = self._refuse
        for queue in initial_queues():
            self.put(QUEUES, queue)
        for name, parent in (("parent", "root"), ("child", "parent"), ("other", "root")):
            self.put(QUEUES, {"metadata": {"name": name}, "spec": {"parent": parent}})
        self.settle()

    def put(self, resource: Resource, item: JsonObject) -> JsonObject:
        before = self.objects.get((resource, raw.namespace(item), raw.name(item)), {})
        stored = super().put(resource, item)
        move = raw.text(before, "status", "state"), raw.text(stored, "status", "state")
        if resource == QUEUES and move[0] != move[1]:
            self.moves.append(move)
        return stored

    def _refuse(self, effect: Effect) -> Outcome | None:
        if self.refusals and isinstance(effect, Patch | Delete):
            self.refusals -= 1
            return Outcome(ok=False, status=500, reason="InternalError", message="refused")
        return None

    def step(self, step: Step) -> None:
        what, queue, word = step
        groups = [raw.name(g) for g in self.list(PODGROUPS) if raw.text(g, "spec", "queue") == queue]
        self.serial += 1
        meta: JsonObject = {"name": f"x{self.serial}", "namespace": "ns"}
        if what == "command":
            target: JsonObject = {"apiVersion": QUEUES.api_version, "kind": QUEUES.kind, "name": queue}
            self.put(COMMANDS, {"metadata": meta, "action": word, "target": target})
        elif what == "group":
            self.put(PODGROUPS, {"metadata": meta, "spec": {"queue": queue}})
        elif what == "group goes" and groups:
            self.remove(PODGROUPS, "ns", groups[0])
        elif what == "turn" and self.queue:
            self._turn(*self.queue.pop(0))
        elif what == "refuse":
            self.refusals = 2
        elif what == "start":
            self.start_anew()
        else:
            self.settle()

    def start_anew(self) -> None:
        """Another process: what was remembered and queued is lost."""
        self.controllers = [QueueController()]
        self.queue.clear()
        self.waiting.clear()
        self.replay(PODGROUPS, QUEUES, COMMANDS)

    def state(self, queue: str) -> str:
        return raw.text(self.objects[QUEUES, "", queue], "status", "state")

    def writes(self) -> list[Effect]:
        return [effect for effect in self.effects if isinstance(effect, Patch | Delete)]


@settings(max_examples=60, deadline=None, derandomize=True)
@given(history=steps)
def test_any_history_of_queues_keeps_to_the_table_and_comes_to_rest(history: list[Step]) -> None:
    w = QueueWorld()
    for step in history:
        w.step(step)
        assert set(w.moves) <= EDGES
        assert w.state("root") == "Open"

    w.refusals = 0
    w.settle()
    w.advance(60)
    for queue in ("parent", "child", "other"):
        held = any(raw.text(group, "spec", "queue") == queue for group in w.list(PODGROUPS))
        assert w.state(queue) in (("Open", "Closing", "Closed") if held else ("Open", "Closed"))
    if w.state("parent") != "Open":
        assert w.state("child") != "Open", "what is below a closed queue is closed"

    before = len(w.writes())
    w.start_anew()
    w.settle()
    assert w.writes()[before:] == []

"""States of queues: the table, hierarchy, commands, and what is written how."""

from __future__ import annotations

import pytest

from tests.controllers.world import World
from vcray.api import names
from vcray.api.meta import JsonObject
from vcray.api.resources import COMMANDS, PODGROUPS, QUEUES
from vcray.controllers import raw
from vcray.controllers.base import Outcome, Patch
from vcray.controllers.queue import TABLE, Do, QueueAction, QueueController, initial_queues

ACTIONS = (QueueAction.OPEN, QueueAction.CLOSE, QueueAction.SYNC)
EXPECTED = {
    "Open": (Do.STAY, Do.CLOSE, Do.STAY),
    "Closed": (Do.OPEN, Do.STAY, Do.STAY),
    "Closing": (Do.OPEN, Do.DRAIN, Do.DRAIN),
    "Unknown": (Do.OPEN, Do.CLOSE, Do.STAY),
}


def world() -> World:
    w = World([QueueController()])
    for queue in initial_queues():
        w.put(QUEUES, queue)
    w.settle()
    return w


def queue(w: World, name: str, parent: str = "", state: str = "") -> None:
    spec: JsonObject = {"parent": parent} if parent else {}
    item: JsonObject = {"metadata": {"name": name}, "spec": spec}
    w.put(QUEUES, {**item, "status": {"state": state}} if state else item)
    w.settle()


def group(w: World, name: str, queue: str = "q", phase: str = "Running") -> None:
    meta: JsonObject = {"name": name, "namespace": "ns"}
    w.put(PODGROUPS, {"metadata": meta, "spec": {"queue": queue}, "status": {"phase": phase}})
    w.settle()


def command(w: World, action: str, name: str = "q") -> None:
    target: JsonObject = {"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "Queue", "name": name}
    meta: JsonObject = {"name": f"{name}-{action}-{len(w.effects)}", "namespace": "default"}
    w.put(COMMANDS, {"metadata": meta, "action": action, "target": target})
    w.settle()


def state(w: World, name: str = "q") -> str:
    return raw.text(w.get(QUEUES, "", name), "status", "state")


def test_the_table_is_volcanos() -> None:
    assert {s.value: tuple(row[a] for a in ACTIONS) for s, row in TABLE.items()} == EXPECTED


def test_new_queue_is_open_below_root() -> None:
    w = world()

    queue(w, "q")

    assert state(w) == "Open"
    assert raw.text(w.get(QUEUES, "", "q"), "spec", "parent") == "root"
    assert raw.text(w.get(QUEUES, "", "root"), "spec", "parent") == ""
    assert state(w, "root") == state(w, "default") == "Open"


def test_state_is_applied_to_the_status_alone_and_without_force() -> None:
    """api-controllers.md 10.38."""
    w = world()
    w.effects.clear()

    queue(w, "q")

    applied = [e for e in w.did(Patch) if isinstance(e, Patch) and e.kind == "apply"]
    assert [(e.subresource, e.field_manager, e.force) for e in applied] == [
        ("status", "queue-controller", False)
    ]
    assert isinstance(applied[0].patch, dict)
    assert applied[0].patch["status"] == {"state": "Open"}


def test_settled_queue_is_not_written_again() -> None:
    w = world()
    queue(w, "q")
    w.effects.clear()

    w.replay(QUEUES)
    w.settle()

    assert w.effects == []


def test_closing_queue_is_closed_when_its_last_group_goes_o_068() -> None:
    """api-controllers.md 10.44."""
    w = world()
    queue(w, "q")
    group(w, "a")

    command(w, "CloseQueue")
    assert state(w) == "Closing"
    assert ("CloseQueue", "Close queue succeed") in w.events
    assert w.list(COMMANDS) == []
    w.remove(PODGROUPS, "ns", "a")
    w.settle()

    assert state(w) == "Closed"


def test_empty_queue_closes_at_once_and_opens_again() -> None:
    """api-controllers.md 10.55."""
    w = world()
    queue(w, "q")

    command(w, "CloseQueue")
    assert state(w) == "Closed"
    command(w, "OpenQueue")

    assert state(w) == "Open"
    assert raw.annotation(w.get(QUEUES, "", "q") or {}, names.CLOSED_BY_PARENT) == "false"


def test_group_that_moves_leaves_its_old_queue() -> None:
    w = world()
    queue(w, "q")
    queue(w, "r")
    group(w, "a")
    command(w, "CloseQueue")

    w.change(PODGROUPS, "ns", "a", spec__queue="r")
    w.settle()

    assert state(w) == "Closed"


def test_root_is_never_closed() -> None:
    w = world()

    command(w, "CloseQueue", "root")

    assert state(w, "root") == "Open"


def test_closing_a_parent_closes_what_is_below_and_opening_opens_it_again() -> None:
    w = world()
    queue(w, "p")
    queue(w, "q", "p")
    queue(w, "leaf", "q")
    queue(w, "shut", "p")
    command(w, "CloseQueue", "shut")

    command(w, "CloseQueue", "p")
    assert [state(w, name) for name in ("p", "q", "leaf", "shut")] == ["Closed"] * 4
    command(w, "OpenQueue", "p")

    assert [state(w, name) for name in ("p", "q", "leaf", "shut")] == ["Open", "Open", "Open", "Closed"]


def test_queue_below_a_closed_parent_cannot_be_opened() -> None:
    w = world()
    queue(w, "p")
    queue(w, "q", "p")
    command(w, "CloseQueue", "p")

    command(w, "OpenQueue", "q")

    assert state(w, "q") == "Closed"
    failure = "Update queue status from Closed to Open failed for parent queue p is Closed; open it first"
    assert ("OpenQueue", failure) in w.events
    assert any(message.startswith("OpenQueue queue failed for parent queue p") for _, message in w.events)


def test_queue_made_below_a_closed_parent_is_closed() -> None:
    w = world()
    queue(w, "p", state="Closed")

    queue(w, "q", "p")

    assert state(w, "q") == "Closed"
    assert raw.annotation(w.get(QUEUES, "", "q") or {}, names.CLOSED_BY_PARENT) == "true"


def test_queue_waits_for_its_parent_to_exist() -> None:
    """api-controllers.md 10.41."""
    w = world()
    queue(w, "q", "p")
    assert ("SyncQueue", "SyncQueue queue failed for parent queue p of queue q not found") in w.events

    queue(w, "p", state="Closed")

    assert state(w, "q") == "Closed"


def test_conflict_with_another_manager_is_tried_again() -> None:
    w = world()
    conflicts = [Outcome(ok=False, status=409, reason="Conflict", message="field owned by kubectl")]

    w.fail = lambda e: conflicts.pop() if isinstance(e, Patch) and e.kind == "apply" and conflicts else None
    queue(w, "q")

    assert state(w) == "Open"
    assert w.errors == ["set queue q to Open: field owned by kubectl"]


def test_unknown_stays_until_it_is_opened_or_closed() -> None:
    w = world()
    queue(w, "q", state="Unknown")
    assert state(w) == "Unknown"

    command(w, "OpenQueue")

    assert state(w) == "Open"


@pytest.mark.parametrize("name", ["root", "default"])
def test_initial_queues_have_weight_one(name: str) -> None:
    found = next(q for q in initial_queues() if raw.name(q) == name)

    assert raw.table(found, "spec") == {"weight": 1, "reclaimable": name == "default"}

"""Who is above whom among queues, whatever their parents say, and sums of whole subtrees."""

from __future__ import annotations

import pytest

from tests.builders import node, pod, podgroup, queue
from tests.plugins.worlds import World
from vcray.core.space import CPU


def tree(**parents: str | None) -> World:
    """Queues with their parents; None names none."""
    return World(node("n1", cpu=8), *[queue(name, parent=parent) for name, parent in parents.items()])


def path(world: World, name: str) -> list[str]:
    names = world.snapshot.queues.names
    return [names[row] for row in world.view.tree.paths[world.queue(name)]]


def test_a_path_leads_from_root_to_the_queue() -> None:
    world = tree(root=None, dept=None, team="dept", other="root")
    assert path(world, "team") == ["root", "dept", "team"]
    assert path(world, "other") == ["root", "other"]
    assert path(world, "root") == ["root"]
    assert not any(world.view.tree.faults)


def test_only_queues_that_nobody_names_as_parent_are_leaves() -> None:
    world = tree(root=None, dept="root", team="dept", other="root")
    names = world.snapshot.queues.names
    assert {name for name in names if world.view.tree.leaf[world.queue(name)]} == {"team", "other"}


def test_a_queue_whose_parent_is_gone_is_charged_below_root() -> None:
    world = tree(root=None, lost="nowhere", below="lost")
    assert path(world, "below") == ["root", "lost", "below"]
    faults = world.view.tree.faults
    assert (
        faults[world.queue("below")]
        == faults[world.queue("lost")]
        == "the parent of queue lost does not exist"
    )


def test_a_cycle_ends_where_it_closes() -> None:
    world = tree(root=None, a="b", b="c", c="a", below="a")
    assert sorted(path(world, "a")) == ["a", "b", "c"]
    assert path(world, "below")[-1] == "below"
    for name in ("a", "b", "c", "below"):
        assert "form a cycle" in world.view.tree.faults[world.queue(name)]


def test_a_root_that_names_a_parent_stays_the_top() -> None:
    world = tree(root="dept", dept="root")
    assert path(world, "dept") == ["root", "dept"]
    assert not any(world.view.tree.faults)


def test_without_root_the_top_queues_have_nobody_above() -> None:
    world = tree(dept=None, team="dept", other="root")
    assert path(world, "team") == ["dept", "team"]
    assert path(world, "other") == ["other"]
    assert not any(world.view.tree.faults)


@pytest.mark.parametrize("step", ["place", "pipeline"])
def test_sums_of_subtrees_follow_the_ledger_and_its_rollbacks(step: str) -> None:
    world = World(
        node("n1", cpu=8),
        queue("root"),
        queue("dept", parent="root"),
        queue("a", parent="dept"),
        queue("b", parent="dept"),
        podgroup("old", 1, queue="b", phase="Running"),
        pod("old-0", group="old", cpu=2, node="n1"),
        podgroup("new", 1, queue="a"),
        pod("new-0", group="new", cpu=1),
    )

    def sums() -> dict[str, int]:
        names = world.snapshot.queues.names
        return {name: world.view.queues.subtree_list[world.queue(name)][CPU] for name in names}

    before = {"root": 2000, "dept": 2000, "a": 0, "b": 2000}
    assert sums() == before
    mark = world.ledger.checkpoint()
    getattr(world, step)("new-0", "n1")
    assert sums() == {"root": 3000, "dept": 3000, "a": 1000, "b": 2000}
    world.ledger.evict(world.task("old-0"))
    assert sums() == {"root": 1000, "dept": 1000, "a": 1000, "b": 0}
    world.ledger.rollback(mark)
    assert sums() == before

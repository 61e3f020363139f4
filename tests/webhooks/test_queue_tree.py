"""A queue among its relatives."""

from __future__ import annotations

import pytest

from tests.webhooks.seen import Seen, ask, queue
from vcray.api.meta import JsonObject, JsonValue
from vcray.webhooks.queues import validate


def created(new: JsonObject, *others: JsonObject, **rules: object) -> str:
    return validate(ask("CREATE", new, seen=Seen(others), **rules)).problem


# -- parents --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("parent", ["", "root"])
def test_root_is_a_parent_even_unseen(parent: str) -> None:
    assert created(queue("q", parent=parent)) == ""


def test_queue_is_not_its_own_parent() -> None:
    assert created(queue("q", parent="q")) == "queue q cannot use itself as parent"


def test_parent_must_exist_all_the_way_up() -> None:
    told = 'failed to get parent queue p of queue q: queue.scheduling.volcano.sh "p" not found'

    assert created(queue("q", parent="p")) == told
    assert created(queue("q", parent="c"), queue("c", parent="p")) == told


def test_tree_has_at_most_five_levels() -> None:
    chain = [queue(f"l{level}", parent=f"l{level - 1}" if level > 1 else "root") for level in range(1, 6)]

    assert created(queue("q", parent="l4"), *chain) == ""
    assert created(queue("q", parent="l5"), *chain) == "queue q exceeds the maximum allowed depth of 5"
    assert created(queue("q", parent="l2"), *chain, max_queue_depth=2) == (
        "queue q exceeds the maximum allowed depth of 2"
    )


def test_queue_with_pods_becomes_nobodys_first_parent() -> None:
    busy = queue("p", pods=2)

    assert created(queue("q", parent="p"), busy) == (
        "queue p cannot be the parent queue of queue q because it has allocated Pods: 2"
    )
    assert created(queue("q", parent="p"), busy, queue("sister", parent="p")) == ""


def test_queue_does_not_move_below_its_own_descendant() -> None:
    seen = Seen([queue("a"), queue("b", parent="a")])

    answer = validate(ask("UPDATE", queue("a", parent="b"), queue("a"), seen))

    assert answer.problem == "queue a cannot use its own descendant b as parent"


def test_parent_is_looked_at_on_update_only_when_it_changes() -> None:
    orphan = queue("q", parent="gone")

    assert validate(ask("UPDATE", orphan, orphan)).allowed
    assert not validate(ask("UPDATE", orphan, queue("q"))).allowed


# -- capabilities along the tree -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("resource", "mine", "theirs", "told"),
    [
        ("cpu", "5", "4500m", "queue q capability[cpu]=5 exceeds its ancestor's capability=4500m"),
        ("memory", "2Gi", "1Gi", "queue q capability[memory]=2Gi exceeds its ancestor's capability=1Gi"),
        (
            "nvidia.com/gpu",
            "2",
            "1",
            "queue q capability[nvidia.com/gpu]=2000.00 exceeds its ancestor's capability=1000.00",
        ),
    ],
)
def test_capability_stays_below_the_nearest_ancestor_that_has_one(
    resource: str, mine: str, theirs: str, told: str
) -> None:
    top, middle = queue("top", capability={resource: theirs}), queue("mid", parent="top")

    assert created(queue("q", parent="mid", capability={resource: mine}), top, middle) == told
    assert created(queue("q", parent="mid", capability={resource: theirs}), top, middle) == ""


def test_nearest_ancestor_counts_not_the_highest() -> None:
    top, middle = queue("top", capability={"cpu": "1"}), queue("mid", parent="top", capability={"cpu": "9"})

    assert created(queue("q", parent="mid", capability={"cpu": "5"}), top, middle) == ""


def test_capability_covers_the_topmost_of_each_branch_below() -> None:
    below = [
        queue("a", parent="q"),
        queue("deep", parent="a", capability={"cpu": "6"}),
        queue("b", parent="q", capability={"cpu": "3"}),
        queue("hidden", parent="b", capability={"cpu": "9"}),
    ]
    old = queue("q")

    narrow = validate(ask("UPDATE", queue("q", capability={"cpu": "5"}), old, Seen([old, *below])))
    wide = validate(ask("UPDATE", queue("q", capability={"cpu": "6"}), old, Seen([old, *below])))

    assert narrow.problem == "queue q capability[cpu]=5 is smaller than its descendants' max capability=6"
    assert wide.allowed


# -- sums -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("share", ["guarantee", "deserved"])
def test_children_share_what_the_parent_has(share: str) -> None:
    def spec(cpu: str) -> dict[str, JsonValue]:
        deserved: dict[str, JsonValue] = {"deserved": {"cpu": cpu}}
        return {**deserved, "guarantee": {"resource": {"cpu": cpu}}} if share == "guarantee" else deserved

    parent, sister = queue("p", **spec("4")), queue("sister", parent="p", **spec("3"))

    assert created(queue("q", parent="p", **spec("1")), parent, sister) == ""
    assert created(queue("q", parent="p", **spec("2")), parent, sister) == (
        f"parent queue p validation failed: sum of children's {share} (cpu 5000.00, memory 0.00) "
        f"exceeds parent's {share} limit (cpu 4000.00, memory 0.00)"
    )


def test_own_former_amounts_do_not_count_twice() -> None:
    parent, old = queue("p", deserved={"cpu": "4"}), queue("q", parent="p", deserved={"cpu": "3"})
    new = queue("q", parent="p", deserved={"cpu": "4"})

    assert validate(ask("UPDATE", new, old, Seen([parent, old]))).allowed


def test_parent_with_nothing_deserved_grants_nothing() -> None:
    assert created(queue("q", parent="p", deserved={"memory": "1Gi"}), queue("p")) == (
        "parent queue p validation failed: sum of children's deserved (cpu 0.00, memory 1073741824.00) "
        "exceeds parent's deserved limit (cpu 0.00, memory 0.00)"
    )


def test_device_that_the_parent_does_not_list_is_refused_even_at_zero() -> None:
    """api-controllers.md 10.42."""
    new = queue("q", parent="p", deserved={"nvidia.com/gpu": "0"})

    assert created(new, queue("p", deserved={"cpu": "1"})) == (
        "parent queue p validation failed: sum of children's deserved (cpu 0.00, memory 0.00, nvidia.com/gpu 0.00) "
        "exceeds parent's deserved limit (cpu 1000.00, memory 0.00)"
    )


def test_root_grants_everything() -> None:
    assert created(queue("q", parent="root", deserved={"cpu": "9"}), queue("root")) == ""


@pytest.mark.parametrize("share", ["guarantee", "deserved"])
def test_parent_does_not_shrink_below_its_children(share: str) -> None:
    def spec(cpu: str) -> dict[str, JsonValue]:
        return (
            {"deserved": {"cpu": "9"}, "guarantee": {"resource": {"cpu": cpu}}}
            if share == "guarantee"
            else {"deserved": {"cpu": cpu}}
        )

    old, child = queue("q", **spec("4")), queue("c", parent="q", **spec("3"))

    answer = validate(ask("UPDATE", queue("q", **spec("2")), old, Seen([old, child])))

    assert answer.problem == (
        f"queue q validation failed: sum of children's {share} (cpu 3000.00, memory 0.00) "
        f"exceeds parent's {share} limit (cpu 2000.00, memory 0.00)"
    )


def test_queue_moves_only_where_the_tree_has_room() -> None:
    chain = [queue(f"l{level}", parent=f"l{level - 1}" if level > 1 else "root") for level in range(1, 6)]
    old = queue("q", parent="root")

    answer = validate(ask("UPDATE", queue("q", parent="l5"), old, Seen([old, *chain])))

    assert answer.problem == "queue q exceeds the maximum allowed depth of 5"


def test_resources_are_looked_at_on_update_only_when_they_change() -> None:
    parent, bad = queue("p"), queue("q", parent="p", deserved={"cpu": "9"})
    same = queue("q", parent="p", deserved={"cpu": "9000m"})

    assert validate(ask("UPDATE", same, bad, Seen([parent, bad]))).allowed


def test_parent_that_is_gone_is_told_when_resources_change() -> None:
    old = queue("q", parent="gone")

    answer = validate(ask("UPDATE", queue("q", parent="gone", capability={"cpu": "1"}), old, Seen([old])))

    assert answer.problem == 'parent queue gone not found: queue.scheduling.volcano.sh "gone" not found'


def test_rules_end_where_parents_form_a_ring() -> None:
    ring = [queue("a", parent="b"), queue("b", parent="a")]
    new = queue("a", parent="b", capability={"cpu": "1"})

    assert validate(ask("UPDATE", new, ring[0], Seen(ring))).allowed

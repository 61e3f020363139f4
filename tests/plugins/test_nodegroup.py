"""Groups of nodes that queues use or avoid, and what a queue may hold in each."""

from __future__ import annotations

import pytest

from tests.builders import node, pod, podgroup, queue
from tests.plugins.worlds import World
from vcray.api.meta import JsonObject
from vcray.config.scheduler import load_scheduler_config
from vcray.core.policy import build_policy
from vcray.core.session import decide, open_session
from vcray.registry import discover

REQUIRED, PREFERRED = (f"{word}DuringSchedulingIgnoredDuringExecution" for word in ("required", "preferred"))
LIMITS = "volcano.sh/nodegroup-resource-limits"


def in_group(name: str, group: str, cpu: int = 8) -> JsonObject:
    return node(name, cpu=cpu, labels={"volcano.sh/nodegroup-name": group} if group else {})


def with_affinity(made: JsonObject, **lists: list[str]) -> JsonObject:
    """`use`, `rather`, `never`, `not_rather`: lists of groups."""
    spec = made["spec"]
    assert isinstance(spec, dict)
    spec["affinity"] = {
        "nodeGroupAffinity": {REQUIRED: lists.get("use", []), PREFERRED: lists.get("rather", [])},
        "nodeGroupAntiAffinity": {REQUIRED: lists.get("never", []), PREFERRED: lists.get("not_rather", [])},
    }
    return made


def one(queue: str, count: int = 1, cpu: float = 1) -> list[JsonObject]:
    return [podgroup("j", 1, queue=queue), *[pod(f"j-{i}", group="j", cpu=cpu) for i in range(count)]]


def policy(flags: str = "", arguments: str = "{}") -> object:
    conf = (
        'actions: "allocate"\ntiers:\n- plugins:\n  - {name: gang}\n  - {name: predicates}\n'
        f"  - {{name: nodegroup, arguments: {arguments}{flags}}}\n"
    )
    return build_policy(load_scheduler_config(conf), discover())


def outcome(
    *parts: JsonObject | list[JsonObject], flags: str = "", arguments: str = "{}"
) -> tuple[list[str], str]:
    """Nodes of the bound pods, and what a pod without one hears."""
    world = World(*parts)
    decisions = decide(world.snapshot, policy(flags, arguments))  # type: ignore[arg-type]
    nodes = sorted(bind.node for commit in decisions.commits for bind in commit.binds)
    return nodes, next((group.message for group in decisions.waiting), "")


NODES = [in_group("n1", "a"), in_group("n2", "b"), in_group("bare", "")]


@pytest.mark.parametrize(
    ("lists", "allowed"),
    [
        ({"use": ["a"]}, {"n1"}),
        ({"rather": ["b"]}, {"n2"}),
        ({"use": ["a", "b"], "never": ["a"]}, {"n2"}),
        ({"never": ["a"]}, set()),
        ({"not_rather": ["b"]}, {"n2"}),
        ({"use": ["a"], "not_rather": ["b"]}, {"n1", "n2"}),
    ],
)
def test_a_queue_uses_the_groups_that_its_affinity_allows(
    lists: dict[str, list[str]], allowed: set[str]
) -> None:
    nodes, _ = outcome(NODES, with_affinity(queue("q"), **lists), one("q", count=1, cpu=8))
    assert set(nodes) <= allowed
    assert bool(nodes) == bool(allowed)


def test_without_affinity_no_node_takes_a_pod_when_strict_and_bare_ones_do_else() -> None:
    parts = (NODES, with_affinity(queue("q")), one("q"))
    assert outcome(*parts)[0] == []
    assert outcome(*parts, arguments="{strict: false}")[0] == ["bare"]


def test_reasons_are_told_in_the_order_of_the_checks() -> None:
    strict = outcome(NODES, queue("q"), one("q"))[1]
    assert strict == (
        "0/3 nodes are unavailable: 1 node group label not found, 2 node group affinity not specified."
    )
    outside = outcome(NODES, with_affinity(queue("q"), use=["c"]), one("q"))[1]
    assert outside == (
        "0/3 nodes are unavailable: 1 node group label not found, "
        "2 node does not satisfy the node group affinity."
    )


def test_a_queue_without_affinity_has_that_of_the_nearest_queue_above_in_a_tree() -> None:
    parts = (
        NODES,
        queue("root"),
        with_affinity(queue("dept", parent="root"), use=["b"]),
        queue("q", parent="dept"),
        one("q"),
    )
    assert outcome(*parts)[0] == []
    assert outcome(*parts, flags=", enableHierarchy: true")[0] == ["n2"]


def score_of(world: World, arguments: str, name: str) -> float:
    session = open_session(world.snapshot, policy("", arguments))  # type: ignore[arg-type]
    (plugin,) = [p for tier in session.chains.plugins for p, _ in tier if p.name == "nodegroup"]
    job = world.job("j")
    cls = session.placer.class_of(
        job, session.view.shapes[int(world.snapshot.tasks.shape[world.task("j-0")])]
    )
    value = plugin.node_score(session.view, world.one_row(name), cls.shape)  # type: ignore[attr-defined]
    return float(value)


def test_scores_of_groups_follow_the_lists() -> None:
    lists = {"use": ["a"], "rather": ["a", "b"], "not_rather": ["c"]}
    world = World(
        [
            in_group("n1", "a"),
            in_group("n2", "b"),
            in_group("n3", "c"),
            in_group("n4", "d"),
            in_group("bare", ""),
        ],
        with_affinity(queue("q"), **lists),
        one("q"),
    )
    plain = {name: score_of(world, "{}", name) for name in ("n1", "n2", "n3", "n4", "bare")}
    assert plain == {"n1": 150.0, "n2": 50.0, "n3": -1.0, "n4": 0.0, "bare": 0.0}
    ordered = {name: score_of(world, "{enablePreferredOrder: true}", name) for name in ("n1", "n2")}
    assert ordered == {"n1": 150.0, "n2": 25.0}


def limited(limits: str, count: int, running: int = 0) -> tuple[list[str], str]:
    made = with_affinity(queue("q", annotations={LIMITS: limits}), use=["a", "b"])
    old = [podgroup("old", 1, queue="q", phase="Running")] if running else []
    old += [pod(f"old-{i}", group="old", cpu=1, node="n1") for i in range(running)]
    return outcome(NODES, made, old, one("q", count=count))


def test_a_queue_holds_no_more_in_a_group_than_its_limit() -> None:
    nodes, _ = limited('{"a": {"cpu": "2"}}', 6)
    assert nodes.count("n1") <= 2
    assert len(nodes) == 6
    both, text = limited('{"a": {"cpu": "2"}, "b": {"pods": "1"}}', 6)
    assert sorted(both) == ["n1", "n1", "n2"]
    assert "2 node group resource limit exceeded" in text


def test_what_a_queue_held_before_counts() -> None:
    nodes, _ = limited('{"a": {"cpu": "3"}, "b": {"cpu": "0"}}', 4, running=2)
    assert nodes == ["n1"]


def test_limits_that_cannot_be_read_fail_every_node() -> None:
    for spelled in ("{", "[]", '{"a": {"cpu": "many"}}', '{"a": 3}'):
        nodes, text = limited(spelled, 1)
        assert nodes == []
        assert text == "0/3 nodes are unavailable: 3 node group resource limit annotation invalid."

"""Queue admission by a scheduling gate: who loses its gate, and for whom room is kept."""

from __future__ import annotations

from dataclasses import replace

from tests.builders import node, pod, podgroup, queue
from vcray.actors.policies import policy_from
from vcray.cache.cluster import snapshot_of
from vcray.core.session import decide
from vcray.registry import discover

GATE = "scheduling.volcano.sh/queue-allocation-gate"
CONF = """\
actions: "allocate, backfill"
tiers:
- plugins:
  - name: priority
  - name: gang
- plugins:
  - name: predicates
  - name: {share}
"""


def decided(*objects, on=True, share="capacity"):
    policy = replace(policy_from(CONF.format(share=share), discover()), gates=on)
    return decide(
        snapshot_of([node("n1", cpu=16), queue("default", capability={"cpu": 4}), *objects]), policy
    )


def gated(name, cpu, group="g", gates=(GATE,), note="true", **given):
    return pod(name, cpu=cpu, group=group, gates=gates, annotations={GATE: note}, **given)


def asking(name, cpu, group="g", **given):
    return pod(name, cpu=cpu, group=group, annotations={GATE: "true"}, **given)


def lifted(decisions):
    return [lift.task.partition("/")[2] for lift in decisions.lifts]


def bound(decisions):
    return sorted(bind.task.partition("/")[2] for commit in decisions.commits for bind in commit.binds)


def test_the_gate_goes_when_the_queue_has_room_and_the_pod_is_not_placed_in_that_round():
    decisions = decided(podgroup("g"), gated("a", 2))

    assert lifted(decisions) == ["a"]
    assert bound(decisions) == []


def test_each_pod_counts_what_was_admitted_before_it():
    decisions = decided(podgroup("g", 0), *(gated(f"p{index}", 2, created=index) for index in range(3)))

    assert lifted(decisions) == ["p0", "p1"]


def test_a_queue_without_room_keeps_its_pods_gated():
    running = pod("r", cpu=3, group="h", node="n1")

    assert lifted(decided(podgroup("g"), podgroup("h"), running, gated("a", 2))) == []


def test_only_the_sole_gate_of_a_pod_that_asked_goes():
    decisions = decided(
        podgroup("g", 0),
        gated("other", 1, gates=("x.io/wait",)),
        gated("both", 1, gates=(GATE, "x.io/wait")),
        gated("mute", 1, note="false"),
    )

    assert lifted(decisions) == []


def test_nothing_goes_while_the_feature_is_off():
    assert lifted(decided(podgroup("g"), gated("a", 2), on=False)) == []


def test_a_group_that_is_not_admitted_keeps_its_gates():
    conf = policy_from(CONF.format(share="capacity").replace("allocate,", "enqueue, allocate,"), discover())
    group = podgroup("g", phase="Pending", min_resources={"cpu": 9})
    objects = [node("n1", cpu=16), queue("default", capability={"cpu": 4}), group, pod("u", cpu=9, group="g")]

    decisions = decide(snapshot_of([*objects, gated("a", 2)]), replace(conf, gates=True))

    assert lifted(decisions) == []


def test_room_is_kept_for_an_admitted_pod_that_no_node_takes_yet():
    waits = asking("asked", 3, spec={"nodeSelector": {"nowhere": "true"}})
    objects = (podgroup("g"), podgroup("h"), waits, pod("other", cpu=2, group="h"))

    assert bound(decided(*objects)) == []
    assert bound(decided(*objects, on=False)) == ["other"]


def test_pods_that_asked_do_not_keep_each_other_out():
    decisions = decided(podgroup("g", 0), *(asking(f"p{index}", 3, created=index) for index in range(2)))

    assert bound(decided(podgroup("g", 0), asking("p0", 3))) == ["p0"]
    assert bound(decisions) == ["p0"]


def test_room_is_kept_in_its_own_queue_alone():
    waits = asking("asked", 3, spec={"nodeSelector": {"nowhere": "true"}})
    other = queue("b", capability={"cpu": 4})
    free = pod("free", cpu=2, group="h")

    assert bound(decided(other, podgroup("g"), podgroup("h", queue="b"), waits, free)) == ["free"]


def test_proportion_admits_by_its_share_without_keeping_room():
    decisions = decided(podgroup("g"), gated("a", 2), share="proportion")

    assert lifted(decisions) == ["a"]

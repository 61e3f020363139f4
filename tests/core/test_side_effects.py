"""What a round says of pods and PodGroups, in Volcano's reasons and words: the side effects that users' tools match."""

from __future__ import annotations

import pytest

from tests.builders import node, pod, podgroup, queue
from vcray.actors.policies import policy_from
from vcray.cache.cluster import snapshot_of
from vcray.core.session import decide
from vcray.core.tables import Phase
from vcray.registry import discover

CONF = """\
actions: "{actions}"
tiers:
- plugins:
  - name: priority
  - name: gang
- plugins:
  - name: predicates
"""
POLICY = policy_from(CONF.format(actions="allocate, backfill"), discover())


def decided(*objects, policy=POLICY):
    return decide(snapshot_of([queue("default"), *objects]), policy)


def said(decisions):
    """Pod -> (reason, message)."""
    return {each.task.partition("/")[2]: (each.reason, each.message) for each in decisions.conditions}


def phase(decisions, name, before):
    """The phase written, or the one before when nothing is."""
    found = [update.status.phase for update in decisions.groups if update.job == f"default/{name}"]
    return found[0] if found else before


def gang_of(name, pods, minimum, phase="Inqueue"):
    return [podgroup(name, minimum, phase=phase), *pods]


def test_members_of_an_undone_gang_are_schedulable_and_the_one_that_fails_is_not():
    members = [pod(f"g-{index}", cpu=2, group="g") for index in range(3)]

    words = said(decided(node("n1", cpu=4), *gang_of("g", members, 3)))

    promised = [reason for reason, _ in words.values()].count("Schedulable")
    assert promised == 2
    assert (
        "Schedulable",
        "Pod default/g-0 can possibly be assigned to n1, once minAvailable is satisfied",
    ) in [words["g-0"]]
    assert words["g-2"] == ("Unschedulable", "0/1 nodes are unavailable: 1 Insufficient cpu.")


def test_a_pod_that_waits_for_room_being_freed_is_unschedulable_and_told_where_it_may_go():
    leaving = pod("old", cpu=4, node="n1", deleting=True)

    decisions = decided(node("n1", cpu=4), leaving, *gang_of("g", [pod("p", cpu=3, group="g")], 1))

    text = "Pod default/p can possibly be assigned to n1, once resource is released and minAvailable is satisfied"
    assert said(decisions) == {"p": ("Unschedulable", text)}
    assert decisions.conditions[0].nominated == ""


def test_gated_pods_are_not_told_anything():
    decisions = decided(node("n1"), *gang_of("g", [pod("p", cpu=1, group="g", gates=["x"])], 1))

    assert said(decisions) == {}


def test_pods_that_are_bound_are_not_told_anything():
    decisions = decided(node("n1"), *gang_of("g", [pod("p", cpu=1, group="g")], 1))

    assert len(decisions.commits) == 1
    assert said(decisions) == {}


@pytest.mark.parametrize(
    ("pods", "minimum", "before", "after"),
    [
        ([], 1, "Inqueue", Phase.INQUEUE),
        ([], 1, "Pending", Phase.PENDING),
        (["Running"], 2, "Running", Phase.PENDING),
        (["Running", "Failed"], 2, "Running", Phase.RUNNING),
        (["Running", "Succeeded"], 2, "Running", Phase.RUNNING),
        (["Running", "leaving"], 2, "Running", Phase.RUNNING),
        (["Succeeded", "Failed"], 2, "Running", Phase.COMPLETED),
        ([], 0, "Pending", Phase.COMPLETED),
    ],
)
def test_the_phase_counts_running_bound_ended_and_leaving_pods_against_the_minimum(
    pods, minimum, before, after
):
    """Inqueue never falls back to Pending; Running below the minimum does. Failed pods count as scheduled."""
    policy = policy_from(CONF.replace("gang", "overcommit").format(actions="enqueue, backfill"), discover())
    group = podgroup("g", minimum, phase=before, min_resources={"cpu": 999})
    members = [
        pod(f"p{index}", cpu=1, group="g", node="n1", deleting=True)
        if state == "leaving"
        else pod(f"p{index}", cpu=1, group="g", node="n1", phase=state)
        for index, state in enumerate(pods)
    ]

    decisions = decided(node("n1"), group, *members, policy=policy)

    assert phase(decisions, "g", Phase[before.upper()]) == after


def test_a_pod_of_another_scheduler_with_a_node_is_a_member_by_its_annotation_and_without_one_is_not():
    foreign = pod("f", cpu=1, group="g", node="n1", scheduler="other")
    waiting = pod("w", cpu=1, group="g", scheduler="other")

    decisions = decided(node("n1"), *gang_of("g", [foreign, waiting, pod("p", cpu=1, group="g")], 2))

    (commit,) = decisions.commits
    assert [bind.task for bind in commit.binds] == ["default/p"]
    assert phase(decisions, "g", None) is not None


def test_a_group_below_its_minimum_gets_a_warning_and_one_that_runs_a_normal_event():
    waits = gang_of("w", [pod("w-0", cpu=99, group="w")], 1)
    runs = gang_of("r", [pod("r-0", cpu=1, group="r", node="n1")], 1)

    events = {event.name: event for event in decided(node("n1", cpu=4), *waits, *runs).events}

    warning, normal = events["default/w"], events["default/r"]
    assert (warning.kind, warning.type, warning.reason) == ("PodGroup", "Warning", "Unschedulable")
    assert warning.message == (
        "1/1 tasks in gang unschedulable: pod group is not ready, 1 Pending, 1 minAvailable; "
        "Pending: 1 Unschedulable. Origin reason is w-0: 0/1 nodes are unavailable: 1 Insufficient cpu."
    )
    assert (normal.type, normal.reason, normal.message) == ("Normal", "Scheduled", "pod group is ready")


def test_without_any_node_the_text_has_no_reasons():
    words = said(decided(*gang_of("g", [pod("p", cpu=1, group="g")], 1)))

    assert words["p"] == ("Unschedulable", "0/0 nodes are unavailable")


def test_reasons_are_sorted_as_strings_so_that_equal_states_give_equal_texts():
    nodes = [node(f"n{index}", cpu=1) for index in range(10)] + [node("gpu", cpu=64, labels={"x": "y"})]
    member = pod("p", cpu=2, group="g", spec={"nodeSelector": {"a": "b"}})

    words = [
        said(decided(*order, *gang_of("g", [member], 1)))["p"][1] for order in (nodes, list(reversed(nodes)))
    ]

    assert words[0] == words[1]
    assert words[0].startswith("0/11 nodes are unavailable: 1 node(s) didn't match")

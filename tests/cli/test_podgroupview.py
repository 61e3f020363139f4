"""What `vcray podgroup` shows of a group, written out by hand."""

from vcray.api.scheduling import PodGroupPhase
from vcray.cli.podgroup import PHASES
from vcray.cli.podgroupview import columns, group_text, members, plain, row, whole

NOW = 1_700_000_185.0
CREATED = "2023-11-14T22:13:20Z"  # 3m5s before
UNSCHEDULABLE = {
    "type": "Unschedulable",
    "status": "True",
    "reason": "NotEnoughResources",
    "message": "2/3 tasks in gang unschedulable: pod group is not ready, 3 minAvailable, 2 Pending",
    "lastTransitionTime": "2023-11-14T22:14:25Z",
}
SCHEDULED = {
    "type": "Scheduled",
    "status": "True",
    "reason": "tasks in gang are ready to be scheduled",
    "lastTransitionTime": "2023-11-14T22:15:25Z",
}
GROUP = {
    "metadata": {
        "name": "train",
        "namespace": "ml",
        "creationTimestamp": CREATED,
        "ownerReferences": [{"kind": "Job", "name": "train"}],
        "managedFields": [{"manager": "x"}],
    },
    "spec": {
        "queue": "research",
        "minMember": 3,
        "minTaskMember": {"worker": 2, "ps": 1},
        "minResources": {"memory": "3Gi", "cpu": "3"},
        "priorityClassName": "high",
        "networkTopology": {"mode": "hard", "highestTierAllowed": 2},
    },
    "status": {"phase": "Inqueue", "running": 1, "conditions": [UNSCHEDULABLE]},
}


def pod(name, group="train", node="", why="", **metadata):
    """A pod of a group, on a node or refused by the scheduler."""
    conditions = [{"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": why}]
    return {
        "metadata": {"name": name, "annotations": {"scheduling.k8s.io/group-name": group}, **metadata},
        "spec": {"nodeName": node, "containers": [{"name": "c"}]},
        "status": {"phase": "Running" if node else "Pending", "conditions": [] if node else conditions},
    }


PODS = [
    pod("train-ps-0", node="n1", labels={"volcano.sh/task-spec": "ps"}),
    pod("train-worker-0", why="0/2 nodes are unavailable: 2 Insufficient cpu."),
]
EVENTS = [
    {
        "metadata": {"name": "train.2"},
        "type": "Warning",
        "reason": "Unschedulable",
        "count": 4,
        "lastTimestamp": "2023-11-14T22:16:20Z",
        "message": "no room\n",
    },
    {
        "metadata": {"name": "train.1"},
        "type": "Normal",
        "reason": "Born",
        "eventTime": CREATED,
        "message": "made",
    },
]
PAGE = """\
Name:            train
Namespace:       ml
Owner:           Job train
Age:             3m5s
Queue:           research
Priority Class:  high
Phase:           Inqueue
Min Member:      3
Min Task Member: ps=1, worker=2
Min Resources:   cpu=3, memory=3Gi
Topology:        highestTierAllowed=2, mode=hard
Members:         2 pods, 1 with a node; 1 running, 0 succeeded, 0 failed
Waits Because:   2/3 tasks in gang unschedulable: pod group is not ready, 3 minAvailable, 2 Pending
Conditions:
  TYPE            STATUS   REASON               AGE   MESSAGE
  Unschedulable   True     NotEnoughResources   2m    2/3 tasks in gang unschedulable: pod group is not ready, 3 minAvailable, 2 Pending
Pods:
  NAME             TASK     STATUS    NODE     WHY
  train-ps-0       ps       Running   n1
  train-worker-0   <none>   Pending   <none>   0/2 nodes are unavailable: 2 Insufficient cpu.
Events:
  TYPE      REASON          AGE       MESSAGE
  Normal    Born            3m5s      made
  Warning   Unschedulable   5s (x4)   no room
"""


def with_conditions(*conditions):
    return {**GROUP, "status": {**GROUP["status"], "conditions": [*conditions]}}


def test_the_page_tells_what_a_group_asks_for_who_is_in_it_and_why_it_waits():
    assert group_text(GROUP, PODS, EVENTS, NOW) == PAGE


def test_what_a_group_does_not_have_is_left_out_or_told_as_none():
    group = {"metadata": {"name": "bare", "namespace": "ml", "creationTimestamp": CREATED}}

    assert group_text(group, [], [], NOW) == (
        "Name:            bare\n"
        "Namespace:       ml\n"
        "Owner:           <none>\n"
        "Age:             3m5s\n"
        "Queue:           <none>\n"
        "Phase:           <none>\n"
        "Min Member:      0\n"
        "Members:         0 pods, 0 with a node; 0 running, 0 succeeded, 0 failed\n"
        "Conditions:      <none>\n"
        "Pods:            <none>\n"
        "Events:          <none>\n"
    )


def test_a_line_has_the_reason_for_which_a_group_waits():
    assert columns(False) == [
        "name",
        "queue",
        "phase",
        "min",
        "running",
        "succeeded",
        "failed",
        "age",
        "reason",
    ]
    assert row(GROUP, False, NOW) == [
        "train", "research", "Inqueue", "3", "1", "0", "0", "3m5s", "NotEnoughResources",
    ]  # fmt: skip
    assert columns(True)[0] == "namespace"
    assert row(GROUP, True, NOW)[:2] == ["ml", "train"]


def test_an_old_complaint_says_nothing_of_a_group_that_was_scheduled_since():
    for conditions in ((UNSCHEDULABLE, SCHEDULED), (SCHEDULED, UNSCHEDULABLE)):
        assert row(with_conditions(*conditions), False, NOW)[-1] == ""
        assert "Waits Because" not in group_text(with_conditions(*conditions), [], [], NOW)


def test_a_complaint_that_no_longer_holds_is_no_reason():
    assert row(with_conditions({**UNSCHEDULABLE, "status": "False"}), False, NOW)[-1] == ""


def test_of_two_conditions_of_one_second_the_later_in_the_list_counts():
    same = {**SCHEDULED, "lastTransitionTime": UNSCHEDULABLE["lastTransitionTime"]}

    assert row(with_conditions(same, UNSCHEDULABLE), False, NOW)[-1] == "NotEnoughResources"
    assert row(with_conditions(UNSCHEDULABLE, same), False, NOW)[-1] == ""


def test_members_are_the_pods_that_name_the_group_by_name():
    pods = [pod("b"), pod("other", group="tune"), pod("a"), {"metadata": {"name": "none"}}]

    assert [each["metadata"]["name"] for each in members(GROUP, pods)] == ["a", "b"]


def test_data_tell_what_the_page_tells():
    told = whole(GROUP, PODS, EVENTS)

    assert told["podGroup"] == plain(GROUP)
    assert told["pods"][1] == {
        "name": "train-worker-0",
        "task": "<none>",
        "status": "Pending",
        "node": "<none>",
        "why": "0/2 nodes are unavailable: 2 Insufficient cpu.",
    }
    assert [(each["reason"], each["lastTimestamp"]) for each in told["events"]] == [
        ("Born", CREATED),
        ("Unschedulable", "2023-11-14T22:16:20Z"),
    ]


def test_an_object_is_shown_without_the_book_keeping_of_its_fields():
    assert "managedFields" not in plain(GROUP)["metadata"]
    assert "managedFields" in GROUP["metadata"]


def test_phases_are_those_of_the_api():
    assert set(PHASES) == {each.value for each in PodGroupPhase}

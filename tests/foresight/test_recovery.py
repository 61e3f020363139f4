"""Gangs bound in part: found, completed if they fit, else taken back, and nothing else touched."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from vcray.actors.policies import policy_from
from vcray.api.meta import JsonObject
from vcray.cache.cluster import snapshot_of
from vcray.config.scheduler import HELM_CONF
from vcray.core.snapshot import Snapshot
from vcray.foresight.recovery import REASON, complete, half_bound, holds_gangs, take_back
from vcray.registry import discover
from vcray.sim import shorthand

POLICY = policy_from(HELM_CONF, discover())


READY: JsonObject = {
    "type": "Scheduled",
    "status": "True",
    "reason": "tasks in gang are ready to be scheduled",
}


def cluster(
    nodes: JsonObject,
    groups: JsonObject,
    pods: JsonObject,
    running: Iterable[str] = (),
    phase: str = "Inqueue",
    conditions: tuple[JsonObject, ...] = (),
) -> Snapshot:
    """A snapshot of objects in short form; pods with a node are bound, those named in `running` run."""
    objects: list[JsonObject] = [shorthand.queue("default", {}, ""), shorthand.queue("root", {}, "")]
    objects += [shorthand.node(name, str(size), "") for name, size in nodes.items()]
    for name, spec in groups.items():
        assert isinstance(spec, int | dict)
        status: JsonObject = {"phase": phase, "conditions": list(conditions)}
        objects.append({**shorthand.group(name, spec, ""), "status": status})
    for name, spec in pods.items():
        assert isinstance(spec, dict)
        for pod in shorthand.pods(name, spec, ""):
            metadata = pod["metadata"]
            assert isinstance(metadata, dict)
            metadata["uid"] = f"uid-{metadata['name']}"
            pod["status"] = {"phase": "Running" if metadata["name"] in running else "Pending"}
            objects.append(pod)
    return snapshot_of(objects, now=0.0, seed=0)


def two_of_four(room: str = "8c", **more: JsonObject) -> Snapshot:
    """Gang g of four 1c pods, two bound on n1, two pending."""
    pods: JsonObject = {
        "b": {"count": 2, "size": "1c", "group": "g", "node": "n1"},
        "p": {"count": 2, "size": "1c", "group": "g"},
        **more,
    }
    return cluster({"n1": room}, {"g": 4}, pods)


def test_a_gang_below_its_minimum_that_never_ran_is_half_bound() -> None:
    assert half_bound(two_of_four()) == ("default/g",)


def test_a_kubelet_that_was_quick_does_not_excuse_a_gang_that_was_never_ready() -> None:
    pods: JsonObject = {
        "b": {"count": 2, "size": "1c", "group": "g", "node": "n1"},
        "p": {"count": 2, "size": "1c", "group": "g"},
    }
    snapshot = cluster({"n1": "3c"}, {"g": 4}, pods, running=["b-0", "b-1"])

    assert half_bound(snapshot) == ("default/g",)
    assert [evict.task for evict in take_back(snapshot, ["default/g"])] == ["default/b-0", "default/b-1"]


def test_a_policy_without_gang_has_nothing_to_recover() -> None:
    loose = policy_from("actions: allocate\ntiers:\n- plugins:\n  - name: priority\n", discover())
    off = policy_from(
        "actions: allocate\ntiers:\n- plugins:\n  - name: gang\n    enableJobReady: false\n", discover()
    )

    assert holds_gangs(POLICY)
    assert not holds_gangs(loose)
    assert not holds_gangs(off)


def test_a_whole_gang_one_with_nothing_bound_and_one_that_ran_are_not() -> None:
    whole = cluster({"n1": "8c"}, {"g": 2}, {"b": {"count": 2, "size": "1c", "group": "g", "node": "n1"}})
    waiting = cluster({"n1": "8c"}, {"g": 2}, {"p": {"count": 2, "size": "1c", "group": "g"}})
    running = cluster(
        {"n1": "8c"},
        {"g": 4},
        {"b": {"count": 2, "size": "1c", "group": "g", "node": "n1"}},
        running=["b-0"],
        conditions=(READY,),
    )

    assert half_bound(whole) == half_bound(waiting) == half_bound(running) == ()


def test_a_role_below_its_own_minimum_makes_a_gang_half_bound() -> None:
    bound: JsonObject = {"count": 3, "size": "1c", "group": "g", "role": "ps", "node": "n1"}
    snapshot = cluster({"n1": "8c"}, {"g": {"min": 3, "roles": {"ps": 1, "worker": 2}}}, {"b": bound})

    assert half_bound(snapshot) == ("default/g",)


@pytest.mark.parametrize("nothing", [{}, {"size": "0c/0Gi"}])
def test_pods_that_request_nothing_count_as_ready(nothing: JsonObject) -> None:
    pods: JsonObject = {
        "b": {"count": 2, "size": "1c", "group": "g", "node": "n1"},
        "e": {"count": 2, "group": "g", **nothing},
    }

    assert half_bound(cluster({"n1": "8c"}, {"g": 4}, pods)) == ()


def test_a_half_bound_gang_is_completed_where_it_fits() -> None:
    decisions = complete(two_of_four(), POLICY, ["default/g"])

    (commit,) = decisions.commits
    assert commit.job == "default/g"
    assert [bind.task for bind in commit.binds] == ["default/p-0", "default/p-1"]


@pytest.mark.parametrize("phase", ["", "Pending"])
def test_a_gang_whose_admission_was_not_written_down_is_completed_too(phase: str) -> None:
    """The phase is written after the bindings; what the gang holds by now would count against letting it in."""
    pods: JsonObject = {
        "b": {"count": 2, "size": "1c", "group": "g", "node": "n1"},
        "p": {"count": 2, "size": "1c", "group": "g"},
    }
    snapshot = cluster({"n1": "4c"}, {"g": {"min": 4, "resources": "4c"}}, pods, phase=phase)

    (commit,) = complete(snapshot, POLICY, ["default/g"]).commits

    assert [bind.task for bind in commit.binds] == ["default/p-0", "default/p-1"]


def test_completion_goes_before_every_other_job_and_binds_nothing_else() -> None:
    other: JsonObject = {"count": 2, "size": "1c", "group": "h"}
    pods: JsonObject = {
        "b": {"count": 2, "size": "1c", "group": "g", "node": "n1"},
        "p": {"count": 2, "size": "1c", "group": "g"},
        "h": other,
    }
    snapshot = cluster({"n1": "4c"}, {"g": 4, "h": {"min": 2, "priority": 100}}, pods)

    decisions = complete(snapshot, POLICY, ["default/g"])

    assert [commit.job for commit in decisions.commits] == ["default/g"]


def test_what_does_not_fit_is_taken_back_whole_and_alone() -> None:
    snapshot = two_of_four(room="3c")

    assert complete(snapshot, POLICY, ["default/g"]).commits == ()
    evictions = take_back(snapshot, ["default/g", "default/unknown"])

    assert [(evict.task, evict.uid, evict.job, evict.reason) for evict in evictions] == [
        ("default/b-0", "uid-b-0", "default/g", REASON),
        ("default/b-1", "uid-b-1", "default/g", REASON),
    ]


@pytest.mark.parametrize("jobs", [[], ["default/other"]])
def test_nobody_is_taken_back_unasked(jobs: list[str]) -> None:
    assert take_back(two_of_four(room="3c"), jobs) == ()

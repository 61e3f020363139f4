"""Sizes of rolling updates and completion indexes: plain arithmetic."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vcray.api.jsonview import dig_str
from vcray.api.meta import JsonObject, JsonValue
from vcray.cluster.workloads.deployment.sizes import (
    available,
    bounds,
    new_size,
    proportional,
    replicas,
    shrunk,
)
from vcray.cluster.workloads.job.indexes import parse, pending, write
from vcray.cluster.workloads.job.policies import judge_success
from vcray.cluster.workloads.podcontrol import numbered_prefix


def deployment(wanted: int, surge: JsonValue, missing: JsonValue) -> JsonObject:
    rolling: JsonObject = {"maxSurge": surge, "maxUnavailable": missing}
    return {"spec": {"replicas": wanted, "strategy": {"type": "RollingUpdate", "rollingUpdate": rolling}}}


def replica_set(name: str, size: int, ready: int, most: int = 0) -> JsonObject:
    notes: JsonObject = {"deployment.kubernetes.io/max-replicas": str(most)} if most else {}
    return {
        "metadata": {"name": name, "creationTimestamp": name, "annotations": notes},
        "spec": {"replicas": size},
        "status": {"availableReplicas": ready},
    }


def test_percentages_round_up_for_surge_and_down_for_what_may_be_missing() -> None:
    assert bounds(deployment(10, "25%", "25%")) == (3, 2)
    assert bounds(deployment(1, "0%", "25%")) == (0, 1)


def test_unhealthy_old_pods_go_before_healthy_ones() -> None:
    old = [replica_set("a", 2, 0), replica_set("b", 4, 4)]

    assert shrunk(deployment(5, 1, 1), old, replica_set("new", 1, 1)) == {"a": 0, "b": 3}


def test_shares_follow_the_sizes_and_leave_nothing_over() -> None:
    sets = [replica_set("old", 8, 8, 13), replica_set("new", 5, 0, 13)]

    assert proportional(deployment(30, 3, 2), sets) == {"old": 20, "new": 13}


@given(
    wanted=st.integers(0, 20),
    surge=st.integers(0, 5),
    missing=st.integers(0, 5),
    old=st.lists(st.tuples(st.integers(0, 8), st.integers(0, 8)), max_size=3),
    new=st.tuples(st.integers(0, 8), st.integers(0, 8)),
)
def test_step_of_a_rollout_never_goes_beyond_its_bounds(
    wanted: int, surge: int, missing: int, old: list[tuple[int, int]], new: tuple[int, int]
) -> None:
    target = deployment(wanted, surge, missing)
    most, fewest = bounds(target)
    before = [replica_set(f"s{i}", size, min(size, ready)) for i, (size, ready) in enumerate(old)]
    newest = replica_set("new", new[0], min(new))
    everything = [*before, newest]

    grown = new_size(target, everything, replicas(newest))
    sizes = shrunk(target, before, newest)

    if grown > replicas(newest):
        assert sum(map(replicas, before)) + grown <= wanted + most
    if sizes:
        left = {dig_str(each, "metadata", "name"): each for each in before}
        kept = sum(min(available(each), sizes.get(name, replicas(each))) for name, each in left.items())
        assert kept + available(newest) >= min(wanted - fewest, sum(map(available, everything)))


@given(indexes=st.sets(st.integers(0, 60)))
def test_indexes_survive_being_written(indexes: set[int]) -> None:
    assert parse(write(indexes), 61) == indexes


def test_three_indexes_in_a_row_are_written_as_a_range() -> None:
    assert write({0, 1, 2, 4, 6, 7}) == "0-2,4,6,7"
    assert parse("0-2,x,4,9-12", 10) == {0, 1, 2, 4, 9}
    assert pending(2, 5, {0, 2}) == [1, 3]


def test_long_names_leave_room_for_the_number() -> None:
    assert numbered_prefix("n" * 60, 12) == "n" * 54 + "-12-"
    assert numbered_prefix("work", 0) == "work-0-"


@pytest.mark.parametrize(
    ("succeeded", "rule"), [({1}, ""), ({0}, "0"), ({2}, "1"), ({4, 5, 6}, "2"), (set(), "")]
)
def test_the_first_success_rule_that_is_met_ends_a_job(succeeded: set[int], rule: str) -> None:
    rules: list[JsonValue] = [
        {"succeededIndexes": "0"},
        {"succeededIndexes": "2-3", "succeededCount": 1},
        {"succeededCount": 3},
    ]
    job: JsonObject = {"spec": {"successPolicy": {"rules": rules}}}

    assert judge_success(job, succeeded, 7) == (f"Matched rules at index {rule}" if rule else "")

"""Parts of jobs: which pods form them, how near they must be, and what holds them already."""

from __future__ import annotations

import pytest

from tests.core.world import Job, Node, Pod, equal_pods, snapshot
from vcray.core.details import Details
from vcray.core.hypernodes import HyperNodeTable
from vcray.core.openview import open_view
from vcray.core.subjobs import Parts, fnv32
from vcray.core.tables import MISSING, Closeness, Requirement, Status, SubGroupPolicy
from vcray.core.view import View

TREE = HyperNodeTable(
    names=("a", "b", "s"),
    tiers=(1, 1, 2),
    parents=(2, 2, MISSING),
    members=(("n1",), ("n2",), ()),
    tier_names=(("rack", 1), ("spine", 2)),
)
SOFT = Closeness(soft=True, tier=None)


def opened(*jobs: Job) -> View:
    nodes = [Node("n1"), Node("n2"), Node("n3")]
    return open_view(snapshot(nodes, jobs, details=Details(hypernodes=TREE)))[0]


def parts(job: Job) -> Parts:
    return opened(job).subjobs.of_job[0]


def policy(name: str = "p", **more: object) -> SubGroupPolicy:
    given = {"requirements": (), "keys": ("part",), **more}
    return SubGroupPolicy(name, **given)  # type: ignore[arg-type]


def pod(name: str, **labels: str) -> Pod:
    return Pod(name, cpu=1, labels=labels)


def test_a_job_without_topology_and_policies_has_no_parts() -> None:
    assert opened(Job("j", equal_pods("p", 2, cpu=1))).subjobs.of_job == {}


def test_the_first_policy_that_a_pod_meets_takes_it_and_the_rest_form_the_default_part() -> None:
    first = policy("first", requirements=(Requirement("app", "In", ("a",)),))
    second = policy("second", size=2)
    job = Job(
        "j",
        [pod("p0", app="a", part="1"), pod("p1", app="b", part="1"), pod("p2", app="a"), pod("p3", part="")],
        subgroups=(first, second),
    )
    found = parts(job)
    assert [(sub.name, sub.least, len(sub.tasks)) for sub in found.subjobs] == [
        ("ns/j", 1, 2),
        ("ns/j/first-1", 1, 1),
        ("ns/j/second-1", 2, 1),
    ]
    assert found.grouped


def test_a_policy_without_keys_takes_nobody() -> None:
    found = parts(Job("j", [pod("p0")], subgroups=(policy(keys=()),)))
    assert [sub.policy for sub in found.subjobs] == [MISSING]


def test_values_of_several_keys_are_joined_and_long_ones_hashed() -> None:
    long = "x" * 150
    job = Job(
        "j",
        [Pod("p0", labels={"a": "7", "b": "y"}), Pod("p1", labels={"a": long, "b": "y"})],
        subgroups=(policy(keys=("a", "b")),),
    )
    assert {(sub.name, sub.order) for sub in parts(job).subjobs} == {
        ("ns/j/p-7-y", 7),
        (f"ns/j/p-{fnv32(long + '-y')}", 0),
    }


def test_the_hash_is_fnv_1() -> None:
    assert (fnv32(""), fnv32("a"), fnv32("foobar")) == (0x811C9DC5, 0x050C5D7E, 0x31F0B262)


@pytest.mark.parametrize(
    ("closeness", "limit"),
    [
        (SOFT, 3),
        (Closeness(soft=True, tier=1), 3),
        (Closeness(soft=False, tier=1), 1),
        (Closeness(soft=False, tier=None, tier_name="spine"), 2),
        (Closeness(soft=False, tier=1, tier_name="spine"), 1),
        (Closeness(soft=False, tier=None, tier_name="nowhere"), None),
        (Closeness(soft=False, tier=None), None),
    ],
    ids=["soft", "soft with a tier", "tier", "name", "both", "unknown name", "nothing"],
)
def test_what_is_stated_becomes_the_highest_tier_allowed(closeness: Closeness, limit: int | None) -> None:
    found = parts(Job("j", equal_pods("p", 2, cpu=1), closeness=closeness))
    assert (found.limit, found.subjobs[0].limit, found.near) == (limit, limit, True)
    assert found.flat is (limit is None)


@pytest.mark.parametrize(
    ("job", "limit"),
    [(Closeness(soft=False, tier=2), 2), (SOFT, 3), (None, 3)],
    ids=["the job's tier", "a soft job", "none"],
)
def test_a_soft_sub_group_may_be_as_wide_as_its_job(job: Closeness | None, limit: int) -> None:
    found = parts(Job("j", [pod("p0", part="1")], closeness=job, subgroups=(policy(closeness=SOFT),)))
    assert found.subjobs[0].limit == limit


def test_what_holds_a_part_is_read_from_its_pods() -> None:
    tree = {"n1": "a", "n2": "b", "n3": "<cluster-top-hypernode>"}
    for nodes, expected in ((["n1"], "a"), (["n1", "n2"], "s"), (["n3"], tree["n3"])):
        running = [Pod(f"r{i}", cpu=1, status=Status.RUNNING, node=node) for i, node in enumerate(nodes)]
        ended = Pod("e", cpu=1, status=Status.RELEASING, node="n3")
        view = opened(Job("j", [*running, ended, Pod("p", cpu=1)], closeness=SOFT))
        found = view.subjobs.of_job[0]
        assert view.hypernodes.names[found.subjobs[0].allocated] == expected
        assert found.allocated == found.subjobs[0].allocated


def test_a_part_without_pods_on_nodes_is_held_by_nothing() -> None:
    found = parts(Job("j", equal_pods("p", 2, cpu=1), closeness=SOFT))
    assert (found.allocated, found.subjobs[0].allocated) == (MISSING, MISSING)


def test_only_policies_that_want_sub_groups_have_a_minimum() -> None:
    found = parts(Job("j", [pod("p0", part="1")], subgroups=(policy("a"), policy("b", least=2))))
    assert found.minimums == {1: 2}

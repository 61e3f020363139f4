"""What must hold of every eviction, whatever the cluster, the plugins and the action: told from objects and decisions alone."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from functools import cache
from random import Random

import pytest

from tests.core.world import Job, Pod
from tests.properties.crowds import Crowd, crowd
from tests.properties.permutation import shuffled
from vcray.core.decisions import Decisions
from vcray.core.session import decide
from vcray.core.tables import Status

COUNT = 300


@cache
def round_of(number: int) -> tuple[Crowd, Decisions]:
    """A crowd and what is decided; made once, since several properties look at it."""
    made = crowd(number)
    return made, decide(made.snapshot(), made.policy())


def rounds() -> Iterator[tuple[Crowd, Decisions]]:
    for number in range(COUNT):
        yield round_of(number)


def evicted(decisions: Decisions) -> set[str]:
    return {evict.task.removeprefix("ns/") for evict in decisions.evictions}


def pods(made: Crowd) -> dict[str, tuple[Job, Pod]]:
    return {pod.name: (job, pod) for job in made.jobs for pod in job.pods}


def needs(pod: Pod) -> dict[str, float]:
    return {"cpu": pod.cpu, "gpu": pod.gpu, "pods": 1.0}


def room(made: Crowd, gone: set[str], seats: dict[str, str]) -> dict[str, Counter[str]]:
    """What each node has left when those pods, and all that are ending, are gone and these are there."""
    left = {n.name: Counter({"cpu": n.cpu, "gpu": n.gpu, "pods": n.pods}) for n in made.nodes}
    for name, (_, pod) in pods(made).items():
        if pod.node and name not in gone and pod.status is not Status.RELEASING:
            left[pod.node].subtract(needs(pod))
    for name, node in seats.items():
        left[node].subtract(needs(pods(made)[name][1]))
    return left


def slots(made: Crowd, gone: set[str], taken: dict[str, str]) -> Counter[str]:
    """Pod slots of each node as filters count them: what is ending still has one."""
    left = Counter({node.name: node.pods for node in made.nodes})
    left.subtract(pod.node for name, (_, pod) in pods(made).items() if pod.node and name not in gone)
    left.subtract(taken.values())
    return left


def seats(decisions: Decisions) -> dict[str, str]:
    """Bound and promised pods -> node."""
    found = {task.removeprefix("ns/"): node for task, node in decisions.pipelined}
    found |= {b.task.removeprefix("ns/"): b.node for commit in decisions.commits for b in commit.binds}
    return found


def test_crowds_evict_often_enough_to_mean_something() -> None:
    told = Counter(evict.reason for _, decisions in rounds() for evict in decisions.evictions)

    assert set(told) == {"preempt", "reclaim", "gangpreempt", "gangreclaim"}
    assert min(told.values()) >= 10, told


def test_every_claimant_fits_where_it_is_promised() -> None:
    for made, decisions in rounds():
        left = room(made, evicted(decisions), seats(decisions))
        for name, node in seats(decisions).items():
            if pods(made)[name][1].cpu or pods(made)[name][1].gpu:
                assert min(left[node].values()) >= 0, (made.number, node, left[node])


def test_no_host_port_is_promised_twice() -> None:
    for made, decisions in rounds():
        gone = evicted(decisions)
        holders: Counter[str] = Counter()
        for name, (_, pod) in pods(made).items():
            node = seats(decisions).get(name, pod.node)
            if node and "ports" in pod.spec and name not in gone and pod.status is not Status.RELEASING:
                holders[node] += 1
        assert max(holders.values(), default=0) <= 1, (made.number, holders)


def test_nobody_is_bound_onto_slots_and_host_ports_that_are_still_held() -> None:
    """Victims have theirs until they are gone."""
    for made, decisions in rounds():
        bound = {b.task.removeprefix("ns/"): b.node for commit in decisions.commits for b in commit.binds}
        left = slots(made, set(), bound)
        everybody = [(bound.get(name, pod.node), pod) for name, (_, pod) in pods(made).items()]
        holders = Counter(node for node, pod in everybody if node and "ports" in pod.spec)
        for name, node in bound.items():
            assert left[node] >= 0, (made.number, name)
            assert holders[node] <= 1 or "ports" not in pods(made)[name][1].spec, (made.number, name)


def test_nobody_goes_where_nobody_comes() -> None:
    for made, decisions in rounds():
        if "gang" in made.conf.partition("tiers")[0]:
            continue
        promised = {node for _, node in decisions.pipelined}
        assert {pods(made)[name][1].node for name in evicted(decisions)} <= promised, made.number


def test_no_eviction_could_be_left_out() -> None:
    """Without filters, quotas and whole gangs: each victim's amounts are needed on its node."""
    for made, decisions in rounds():
        if "gang" in made.conf.partition("tiers")[0] or any(
            "ports" in p.spec for _, p in pods(made).values()
        ):
            continue
        gone = evicted(decisions)
        for name in gone:
            job, pod = pods(made)[name]
            left = room(made, gone - {name}, seats(decisions))
            same_queue = any(
                pods(made)[task.removeprefix("ns/")][0].queue == job.queue for task, _ in decisions.pipelined
            )
            crowded = slots(made, gone - {name}, seats(decisions))[pod.node] < 0
            assert same_queue or crowded or min(left[pod.node].values()) < 0, (made.number, name, left)


def test_who_evicts_can_start() -> None:
    for made, decisions in rounds():
        nominated = {c.task.removeprefix("ns/") for c in decisions.conditions if c.nominated}
        for job in made.jobs:
            mine = [pod for pod in job.pods if pod.name in nominated]
            if not mine or "gang" not in made.conf.partition("tiers")[2]:
                continue
            held = [
                p
                for p in job.pods
                if p.status in (Status.RUNNING, Status.BOUND) and p.name not in evicted(decisions)
            ]
            waiting = [p for p in job.pods if p.name in seats(decisions)]
            empty = [p for p in job.pods if not p.cpu and not p.gpu and p.status is Status.PENDING]
            able = {p.name for p in (*held, *waiting, *empty)}
            own = any(p.name in evicted(decisions) for p in job.pods)
            assert own or len(able) >= (job.least or 0), (made.number, job.name)


def test_gang_actions_do_not_break_what_this_round_completes() -> None:
    completed = 0
    for made, decisions in rounds():
        if "gang" not in made.conf.partition("tiers")[0]:
            continue
        bound = {b.task.removeprefix("ns/") for commit in decisions.commits for b in commit.binds}
        for job in made.jobs:
            held = {p.name for p in job.pods if p.status in (Status.RUNNING, Status.BOUND) or p.name in bound}
            if held & bound and len(held) >= (job.least or 0):
                completed += 1
                assert len(held - evicted(decisions)) >= (job.least or 0), (made.number, job.name)
    assert completed > 20


def test_only_pods_that_may_go_do() -> None:
    for made, decisions in rounds():
        for name in evicted(decisions):
            _, pod = pods(made)[name]
            assert pod.status in (Status.RUNNING, Status.BOUND), (made.number, name)
            assert pod.facts.preemptable, (made.number, name)
            assert not pod.facts.priority_class, (made.number, name)


def test_budgets_are_kept() -> None:
    for made, decisions in rounds():
        if "pdb" not in made.conf:
            continue
        gone = Counter(pods(made)[name][1].labels["app"] for name in evicted(decisions))
        for budget in made.budgets:
            app = budget.name.partition("/")[2]
            assert gone[app] <= budget.allowed, (made.number, app, gone)


def test_no_higher_job_gives_within_a_queue() -> None:
    for made, decisions in rounds():
        if "preempt" not in made.conf.partition("tiers")[0] or "reclaim" in made.conf.partition("tiers")[0]:
            continue
        for evict in decisions.evictions:
            victim, pod = pods(made)[evict.task.removeprefix("ns/")]
            claimants = [
                pods(made)[task.removeprefix("ns/")][0]
                for task, node in decisions.pipelined
                if node == pod.node or "gang" in evict.reason
            ]
            assert any(job.priority >= victim.priority for job in claimants), (made.number, evict.task)


def test_reclaim_never_takes_what_a_queue_is_sure_of() -> None:
    for made, decisions in rounds():
        if "capacity" not in made.conf or "reclaim" not in made.conf.partition("tiers")[0]:
            continue
        if "preempt" in made.conf.partition("tiers")[0]:
            continue
        before: defaultdict[str, float] = defaultdict(float)
        lost: defaultdict[str, float] = defaultdict(float)
        for name, (job, pod) in pods(made).items():
            if pod.status in (Status.RUNNING, Status.BOUND):
                before[job.queue] += pod.cpu
                lost[job.queue] += pod.cpu if name in evicted(decisions) else 0
        for queue, cpus in lost.items():
            if cpus:
                assert before[queue] - cpus >= made.guarantee[queue] - 1e-9, (made.number, queue)


@pytest.mark.parametrize("number", range(0, COUNT, 10))
def test_the_order_of_rows_changes_no_eviction(number: int) -> None:
    made, decisions = round_of(number)

    other = decide(shuffled(made.snapshot(), Random(number)), made.policy())

    assert other == decisions

"""proportion: the water-filling by worked numbers and against a slow second form, then what queues may do with it."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import pytest

from tests.builders import GPU, gang, node, pod, podgroup, queue
from tests.plugins.claims import chosen, claim_of
from tests.plugins.worlds import World
from vcray.actions.allocate import Allocate
from vcray.core.hooks import Vote
from vcray.core.policy import policy_of
from vcray.core.session import decide
from vcray.core.space import CPU, MEMORY, PODS
from vcray.core.victims import ClaimKind
from vcray.plugins.gang import Gang
from vcray.plugins.predicates import Predicates
from vcray.plugins.proportion import Proportion
from vcray.plugins.proportion.waterfill import Claims, deserved

INF = float("inf")


def pour(
    total: Sequence[float],
    weights: Sequence[float],
    requests: Sequence[Sequence[float]],
    real: Sequence[Sequence[float]] | None = None,
    guarantee: Sequence[Sequence[float]] | None = None,
) -> list[list[float]]:
    """Deserved per queue; amounts as [cpu, memory, pods, ...]."""
    count, rows = len(weights), len(total)
    return (
        deserved(
            Claims(
                total=np.array(total, dtype=float),
                weight=np.array(weights, dtype=float),
                request=np.array(requests, dtype=float).T.reshape(rows, count),
                real=np.array(real or [total] * count, dtype=float).T.reshape(rows, count),
                guarantee=np.array(guarantee or [[0] * rows] * count, dtype=float).T.reshape(rows, count),
            )
        )
        .T.round(9)
        .tolist()
    )


def test_what_one_queue_leaves_goes_to_the_other() -> None:
    assert pour([12, 0, 99], [1, 2], [[2, 0, 1], [20, 0, 1]]) == [[2, 0, 1], [10, 0, 1]]


def test_two_resources_are_offered_again_apart() -> None:
    assert pour([10, 10, 99], [1, 1], [[8, 1, 1], [2, 8, 1]]) == [[8, 1, 1], [2, 8, 1]]


def test_a_guarantee_holds_above_the_request() -> None:
    shares = pour(
        [10, 0, 99],
        [1, 1],
        [[2, 0, 1], [20, 0, 1]],
        real=[[10, 0, 99], [6, 0, 99]],
        guarantee=[[4, 0, 0], [0, 0, 0]],
    )
    assert [share[0] for share in shares] == [4, 6]


def test_one_pod_slot_is_shared_out_in_halves() -> None:
    assert [share[2] for share in pour([8, 8, 1], [1, 1], [[1, 1, 1], [1, 1, 1]])] == [0.5, 0.5]


def test_weights_of_zero_count_as_equal() -> None:
    assert pour([8, 0, 99], [0, 0], [[8, 0, 1], [8, 0, 1]]) == [[4, 0, 1], [4, 0, 1]]


def test_no_queue_and_no_cluster_are_no_trouble() -> None:
    assert pour([8, 8, 8], [], []) == []
    assert pour([0, 0, 0], [1], [[1, 1, 1]]) == [[0, 0, 0]]


@dataclass
class Slow:
    """A queue of the second form: one number at a time, dictionaries, no arrays."""

    weight: float
    request: list[float]
    real: list[float]
    guarantee: list[float]
    share: list[float] = field(default_factory=list)


def poured_slowly(total: list[float], queues: list[Slow]) -> list[list[float]]:
    rest = list(total)
    rows = range(len(total))
    for one in queues:
        one.share = [0.0] * len(total)
    unmet, first = list(queues), any(total[PODS:])
    while unmet:
        whole = sum(one.weight for one in unmet)
        before_round, satisfied = list(rest), []
        grown = [0.0] * len(total)
        shrunk = [0.0] * len(total)
        for one in unmet:
            old = list(one.share)
            for r in rows:
                offer = old[r] + before_round[r] * one.weight / whole
                one.share[r] = max(min(offer, one.real[r], one.request[r]), one.guarantee[r])
                grown[r] += max(one.share[r] - old[r], 0)
                shrunk[r] += max(old[r] - one.share[r], 0)
            met = all(
                want < have or abs(want - have) < 0.1
                for want, have in zip(one.request, one.share, strict=True)
            )
            if met or (one.share == old and not first):
                satisfied.append(one)
        unmet = [one for one in unmet if not any(one is other for other in satisfied)]
        first = False
        rest = [max(before_round[r] + shrunk[r] - grown[r], 0.0) for r in rows]
        if all(rest[r] < 0.1 for r in rows if r != PODS) or rest == before_round:
            break
    return [one.share for one in queues]


@pytest.mark.parametrize("number", range(300))
def test_the_pouring_equals_a_slow_second_form(number: int) -> None:
    dice = random.Random(number)
    rows, count = dice.randint(3, 6), dice.randint(1, 12)
    total = [float(dice.choice([0, 1, 10, 1000, 4096])) for _ in range(rows)]
    queues = [
        Slow(
            weight=float(dice.randint(1, 5)),
            request=[float(dice.choice([0, 1, 3, 500, 5000])) for _ in range(rows)],
            real=[float(dice.choice([amount, amount, amount // 2, 0])) for amount in total],
            guarantee=[float(dice.choice([0, 0, 0, 1, amount // 4])) for amount in total],
        )
        for _ in range(count)
    ]
    fast = deserved(
        Claims(
            total=np.array(total),
            weight=np.array([one.weight for one in queues]),
            request=np.array([one.request for one in queues]).T,
            real=np.array([one.real for one in queues]).T,
            guarantee=np.array([one.guarantee for one in queues]).T,
        )
    )
    assert fast.T.tolist() == poured_slowly(total, queues)


# ---- a session ----


def test_deserved_is_cut_to_the_request_and_to_the_capability() -> None:
    world = World(
        node("n1", cpu=10, memory=100),
        queue("a", capability={"cpu": 3}),
        queue("b"),
        gang("ja", 8, queue="a", cpu=1),
        gang("jb", 8, queue="b", cpu=1, memory=1),
    )
    plugin = world.plugin(Proportion)
    assert [plugin.deserved_[world.queue(name)][CPU] for name in "ab"] == [3000, 7000]
    assert plugin.deserved_[world.queue("b")][MEMORY] == 8 * 2**30


def test_nodes_that_take_no_pods_lend_only_what_runs_on_them() -> None:
    world = World(
        node("n1", cpu=10),
        node("n2", cpu=10, ready=False),
        node("n3", cpu=10, unschedulable=True),
        pod("there", node="n3", cpu=2),
        queue("a"),
        queue("b"),
        gang("ja", 20, queue="a", cpu=1),
        gang("jb", 20, queue="b", cpu=1),
    )
    plugin = world.plugin(Proportion)
    assert [plugin.deserved_[world.queue(name)][CPU] for name in "ab"] == [6000, 6000]


def test_guarantees_of_queues_without_groups_are_kept_back() -> None:
    world = World(
        node("n1", cpu=10), queue("q1", guarantee={"cpu": 4}), queue("q2"), gang("j", 20, queue="q2", cpu=1)
    )
    plugin = world.plugin(Proportion)
    assert plugin.real_[world.queue("q2")][CPU] == 6000
    assert plugin.deserved_[world.queue("q2")][CPU] == 6000


def test_a_queue_takes_pods_up_to_what_it_deserves_of_what_they_ask() -> None:
    world = World(node("n1", cpu=4, memory=64), gang("j", 3, cpu=1), gang("k", 3, cpu=1))
    plugin, queue_row = world.plugin(Proportion), world.queue("default")
    shape = world.shape("j-worker-0")
    assert plugin.queue_allows(world.view, queue_row, shape, 9) == 4
    world.place("j-worker-0", "n1")
    world.pipeline("j-worker-1", "n1")
    assert plugin.queue_allows(world.view, queue_row, shape, 9) == 2
    assert plugin.queue_allows(world.view, queue_row, shape, 1) == 1


@pytest.mark.parametrize(
    ("state", "count"), [("Open", 1), (None, 1), ("Closed", 0), ("Closing", 0), ("Unknown", 0)]
)
def test_only_an_open_queue_takes_pods_and_groups(state: str | None, count: int) -> None:
    world = World(
        node("n1"), queue("q", state=state), gang("j", 1, queue="q", cpu=1, min_resources={"cpu": "1"})
    )
    plugin = world.plugin(Proportion)
    assert plugin.queue_allows(world.view, world.queue("q"), world.shape("j-worker-0"), 1) == count
    vote = plugin.job_enqueueable(world.view, world.job("j")).vote
    assert vote is (Vote.PERMIT if count else Vote.REJECT)


def test_a_queue_short_of_one_resource_is_not_overused_though_it_may_take_no_more() -> None:
    world = World(
        node("n1", cpu=4, memory=8, pods=3),
        podgroup("j", 1, phase="Running"),
        [pod(f"j{i}", group="j", cpu=2, memory=4, node="n1") for i in range(2)],
        gang("k", 4, cpu=1, memory=1),
    )
    plugin, row = world.plugin(Proportion), world.queue("default")
    assert plugin.deserved_[row][:3] == [4000, 8 * 2**30, 3]
    assert not plugin.queue_overused(world.view, row), "deserved 3 pods, holds 2"
    assert plugin.queue_allows(world.view, row, world.shape("k-worker-0"), 1) == 0


def test_a_queue_that_holds_all_it_deserves_is_overused() -> None:
    world = World(
        node("n1", cpu=4, memory=8, pods=2),
        podgroup("j", 1, phase="Running"),
        [pod(f"j{i}", group="j", cpu=2, memory=4, node="n1") for i in range(2)],
        gang("k", 4, cpu=1, memory=1),
    )
    assert world.plugin(Proportion).queue_overused(world.view, world.queue("default"))


def test_queues_go_by_priority_then_by_share() -> None:
    world = World(
        node("n1", cpu=8, pods=1000),
        queue("a"),
        queue("b"),
        queue("c", priority=5),
        *(gang(f"j{name}", 8, queue=name, cpu=1) for name in "abc"),
    )
    plugin = world.plugin(Proportion)
    world.place("ja-worker-0", "n1")
    keys = {name: tuple(plugin.queue_order(world.view, world.queue(name))) for name in "abc"}
    assert sorted(keys, key=keys.__getitem__) == ["c", "b", "a"]
    assert keys["a"][1] == pytest.approx(1000 / plugin.deserved_[world.queue("a")][CPU])


# ---- admission ----


def admitting(minimum: str, **facts: object) -> World:
    """realCapability 10, allocated 6 of which 2 elastic, 3 admitted."""
    return World(
        node("n1", cpu=10),
        queue("q"),
        podgroup("run", 1, queue="q", phase="Running", min_resources={"cpu": "4"}),
        [pod(f"r{i}", group="run", cpu=1, node="n1") for i in range(6)],
        podgroup("let-in", 1, queue="q", phase="Inqueue", min_resources={"cpu": "3"}),
        podgroup("new", 1, queue="q", phase="Pending", min_resources={"cpu": minimum}),
    )


def test_a_group_is_let_in_as_long_as_its_minimum_fits_the_queue() -> None:
    fits, over = admitting("3"), admitting("3001m")
    assert fits.plugin(Proportion).job_enqueueable(fits.view, fits.job("new")).vote is Vote.PERMIT
    answer = over.plugin(Proportion).job_enqueueable(over.view, over.job("new"))
    assert answer.vote is Vote.REJECT
    assert answer.message == "queue resource quota insufficient: insufficient cpu"


def test_a_group_that_was_let_in_holds_its_minimum_at_once() -> None:
    world = admitting("2")
    plugin, job = world.plugin(Proportion), world.job("new")
    plugin.job_enqueued(world.view, job)
    assert plugin.job_enqueueable(world.view, job).vote is Vote.REJECT


def test_a_group_without_minimum_is_always_let_in() -> None:
    world = World(node("n1", cpu=1), podgroup("j", 1, phase="Pending"))
    assert world.plugin(Proportion).job_enqueueable(world.view, world.job("j")).vote is Vote.PERMIT


def test_a_resource_that_a_queue_limits_does_not_hinder_groups_that_do_not_ask_for_it() -> None:
    limits = {"cpu": 8, "memory": "32Gi", GPU: 4, "ephemeral-storage": "100Gi"}
    world = World(
        node("n1", cpu=8, memory=32, gpu=4),
        queue("q", capability=limits),
        podgroup("j", 1, queue="q", phase="Pending", min_resources={"cpu": "1"}),
    )
    assert world.plugin(Proportion).job_enqueueable(world.view, world.job("j")).vote is Vote.PERMIT


def test_insufficient_resources_are_named_in_order() -> None:
    world = World(
        node("n1", cpu=1, memory=1, gpu=1),
        podgroup(
            "j", 1, phase="Pending", min_resources={GPU: "2", "memory": "2Gi", "cpu": "2", "pods": "999"}
        ),
    )
    answer = world.plugin(Proportion).job_enqueueable(world.view, world.job("j"))
    assert answer.message == (
        f"queue resource quota insufficient: insufficient cpu, insufficient memory, insufficient {GPU}"
    )


# ---- claims, figures, states ----


def test_a_resource_that_nobody_in_a_queue_asks_for_is_deserved_as_nought_and_overuses_nothing() -> None:
    world = World(node("n1", cpu=4, gpu=8, pods=2), gang("j", 4, cpu=1), pod("other", group="j", cpu=1))
    plugin, row = world.plugin(Proportion), world.queue("default")
    gpu = world.view.space.row(GPU)
    assert gpu is not None
    assert plugin.deserved_[row][gpu] == 0
    for number in range(2):
        world.place(f"j-worker-{number}", "n1")
    assert not plugin.queue_overused(world.view, row)


def test_a_queue_may_claim_while_the_request_keeps_it_within_what_it_deserves() -> None:
    world = World(node("n1", cpu=4, gpu=4), queue("q"), gang("j", 8, queue="q", cpu=1, gpu=1))
    plugin, row = world.plugin(Proportion), world.queue("q")
    request = world.shape("j-worker-0").request
    assert plugin.queue_preemptive(world.view, row, request * 4)
    assert not plugin.queue_preemptive(world.view, row, request * 5)
    world.place("j-worker-0", "n1")
    assert not plugin.queue_preemptive(world.view, row, request * 4)


def test_a_queue_that_holds_its_slots_claims_none() -> None:
    """It gives when it holds too many, so one that took more would give them back at once."""
    world = World(
        node("n1", cpu=16, pods=3),
        queue("q"),
        queue("r"),
        gang("j", 3, queue="q", cpu=1),
        gang("k", 3, queue="r", cpu=1),
    )
    plugin, row = world.plugin(Proportion), world.queue("q")
    request = world.shape("j-worker-0").request
    assert plugin.queue_preemptive(world.view, row, request)
    world.place("j-worker-0", "n1")
    assert not plugin.queue_preemptive(world.view, row, request)


def test_a_queue_that_is_not_open_claims_nothing() -> None:
    world = World(node("n1", cpu=4), queue("q", state="Closed"), gang("j", 8, queue="q", cpu=1))
    request = world.shape("j-worker-0").request
    assert not world.plugin(Proportion).queue_preemptive(world.view, world.queue("q"), request)


def test_figures_of_a_queue_are_those_of_the_sessions_end_and_nought_for_one_without_groups() -> None:
    world = World(node("n1", cpu=4), queue("q", weight=3), queue("idle"), gang("j", 8, queue="q", cpu=1))
    plugin = world.plugin(Proportion)
    world.place("j-worker-0", "n1")
    busy = plugin.queue_figures(world.view, world.queue("q"))
    assert busy.deserved is not None
    assert (busy.deserved[CPU], busy.share, busy.weight, busy.overused) == (4000, 0.25, 3, False)
    idle = plugin.queue_figures(world.view, world.queue("idle"))
    assert idle.deserved is not None
    assert (idle.deserved.any(), idle.share, idle.overused) == (False, 0.0, False)


def test_states_of_queues_do_not_matter_without_a_share_plugin() -> None:
    world = World(node("n1", cpu=4), queue("q", state="Closed"), gang("j", 1, queue="q", cpu=1))
    shares = [[(Gang, {}), (Predicates, {}), (Proportion, {})]]
    bound = {
        len(tiers[0]): len(decide(world.snapshot, policy_of([Allocate({})], tiers)).commits)
        for tiers in (shares, [shares[0][:2]])
    }
    assert bound == {3: 0, 2: 1}


def test_the_pod_that_crosses_the_line_goes_unless_it_is_guaranteed() -> None:
    """In Volcano it goes in either case, and the queue is left with less than it was promised."""

    def given(guarantee: int) -> list[str] | None:
        world = World(
            node("n1", cpu=8, pods=900),
            queue("qa", weight=9),
            queue("qb", guarantee={"cpu": guarantee}),
            podgroup("a", 0, queue="qa"),
            podgroup("b", 0, queue="qb"),
            [pod(f"a{i}", group="a", cpu=2, node="n1") for i in range(2)],
            [pod(f"b{i}", group="b", cpu=2, node="n1") for i in range(2)],
            [pod(f"new{i}", group="a", cpu=1) for i in range(9)],
        )
        claim = claim_of(world, "new0", ClaimKind.RECLAIM)
        return chosen(world, world.plugin(Proportion).reclaimable, claim, ["b0", "b1"])

    assert [given(cpu) for cpu in (3, 2, 0)] == [[], ["b0"], ["b0", "b1"]]

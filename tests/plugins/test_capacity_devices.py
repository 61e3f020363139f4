"""Quotas of devices that capacity keeps: counts, capacities, claims that pods share, queues above."""

from __future__ import annotations

import pytest

from tests.builders import node, pod, podgroup, queue
from tests.plugins.test_devices import device, device_class, exactly, resource_claim, slice_of
from tests.plugins.worlds import World
from vcray.actions.allocate import Allocate
from vcray.actions.enqueue import Enqueue
from vcray.api.meta import JsonObject
from vcray.core.decisions import Decisions
from vcray.core.hooks import Answer, Vote
from vcray.core.policy import policy_of
from vcray.core.session import decide
from vcray.plugins.capacity import Capacity
from vcray.plugins.gang import Gang
from vcray.plugins.predicates import Predicates

GPU = "deviceclass/gpu"
EIGHT = slice_of("n1", *(device(f"d{i}", capacity="80Gi") for i in range(8)))


def user(name: str, group: str, claim: str, on: str | None = None) -> JsonObject:
    return pod(
        name,
        group=group,
        cpu=1,
        node=on,
        spec={"resourceClaims": [{"name": "d", "resourceClaimName": claim}]},
    )


def bound(*objects: JsonObject | list[JsonObject], **arguments: bool) -> tuple[int, Decisions]:
    """How many pods are bound by allocate with capacity, and all that was decided."""
    named = {f"capacity.{key}": value for key, value in arguments.items() if key != "tree"}
    flags = {"enableHierarchy": arguments.get("tree", False)}
    policy = policy_of([Allocate({})], [[(Gang, {}), (Predicates, {}), (Capacity, {**named, **flags})]])
    world = World(node("n1", cpu=64), device_class(), EIGHT, *objects)
    decisions = decide(world.snapshot, policy)
    return sum(len(commit.binds) for commit in decisions.commits), decisions


def four(of: str = "q", *asks: JsonObject) -> list[JsonObject]:
    """Four pods, each with a claim of its own."""
    claims = [resource_claim(f"c{i}", *(asks or (exactly(),))) for i in range(4)]
    return [podgroup("g", 1, queue=of), *claims, *[user(f"g-{i}", "g", f"c{i}") for i in range(4)]]


def test_a_queue_gets_as_many_devices_as_its_quota_says() -> None:
    assert bound(queue("q", capability={GPU: 2}), four())[0] == 2
    assert bound(queue("q"), four())[0] == 4


def test_nought_and_another_class_are_no_limit() -> None:
    assert bound(queue("q", capability={GPU: 0}), four())[0] == 4
    assert bound(queue("q", capability={"deviceclass/other": 1}), four())[0] == 4


def test_quotas_can_be_switched_off() -> None:
    assert bound(queue("q", capability={GPU: 2}), four(), DynamicResourceAllocationEnable=False)[0] == 4


def test_a_claim_that_pods_share_counts_once() -> None:
    shared = [podgroup("g", 1, queue="q"), resource_claim("c"), *[user(f"g-{i}", "g", "c") for i in range(4)]]
    assert bound(queue("q", capability={GPU: 1}), shared)[0] == 4


def test_a_queue_above_is_held_to_its_quota_too() -> None:
    tree = [queue("root"), queue("dept", parent="root", capability={GPU: 3}), queue("q", parent="dept")]
    assert bound(tree, four(), tree=True)[0] == 3
    assert bound(tree, four())[0] == 4


def in_use(name: str, pod_name: str) -> JsonObject:
    """A claim that a pod uses."""
    made = resource_claim(name)
    made["status"] = {
        "reservedFor": [
            {"resource": "pods", "name": pod_name, "uid": user(pod_name, "", "")["metadata"]["uid"]}
        ]
    }  # type: ignore[index, call-overload]
    return made


def test_what_runs_counts() -> None:
    old = [
        podgroup("old", 1, queue="q", phase="Running"),
        in_use("o", "old-0"),
        user("old-0", "old", "o", "n1"),
    ]
    assert bound(queue("q", capability={GPU: 2}), old, four())[0] == 1


def test_a_capacity_is_held_to_its_quota_where_that_is_switched_on() -> None:
    ask = exactly(capacity={"requests": {"memory": "40Gi"}})
    quota = queue("q", capability={GPU: 9, f"memory.{GPU}": "100Gi"})
    assert bound(quota, four("q", ask))[0] == 4
    assert bound(quota, four("q", ask), DRAConsumableCapacityEnable=True)[0] == 2
    assert bound(queue("q", capability={GPU: 9}), four("q", ask), DRAConsumableCapacityEnable=True)[0] == 0


def test_the_status_of_a_queue_and_those_above_tells_devices() -> None:
    tree = [queue("root"), queue("dept", parent="root"), queue("q", parent="dept")]
    _, decisions = bound(tree, four(), tree=True)
    told = {update.queue: dict(update.allocated).get(GPU) for update in decisions.queues}
    assert told == {"root": 4000, "dept": 4000, "q": 4000}


def asking(least: int) -> World:
    claims = [resource_claim(f"c{i}") for i in range(4)]
    return World(
        node("n1", cpu=64),
        device_class(),
        EIGHT,
        queue("q", capability={GPU: 3, "cpu": 64}),
        podgroup("g", least, queue="q", phase="Pending", min_resources={"cpu": least}),
        podgroup("h", 1, queue="q", phase="Pending", min_resources={"cpu": 1}),
        resource_claim("ch"),
        user("h-0", "h", "ch"),
        *claims,
        *[user(f"g-{i}", "g", f"c{i}") for i in range(4)],
    )


def test_a_group_is_let_in_while_the_devices_of_its_minimum_fit() -> None:
    fits, over = asking(3), asking(4)
    assert fits.plugin(Capacity).job_enqueueable(fits.view, fits.job("g")).vote is Vote.PERMIT
    assert over.plugin(Capacity).job_enqueueable(over.view, over.job("g")) == Answer(
        Vote.REJECT, "queue resource quota insufficient: insufficient dra-resource-exceeded"
    )


def test_devices_of_groups_that_were_let_in_are_taken() -> None:
    world = asking(3)
    plugin = world.plugin(Capacity)
    plugin.job_enqueued(world.view, world.job("g"))
    assert plugin.job_enqueueable(world.view, world.job("h")).vote is Vote.REJECT


def test_undone_placements_give_their_claims_back() -> None:
    world = World(node("n1", cpu=64), device_class(), EIGHT, queue("q", capability={GPU: 1}), four())
    plugin = world.plugin(Capacity)
    row, task = world.queue("q"), world.task("g-0")
    undo = plugin.reserve(world.view, task, 0, False)
    assert not isinstance(undo, str)
    assert plugin.queue_allows(world.view, row, world.shape("g-1"), 1) == 0
    undo()
    assert plugin.queue_allows(world.view, row, world.shape("g-1"), 1) == 1


def test_an_evicted_pod_gives_its_claim_back_until_that_is_undone() -> None:
    world = World(
        node("n1", cpu=64),
        device_class(),
        EIGHT,
        queue("q", capability={GPU: 1}),
        podgroup("old", 1, queue="q", phase="Running"),
        in_use("o", "old-0"),
        user("old-0", "old", "o", "n1"),
        four(),
    )
    plugin, row = world.plugin(Capacity), world.queue("q")
    mark = world.ledger.checkpoint()
    allowed = [plugin.queue_allows(world.view, row, world.shape("g-0"), 1)]
    world.ledger.evict(world.task("old-0"))
    allowed.append(plugin.queue_allows(world.view, row, world.shape("g-0"), 1))
    world.ledger.rollback(mark)
    allowed.append(plugin.queue_allows(world.view, row, world.shape("g-0"), 1))
    assert allowed == [0, 1, 0]


@pytest.mark.parametrize("kind", ["deserved", "guarantee"])
def test_a_device_class_is_neither_deserved_nor_guaranteed_as_an_ordinary_resource(kind: str) -> None:
    world = World(node("n1", cpu=64), queue("q", **{kind: {GPU: 2}}))  # type: ignore[arg-type]
    limits = world.plugin(Capacity).limits_
    row, where = world.queue("q"), world.view.space.row(GPU)
    assert limits.deserved[where, row] == limits.guarantee[where, row] == 0
    assert not limits.has_deserved[row]


def test_enqueue_and_allocate_keep_a_quota_together() -> None:
    policy = policy_of([Enqueue({}), Allocate({})], [[(Gang, {}), (Predicates, {}), (Capacity, {})]])
    decisions = decide(asking(3).snapshot, policy)
    jobs = {commit.job for commit in decisions.commits}
    assert jobs == {"default/g"}

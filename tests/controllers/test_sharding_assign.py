"""Which nodes schedulers get: filters, order, limits, and that no node is in two shards."""

from __future__ import annotations

from random import Random

from hypothesis import given
from hypothesis import strategies as st

from vcray.config.sharding import AllocationRate, NodeLimit, Policy, ShardScheduler, Warmup, rounded
from vcray.controllers.sharding.assign import BATCH, ShardNode, assign


def nodes(**utilisations: float) -> list[ShardNode]:
    return [ShardNode(name, value, {}) for name, value in utilisations.items()]


def only(*policies: Policy) -> list[ShardScheduler]:
    return [ShardScheduler("v", policies)]


def test_allocation_rate_takes_what_is_in_its_range_the_busiest_first() -> None:
    found = assign(
        only(AllocationRate(0.2, 0.6)), nodes(low=0.194, edge=0.196, mid=0.4, top=0.604, over=0.606)
    )

    assert found == {"v": ["top", "mid", "edge"]}


def test_a_range_without_width_orders_by_name() -> None:
    assert assign(only(AllocationRate(0.0, 0.0)), nodes(b=0, a=0.004, c=0.1)) == {"v": ["a", "b"]}


def test_warmup_puts_labelled_nodes_first_by_its_weight_and_drops_none() -> None:
    label = {"node.volcano.sh/warmup": "true"}
    some = [ShardNode("busy", 0.5, {}), ShardNode("warm", 0.0, label), ShardNode("cold", 0.0, {})]

    assert assign(only(AllocationRate(0, 0.5), Warmup(weight=2)), some) == {"v": ["warm", "busy", "cold"]}
    assert assign(only(AllocationRate(0, 0.5, 3), Warmup()), some) == {"v": ["busy", "warm", "cold"]}
    assert assign(only(Warmup("node.volcano.sh/warmup", "no")), some) == {"v": ["busy", "cold", "warm"]}


def test_a_limit_cuts_the_end_of_the_order_and_the_rest_is_for_the_next() -> None:
    two = [
        ShardScheduler("first", (NodeLimit(1), AllocationRate(0, 1))),
        ShardScheduler("second", ()),
        ShardScheduler("third", ()),
    ]

    assert assign(two, nodes(a=0.1, b=0.3, c=0.2)) == {"first": ["b"], "second": ["a", "c"], "third": []}


def test_a_limit_counts_within_each_fifty_nodes_by_name() -> None:
    many = nodes(**{f"n{index:03}": 0.0 for index in reversed(range(BATCH + 3))})

    found = assign(only(NodeLimit(2)), many)

    assert found == {"v": ["n000", "n001", "n050", "n051"]}


POLICIES = st.one_of(
    st.tuples(st.integers(0, 100), st.integers(0, 100), st.integers(1, 5)).map(
        lambda each: AllocationRate(min(each[:2]) / 100, max(each[:2]) / 100, each[2])
    ),
    st.builds(Warmup, st.just("a"), st.just("b"), st.integers(1, 5)),
    st.builds(NodeLimit, st.integers(0, 4)),
)
NODES = st.lists(
    st.builds(
        ShardNode,
        st.integers(0, 200).map(lambda index: f"n{index}"),
        st.floats(0, 1),
        st.sampled_from([{}, {"a": "b"}]),
    ),
    max_size=120,
    unique_by=lambda node: node.name,
)


@given(st.lists(st.lists(POLICIES, max_size=3), max_size=3), NODES, st.randoms(use_true_random=False))
def test_no_node_is_in_two_shards_and_the_order_of_objects_does_not_matter(
    chains: list[list[Policy]], some: list[ShardNode], dice: Random
) -> None:
    schedulers = [ShardScheduler(f"s{index}", tuple(chain)) for index, chain in enumerate(chains)]
    found = assign(schedulers, some)
    shuffled = list(some)
    dice.shuffle(shuffled)

    given_out = [name for names in found.values() for name in names]
    assert len(given_out) == len(set(given_out))
    assert set(given_out) <= {node.name for node in some}
    assert list(found) == [each.name for each in schedulers]
    assert assign(schedulers, shuffled) == found
    utilisation = {node.name: rounded(node.utilisation) for node in some}
    for scheduler in schedulers:
        for policy in scheduler.policies:
            if isinstance(policy, AllocationRate):
                assert all(policy.low <= utilisation[name] <= policy.high for name in found[scheduler.name])

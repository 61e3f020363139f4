"""Scales of normalised scores, and how long they hold."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.core.random_worlds import preferring_snapshot
from vcray.config.scheduler import load_scheduler_config
from vcray.core.hooks import DomainTerm, Preference, Scale
from vcray.core.merge import NONE
from vcray.core.normalise import Normaliser, scaled, term_points
from vcray.core.policy import build_policy
from vcray.core.session import open_session
from vcray.registry import discover


@pytest.mark.parametrize(
    ("scale", "raw", "expected"),
    [
        (Scale.MAX, [10, 3, 0], [100, 30, 0]),
        (Scale.MAX, [0, 0], [0, 0]),
        (Scale.REVERSED_MAX, [0, 1, 3], [100, 67, 0]),
        (Scale.REVERSED_MAX, [0, 0], [100, 100]),
        (Scale.MIN_MAX, [-5, 0, 5], [0, 50, 100]),
        (Scale.MIN_MAX, [0, 29, 100], [0, 28, 100]),
        (Scale.MIN_MAX, [4, 4], [0, 0]),
        (Scale.SPREAD, [2, 4], [100, 50]),
        (Scale.SPREAD, [0, 0], [100, 100]),
    ],
)
def test_scales_truncate_as_kube_scheduler_does(scale: Scale, raw: list[int], expected: list[int]) -> None:
    assert scaled(np.array(raw), scale, min(raw), max(raw)).tolist() == expected


@given(
    values=st.lists(st.integers(0, 3), min_size=2, max_size=8),
    leaving=st.lists(st.integers(0, 7), unique=True, max_size=8),
)
def test_a_scale_that_is_said_to_hold_does(values: list[int], leaving: list[int]) -> None:
    preference = Preference(np.array(values), Scale.MIN_MAX, 1)
    feasible = np.ones(len(values), dtype=bool)
    normaliser = Normaliser([preference], feasible)
    picks = [node for node in leaving if node < len(values)]

    valid = normaliser.valid(picks, picks)

    for node in picks[: valid - 1]:
        feasible[node] = False
        fresh = Normaliser([preference], feasible)
        assert fresh.added[feasible].tolist() == normaliser.added[feasible].tolist()


def test_the_last_node_at_an_extreme_makes_the_scale_stale() -> None:
    normaliser = Normaliser([Preference(np.array([0, 5, 5, 9]), Scale.MAX, 2)], np.ones(4, dtype=bool))

    assert not normaliser.moved([(1, False)])
    assert normaliser.moved([(3, False)])
    assert Normaliser([Preference(np.array([0, 5, 9]), Scale.MAX, 2)], np.array([True, True, False])).moved(
        [(2, True)]
    )


def test_terms_count_only_the_nodes_they_know() -> None:
    term = DomainTerm(
        raw=np.array([0, 10, 99]), counted=np.array([True, True, False]), scale=Scale.MIN_MAX, weight=3
    )

    assert term_points([term], np.ones(3, dtype=bool)).tolist() == [0, 300, 0]
    assert term_points([DomainTerm(ok=np.ones(3, dtype=bool))], np.ones(3, dtype=bool)).tolist() == [0, 0, 0]


def test_absurd_weights_neither_wrap_nor_beat_each_other_by_accident() -> None:
    conf = (
        "actions: allocate\n"
        "tiers: [{plugins: [{name: gang}, {name: predicates},"
        " {name: nodeorder, arguments: {nodeaffinity.weight: 2000000000, podaffinity.weight: 2000000000}},"
        " {name: binpack, arguments: {binpack.weight: -2000000000}}]}]"
    )
    policy = build_policy(load_scheduler_config(conf), discover())
    for seed in range(15):
        session = open_session(preferring_snapshot(seed), policy)
        for shape in session.view.shapes:
            group = session.placer.class_of(0, shape).group(promised=False)
            assert (group.total[group.feasible] > NONE).all()
            assert (np.abs(group.total[group.feasible]) < 2**62).all()

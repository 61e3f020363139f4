"""Who may be evicted: ranks and sums per node, and the tier rule against a walk in plain Python."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.core.world import Job, Node, Pod, snapshot
from vcray.config.scheduler import PluginConfig
from vcray.core.arrays import Bool, Int
from vcray.core.openview import open_view
from vcray.core.plugin import Args, Plugin
from vcray.core.verdicts import Verdicts
from vcray.core.victims import Candidates, Claim, ClaimKind
from vcray.core.view import View

VIEW, _ = open_view(snapshot([Node("n1")], [Job("a", [Pod("a")])]))
CLAIM = Claim(ClaimKind.PREEMPT, 0, 0, (0,), np.zeros(len(VIEW.space), dtype=np.int64))


def candidates(groups: Sequence[int], jobs: Sequence[int] | None = None) -> Candidates:
    size = len(groups)
    rows = np.arange(size, dtype=np.int64)
    group = np.array(groups, dtype=np.int64)
    job = np.array(jobs if jobs is not None else [0] * size, dtype=np.int64)
    return Candidates(rows, group, job, job, group, np.ones((1, size), dtype=np.int64))


PAIRS = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 3), st.integers(0, 9)), max_size=24)


@settings(max_examples=200, deadline=None)
@given(rows=PAIRS, inclusive=st.booleans())
def test_running_sums_are_those_of_a_walk(rows: list[tuple[int, int, int]], inclusive: bool) -> None:
    rows.sort(key=lambda row: row[0])
    found = candidates([row[0] for row in rows], [row[1] for row in rows])
    amounts = np.array([[row[2] for row in rows]], dtype=np.int64)
    seen: dict[tuple[int, int], int] = {}
    expected = []
    for group, job, amount in rows:
        before = seen.get((group, job), 0)
        seen[group, job] = before + amount
        expected.append(before + amount if inclusive else before)

    assert found.running(found.job, amounts, inclusive)[0].tolist() == expected


def test_ranks_count_those_before_of_the_same_number_in_the_group() -> None:
    found = candidates([0, 0, 0, 1, 1], [7, 7, 8, 7, 7])

    assert found.rank(found.job).tolist() == [0, 1, 0, 0, 1]


def test_groups_are_told_apart_although_numbers_are_left_out() -> None:
    found = candidates([0, 0, 3, 3, 3, 9])

    assert [(part.start, part.stop) for part in found.groups()] == [(0, 2), (2, 5), (5, 6)]


def test_nobody_on_no_node() -> None:
    assert list(candidates([]).groups()) == []
    assert verdict([[[True]]], candidates([])) == []


# ---- tiers ----


def judge(mask: Sequence[bool] | None, veto: bool = False) -> Plugin[Args]:
    """A plugin that lets go by row."""

    class Judge(Plugin[Args]):
        vetoes = veto

        def preemptable(self, view: View, claim: Claim, candidates: Candidates) -> Bool | None:
            return None if mask is None else np.array(mask, dtype=np.bool_)[candidates.task]

    return Judge(Args())


def verdict(
    tiers: Sequence[Sequence[Sequence[bool] | None]], found: Candidates, veto: Int | None = None
) -> list[bool]:
    chains = [[(judge(mask), PluginConfig("judge")) for mask in tier] for tier in tiers]
    if veto is not None:
        chains.append([(judge([bool(yes) for yes in veto], veto=True), PluginConfig("judge"))])
    answer: list[bool] = Verdicts(chains).allowed(VIEW, CLAIM, found).tolist()
    return answer


def walk(tiers: Sequence[Sequence[Sequence[bool] | None]], rows: Sequence[int]) -> set[int]:
    """Volcano's rule for one node, as its words say it."""
    for tier in tiers:
        listed: set[int] | None = None
        for mask in tier:
            if mask is None:
                continue
            named = {row for row in rows if mask[row]}
            if not named:
                listed = None
                break
            listed = named if not listed else listed & named
        if listed:
            return listed
    return set()


@st.composite
def cases(draw: st.DrawFn) -> tuple[list[int], list[list[list[bool] | None]]]:
    groups = sorted(draw(st.lists(st.integers(0, 3), min_size=1, max_size=9)))
    masks = st.one_of(
        st.none(),
        st.lists(st.booleans(), min_size=len(groups), max_size=len(groups)),
        st.just([True] * len(groups)),
    )
    return groups, draw(st.lists(st.lists(masks, max_size=4), max_size=3))


@settings(max_examples=600, deadline=None)
@given(case=cases())
def test_tiers_combine_as_a_walk_over_each_node_does(
    case: tuple[list[int], list[list[list[bool] | None]]],
) -> None:
    groups, tiers = case
    expected: set[int] = set()
    for group in set(groups):
        expected |= walk(tiers, [row for row, own in enumerate(groups) if own == group])

    answer = verdict(tiers, candidates(groups))

    assert {row for row, yes in enumerate(answer) if yes} == expected


def test_an_empty_answer_ends_the_tier_and_the_next_is_asked() -> None:
    assert verdict([[[True, True], [False, False]], [[False, True]]], candidates([0, 0])) == [False, True]


def test_an_empty_intersection_is_started_anew_by_the_next_plugin() -> None:
    tiers = [[[True, False], [False, True], [True, True]]]

    assert verdict(tiers, candidates([0, 0])) == [True, True]


def test_nobody_asked_lets_nobody_go() -> None:
    assert verdict([], candidates([0])) == [False]
    assert verdict([[None]], candidates([0])) == [False]


def test_a_share_plugin_vetoes_from_a_tier_that_is_never_reached() -> None:
    veto = np.array([0, 1], dtype=np.int64)

    assert verdict([[[True, True]]], candidates([0, 0]), veto) == [False, True]


def test_a_veto_is_asked_about_the_winners_alone() -> None:
    """Candidates that stay anyway use up nothing of what their queue may lose."""

    class OnlyOne(Plugin[Args]):
        vetoes = True

        def preemptable(self, view: View, claim: Claim, candidates: Candidates) -> Bool:
            return candidates.rank(candidates.job) < 1

    chains: list[list[tuple[Plugin[Args], PluginConfig]]] = [
        [(judge([False, True]), PluginConfig("judge"))],
        [(OnlyOne(Args()), PluginConfig("one"))],
    ]

    assert Verdicts(chains).allowed(VIEW, CLAIM, candidates([0, 0])).tolist() == [False, True]


def test_a_tier_that_only_protects_names_nobody_to_preempt() -> None:
    """Else two jobs of one priority, which the first tier does not give away, evict each other for ever."""

    class Protects(Plugin[Args]):
        keeps = True

        def preemptable(self, view: View, claim: Claim, candidates: Candidates) -> Bool:
            return candidates.job != 1

    class Abstains(Plugin[Args]):
        def preemptable(self, view: View, claim: Claim, candidates: Candidates) -> None:
            return None

    config, some = PluginConfig("x"), candidates([0, 0], [0, 1])
    alone = Verdicts([[(judge([False, False]), config)], [(Protects(Args()), config)]])
    beside = Verdicts([[(Protects(Args()), config), (judge([True, True]), config)]])
    silent = Verdicts([[(Abstains(Args()), config), (Protects(Args()), config)]])

    assert alone.allowed(VIEW, CLAIM, some).tolist() == [False, False]
    assert beside.allowed(VIEW, CLAIM, some).tolist() == [True, False]
    assert silent.allowed(VIEW, CLAIM, some).tolist() == [False, False]

    class ProtectsQueues(Protects):
        def reclaimable(self, view: View, claim: Claim, candidates: Candidates) -> Bool:
            return self.preemptable(view, claim, candidates)

    reclaim = Verdicts([[(ProtectsQueues(Args()), config)]])
    assert reclaim.allowed(VIEW, replace(CLAIM, kind=ClaimKind.RECLAIM), some).tolist() == [True, False]


def test_a_flag_switches_the_say_of_a_plugin_off() -> None:
    off = PluginConfig("judge", {"enablePreemptable": False})
    chains = [[(judge([False]), off), (judge([True]), PluginConfig("judge"))]]

    assert Verdicts(chains).allowed(VIEW, CLAIM, candidates([0])).tolist() == [True]


def test_claims_are_alike_only_where_every_plugin_says_what_it_goes_by() -> None:
    silent = Verdicts([[(judge([True]), PluginConfig("judge"))]])
    other = Claim(ClaimKind.PREEMPT, 1, 0, (1,), CLAIM.request)

    assert silent.claim_key(VIEW, CLAIM) != silent.claim_key(VIEW, other)
    assert Verdicts([]).claim_key(VIEW, CLAIM) == Verdicts([]).claim_key(VIEW, other)

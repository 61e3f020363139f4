"""How the answers of several plugins become one."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from tests.core.world import Job, Node, equal_pods, snapshot
from vcray.actions.allocate import Allocate
from vcray.config.scheduler import PluginConfig
from vcray.core.arrays import Bool, Int
from vcray.core.hooks import Answer, DomainTerm, Vote
from vcray.core.plugin import Args, Plugin
from vcray.core.policy import Chains, Policy, Recipe, policy_of
from vcray.core.session import Session, decide, open_session
from vcray.core.view import Shape, View

WORLD = snapshot([Node("n1"), Node("n2")], [Job("j", equal_pods("j", 2, cpu=1))])


class Permit(Plugin[Args]):
    def job_pipelined(self, view: View, job: int) -> Vote:
        return Vote.PERMIT

    def job_enqueueable(self, view: View, job: int) -> Answer:
        return Answer(Vote.PERMIT)

    def job_starving(self, view: View, job: int) -> bool:
        return True


class Reject(Plugin[Args]):
    def job_pipelined(self, view: View, job: int) -> Vote:
        return Vote.REJECT

    def job_enqueueable(self, view: View, job: int) -> Answer:
        return Answer(Vote.REJECT, "no")

    def job_starving(self, view: View, job: int) -> bool:
        return False


class Abstain(Plugin[Args]):
    def job_pipelined(self, view: View, job: int) -> Vote:
        return Vote.ABSTAIN


def chains(*tiers: Sequence[type[Plugin[Args]]]) -> tuple[View, Chains]:
    session = open_session(WORLD, policy_of([], [[(plugin, {}) for plugin in tier] for tier in tiers]))
    return session.view, session.chains


@pytest.mark.parametrize(
    ("tiers", "outcome"),
    [
        ((), True),
        (([Abstain],), True),
        (([Permit, Reject],), False),
        (([Reject, Permit],), False),
        (([Permit], [Reject]), True),
        (([Abstain], [Reject]), False),
    ],
)
def test_votes_go_by_tier(tiers: tuple[list[type[Plugin[Args]]], ...], outcome: bool) -> None:
    view, chain = chains(*tiers)

    assert chain.job_pipelined(view, 0) is outcome


def test_the_first_rejection_brings_its_sentence() -> None:
    view, chain = chains([Permit, Reject])

    assert chain.job_enqueueable(view, 0) == Answer(Vote.REJECT, "no")


def test_starving_is_the_say_of_the_first_tier_that_has_one() -> None:
    for tiers, outcome in (
        ((), False),
        (([Abstain], [Permit], [Reject]), True),
        (([Permit, Reject],), False),
    ):
        view, chain = chains(*tiers)
        assert chain.job_starving(view, 0) is outcome


class Needs(Plugin[Args]):
    def gang_need(self, view: View, job: int, tasks: Int) -> int:
        return 2

    def job_valid(self, view: View, job: int) -> str | None:
        return "not valid"

    def queue_allows(self, view: View, queue: int, shape: Shape, count: int) -> int:
        return 5

    def queue_order(self, view: View, queue: int) -> tuple[float, ...]:
        return (1.0, 2.0)


class Less(Needs):
    def gang_need(self, view: View, job: int, tasks: Int) -> int:
        return 1

    def queue_allows(self, view: View, queue: int, shape: Shape, count: int) -> int:
        return -3


def test_numbers_combine_as_the_table_says() -> None:
    view, chain = chains([Less], [Needs])
    shape = view.shapes[0]

    assert chain.gang_need(view, 0, np.arange(2)) == 2
    assert chain.job_valid(view, 0) == "not valid"
    assert chain.queue_allows(view, 0, shape, 9) == 0
    assert chain.queue_key(view, 0) == (1.0, 2.0, 1.0, 2.0)
    view, chain = chains()
    assert chain.gang_need(view, 0, np.arange(2)) == 1
    assert chain.queue_allows(view, 0, shape, 9) == 9


class OnlyFirst(Plugin[Args]):
    """Refuses and dislikes the second node."""

    def node_static(self, view: View, shape: Shape) -> Bool:
        return np.array([True, False])

    def domain_terms(self, view: View, shape: Shape, candidates: Bool) -> Sequence[DomainTerm]:
        return [DomainTerm(ok=np.array([True, False]), raw=np.array([1, 0]), weight=1)]


def flagged(plugin: type[Plugin[Args]], **flags: bool) -> Session:
    recipe = Recipe(plugin, Args(), PluginConfig(plugin.name, flags))
    return open_session(WORLD, Policy((), ((recipe,),)))


@pytest.mark.parametrize(
    ("flags", "allowed", "filters", "scores"),
    [
        ({}, [True, False], True, True),
        ({"enablePredicate": False}, [True, True], False, True),
        ({"enableNodeOrder": False}, [True, False], True, False),
    ],
)
def test_flags_switch_filters_and_scores_apart(
    flags: dict[str, bool], allowed: list[bool], filters: bool, scores: bool
) -> None:
    session = flagged(OnlyFirst, **flags)
    view = session.view

    assert session.chains.static(view, view.shapes[0]).tolist() == allowed
    (term,) = session.chains.domain_terms(view, view.shapes[0], np.ones(2, dtype=bool))
    assert (term.ok is not None, term.raw is not None) == (filters, scores)


def test_with_both_flags_off_the_plugin_is_not_asked() -> None:
    session = flagged(OnlyFirst, enablePredicate=False, enableNodeOrder=False)

    assert session.chains.domains == []


class Counting(Plugin[Args]):
    opened: list[int] = []

    def open(self, view: View) -> None:
        self.opened.append(id(self))


def test_every_session_has_plugins_of_its_own() -> None:
    policy = policy_of([Allocate({})], [[(Counting, {})]])
    decide(WORLD, policy)
    decide(WORLD, policy)

    assert len(Counting.opened) == 2


def test_without_any_plugin_pods_still_find_room() -> None:
    decisions = decide(WORLD, policy_of([Allocate({})], []))

    assert sum(len(commit.binds) for commit in decisions.commits) == 2

"""Hooks about parts of jobs and HyperNodes: what is switched on, and how several answers become one."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from tests.core.world import Job, Node, equal_pods, snapshot
from vcray.config.scheduler import PluginConfig
from vcray.core.arrays import Float, Int
from vcray.core.hooks import Vote
from vcray.core.parthooks import COMBINE, DomainScores, PartChains, Purpose
from vcray.core.plugin import HOOKS, Args, Plugin
from vcray.core.policy import policy_of
from vcray.core.session import Session, open_session
from vcray.core.subjobs import Parts, SubJob
from vcray.core.tables import Closeness
from vcray.core.view import View


class One(Plugin[Args]):
    """Answers everything."""

    ready, vote, score, needs = True, Vote.ABSTAIN, 1.0, 2

    def subjob_ready(self, view: View, subjob: SubJob) -> bool:
        return self.ready

    def subjob_need(self, view: View, subjob: SubJob, tasks: Int) -> int:
        return self.needs

    def subjob_pipelined(self, view: View, subjob: SubJob) -> Vote:
        return self.vote

    def subjob_order(self, view: View, subjob: SubJob) -> float:
        return self.score

    def domains(
        self, view: View, part: Parts | SubJob, root: int, purpose: Purpose
    ) -> Sequence[Sequence[int]]:
        return [[root, 7]]

    def domain_order(self, view: View, subjob: SubJob, domains: Sequence[int]) -> DomainScores:
        size = len(domains)
        return DomainScores(np.full(size, self.score), np.zeros(size))

    def scores_tasks(self, view: View, job: int) -> bool:
        return True

    def task_score(self, view: View, task: int) -> Float:
        return np.full(len(view.snapshot.nodes), self.score)


class Two(One):
    """Answers otherwise."""

    ready, vote, score, needs = False, Vote.PERMIT, 2.0, 5


class Rejects(One):
    """Rejects promises."""

    vote = Vote.REJECT


class Masked(One):
    """A hook that was left out."""

    subjob_ready = None  # type: ignore[assignment]


@pytest.fixture
def session() -> Session:
    near = Job("j", equal_pods("p", 2, cpu=1), closeness=Closeness(soft=True, tier=None))
    return open_session(snapshot([Node("n1")], [near]), policy_of([], []))


def chains(*tiers: Sequence[type[One]]) -> PartChains:
    config = PluginConfig("p")
    return PartChains([[(plugin(Args()), config) for plugin in tier] for tier in tiers])


def part(session: Session) -> SubJob:
    return session.view.subjobs.of_job[0].subjobs[0]


def test_every_hook_is_known_and_has_a_rule() -> None:
    assert set(COMBINE) <= HOOKS


def test_a_part_is_ready_when_all_agree_and_needs_the_most_that_anybody_says(session: Session) -> None:
    view, sub = session.view, part(session)
    both, nobody = chains([One, Two]), chains([])
    assert (chains([One]).ready(view, sub), both.ready(view, sub), nobody.ready(view, sub)) == (
        True,
        False,
        True,
    )
    tasks = np.zeros(0, dtype=np.int64)
    assert (both.need(view, sub, tasks), nobody.need(view, sub, tasks)) == (5, 1)


@pytest.mark.parametrize(
    ("tiers", "expected"),
    [
        ([[]], True),
        ([[One]], True),
        ([[Rejects], [Two]], False),
        ([[Two], [Rejects]], True),
        ([[One], [Rejects]], False),
        ([[Two, Rejects]], False),
    ],
    ids=[
        "nobody",
        "abstains",
        "rejected first",
        "permitted first",
        "abstains then rejected",
        "both in a tier",
    ],
)
def test_promises_of_a_part_are_voted_by_tier(
    session: Session, tiers: list[list[type[One]]], expected: bool
) -> None:
    assert chains(*tiers).pipelined(session.view, part(session)) is expected


def test_the_first_plugin_with_domains_decides_and_nobody_means_the_root(session: Session) -> None:
    view, sub = session.view, part(session)
    assert chains([One], [Two]).gradients(view, sub, 3) == [[3, 7]]
    assert chains([]).gradients(view, sub, 3) == [[3]]


def test_ratings_of_hypernodes_are_summed(session: Session) -> None:
    assert chains([One, Two]).scores(session.view, part(session), [0]).score.tolist() == [3.0]


def test_parts_are_ordered_by_all_plugins_then_value_then_name(session: Session) -> None:
    assert chains([One, Two]).key(session.view, part(session)) == (1.0, 2.0, 0, "ns/j")


def test_a_hook_that_was_left_out_is_not_asked(session: Session) -> None:
    assert chains([Masked]).readies == []


def test_tasks_of_a_job_may_be_told_apart(session: Session) -> None:
    assert len(chains([One, Two]).apart(session.view, 0)) == 2

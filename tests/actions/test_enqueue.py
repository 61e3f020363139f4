"""Admission: everybody is asked once, nobody blocks."""

from __future__ import annotations

from tests.core import stubs
from tests.core.world import Job, Node, Queue, amounts, equal_pods, snapshot
from vcray.actions.enqueue import Enqueue
from vcray.core.decisions import Event
from vcray.core.hooks import Answer, Vote
from vcray.core.plugin import Args, Plugin
from vcray.core.policy import Policy, policy_of
from vcray.core.session import decide
from vcray.core.tables import Phase
from vcray.core.view import View


class Budget(Plugin[Args]):
    """Four cores to give away."""

    def open(self, view: View) -> None:
        self.left_ = 4000
        self.charged_: list[str] = []

    def job_enqueueable(self, view: View, job: int) -> Answer:
        fits = int(view.snapshot.jobs.min_resources[0, job]) <= self.left_
        return Answer(Vote.PERMIT) if fits else Answer(Vote.REJECT, "no budget left")

    def job_enqueued(self, view: View, job: int) -> None:
        self.left_ -= int(view.snapshot.jobs.min_resources[0, job])


class Deny(Plugin[Args]):
    def job_enqueueable(self, view: View, job: int) -> Answer:
        return Answer(Vote.REJECT)


def policy(*tiers: list[type[Plugin[Args]]]) -> Policy:
    return policy_of([Enqueue({})], [[(plugin, {}) for plugin in tier] for tier in tiers])


def waiting(name: str, cpu: float | None, **kw: object) -> Job:
    return Job(
        name,
        equal_pods(name, 1, cpu=1),
        phase=Phase.PENDING,
        min_resources=None if cpu is None else amounts(cpu),
        **kw,  # type: ignore[arg-type]
    )


def admitted(policy: Policy, jobs: list[Job], queues: tuple[Queue, ...] = (Queue("default"),)) -> list[str]:
    decisions = decide(snapshot([Node("n")], jobs, queues), policy)
    return [u.job.removeprefix("ns/") for u in decisions.groups if u.status.phase is Phase.INQUEUE]


def test_a_refusal_does_not_stop_those_behind_it() -> None:
    jobs = [waiting("a", 3, created=1), waiting("b", 3, created=2), waiting("c", 1, created=3)]

    assert admitted(policy([stubs.Priority, Budget]), jobs) == ["a", "c"]


def test_a_group_without_min_resources_is_never_asked() -> None:
    assert admitted(policy([Deny]), [waiting("a", None), waiting("b", 1)]) == ["a"]


def test_a_refusal_is_an_event_with_the_plugins_sentence() -> None:
    decisions = decide(snapshot([Node("n")], [waiting("a", 9)]), policy([Budget]))

    assert Event("PodGroup", "ns/a", "uid-a", "Normal", "Unschedulable", "no budget left") in decisions.events


def test_a_permit_in_an_earlier_tier_is_final() -> None:
    assert admitted(policy([Budget], [Deny]), [waiting("a", 1)]) == ["a"]
    assert admitted(policy([Deny], [Budget]), [waiting("a", 1)]) == []


def test_queues_are_served_in_their_order() -> None:
    class Later(Plugin[Args]):
        def queue_order(self, view: View, queue: int) -> tuple[float, ...]:
            return (-float(view.snapshot.queues.priority[queue]),)

    jobs = [waiting("a", 3, queue="low"), waiting("b", 3, queue="high")]

    assert admitted(policy([Later, Budget]), jobs, (Queue("low"), Queue("high", priority=1))) == ["b"]

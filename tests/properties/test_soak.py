"""Demand that comes and goes for many rounds: evictions come to rest, nobody takes back what was just taken from it.

A cluster of plain values lives through rounds: what is decided is done, evicted pods take a while to stop and come back Pending,
as an owner would make them. Every few rounds demand changes; in between it stands still. `VCRAY_SOAK=1000` makes it longer.
"""

from __future__ import annotations

import os
import random
from collections import Counter
from dataclasses import dataclass, field

import pytest

from tests.core.world import Job, Node, Pod, Queue
from tests.properties.crowds import Crowd, crowd
from vcray.core.decisions import Decisions
from vcray.core.policy import Policy
from vcray.core.session import decide
from vcray.core.tables import Phase, Status
from vcray.sim.configurations import CONFIGURATIONS

ROUNDS = int(os.environ.get("VCRAY_SOAK", "60"))
STILL = 15
"""Rounds between two changes of demand; evictions must have come to rest before."""

BOTH = CONFIGURATIONS["KR"].replace("reclaim,", "reclaim, preempt,")
GANGS = CONFIGURATIONS["KR"].replace("reclaim,", "gangreclaim, gangpreempt,")
CONFS = {
    "preempt": CONFIGURATIONS["KP"],
    "reclaim by weight": CONFIGURATIONS["KR"],
    "reclaim by what is deserved": CONFIGURATIONS["KC"],
    "both": BOTH,
    "gangs": GANGS,
    "fair shares": CONFIGURATIONS["KP"].replace("enablePreemptable: false", "enablePreemptable: true"),
}


@dataclass
class Life:
    """A cluster through time. `stopping`: pod -> rounds until it is gone."""

    rng: random.Random
    policy: Policy
    crowd: Crowd
    stopping: dict[str, int] = field(default_factory=dict)
    made: int = 0

    def change(self) -> None:
        """A job comes, or one goes."""
        jobs = self.crowd.jobs
        if len(jobs) > 14 or (jobs and self.rng.random() < 0.3):
            gone = jobs.pop(self.rng.randrange(len(jobs)))
            for pod in gone.pods:
                self.stopping.pop(pod.name, None)
            return
        self.made += 1
        count, cpu = self.rng.randrange(1, 9), self.rng.choice((0.5, 1, 2, 3))
        pods = [
            Pod(f"j{self.made}-{i}", cpu=cpu, gpu=self.rng.choice((0, 0, 1)), index=i) for i in range(count)
        ]
        least = self.rng.randrange(1, count + 1) if self.rng.random() < 0.5 else 1
        queue = self.crowd.queues[self.made // 4 % len(self.crowd.queues)].name
        priority = self.rng.choice((0, 10, 20))
        jobs.append(Job(f"j{self.made}", pods, least, queue, priority, self.made, Phase.INQUEUE))

    def round(self) -> Decisions:
        """One round, its decisions done."""
        self._stop()
        decisions = decide(self.crowd.snapshot(), self.policy)
        pods = {f"ns/{pod.name}": pod for job in self.crowd.jobs for pod in job.pods}
        for evict in decisions.evictions:
            pods[evict.task].status = Status.RELEASING
            self.stopping[pods[evict.task].name] = self.rng.randrange(1, 3)
        for commit in decisions.commits:
            for bind in commit.binds:
                pods[bind.task].status, pods[bind.task].node = Status.RUNNING, bind.node
                pods[bind.task].nominated = ""
        for condition in decisions.conditions:
            if condition.nominated:
                pods[condition.task].nominated = condition.nominated
        return decisions

    def _stop(self) -> None:
        for pod in [pod for job in self.crowd.jobs for pod in job.pods if pod.name in self.stopping]:
            self.stopping[pod.name] -= 1
            if self.stopping[pod.name] <= 0:
                del self.stopping[pod.name]
                pod.status, pod.node, pod.nominated = Status.PENDING, "", ""


def born(conf: str, seed: int) -> Life:
    rng = random.Random(seed)
    nodes = [Node(f"n{i}", cpu=rng.choice((4, 8)), gpu=rng.choice((0, 2))) for i in range(4)]
    queues = [Queue(name) for name in ("qa", "qb", "qc")]
    deserved = {queue.name: sum(node.cpu for node in nodes) // 3 for queue in queues}
    none = {queue.name: 0.0 for queue in queues}
    crowd = Crowd(seed, conf, nodes, [], queues, (), none, deserved)
    life = Life(rng, crowd.policy(), crowd)
    while len(crowd.jobs) < 6:
        life.change()
    return life


@pytest.mark.timeout(120 + ROUNDS)
@pytest.mark.parametrize("name", CONFS)
def test_evictions_come_to_rest_and_nobody_takes_turns(name: str) -> None:
    life, total = born(CONFS[name], 1), 0
    for start in range(0, ROUNDS, STILL):
        for _ in range(life.rng.randrange(1, 4)):
            life.change()
        total += watch(life, f"{name}, round {start}")
    assert total > 0 or ROUNDS < 200, "no demand that evicts"


@pytest.mark.timeout(120 + ROUNDS)
def test_a_crowd_of_any_kind_comes_to_rest() -> None:
    """Small nodes with few slots and ports, budgets, guarantees, queues of unlike priority, plugins in any tier."""
    total = 0
    for number in range(ROUNDS // 2):
        life = met(number)
        taken: Counter[str] = Counter()
        last = 0
        for round_ in range(2 * STILL):
            decisions = life.round()
            last = round_ if decisions.evictions else last
            taken.update(evict.task for evict in decisions.evictions)
        assert last < STILL, f"crowd {number}: {taken}"
        assert max(taken.values(), default=0) <= 2, f"crowd {number}: {taken}"
        total += sum(taken.values())
    assert total > ROUNDS // 8, "hardly anybody was evicted"


def met(number: int) -> Life:
    """A random crowd as it stands; what was on its way out goes, what was bound runs."""
    rng, found = random.Random(number), crowd(number)
    for queue in found.queues:
        queue.priority = rng.choice((0, 0, 3))
    life = Life(rng, found.policy(), found)
    for job in found.jobs:
        job.phase = Phase(max(job.phase, Phase.INQUEUE))
        for pod in job.pods:
            if pod.status == Status.RELEASING:
                life.stopping[pod.name] = rng.randrange(1, 3)
            elif pod.status == Status.BOUND:
                pod.status = Status.RUNNING
    return life


def watch(life: Life, where: str) -> int:
    """Rounds with demand standing still; how many evictions there were."""
    taken: Counter[str] = Counter()
    last = 0
    for number in range(STILL):
        decisions = life.round()
        if decisions.evictions:
            last = number
        taken.update(evict.task for evict in decisions.evictions)
    assert last < STILL - 4, f"{where}: evictions in round {last} of {STILL} though nothing changes: {taken}"
    again = {task: count for task, count in taken.items() if count > 1}
    assert not again, f"{where}: evicted again and again: {again}"
    return sum(taken.values())

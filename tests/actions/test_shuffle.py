"""Volcano's shuffle: what plugins want elsewhere is evicted, whatever its queue or gang."""

from __future__ import annotations

import numpy as np

from tests.core.world import Job, Node, Pod, snapshot
from vcray.actions.shuffle import Shuffle
from vcray.core.arrays import Bool, Int
from vcray.core.plugin import Args, Plugin
from vcray.core.policy import policy_of
from vcray.core.session import decide
from vcray.core.snapshot import Snapshot
from vcray.core.tables import Phase, Status
from vcray.core.view import View


class FirstHalf(Plugin[Args]):
    """Names tasks whose name ends in an even number."""

    def victim_tasks(self, view: View, tasks: Int) -> Bool:
        names = view.snapshot.tasks.names
        return np.array([int(names[task][-1]) % 2 == 0 for task in tasks.tolist()], dtype=np.bool_)


class Nobody(Plugin[Args]):
    """Names no task."""

    def victim_tasks(self, view: View, tasks: Int) -> Bool:
        return tasks < 0


class One(Plugin[Args]):
    """Names task 1."""

    def victim_tasks(self, view: View, tasks: Int) -> Bool:
        names = view.snapshot.tasks.names
        return np.array([names[task].endswith("1") for task in tasks.tolist()], dtype=np.bool_)


def world(status: Status = Status.RUNNING) -> Snapshot:
    pods = [Pod(f"a-{i}", cpu=1, status=status, node="n1") for i in range(4)]
    return snapshot([Node("n1", 8)], [Job("a", pods, phase=Phase.RUNNING)])


def evicted(tiers: list[list[type[Plugin[Args]]]], of: Snapshot | None = None) -> list[str]:
    policy = policy_of([Shuffle({})], [[(plugin, {}) for plugin in tier] for tier in tiers])
    return [evict.task for evict in decide(of or world(), policy).evictions]


def test_every_task_that_a_plugin_names_goes_even_of_a_tight_gang() -> None:
    assert evicted([[FirstHalf]]) == ["ns/a-0", "ns/a-2"]


def test_plugins_of_a_tier_add_to_each_other() -> None:
    assert evicted([[FirstHalf, One]]) == ["ns/a-0", "ns/a-1", "ns/a-2"]


def test_the_first_tier_that_names_anybody_decides() -> None:
    assert evicted([[Nobody], [One], [FirstHalf]]) == ["ns/a-1"]


def test_tasks_that_do_not_run_are_not_asked_about() -> None:
    assert evicted([[FirstHalf]], world(Status.BOUND)) == []


def test_the_reason_is_the_action() -> None:
    policy = policy_of([Shuffle({})], [[(One, {})]])

    assert [evict.reason for evict in decide(world(), policy).evictions] == ["shuffle"]

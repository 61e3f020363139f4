"""Writes that fail at any point, answers that are lost, restarts of the controller at any turn: the job arrives all the same."""

from __future__ import annotations

import random

import pytest

from tests.controllers.world import World, a_task
from vcray.api.meta import JsonObject
from vcray.api.resources import CONFIGMAPS, JOBS, PODGROUPS, PODS, QUEUES, SERVICES
from vcray.controllers.base import Effect, Outcome, Read
from vcray.controllers.job.controller import JobController

RESTART_ONCE: list[JsonObject] = [{"event": "PodFailed", "action": "RestartJob"}]


def troubled(seed: int) -> World:
    """A world where every fifth write fails, half of them after they were carried out."""
    dice = random.Random(seed)
    w = World([JobController(max_requeue=1000)], graceful=dice.random() < 0.5)

    def fail(effect: Effect) -> Outcome | None:
        if isinstance(effect, Read) or dice.random() > 0.2:
            return None
        if dice.random() < 0.5:
            w._write(effect)
        return Outcome(ok=False, status=500, reason="InternalError", message="the answer was lost")

    w.fail = fail
    return w


@pytest.mark.parametrize("seed", range(25))
def test_job_restarts_once_and_completes_whatever_writes_fail(seed: int) -> None:
    w = troubled(seed)
    tasks = [a_task("a", 1), a_task("b", 2)]

    w.running(tasks=tasks, plugins={"svc": [], "env": []}, policies=RESTART_ONCE)
    w.pod_phase("Failed", "j-b-1")
    w.bury()
    w.admit()
    w.pod_phase("Running")
    assert w.phase() == "Running"
    assert w.status()["retryCount"] == 1
    w.pod_phase("Succeeded")

    assert w.phase() == "Completed"
    assert w.podgroups() == []
    assert [w.list(SERVICES), w.list(CONFIGMAPS)] == [[], []]
    assert w.pods() == ["j-a-0", "j-b-0", "j-b-1"]


class Death(Exception):
    """The controller's process ends."""


class MortalWorld(World):
    """A world whose controller dies now and then between two effects, and starts anew with an empty memory."""

    def settle(self, limit: int = 500) -> None:
        while True:
            try:
                super().settle(limit)
                return
            except Death:
                self.asking = None
                self.controllers = [JobController()]
                self.queue.clear()
                self.replay(QUEUES, JOBS, PODS, PODGROUPS)


def mortal(seed: int, deaths: int = 12) -> MortalWorld:
    dice = random.Random(seed)
    w = MortalWorld([JobController()])
    left = list(range(deaths))

    def die_now_and_then(effect: Effect) -> Outcome | None:
        if left and dice.random() < 0.2:
            left.pop()
            raise Death
        return None

    w.fail = die_now_and_then
    return w


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("action", ["RestartJob", "RestartTask", "RestartPod"])
def test_restart_counts_once_when_the_controller_dies_between_any_two_effects(action: str, seed: int) -> None:
    w = mortal(seed)

    w.running(tasks=[a_task(replicas=3)], policies=[{"event": "PodFailed", "action": action}])
    w.pod_phase("Failed", "j-t-1")
    w.admit()
    w.pod_phase("Running")
    assert (w.phase(), w.status()["retryCount"]) == ("Running", 1)
    w.pod_phase("Succeeded")

    assert w.phase() == "Completed"
    assert w.podgroups() == []


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize(
    ("action", "end"), [("AbortJob", "Aborted"), ("TerminateJob", "Terminated"), ("CompleteJob", "Completed")]
)
def test_job_ends_when_the_controller_dies_between_any_two_effects(action: str, end: str, seed: int) -> None:
    w = mortal(seed)

    w.running(tasks=[a_task(replicas=3)], policies=[{"event": "PodFailed", "action": action}])
    w.pod_phase("Failed", "j-t-1")

    assert w.phase() == end
    assert w.pods() == ["j-t-1"]
    assert w.podgroups() == []

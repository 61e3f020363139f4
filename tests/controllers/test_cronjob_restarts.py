"""CronJobs: whatever is cut short, no time is started twice and none is lost; and a model over random days."""

from __future__ import annotations

from collections import Counter
from random import Random

import pytest

from tests.controllers.crons import EIGHT, CronWorld, name
from vcray.api.resources import CRONJOBS, JOBS
from vcray.clock import rfc3339
from vcray.controllers import raw
from vcray.controllers.base import Again, Create, Delete, Effect, Outcome, Read, UpdateStatus


class Crash(Exception):
    """The process ends before an effect is carried out."""


class CrashingWorld(CronWorld):
    """A world whose process ends at chosen writes: before they are made, or after, with the answer lost."""

    def __init__(self) -> None:
        super().__init__()
        self.crash_at: tuple[int, bool] | None = None
        self.started: Counter[str] = Counter()

    def _write(self, effect: Effect) -> Outcome:
        if self.crash_at is not None:
            left, after = self.crash_at
            if left == 0:
                self.crash_at = None
                if after:
                    self._count(effect, super()._write(effect))
                raise Crash
            self.crash_at = (left - 1, after)
        return self._count(effect, super()._write(effect))

    def _count(self, effect: Effect, outcome: Outcome) -> Outcome:
        if isinstance(effect, Create) and outcome.ok:
            self.started[raw.name(effect.object)] += 1
        return outcome

    def surviving(self, clock: str) -> None:
        try:
            self.until(clock)
        except Crash:
            self.asking = None
            self.restart()
            self.until(clock)


@pytest.mark.parametrize("policy", ["Allow", "Forbid", "Replace"])
@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("write", range(8))
def test_crash_at_any_write_loses_nothing_and_doubles_nothing(policy: str, after: bool, write: int) -> None:
    w = CrashingWorld()
    w.cron_job(concurrencyPolicy=policy, successfulJobsHistoryLimit=0)
    w.crash_at = (write, after)

    for minute in range(1, 5):
        w.surviving(f"08:0{minute}:30")
        try:
            for job in w.jobs():
                if minute % 2:
                    w.end(job)
        except Crash:
            w.asking = None
            w.restart()
        assert len(w.active()) <= 1 or policy == "Allow"
    w.surviving("08:05:01")

    wanted = [1, 2, 3] if policy == "Forbid" else [1, 2, 3, 4, 5]
    assert w.started == Counter({f"c-{EIGHT + minute}": 1 for minute in wanted})
    assert w.last() == f"2027-01-15T08:0{wanted[-1]}:00Z"
    assert w.active() == [
        each for each in w.jobs() if raw.text(w.job(each), "status", "state", "phase") == ""
    ]


def test_job_whose_status_was_not_written_is_found_again() -> None:
    w = CronWorld()
    w.cron_job(concurrencyPolicy="Forbid")
    w.fail = lambda effect: Outcome(ok=False, status=500) if isinstance(effect, UpdateStatus) else None
    w.until("08:01:00.5")
    assert (w.jobs(), w.last()) == ([name("8:01")], "")
    w.fail = lambda effect: None
    w.waiting = []
    w.until("08:02:30")

    w.restart()

    assert (w.active(), w.last()) == ([name("8:01")], "2027-01-15T08:01:00Z")
    assert w.told("OrphanedJob") == []


def test_time_is_written_before_the_job_that_proves_it_is_deleted() -> None:
    w = CronWorld()
    w.cron_job("0 * * * *", successfulJobsHistoryLimit=0)
    w.fail = lambda effect: Outcome(ok=False, status=500) if isinstance(effect, UpdateStatus) else None
    w.until("09:00:00.5")
    w.queue, w.waiting = [], []
    w.controllers = []
    w.end(name("9:00"))
    w.fail = lambda effect: None
    before = len(w.effects)

    w.restart()

    kinds = [type(e) for e in w.effects[before:] if isinstance(e, UpdateStatus | Delete | Create)]
    assert kinds == [UpdateStatus, Delete]
    assert (w.jobs(), w.last()) == ([], "2027-01-15T09:00:00Z")


@pytest.mark.parametrize(("phase", "active"), [("Running", 1), ("Completed", 0)])
def test_own_job_that_the_mirror_does_not_show_yet_serves_its_time(phase: str, active: int) -> None:
    """Another process made it; its watch event is under way."""
    w = CronWorld()
    w.cron_job()
    w.until("08:01:00.5")
    job = w.job(name("8:01"))
    w.remove(JOBS, "ns", name("8:01"))
    w.change(CRONJOBS, "ns", "c", status={})
    w.queue = []
    exists = Outcome(ok=False, status=409, reason="AlreadyExists")
    found = Outcome(object={**job, "status": {"state": {"phase": phase}}})
    answers = {Create: exists, Read: found}
    w.fail = lambda effect: answers.get(type(effect))  # type: ignore[call-overload, no-any-return]

    w.restart()

    assert w.last() == "2027-01-15T08:01:00Z"
    assert len(w.active()) == active


def test_timer_of_before_is_of_no_use_and_no_harm() -> None:
    w = CronWorld()
    w.cron_job()
    old = list(w.waiting)
    w.restart()

    w.waiting += [(due, w.controllers[0], request) for due, _, request in old]
    w.until("08:03:30")

    assert w.jobs() == [name("8:01"), name("8:02"), name("8:03")]


def test_failures_that_last_do_not_pile_up() -> None:
    w = CronWorld()
    w.cron_job()
    w.until("08:00:59")
    refused = Outcome(ok=False, status=403, message="exceeded quota")
    w.fail = lambda effect: refused if isinstance(effect, Create) else None

    w.until("08:20:30")
    assert len(w.waiting) == 2  # the next time, and one more try
    w.fail = lambda effect: None
    w.until("08:20:40")

    assert w.jobs() == w.active() == [name("8:20")]
    assert len(w.waiting) == 1


def test_turn_that_was_given_up_comes_again_and_may_fail_again() -> None:
    w = CronWorld()
    w.cron_job()
    w.until("08:00:59")
    refused = Outcome(ok=False, status=403, message="exceeded quota")
    w.fail = lambda effect: refused if isinstance(effect, Create) else None
    w.until("08:01:30")
    _, _, request = min(w.waiting, key=lambda item: item[0])
    w.waiting = []

    [again] = w.controllers[0].gave_up(request, w, w.now)
    assert isinstance(again, Again)
    assert again.after_s == 60
    w.queue.append((w.controllers[0], again.request))
    w.settle()

    assert len(w.waiting) == 1


SCHEDULES = {"* * * * *": 1, "*/7 * * * *": 7, "3-59/20 * * * *": 20}


@pytest.mark.parametrize("policy", ["Allow", "Forbid", "Replace"])
@pytest.mark.parametrize("seed", range(8))
def test_random_days_keep_the_rules(policy: str, seed: int) -> None:
    """Jobs of any length, restarts, holes without a controller, refused writes: held against the rules, not the code."""
    dice = Random(seed)
    w = CrashingWorld()
    w.cron_job(dice.choice(list(SCHEDULES)), concurrencyPolicy=policy)
    refused = Outcome(ok=False, status=500, message="slow")
    w.fail = lambda effect: refused if dice.random() < 0.1 else None

    for _ in range(100):
        chance = dice.random()
        running = [job for job in w.jobs() if w.phase(job) not in ("Completed", "Failed")]
        if chance < 0.3 and running:
            for job in dice.sample(running, (len(running) + 1) // 2):
                w.end(job, dice.choice(["Completed", "Failed", "Running"]))
        elif chance < 0.4:
            w.waiting = []
            w.now += dice.randrange(1, 900)
            w.restart()
        w.until(rfc3339(w.now + dice.randrange(1, 240))[5:19])
        running = [job for job in w.jobs() if w.phase(job) not in ("Completed", "Failed")]
        assert policy == "Allow" or len(running) <= 1
    w.fail = lambda effect: None
    w.until(rfc3339(w.now + 3600)[5:19])

    assert set(w.started.values()) == {1}
    alive = [job for job in w.jobs() if w.phase(job) not in ("Completed", "Failed")]
    assert sorted(w.active()) == alive
    ended = Counter(w.phase(job) for job in w.jobs())
    assert ended["Completed"] <= 3
    assert ended["Failed"] <= 1
    if policy != "Forbid":
        newest = max(w.started)
        assert EIGHT + w.now // 60 - 1_800_000_000 // 60 - int(newest[2:]) <= 20

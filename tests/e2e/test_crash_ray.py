"""kill -9 of every process of layout standard, of Ray's own, of all at once, while 50 gangs are being bound.

`VCRAY_CRASHES` says how often each is killed (1 by default, 10 in `make crash-full`), each time when a certain part of the
pods is bound, as seen through a watch. What survives must recover by itself; after `everything` the program is started anew.
Then every gang is whole or waits, nothing was bound twice, no node is overbooked: the auditor says so.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.conformance.harness.base import Server, wait_until
from tests.conformance.harness.client import ApiError
from tests.conformance.harness.process import free_port
from tests.e2e.arena import Arena
from tests.e2e.auditor import Auditor
from tests.e2e.raying import RayProgram, kill_together, wait_gone
from tests.e2e.test_crash import GANGS, MEMBERS, MOMENTS

CRASHES = int(os.environ.get("VCRAY_CRASHES", "1"))
FITS = GANGS * 2 // 3
SETTLED_S = 120.0
HOSTS = ("scheduler", "binder", "controllers", "integrations", "admission")
RAY = ("raylet", "head")

pytestmark = [pytest.mark.ray, pytest.mark.timeout(300 + 200 * CRASHES)]


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("crash-ray") / "vcray.log"


@pytest.fixture(scope="module")
def running(server: Server, log: Path) -> Iterator[list[RayProgram]]:
    """The program that runs, alone in its list; whoever kills it puts the next one there."""
    programs = [start(server, log).ready()]
    yield programs
    family = programs[0].family()
    programs[0].stop()
    wait_gone(family)
    assert "Traceback" not in log.read_text(), log.read_text()[-5000:]


PORT = free_port()
"""Of the webhooks: the same for each successor, so that what a killed one registered leads to the next."""


def start(server: Server, log: Path) -> RayProgram:
    flags = ("--layout", "standard", "--admission", "--admission-port", str(PORT))
    return RayProgram(server.kubeconfig, log, *flags)


def wait_bound(auditor: Auditor, arena: Arena, bound: int) -> None:
    deadline = time.monotonic() + SETTLED_S
    while auditor.bound(arena.namespace) < bound:
        assert time.monotonic() < deadline, f"{bound} pods were never bound\n{arena.story()[-3000:]}"
        time.sleep(0.001)


def admitted(arena: Arena) -> bool:
    """May PodGroups be created? Not while the process that serves the webhooks is on its way."""
    try:
        arena.group("probe", 1)
    except ApiError as error:
        if error.code < 500:
            raise
        return False
    arena.client.delete(f"{arena.groups}/probe")
    return True


def make_gangs(arena: Arena, time_of: int) -> None:
    """Fifty gangs under names of their own, so that none counts as whole because of an earlier one."""
    for index in range(GANGS):
        gang = f"gang-{time_of}-{index:02}"
        arena.group(gang, MEMBERS)
        for member in range(MEMBERS):
            arena.pod(f"{gang}-{member}", gang)


def clear(arena: Arena) -> None:
    """Take all gangs away, groups first, so that nobody waits for room."""
    arena.client.request("DELETE", arena.groups)
    arena.client.request("DELETE", f"{arena.core}/pods", {"gracePeriodSeconds": 0})
    arena.wait(lambda: not arena.pods(), "the pods to go", SETTLED_S)


def crash(
    arena: Arena,
    server: Server,
    kill: Callable[[], Callable[[], object]],
    capsys: pytest.CaptureFixture[str],
    what: str,
) -> None:
    """Gangs of which two thirds fit; `kill` in the middle of their binding, as often as told.

    What `kill` returns waits until the scheduler is there again: before, nobody can mend what is half bound."""
    for index in range(9):
        arena.node(f"n{index}", cpu=(FITS * MEMBERS + 3) // 9)
    halves, seconds = [], []
    with Auditor(server.client) as auditor:
        wait_until(lambda: admitted(arena), "the webhooks to be served", SETTLED_S)
        for time_of in range(CRASHES):
            make_gangs(arena, time_of)
            wait_bound(auditor, arena, max(1, round(MOMENTS[time_of % len(MOMENTS)] * FITS * MEMBERS)))
            began = time.monotonic()
            recovered = kill()
            time.sleep(0.2)  # what the server had already received is done and told by then
            halves.append(len(auditor.half_bound()))
            recovered()
            auditor.excuse()
            arena.wait(
                lambda: auditor.bound(arena.namespace) == FITS * MEMBERS and not auditor.half_bound(),
                f"{FITS} gangs to be bound after {what} was killed",
                SETTLED_S,
            )
            seconds.append(time.monotonic() - began)
            auditor.require_content()
            if time_of + 1 < CRASHES:
                clear(arena)
        auditor.require_content()
    with capsys.disabled():
        spent = ", ".join(f"{each:.1f}" for each in seconds)
        print(f"\n{what}: killed {CRASHES} times, half bound after each: {halves}, settled after {spent} s")
    assert len(arena.bound()) == FITS * MEMBERS


@pytest.mark.parametrize("what", [*HOSTS, *RAY])
def test_whatever_process_is_killed_every_gang_is_whole_or_waiting(
    server: Server,
    arena: Arena,
    running: list[RayProgram],
    capsys: pytest.CaptureFixture[str],
    what: str,
) -> None:
    def kill() -> Callable[[], object]:
        lost = HOSTS if what in RAY else (what,)
        before = {host: running[0].openings(host) for host in lost}
        running[0].kill_process(what)

        def back() -> bool:
            try:
                return all(running[0].openings(host) > before[host] for host in lost)
            except TimeoutError:  # the driver is at work
                return False

        return lambda: wait_until(back, f"{what} to be back", SETTLED_S)

    crash(arena, server, kill, capsys, what)


def test_when_everything_is_killed_and_started_anew_every_gang_is_whole_or_waiting(
    server: Server, arena: Arena, running: list[RayProgram], capsys: pytest.CaptureFixture[str], log: Path
) -> None:
    def kill() -> Callable[[], object]:
        family = running[0].family()
        kill_together(family)
        running[0].kill()  # it is gone; this collects it
        wait_gone(family)
        running[0] = start(server, log)
        return running[0].ready

    crash(arena, server, kill, capsys, "everything")


def test_when_the_driver_is_killed_nothing_of_it_stays_and_its_successor_carries_on(
    server: Server, arena: Arena, running: list[RayProgram], capsys: pytest.CaptureFixture[str], log: Path
) -> None:
    def kill() -> Callable[[], object]:
        family = running[0].family()
        running[0].kill()
        wait_gone(family)
        running[0] = start(server, log)
        return running[0].ready

    crash(arena, server, kill, capsys, "driver")

"""kill -9 at any instant: every gang is whole or waits, nothing is bound twice, no node is overbooked.

`VCRAY_CRASHES` says how often `vcray run` is killed while 50 gangs are being bound (1 by default, 3 in CI, 10 in
`make crash-full`). Each kill comes when a certain part of the pods is bound, as seen through a watch.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conformance.harness.server import ControlPlane
from tests.e2e.arena import Arena
from tests.e2e.auditor import Auditor
from tests.e2e.program import Program

CRASHES = int(os.environ.get("VCRAY_CRASHES", "1"))
GANGS, MEMBERS = 50, 4
MOMENTS = (0.35, 0.05, 0.7, 0.5, 0.15, 0.9, 0.01, 0.25, 0.6, 0.8)
"""The part of the pods that is bound when the process is killed, one after the other."""
SETTLED_S = 60.0
RECOVERED_S = 30.0


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """Where the processes of a test write."""
    return tmp_path / "vcray.log"


@pytest.fixture
def programs(server: ControlPlane, log: Path) -> Iterator[list[Program]]:
    """Processes that a test starts; all of them end with it."""
    started: list[Program] = []
    yield started
    for program in started:
        program.kill()
    assert "Traceback" not in log.read_text(), log.read_text()[-5000:]


def start(programs: list[Program], server: ControlPlane, log: Path, *flags: str) -> Program:
    programs.append(Program(server.kubeconfig, log, *flags))
    return programs[-1]


def make_gangs(arena: Arena, count: int) -> None:
    """Gangs of four pods; two thirds of them fit, the others must wait whole."""
    for index in range(count):
        arena.group(f"gang-{index:02}", MEMBERS)
        for member in range(MEMBERS):
            arena.pod(f"gang-{index:02}-{member}", f"gang-{index:02}")


def kill_when(program: Program, auditor: Auditor, arena: Arena, bound: int) -> int:
    """kill -9 as soon as so many pods are bound; how many gangs were half bound when all was quiet again."""
    deadline = time.monotonic() + SETTLED_S
    while auditor.bound(arena.namespace) < bound:
        assert time.monotonic() < deadline, f"{bound} pods were never bound\n{arena.story()[-3000:]}"
        time.sleep(0.001)
    program.kill()
    time.sleep(0.2)  # what the server had already received is done and told by then
    return len(auditor.half_bound())


@pytest.mark.timeout(120 + 90 * CRASHES)
def test_a_killed_vcray_leaves_every_gang_whole_or_waiting(
    server: ControlPlane, arena: Arena, programs: list[Program], log: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    fits = GANGS * 2 // 3
    for index in range(9):
        arena.node(
            f"n{index}", cpu=(fits * MEMBERS + 3) // 9
        )  # no multiple of a gang: gangs lie across nodes
    make_gangs(arena, GANGS)
    halves, seconds = [], []
    with Auditor(server.client) as auditor:
        program = start(programs, server, log)
        for crash in range(CRASHES):
            wanted = max(1, round(MOMENTS[crash % len(MOMENTS)] * fits * MEMBERS))
            halves.append(kill_when(program, auditor, arena, wanted))
            program = start(programs, server, log).ready()
            auditor.excuse()
            began = time.monotonic()
            arena.wait(
                lambda: auditor.bound(arena.namespace) == fits * MEMBERS and not auditor.half_bound(),
                f"{fits} gangs to be bound",
                SETTLED_S,
            )
            seconds.append(time.monotonic() - began)
            auditor.require_content()
            if crash + 1 < CRASHES:
                program.kill()
                refill(arena)
                program = start(programs, server, log)
        auditor.require_content()
    with capsys.disabled():
        print(
            f"\ncrashes: {CRASHES}, gangs half bound after each kill: {halves}, "
            f"settled, once up, after {', '.join(f'{each:.1f}' for each in seconds)} s, "
            f"longest half bound with the time away {auditor.history.longest_half_bound_s:.1f} s"
        )
    assert len(arena.bound()) == fits * MEMBERS


def refill(arena: Arena) -> None:
    """Take the bound gangs away and put as many new pods in their place."""
    for name in arena.bound():
        arena.client.delete(f"{arena.core}/pods/{name}", grace_s=0)
        arena.pod(name, name.rpartition("-")[0])


def test_a_killed_vcray_makes_no_pod_twice_and_forgets_no_job(
    server: ControlPlane, arena: Arena, programs: list[Program], log: Path
) -> None:
    """Jobs are being made into PodGroups and pods, and these are being bound, when the process is killed."""
    jobs, size = 12, 3
    arena.node("n0", cpu=jobs * size)
    names = [f"job-{index:02}" for index in range(jobs)]
    wanted = sorted(f"{name}-worker-{member}" for name in names for member in range(size))
    with Auditor(server.client) as auditor:
        program = start(programs, server, log).ready()
        arena.apply(*(arena.job(name, arena.task(replicas=size), plugins={"svc": []}) for name in names))
        for part in (0, 1, 2):
            arena.wait(lambda part=part: len(arena.pods()) >= part * jobs, "pods to be made", SETTLED_S)  # type: ignore[misc]
            program.kill()
            program = start(programs, server, log).ready()
            auditor.excuse()
        arena.wait(lambda: sorted(arena.bound()) == wanted, "all pods to be bound", SETTLED_S)
        arena.play("Running")
        arena.wait(lambda: running(arena) == names, "all jobs to run", SETTLED_S)
        auditor.require_content()

    assert sorted(pod["metadata"]["name"] for pod in arena.pods()) == wanted
    assert len(arena.client.get(arena.groups)["items"]) == jobs
    statuses = [job["status"] for job in arena.client.get(arena.jobs)["items"]]
    assert [(each["running"], each.get("retryCount", 0)) for each in statuses] == [(size, 0)] * jobs


def running(arena: Arena) -> list[str]:
    """Jobs whose phase is Running and whose pods are counted."""
    return sorted(
        job["metadata"]["name"]
        for job in arena.client.get(arena.jobs)["items"]
        if job["status"]["state"]["phase"] == "Running" and job["status"].get("running") == 3
    )


def half_bind(arena: Arena, node: str) -> None:
    """A gang of four of which somebody bound two."""
    arena.group("half", MEMBERS, minResources={"cpu": str(MEMBERS)})
    for member in range(MEMBERS):
        arena.pod(f"half-{member}", "half")
    for member in range(2):
        arena.bind(f"half-{member}", node)


def test_a_half_bound_gang_is_completed_when_it_fits(
    server: ControlPlane, arena: Arena, programs: list[Program], log: Path
) -> None:
    node = arena.node("n0", cpu=4)
    half_bind(arena, node)
    before = {pod["metadata"]["uid"] for pod in arena.pods()}

    with Auditor(server.client) as auditor:
        start(programs, server, log).ready()
        arena.wait_bound(4, timeout_s=RECOVERED_S)
        auditor.require_content()

    assert {pod["metadata"]["uid"] for pod in arena.pods()} == before


def test_a_half_bound_gang_that_cannot_be_completed_is_taken_back_and_nothing_else(
    server: ControlPlane, arena: Arena, programs: list[Program], log: Path
) -> None:
    node = arena.node("n0", cpu=6)
    half_bind(arena, node)
    arena.group("whole", 2)
    for member in range(2):
        arena.pod(f"whole-{member}", "whole")
        arena.bind(f"whole-{member}", node)
    arena.pod("single", schedulerName="default-scheduler")
    arena.bind("single", node)
    others = {p["metadata"]["uid"] for p in arena.pods() if not p["metadata"]["name"].startswith("half")}

    with Auditor(server.client) as auditor:
        start(programs, server, log).ready()
        arena.wait(
            lambda: not any(name.startswith("half") for name in arena.bound()),
            "the half-bound gang to be taken back",
            RECOVERED_S,
        )
        arena.wait(lambda: not arena.reap(), "the evicted pods to go")
        auditor.require_content()

    left = arena.pods()
    assert others <= {pod["metadata"]["uid"] for pod in left}
    assert sorted(p["metadata"]["name"] for p in left) == ["half-2", "half-3", "single", "whole-0", "whole-1"]
    assert sorted(arena.bound()) == ["single", "whole-0", "whole-1"]
    evicted = [each for each in arena.events("half") if each[2] == "Evict"]
    assert {kind for kind, *_ in evicted} == {"Pod", "PodGroup"}
    assert all("cannot be completed" in message for *_, message in evicted)


def test_a_gang_that_was_whole_once_is_not_touched(
    server: ControlPlane, arena: Arena, programs: list[Program], log: Path
) -> None:
    """It lost pods since: that is no work of a crash."""
    node = arena.node("n0", cpu=2)
    half_bind(arena, node)
    arena.play("Running", ["half-0", "half-1"])
    ready = {"type": "Scheduled", "status": "True", "reason": "tasks in gang are ready to be scheduled"}
    arena.client.patch(f"{arena.groups}/half", {"status": {"phase": "Inqueue", "conditions": [ready]}})

    start(programs, server, log).ready()

    for _ in range(10):
        assert sorted(arena.bound()) == ["half-0", "half-1"]
        time.sleep(0.2)


def test_a_half_bound_gang_whose_pods_a_kubelet_started_is_taken_back_all_the_same(
    server: ControlPlane, arena: Arena, programs: list[Program], log: Path
) -> None:
    node = arena.node("n0", cpu=3)
    half_bind(arena, node)
    arena.play("Running", ["half-0", "half-1"])

    start(programs, server, log).ready()

    arena.wait(lambda: not arena.bound(), "the half-started gang to be taken back", RECOVERED_S)


def test_a_stopped_vcray_ends_at_once_and_its_successor_carries_on(
    server: ControlPlane, arena: Arena, programs: list[Program], log: Path
) -> None:
    arena.node("n0", cpu=4)
    first = start(programs, server, log).ready()
    arena.apply(arena.job("one", arena.task(replicas=2)))
    arena.wait_bound(2)

    assert first.stop() < 5
    arena.apply(arena.job("two", arena.task(replicas=2)))
    assert len(arena.bound()) == 2
    start(programs, server, log).ready()

    assert len(arena.wait_bound(4)) == 4


def test_of_two_control_planes_one_acts_and_the_other_takes_over(
    server: ControlPlane, arena: Arena, programs: list[Program], log: Path
) -> None:
    arena.node("n0", cpu=4)
    flags = ("--leader-elect", "--lease-namespace", arena.namespace)
    leader = start(programs, server, log, *flags).ready()
    follower = start(programs, server, log.with_name("second.log"), *flags)
    arena.apply(arena.job("one", arena.task(replicas=2)))
    arena.wait_bound(2)
    assert "vcray: running" not in follower.output()

    leader.stop()
    follower.ready()
    arena.apply(arena.job("two", arena.task(replicas=2)))

    assert len(arena.wait_bound(4)) == 4

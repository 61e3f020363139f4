"""The same recorded history leads to the same decisions, byte for byte, wherever the actors run and however many there are."""

from __future__ import annotations

import asyncio
import hashlib
import itertools
import json
import subprocess
import sys
from collections.abc import Callable, Sequence

import pytest

from tests.ray.cases import CASES, NUMBER, Case
from tests.ray.recorded import ROUNDS, Ask, Mute, Send, StandingTime, history, replay
from vcray.actors.messages import Message, PodChanges
from vcray.app import SCHEDULER, ControlPlane

LOCAL = [case for case in CASES if case.runtime == "local"]
ON_RAY = [case for case in CASES if case.runtime == "ray"]


async def local(case: Case) -> str:
    """The digest of the decisions in this process."""
    told = history(NUMBER)
    plane = ControlPlane(Mute(), case.settings(), told.conf, StandingTime(), manual=True, frames=True)
    await plane.start_component(SCHEDULER)
    try:
        return hashlib.sha256(b"".join(await replay(told, *ways_to(plane)))).hexdigest()
    finally:
        await plane.stop()


def ways_to(plane: ControlPlane) -> tuple[Send, Ask]:
    """How its parts are told and asked."""
    parts = {each.name: each for each in plane.handles()}

    async def send(part: str, messages: Sequence[Message]) -> None:
        for message in messages:
            await parts[part].send(message)

    async def ask(part: str, message: Message) -> Message | None:
        return await parts[part].ask(message)

    return send, ask


async def test_every_layout_in_one_process_decides_the_same() -> None:
    digests = {case.name: await local(case) for case in LOCAL}

    assert len(set(digests.values())) == 1, digests


def test_the_history_holds_decisions_worth_comparing() -> None:
    parts = history(NUMBER).parts

    changes = [
        change for part in parts for each in part if isinstance(each, PodChanges) for change in each.changes
    ]
    assert len(parts) == ROUNDS
    assert sum(bool(change.pod.spec.node_name) for change in changes) >= 10


@pytest.mark.ray
@pytest.mark.timeout(600)
async def test_every_layout_on_one_and_two_ray_nodes_decides_what_one_process_decides() -> None:
    expected = await local(LOCAL[0])

    done = await asyncio.to_thread(replayed_on_ray)

    assert done.returncode == 0, done.stderr[-5000:]
    found = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("[")]
    assert {name: digest for name, digest, _ in found} == {case.name: expected for case in ON_RAY}
    assert {name: processes for name, _, processes in found} == {case.name: hosts(case) for case in ON_RAY}


def replayed_on_ray() -> subprocess.CompletedProcess[str]:
    """Ray lives in a process of its own, so that none of it stays in this one."""
    command = [sys.executable, "-m", "tests.ray.replaying"]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=580)


def hosts(case: Case) -> int:
    """Processes that decide: all in one; binder and scheduler; with a process a pool beside them."""
    return {"small": 1, "standard": 2, "huge": 2 + case.pools}[case.layout]


VALUES: dict[str, Callable[[Case], object]] = {
    "runtime": lambda case: case.runtime,
    "layout": lambda case: case.layout,
    "pools": lambda case: case.pools,
    "scorers": lambda case: case.scorers,
    "nodes": lambda case: case.nodes,
}


def test_every_pair_of_values_that_can_meet_is_tried() -> None:
    scorers = {case.scorers for case in CASES if case.layout != "huge"}
    assert scorers == {1, 2, 4}
    for first, second in itertools.combinations(VALUES, 2):
        one, two = VALUES[first], VALUES[second]
        plain = [case for case in CASES if case.layout != "huge" or "scorers" not in (first, second)]
        tried = {(one(case), two(case)) for case in plain}
        wanted = set(itertools.product({one(case) for case in plain}, {two(case) for case in plain}))
        if (first, second) == ("runtime", "nodes"):
            wanted.discard(("local", 2))  # one process has no Ray nodes
        assert tried == wanted, (first, second, wanted - tried)

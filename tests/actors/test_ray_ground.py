"""What a Ray of our own stands on and leaves behind; nothing here starts Ray."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conformance.harness.base import wait_until
from tests.conformance.harness.process import free_port
from vcray.actors.ray_ground import (
    PREFIX,
    Ground,
    alive,
    family,
    found_address,
    kill_all,
    refusal,
    require_listener,
)
from vcray.errors import ServerError

PARENT = """
import subprocess, sys
child = subprocess.Popen([sys.executable, "-c", "import sys; print('up', flush=True); sys.stdin.read()"],
                         stdin=subprocess.PIPE, stdout=sys.stdout)
child.wait()
"""


@pytest.fixture
def parent() -> Iterator[subprocess.Popen[bytes]]:
    """A process with a child that waits."""
    with subprocess.Popen([sys.executable, "-c", PARENT], stdout=subprocess.PIPE) as made:
        assert made.stdout is not None
        assert made.stdout.readline() == b"up\n"
        yield made
        kill_all([made.pid])


def test_a_family_is_killed_to_the_last_member(parent: subprocess.Popen[bytes]) -> None:
    members = family(parent.pid)
    assert len(members) == 2

    kill_all([parent.pid])

    assert not any(map(alive, members))


def test_who_is_gone_has_no_family_and_killing_it_is_no_fault(parent: subprocess.Popen[bytes]) -> None:
    kill_all([parent.pid])

    assert family(parent.pid) == []
    kill_all([parent.pid])


def test_the_folder_goes_with_its_process_and_what_killed_ones_left_goes_too(
    monkeypatch: pytest.MonkeyPatch, parent: subprocess.Popen[bytes]
) -> None:
    base = Path(tempfile.mkdtemp(dir="/tmp"))
    monkeypatch.setattr(tempfile, "tempdir", str(base))
    kill_all([parent.pid])
    left, lives = base / f"{PREFIX}{parent.pid}-x", base / f"{PREFIX}{os.getpid()}-y"
    left.mkdir()
    lives.mkdir()

    ground = Ground()

    assert ground.folder.parent == base
    assert not left.exists()
    assert lives.exists()
    ground.remove()
    ground.remove()
    assert not ground.folder.exists()
    lives.rmdir()
    base.rmdir()


def test_only_the_agents_of_a_raylet_are_stood_in_for() -> None:
    ground = Ground()
    agents = ["--dashboard_agent_command=python agent.py", "--runtime_env_agent_command=python"]

    command = ground.without_agents(["raylet", *agents, "--x=1"])

    ground.remove()
    stand_in = ground.folder / "agent"
    assert command == [
        "raylet",
        f"--dashboard_agent_command={stand_in}",
        f"--runtime_env_agent_command={stand_in}",
        "--x=1",
    ]


@pytest.mark.parametrize("ends", ["parent", "folder"])
def test_a_stand_in_ends_with_its_parent_and_with_its_folder(ends: str) -> None:
    ground = Ground()
    stand_in = ground.folder / "agent"
    script = f"{stand_in} --extra & echo $!; wait"
    with subprocess.Popen(["/bin/sh", "-c", script], stdout=subprocess.PIPE) as shell:
        assert shell.stdout is not None
        pid = int(shell.stdout.readline())
        wait_until(lambda: len(family(pid)) == 2, "the stand-in to look after its parent")
        if ends == "folder":
            ground.remove()
        else:
            shell.kill()
            shell.wait()
        wait_until(lambda: not alive(pid), "the stand-in to end")
    ground.remove()


def test_auto_is_the_ray_cluster_in_which_we_run() -> None:
    inside = {"RAY_ADDRESS": "10.0.0.7:6379"}

    assert found_address("auto", inside) == "10.0.0.7:6379"
    assert found_address("1.2.3.4:5", inside) == "1.2.3.4:5"
    assert found_address(None, inside) is None
    with pytest.raises(ServerError, match="VC0605 --ray-address auto: RAY_ADDRESS is not set"):
        found_address("auto", {})


@pytest.mark.parametrize("address", ["nonsense", "host:", ":x", "127.0.0.1:0", "127.0.0.1:99999"])
def test_an_address_that_is_none_is_refused_in_a_sentence(address: str) -> None:
    with pytest.raises(ServerError, match=r"VC0605 --ray-address .*: must be HOST:PORT of a Ray head"):
        require_listener(address)


def test_an_address_where_nobody_listens_is_refused_at_once() -> None:
    with pytest.raises(ServerError, match=r"nothing answers there \(Connection refused\); check the address"):
        require_listener(f"127.0.0.1:{free_port()}")


async def test_a_head_that_took_connections_is_missed_once_it_is_gone() -> None:
    with socket.create_server(("127.0.0.1", 0)) as head:
        address = f"127.0.0.1:{head.getsockname()[1]}"
        require_listener(address)
        assert await refusal(address) == ""

    assert await refusal(address) == f"the head at {address}"

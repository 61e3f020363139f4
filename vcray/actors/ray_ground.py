"""What a Ray of our own stands on: a folder for its files, its processes, and stand-ins for two agents.

Every raylet starts a dashboard agent and a runtime-environment agent and ends when one of them does. Nobody here asks either,
and together they cost 190 MB and several seconds of a core at start, so a shell script that waits takes their places.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import signal
import socket
import tempfile
import threading
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final, TypeVar

from vcray.errors import Problem, ServerError

A = TypeVar("A", bound=str | None)

PREFIX: Final = "vcray-ray-"
AUTO: Final = "auto"
"""The Ray cluster that we are in."""
GONE_S: Final = 5.0
CONNECT_S: Final = 5.0
AGENTS: Final = ("--dashboard_agent_command=", "--runtime_env_agent_command=")

_STAND_IN = """#!/bin/sh
# Stands in for an agent of Ray; ends with its raylet, and with this file.
while kill -0 $PPID 2>/dev/null && [ -e "$0" ]; do sleep 1; done
"""


class Ground:
    """A folder of this process; `remove` takes it away, and with it what killed processes left of theirs."""

    def __init__(self) -> None:
        _remove_leftovers()
        self.folder = Path(tempfile.mkdtemp(prefix=f"{PREFIX}{os.getpid()}-", dir=_short_folder()))
        self._stand_in = self.folder / "agent"
        self._stand_in.write_text(_STAND_IN)
        self._stand_in.chmod(0o700)

    def without_agents(self, command: Sequence[str]) -> list[str]:
        """The command line of a raylet whose agents only wait."""
        changed = []
        for word in command:
            agent = next((each for each in AGENTS if word.startswith(each)), None)
            changed.append(word if agent is None else f"{agent}{self._stand_in}")
        return changed

    def remove(self) -> None:
        """Safe to call twice."""
        shutil.rmtree(self.folder, ignore_errors=True)


def kill_all(pids: Iterable[int]) -> None:
    """kill -9 processes and all their descendants, and wait until they are gone."""
    doomed = [each for pid in pids for each in family(pid)]
    for pid in doomed:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    deadline = time.monotonic() + GONE_S
    while any(map(alive, doomed)) and time.monotonic() < deadline:
        time.sleep(0.01)


def family(pid: int) -> list[int]:
    """A process that lives and all its descendants, itself first (descendants on Linux alone)."""
    found = [pid] if alive(pid) else []
    with contextlib.suppress(OSError):
        for thread in Path(f"/proc/{pid}/task").iterdir():
            for child in (thread / "children").read_text().split():
                found += family(int(child))
    return found


def alive(pid: int) -> bool:
    """Does it run? One that has ended and was not yet collected by its parent does not."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return not Path("/proc/self").exists() and _signalled(pid)
    except OSError:
        return False
    return state not in ("Z", "X")


def _signalled(pid: int) -> bool:
    """For systems without /proc."""
    try:
        os.kill(pid, 0)
    except OSError:
        return False
    return True


def _short_folder() -> str:
    """Sockets lie there, whose paths may have 107 bytes, so a deep folder for temporary files will not do."""
    folder = tempfile.gettempdir()
    return folder if len(folder) <= 20 else "/tmp"


def _remove_leftovers() -> None:
    for folder in Path(_short_folder()).glob(f"{PREFIX}*"):
        pid = folder.name.removeprefix(PREFIX).partition("-")[0]
        if pid.isdigit() and not alive(int(pid)):
            shutil.rmtree(folder, ignore_errors=True)


def take_signals_back() -> None:
    """Ray's library puts its own handlers under Python's; put Python's there again."""
    if threading.current_thread() is threading.main_thread():
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.getsignal(number))


def found_address(address: A, environment: Mapping[str, str]) -> A | str:
    """The address of the Ray to join; `auto` is the one in whose job or container we run. ServerError (VC0605) when there is none."""
    if address != AUTO:
        return address
    found = environment.get("RAY_ADDRESS", "")
    if not found:
        raise _no_ray(
            AUTO, "RAY_ADDRESS is not set, so this runs in no Ray cluster; name HOST:PORT of its head"
        )
    return found


def require_listener(address: str) -> None:
    """ServerError (VC0605) unless something listens at HOST:PORT; Ray itself would try for many minutes."""
    host, colon, port = address.rpartition(":")
    if not colon or not port.isdigit() or not 0 < int(port) < 65536:
        raise _no_ray(address, "must be HOST:PORT of a Ray head")
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=CONNECT_S).close()
    except OSError as error:
        raise _no_ray(
            address,
            f"nothing answers there ({error.strerror or error}); check the address, or leave it out and one is started",
        ) from error


async def refusal(address: str | None) -> str:
    """Why the head at an address we have joined is no more; empty while it takes connections, or is only slow."""
    host, _, port = (address or "").rpartition(":")
    try:
        async with asyncio.timeout(CONNECT_S):
            _, writer = await asyncio.open_connection(host.strip("[]"), int(port))
        writer.close()
    except ConnectionRefusedError:
        return f"the head at {address}"
    except (OSError, TimeoutError, ValueError):
        return ""
    return ""


def _no_ray(address: str, what: str) -> ServerError:
    return ServerError(Problem("VC0605", f"--ray-address {address}", what))

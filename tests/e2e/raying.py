"""`vcray run --runtime ray` as a process with others under it: which of them is which."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

from tests.conformance.harness.base import wait_until
from tests.e2e.program import Program

RAY = {"raylet": "raylet/raylet", "head": "gcs/gcs_server"}


class RayProgram(Program):
    """The driver, and the processes of its hosts and of its own Ray."""

    start_s = 120.0

    def __init__(self, kubeconfig: Path, log: Path, *flags: str | Path) -> None:
        super().__init__(kubeconfig, log, "--runtime", "ray", *flags)

    def hosts(self) -> dict[str, int]:
        """Host -> process number, as the driver last saw it."""
        prefix = 'vcray_host_process{host="'
        return {
            name.removeprefix(prefix).rstrip('"}'): int(value)
            for name, value in self.metrics().items()
            if name.startswith(prefix)
        }

    def openings(self, host: str) -> int:
        """How often a host was opened."""
        return int(self.metrics()[f'vcray_host_openings{{host="{host}"}}'])

    def pid(self, what: str) -> int:
        """The process of a host, of the `raylet`, of Ray's `head` or of the `driver`."""
        if what == "driver":
            return self._child.pid
        if what in RAY:
            return next(pid for pid in children(self._child.pid) if RAY[what] in command_of(pid))
        return self.hosts()[what]

    def family(self) -> list[int]:
        """The driver and all processes under it."""
        return [self._child.pid, *descendants(self._child.pid)]

    def kill_process(self, what: str) -> None:
        """kill -9 of one process."""
        os.kill(self.pid(what), signal.SIGKILL)


def children(pid: int) -> list[int]:
    """Processes that this one started and that still run."""
    found: list[int] = []
    for thread in Path(f"/proc/{pid}/task").glob("*/children"):
        found += [int(child) for child in thread.read_text().split()]
    return found


def descendants(pid: int) -> list[int]:
    """Children, their children, and so on."""
    return [each for child in children(pid) for each in (child, *descendants(child))]


def command_of(pid: int) -> str:
    """The command line of a process, empty when it has ended."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    except OSError:
        return ""


def wait_gone(pids: list[int], timeout_s: float = 15.0) -> None:
    """Until none of the processes runs any more."""
    wait_until(lambda: not [pid for pid in pids if command_of(pid)], f"processes {pids} to end", timeout_s)


def kill_together(pids: list[int]) -> None:
    """kill -9 of all of them, at the same moment as near as can be."""
    for pid in pids:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            continue
    time.sleep(0.01)

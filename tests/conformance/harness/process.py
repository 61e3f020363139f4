"""Child processes of the test harness: start, watch for an early death, stop, and keep the log.

A child asks the kernel to be ended when its parent dies, so that a killed test run leaves no server behind.
"""

from __future__ import annotations

import ctypes
import signal
import socket
import subprocess
from collections.abc import Sequence
from pathlib import Path

PR_SET_PDEATHSIG = 1  # <linux/prctl.h>
LOG_TAIL_LINES = 25


class ServerStartError(RuntimeError):
    """A program ended or was not ready in time; the text ends with the tail of its log."""


def free_port() -> int:
    """A TCP port of 127.0.0.1 that nothing listens on now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _die_with_parent() -> None:
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


class Child:
    """One running program whose output goes to a file."""

    def __init__(self, command: Sequence[str | Path], log: Path) -> None:
        """Start `command` at once; `log` is appended to, so a restart keeps what went before."""
        self.name = Path(command[0]).name
        self.log = log
        with log.open("ab") as output:
            self._process = subprocess.Popen(
                [str(word) for word in command],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                preexec_fn=_die_with_parent,
            )

    @property
    def pid(self) -> int:
        """The process id."""
        return self._process.pid

    @property
    def running(self) -> bool:
        """True until the program has ended."""
        return self._process.poll() is None

    def log_tail(self) -> str:
        """The last lines of the log."""
        return "\n".join(self.log.read_text(errors="replace").splitlines()[-LOG_TAIL_LINES:])

    def require_running(self) -> None:
        """Raise ServerStartError with the log's tail if the program has ended."""
        if not self.running:
            code = self._process.returncode
            raise ServerStartError(f"{self.name} ended with exit code {code}:\n{self.log_tail()}")

    def stop(self, grace_s: float = 5.0) -> None:
        """Ask the program to end, and end it by force after `grace_s` seconds. Safe to call twice."""
        if not self.running:
            return
        self._process.terminate()
        try:
            self._process.wait(grace_s)
        except subprocess.TimeoutExpired:
            self.kill()

    def kill(self) -> None:
        """End the program by SIGKILL, as a power cut would, and wait until it is gone. Safe to call twice."""
        self._process.kill()
        self._process.wait()

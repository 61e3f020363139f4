"""`vcray run` as a process of its own, as users run it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
import urllib.request
from collections.abc import Sequence
from pathlib import Path

from tests.conformance.harness.base import wait_until
from tests.conformance.harness.process import Child

READY = re.compile(r"^vcray: running against \S+ \(\S+\)(?:, metrics on port (\d+))?$", re.MULTILINE)
START_S = 60.0


def command(*arguments: str | Path) -> list[str]:
    """The command line of the program in this environment."""
    return [sys.executable, "-m", "vcray.cli.main", *(str(each) for each in arguments)]


def call(*arguments: str | Path, timeout_s: float = 60.0) -> subprocess.CompletedProcess[str]:
    """Run a command that is to end by itself."""
    return subprocess.run(
        command(*arguments),
        capture_output=True,
        text=True,
        check=False,
        timeout=timeout_s,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
    )


class Program:
    """`vcray run` against one server; it starts at once, `ready` waits until it says that it runs."""

    start_s = START_S

    def __init__(self, kubeconfig: Path, log: Path, *flags: str | Path) -> None:
        self._log = log
        self._offset = log.stat().st_size if log.exists() else 0
        arguments: Sequence[str | Path] = ("--kubeconfig", kubeconfig, "--metrics-port", "0", *flags)
        os.environ.setdefault("PYTHONUNBUFFERED", "1")
        self._child = Child(command("run", *arguments), log)
        self.metrics_port = 0

    def ready(self) -> Program:
        """Wait for the line that says so. Raises ServerStartError with the log's tail when the process ends."""

        def said() -> bool:
            self._child.require_running()
            found = READY.search(self.output())
            if found is not None:
                self.metrics_port = int(found[1] or 0)
            return found is not None

        wait_until(said, "vcray to run", self.start_s)
        return self

    @property
    def running(self) -> bool:
        """True until the process has ended."""
        return self._child.running

    def output(self) -> str:
        """All that this process has printed and logged."""
        with self._log.open("rb") as file:
            file.seek(self._offset)
            return file.read().decode(errors="replace")

    def metrics(self) -> dict[str, float]:
        """Every sample of /metrics: name with its labels -> value."""
        address = f"http://127.0.0.1:{self.metrics_port}/metrics"
        with urllib.request.urlopen(address, timeout=10) as answer:
            lines = answer.read().decode().splitlines()
        return {
            name: float(value)
            for name, _, value in (line.rpartition(" ") for line in lines if not line.startswith("#"))
        }

    def kill(self) -> None:
        """kill -9."""
        self._child.kill()

    def stop(self) -> float:
        """SIGTERM, then wait; the seconds that it took to end."""
        began = time.monotonic()
        self._child.stop(10)
        return time.monotonic() - began

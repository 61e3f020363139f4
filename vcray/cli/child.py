"""The control plane as a process of its own: started, watched, started again when it dies, stopped.

It is told to end when its parent dies, however that happens, and it does not hear the terminal's Ctrl-C: its parent stops
it in its turn.
"""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import os
import re
import signal
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from vcray.errors import CODES, ConfigError, Problem, ServerError, VcrayError

START_S = 180.0
STOP_S = 40.0
FIRST_DELAY_S = 0.5
LONGEST_DELAY_S = 30.0
STEADY_S = 60.0
"""A child that has run for so long and dies is started again at once: its fault is a new one."""

_READY = re.compile(r"^vcray: running against ")
_SENTENCE = re.compile(r"^(VC\d{4}) (.+)$")
_PR_SET_PDEATHSIG = 1  # <linux/prctl.h>


class Child:
    """One command that begins with a line on its input and prints one when it is ready. `log` takes all else that it says; `tell` hears of its deaths."""

    def __init__(
        self,
        command: Sequence[str],
        log: Path,
        tell: Callable[[str], None],
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self._command = tuple(command)
        self._log = log
        self._tell = tell
        self._environment = {**os.environ, **(environment or {}), "PYTHONUNBUFFERED": "1"}
        self._process: asyncio.subprocess.Process | None = None
        self._offset = 0
        self._reading: asyncio.Task[None] | None = None

    @property
    def pid(self) -> int:
        """The process id; 0 when it does not run."""
        return self._process.pid if self._process is not None and self._process.returncode is None else 0

    async def prepare(self) -> None:
        """Start the process, which loads its modules and then waits for `start`."""
        self._offset = self._log.stat().st_size if self._log.exists() else 0
        with self._log.open("ab") as log:
            self._process = await asyncio.create_subprocess_exec(
                *self._command,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=log,
                env=self._environment,
                start_new_session=True,
                preexec_fn=_end_with_parent if sys.platform == "linux" else None,
            )

    async def start(self) -> str:
        """Let it begin and wait for its ready line, which is returned. When it ends first: its own sentences as ConfigError if it
        refused its input, else as ServerError."""
        if not self.pid:
            await self.prepare()
        assert self._process is not None
        assert self._process.stdin is not None
        with contextlib.suppress(ConnectionError):
            self._process.stdin.write(b"begin\n")
            await self._process.stdin.drain()
        assert self._process.stdout is not None
        try:
            async with asyncio.timeout(START_S):
                line = await self._ready_line(self._process.stdout)
        except TimeoutError:
            await self.stop()
            raise self._failed(f"was not ready within {START_S:.0f} s", ServerError) from None
        self._reading = asyncio.create_task(self._drain(self._process.stdout), name="control plane's output")
        return line

    async def _ready_line(self, output: asyncio.StreamReader) -> str:
        while received := await output.readline():
            line = received.decode(errors="replace").rstrip("\n")
            if _READY.match(line):
                return line
            self._note(line)
        code = await self._ended()
        kind = ConfigError if code == ConfigError.exit_code else ServerError
        raise self._failed(_how(code), kind)

    async def _drain(self, output: asyncio.StreamReader) -> None:
        while line := await output.readline():
            self._note(line.decode(errors="replace").rstrip("\n"))

    def _note(self, line: str) -> None:
        with contextlib.suppress(OSError), self._log.open("a", encoding="utf-8") as log:
            log.write(line + "\n")

    def _failed(self, what: str, kind: type[VcrayError]) -> VcrayError:
        """Its own sentences if it said any, else what became of it and the last line of its log."""
        said = self._said()
        problems = _last_sentences(said)
        if problems:
            return kind(problems)
        last = f"; it said: {said[-1]}" if said else ""
        return ServerError(Problem("VC0604", "control plane", what + last))

    def _said(self) -> list[str]:
        with contextlib.suppress(OSError), self._log.open("rb") as log:
            log.seek(self._offset)
            return [line for line in log.read().decode(errors="replace").splitlines() if line.strip()]
        return []

    async def keep(self) -> None:
        """Start it again, ever more slowly, whenever it dies; runs until it is cancelled."""
        loop, delay, began = asyncio.get_running_loop(), FIRST_DELAY_S, asyncio.get_running_loop().time()
        while True:
            code = await self._ended()
            if loop.time() - began > STEADY_S:
                delay = FIRST_DELAY_S
            self._tell(f"the control plane {_how(code)}; it starts again in {delay:g} s")
            await asyncio.sleep(delay)
            delay, began = min(LONGEST_DELAY_S, delay * 2), loop.time()
            try:
                await self.start()
                self._tell("the control plane runs again")
            except VcrayError as error:
                self._tell(str(error))

    async def _ended(self) -> int:
        assert self._process is not None
        code = await self._process.wait()
        self._end_group()
        return code

    def _end_group(self) -> None:
        """End what the process left behind: it leads a session of its own."""
        if self._process is not None:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, signal.SIGKILL)

    async def stop(self) -> None:
        """SIGTERM, and SIGKILL after a while. Safe to call twice, and before `start`."""
        if self._process is None:
            return
        if self._process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                self._process.terminate()
            try:
                async with asyncio.timeout(STOP_S):
                    await self._process.wait()
            except TimeoutError:
                self._end_group()
                await self._process.wait()
        self._end_group()
        if self._reading is not None:
            await self._reading
            self._reading = None


def _how(code: int) -> str:
    """How a process ended."""
    return f"ended with exit code {code}" if code >= 0 else f"was ended by signal {-code}"


def _last_sentences(lines: Sequence[str]) -> list[Problem]:
    """The sentences with codes that stand together last."""
    found: list[Problem] = []
    for line in reversed(lines):
        sentence = _SENTENCE.match(line)
        if sentence is not None and sentence[1] in CODES:
            found.append(Problem(sentence[1], "", sentence[2]))
        elif found:
            break
    return found[::-1]


def _end_with_parent() -> None:
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)

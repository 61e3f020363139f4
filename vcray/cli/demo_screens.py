"""Where the demo's audience looks: a live table on a terminal, a line for each change elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Protocol, TextIO


@dataclass(frozen=True, slots=True)
class Check:
    """A claim, whether it held, and what was found."""

    claim: str
    ok: bool
    found: str = ""


@dataclass(frozen=True, slots=True)
class Row:
    """One gang as it stands: a vcjob or a PodGroup of plain pods. `bound` counts the running ones too, `done` neither."""

    name: str
    queue: str
    phase: str
    running: int
    bound: int
    done: int
    pods: int


class Screen(Protocol):
    """Where the audience looks."""

    def say(self, text: str) -> None:
        """A sentence that stays."""

    def show(self, rows: Sequence[Row], seconds: float) -> None:
        """The cluster as it stands, so long after the beginning."""

    def judge(self, check: Check) -> None:
        """A check and its outcome."""


class PlainScreen(AbstractContextManager[Screen]):
    """One line a change, for pipes and logs."""

    def __init__(self, out: TextIO) -> None:
        self._out = out
        self._last: dict[str, Row] = {}

    def __enter__(self) -> Screen:
        return self

    def __exit__(self, *_: object) -> None:
        return None

    def say(self, text: str) -> None:
        print(text, file=self._out, flush=True)

    def show(self, rows: Sequence[Row], seconds: float) -> None:
        for row in rows:
            if self._last.get(row.name) != row:
                self._last[row.name] = row
                counts = f"{row.bound} of {row.pods} pods bound, {row.running} running"
                counts += f", {row.done} done" if row.done else ""
                print(
                    f"  {seconds:5.1f} s  {row.name:<15} {row.phase:<10} {counts}", file=self._out, flush=True
                )

    def judge(self, check: Check) -> None:
        outcome = "ok" if check.ok else "FAILED"
        print(f"  {outcome:<6} {check.claim}{_found(check)}", file=self._out, flush=True)


class LiveScreen(AbstractContextManager[Screen]):
    """A table of all gangs that changes in place, sentences scrolling above it."""

    def __init__(self, out: TextIO) -> None:
        from rich.console import Console
        from rich.live import Live

        self._live = Live(console=Console(file=out), auto_refresh=False, transient=True)

    def __enter__(self) -> Screen:
        self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._live.stop()

    def say(self, text: str) -> None:
        self._print(text, "bold")

    def show(self, rows: Sequence[Row], seconds: float) -> None:
        from rich.table import Table

        table = Table("GANG", "QUEUE", "PHASE", "PODS", "RUNNING", box=None, padding=(0, 3, 0, 0))
        for row in rows:
            waiting = row.pods - row.bound - row.done
            bar = "█" * row.running + "▒" * (row.bound - row.running) + "·" * waiting + "✓" * row.done
            table.add_row(row.name, row.queue, row.phase, bar, f"{row.running} of {row.pods}")
        table.caption = f"{seconds:.1f} s: █ running  ▒ bound  · waiting  ✓ done"
        self._live.update(table, refresh=True)

    def judge(self, check: Check) -> None:
        style, mark = ("green", "✓") if check.ok else ("bold red", "✗")
        self._print(f"  {mark} {check.claim}{_found(check)}", style)

    def _print(self, text: str, style: str) -> None:
        from rich.text import Text

        self._live.console.print(Text(text, style))


def _found(check: Check) -> str:
    return f" ({check.found})" if check.found else ""


def screen_for(out: TextIO) -> AbstractContextManager[Screen]:
    """A live screen on a terminal, plain lines elsewhere."""
    return LiveScreen(out) if out.isatty() else PlainScreen(out)

"""What the demo's scenes are played on: a cluster, cycles with somebody watching, and checks that read the API."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, TextIO

from vcray.api.jsonview import dig_objects, dig_str
from vcray.api.meta import JsonObject
from vcray.api.resources import resource_for
from vcray.cli.manifests import read_objects
from vcray.errors import InputError, Problem
from vcray.sim.observed import Observed, observe
from vcray.sim.world import World

CYCLES = 12
"""Cycles after which something that has not come true will not."""


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

    def show(self, rows: Sequence[Row], cycle: int) -> None:
        """The cluster after a cycle."""

    def judge(self, check: Check) -> None:
        """A check and its outcome."""


class Stage:
    """One cluster, its audience and the checks so far."""

    def __init__(self, world: World, screen: Screen, examples: Path, pace_s: float) -> None:
        self.world = world
        self.screen = screen
        self.checks: list[Check] = []
        self.cycles = 0
        self._examples = examples
        self._pace_s = pace_s

    async def submit(self, file: str) -> None:
        """Create every object of an example, in the default namespace."""
        self.screen.say(f"submitting examples/{file}")
        for obj in read_objects(self._examples / file):
            try:
                resource = resource_for(str(obj["apiVersion"]), str(obj["kind"]))
            except KeyError as error:
                what = f"unknown kind {obj['kind']}"
                raise InputError(Problem("VC0202", file, what)) from error
            await self.world.client.create(resource, "default" if resource.namespaced else None, obj)
        await self.world.rest()

    async def cycle(self) -> Observed:
        """One scheduling round and what a client sees after it."""
        await self.world.cycle()
        self.cycles += 1
        seen = await self.look()
        self.screen.show(list(rows_of(seen)), self.cycles)
        if self._pace_s:
            await asyncio.sleep(self._pace_s)
        return seen

    async def until(self, true: Callable[[Observed], bool], cycles: int = CYCLES) -> Observed:
        """Cycles until something is true, or no more of them than given."""
        seen = await self.cycle()
        for _ in range(cycles - 1):
            if true(seen):
                break
            seen = await self.cycle()
        return seen

    async def finish(self, selector: str) -> None:
        """Let the containers of running pods end well."""
        for pod in (await self.look()).select(selector):
            if dig_str(pod, "status", "phase") == "Running":
                metadata = pod["metadata"]
                await self.world.finish(dig_str(metadata, "namespace"), dig_str(metadata, "name"), 0)

    async def look(self) -> Observed:
        """Everything as the API tells it now."""
        return await observe(self.world.client, ())

    def check(self, claim: str, ok: bool, found: object = "") -> None:
        """Note a claim and whether it holds."""
        made = Check(claim, ok, str(found))
        self.checks.append(made)
        self.screen.judge(made)


def job_phase(seen: Observed, name: str) -> str:
    """The phase of a vcjob; empty when there is no such job."""
    return next((dig_str(job, "status", "state", "phase") for job in seen.jobs if _name(job) == name), "")


def bound(seen: Observed, selector: str) -> int:
    """Pods that have a node and have not ended."""
    return sum(bool(dig_str(pod, "spec", "nodeName")) and not _ended(pod) for pod in seen.select(selector))


def running(seen: Observed, selector: str) -> int:
    """Pods that run."""
    return sum(dig_str(pod, "status", "phase") == "Running" for pod in seen.select(selector))


def _ended(pod: JsonObject) -> bool:
    return dig_str(pod, "status", "phase") in ("Succeeded", "Failed")


def rows_of(seen: Observed) -> Iterator[Row]:
    """All vcjobs, then all PodGroups that belong to none."""
    for job in seen.jobs:
        queue = dig_str(job, "spec", "queue")
        yield _row(seen, _name(job), queue, job_phase(seen, _name(job)) or "Pending")
    for group in seen.groups:
        if not dig_objects(group, "metadata", "ownerReferences"):
            queue = dig_str(group, "spec", "queue")
            yield _row(seen, _name(group), queue, dig_str(group, "status", "phase") or "Pending")


def _row(seen: Observed, name: str, queue: str, phase: str) -> Row:
    pods = seen.select(name)
    done = sum(map(_ended, pods))
    return Row(name, queue, phase, running(seen, name), bound(seen, name), done, len(pods))


def _name(obj: JsonObject) -> str:
    return dig_str(obj, "metadata", "name")


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

    def show(self, rows: Sequence[Row], cycle: int) -> None:
        for row in rows:
            if self._last.get(row.name) != row:
                self._last[row.name] = row
                counts = f"{row.bound} of {row.pods} pods bound, {row.running} running"
                counts += f", {row.done} done" if row.done else ""
                print(
                    f"  round {cycle:<3} {row.name:<15} {row.phase:<10} {counts}", file=self._out, flush=True
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

    def show(self, rows: Sequence[Row], cycle: int) -> None:
        from rich.table import Table

        table = Table("GANG", "QUEUE", "PHASE", "PODS", "RUNNING", box=None, padding=(0, 3, 0, 0))
        for row in rows:
            waiting = row.pods - row.bound - row.done
            bar = "█" * row.running + "▒" * (row.bound - row.running) + "·" * waiting + "✓" * row.done
            table.add_row(row.name, row.queue, row.phase, bar, f"{row.running} of {row.pods}")
        table.caption = f"round {cycle}: █ running  ▒ bound  · waiting  ✓ done"
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

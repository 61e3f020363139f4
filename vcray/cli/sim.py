"""`vcray sim`: scenario files, run and judged."""

from __future__ import annotations

import os
import sys
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from vcray.cli.progress import Told, each_told

if TYPE_CHECKING:
    from vcray.api.meta import JsonObject, JsonValue
    from vcray.sim.backend import Backend
    from vcray.sim.runner import Result
    from vcray.sim.scenario import Scenario


@dataclass(frozen=True, slots=True)
class Outcome:
    """All runs of one scenario of one file."""

    file: str
    name: str
    runs: Sequence[Result]

    @property
    def ok(self) -> bool:
        """Did everything hold in every run?"""
        return all(run.ok for run in self.runs)


@click.command("sim")
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="FILE...")
@click.option(
    "-o",
    "--output",
    type=click.Choice(["table", "json", "yaml"]),
    default="table",
    help="Form of the answer.",
)
@click.option(
    "--backend",
    type=click.Choice(["in-process", "embedded", "kubeconfig"]),
    default="in-process",
    show_default=True,
    help="The cluster to run on: objects in this process, our API server over HTTPS, or any server.",
)
@click.option(
    "--kubeconfig",
    type=click.Path(path_type=Path),
    help="The server of --backend kubeconfig; it must hold Volcano's definitions and nothing that scenarios count.",
)
@click.option(
    "--repeat",
    type=click.IntRange(1, 1000),
    help="Runs of each scenario, each with another order of events; by default what the file says, on a server 1.",
)
@click.option(
    "--plugins-dir",
    type=click.Path(path_type=Path),
    help="Folder with plugins and actions of your own, as for `vcray run`.",
)
@click.option("--on-ray", is_flag=True, help="Run them side by side as Ray tasks; not with --backend.")
@click.option("--ray-address", help="The Ray cluster of --on-ray; without it one is started.")
@click.option("-v", "--verbose", is_flag=True, help="Print every run, not only every scenario.")
def command(
    files: tuple[Path, ...],
    output: str,
    backend: str,
    kubeconfig: Path | None,
    repeat: int | None,
    plugins_dir: Path | None,
    on_ray: bool,
    ray_address: str | None,
    verbose: bool,
) -> int:
    """Run scenario FILEs, and the *.yaml files of folders, on a simulated cluster.

    Exit code 0 when every expectation holds, 1 when one does not, 2 when a file cannot be used. docs/scenarios.md
    tells what a scenario file may say.

    \b
    Examples:
      vcray sim tests/scenarios
      vcray sim --repeat 20 -o json tests/scenarios
      vcray sim --backend embedded tests/scenarios
      vcray sim --on-ray --repeat 20 tests/scenarios
    """
    import asyncio

    from vcray.errors import InputError, Problem
    from vcray.sim.reading import load

    folder: JsonObject = {} if plugins_dir is None else {"plugins_dir": str(plugins_dir)}
    scenarios = [
        (file, each.model_copy(update={"settings": {**folder, **each.settings}}))
        for file in _expanded(files)
        for each in load(file)
    ]
    _check_configurations(scenarios)
    if on_ray and backend != "in-process":
        raise InputError(Problem("VC0502", "--on-ray", "goes with --backend in-process alone"))
    with each_told(len(scenarios)) as tell:
        if on_ray:
            outcomes = _sweep(scenarios, repeat, ray_address, tell)
        else:
            outcomes = asyncio.run(_run_all(scenarios, backend, kubeconfig, repeat, tell))
    _print(outcomes, output, verbose)
    return 0 if all(each.ok for each in outcomes) else 1


def _expanded(files: Sequence[Path]) -> list[Path]:
    from vcray.errors import InputError, Problem

    found: list[Path] = []
    for file in files:
        inside = sorted(file.glob("*.yaml")) if file.is_dir() else [file]
        if not inside:
            raise InputError(Problem("VC0503", str(file), "the folder holds no .yaml file"))
        found += inside
    return found


def _check_configurations(scenarios: Sequence[tuple[Path, Scenario]]) -> None:
    """Refuse configurations that cannot be used before anything runs; say on standard error what of others is skipped."""
    from vcray.actors.policies import policy_from
    from vcray.errors import ConfigError, InputError, Problem
    from vcray.registry import discover

    refused: list[Problem] = []
    for file, scenario in scenarios:
        where = f"{file}: {scenario.name}: config"
        folder = scenario.settings.get("plugins_dir")
        try:
            registry = discover(folder=Path(str(folder)) if folder else None)
            policy = policy_from(scenario.scheduler_conf, registry)
        except ConfigError as error:
            refused += [Problem(each.code, f"{where}.{each.where}", each.what) for each in error.problems]
            continue
        for each in policy.problems:
            click.echo(Problem(each.code, f"{where}.{each.where}", each.what), err=True)
    if refused:
        raise InputError(refused)


async def _run_all(
    scenarios: Sequence[tuple[Path, Scenario]],
    backend: str,
    kubeconfig: Path | None,
    repeat: int | None,
    tell: Told,
) -> list[Outcome]:
    from vcray.log import configure
    from vcray.sim.runner import run_scenario

    configure("ERROR")
    outcomes = []
    async with _worlds(backend, kubeconfig) as world:
        for file, scenario in scenarios:
            tell(scenario.name)
            times = repeat or (None if backend == "in-process" else 1)
            outcomes.append(Outcome(str(file), scenario.name, await run_scenario(scenario, world, times)))
    return outcomes


def _sweep(
    scenarios: Sequence[tuple[Path, Scenario]], repeat: int | None, address: str | None, tell: Told
) -> list[Outcome]:
    """Each scenario as a task of its own: runs are independent and in virtual time, so where they run changes nothing."""
    from vcray.actors.ray_ground import found_address
    from vcray.actors.ray_runtime import sweep

    outcomes = []
    address = found_address(address, os.environ)
    for outcome in sweep(_trial, [(file, each, repeat) for file, each in scenarios], address):
        tell(outcome.name)
        outcomes.append(outcome)
    return outcomes


def _trial(told: tuple[Path, Scenario, int | None]) -> Outcome:
    """All runs of one scenario, in whatever process this is."""
    import asyncio

    file, scenario, repeat = told
    (outcome,) = asyncio.run(_run_all([(file, scenario)], "in-process", None, repeat, lambda name: None))
    return outcome


@asynccontextmanager
async def _worlds(backend: str, kubeconfig: Path | None) -> AsyncIterator[Callable[[int], Backend]]:
    """What makes a cluster for each run; one server serves all."""
    from vcray.app import in_process, on_server

    if backend == "in-process":
        yield in_process
        return
    from vcray.cli.simservers import connected, embedded

    async with embedded() if backend == "embedded" else connected(kubeconfig) as transport:
        yield on_server(transport)


def _print(outcomes: Sequence[Outcome], output: str, verbose: bool) -> None:
    from vcray.cli.output import print_data, print_table
    from vcray.errors import CODES

    if output != "table":
        print_data([_data(each) for each in outcomes], output, sys.stdout)
        return
    rows = []
    for outcome in outcomes:
        cycles = sum(run.cycles for run in outcome.runs)
        rows.append([outcome.name, str(len(outcome.runs)), str(cycles), "holds" if outcome.ok else "fails"])
        if verbose:
            rows += [
                [f"  order {run.order}", "", str(run.cycles), "holds" if run.ok else "fails"]
                for run in outcome.runs
            ]
    print_table(["scenario", "runs", "cycles", "result"], rows, sys.stdout)
    for outcome in outcomes:
        for run in outcome.runs:
            for sentence in run.failures:
                code, _, rest = sentence.partition(" ")
                code, rest = (code, rest) if code in CODES else ("VC0304", sentence)
                click.echo(f"{code} {outcome.file}: {outcome.name}, order {run.order}: {rest}", err=True)


def _data(outcome: Outcome) -> JsonValue:
    return {
        "file": outcome.file,
        "name": outcome.name,
        "ok": outcome.ok,
        "runs": [
            {
                "order": run.order,
                "ok": run.ok,
                "cycles": run.cycles,
                "evicted": [pod for pod, _ in run.evicted],
                "failures": list(run.failures),
            }
            for run in outcome.runs
        ],
    }

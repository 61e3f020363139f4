"""`vcray check`: a scheduler configuration, read as the scheduler would read it, and users' plugins, held to their laws."""

from __future__ import annotations

import contextlib
import signal
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from threading import current_thread, main_thread
from time import perf_counter
from types import FrameType
from typing import TYPE_CHECKING

import click
from yaml import YAMLError

if TYPE_CHECKING:
    from vcray.api.meta import JsonObject
    from vcray.config.scheduler import SchedulerConfig
    from vcray.errors import Problem
    from vcray.registry import Registry


IMPORT_S = 20.0
"""How long a plugin's file may take to be imported."""

HOOK_S = 5.0
"""How long one call of a plugin's hook may take."""


@dataclass(frozen=True, slots=True)
class Report:
    """What a configuration came to. `config` is None when it would be refused; `lines`: place -> line of the text."""

    config: SchedulerConfig | None
    problems: list[Problem] = field(default_factory=list)
    warnings: list[Problem] = field(default_factory=list)
    lines: dict[str, int] = field(default_factory=dict)


@click.command("check")
@click.argument("conf", type=click.Path(path_type=Path), required=False)
@click.option(
    "-v", "--verbose", is_flag=True, help="Also print the actions, tiers and plugins that were read."
)
@click.option(
    "-o",
    "--output",
    type=click.Choice(["text", "table", "json", "yaml"]),
    default="text",
    help="Form of the answer.",
)
@click.option("--strict", is_flag=True, help="Let warnings fail the check too.")
@click.option(
    "--plugins-dir",
    type=click.Path(path_type=Path),
    help="Folder with plugins and actions of your own, as for `vcray run`.",
)
@click.option(
    "--plugin",
    "plugins",
    type=click.Path(path_type=Path),
    multiple=True,
    help="Hold a plugin of your own (a file or a package's folder) to the laws of plugins; may be repeated.",
)
def command(
    conf: Path | None,
    verbose: bool,
    output: str,
    strict: bool,
    plugins_dir: Path | None,
    plugins: tuple[Path, ...],
) -> int:
    """Say what is wrong with a volcano-scheduler.conf, one problem a line; exit code 1 when there is any.

    Problems VC0106, VC0107, VC0108 and VC0111 are skipped by `vcray run`, unless it is --strict; the others are refused,
    and the last good configuration stays in force. Warnings VC0112 to VC0117 tell what is read, but hardly as it was meant.

    \b
    Examples:
      vcray check volcano-scheduler.conf
      vcray check -v -o json volcano-scheduler.conf
      vcray check --plugin mine.py
    """
    if conf is None and not plugins:
        raise click.UsageError("name a volcano-scheduler.conf, or a plugin with --plugin")
    breaches = [problem for file in plugins for problem in _breaches(file)]
    report = Report(None) if conf is None else examined(_read(conf), _registry(plugins_dir))
    report = replace(report, problems=[*report.problems, *breaches])
    if output in ("json", "yaml"):
        from vcray.cli.output import print_data

        print_data(_data(report), output, sys.stdout)
    else:
        checked_things = [str(each) for each in (conf, *plugins) if each is not None]
        _print(report, output == "table", verbose, checked_things)
    return 1 if report.problems or (strict and report.warnings) else 0


def examined(text: str, registry: Registry | None = None) -> Report:
    """What is wrong with a configuration, and what is hardly meant: all of it together, even when it would be refused."""
    from vcray.config.document import lines
    from vcray.config.scheduler import is_refused, read_scheduler_config
    from vcray.core.policy import build_policy
    from vcray.foresight.lint import lint
    from vcray.registry import ACTIONS, discover

    registry = registry or discover()
    config, problems = read_scheduler_config(text, registry.names(ACTIONS))
    if config is None:
        return Report(None, problems, lines=lines(text))
    sound, faults = _sound(config, registry)
    policy = build_policy(sound, registry)
    problems = [*faults, *policy.problems]
    warnings = lint(sound, policy, actions_known=sound.actions == config.actions != ())
    known = None if is_refused(problems) else _known(config, registry)
    return Report(known, problems, warnings, lines(text))


def _sound(config: SchedulerConfig, registry: Registry) -> tuple[SchedulerConfig, list[Problem]]:
    """Without the actions and plugins that cannot be made, and what is wrong with these; unknown actions are told already."""
    from vcray.core.policy import build_policy
    from vcray.errors import ConfigError
    from vcray.registry import ACTIONS

    faults: list[Problem] = []

    def can_be_made(part: SchedulerConfig) -> bool:
        try:
            build_policy(replace(part, problems=()), registry)
        except ConfigError as error:
            faults.extend(error.problems)
            return False
        return True

    known = registry.names(ACTIONS)
    actions = [
        name
        for name in config.actions
        if name in known and can_be_made(replace(config, actions=(name,), tiers=()))
    ]
    tiers = [
        tuple(each for each in tier if can_be_made(replace(config, actions=(), tiers=((each,),))))
        for tier in config.tiers
    ]
    return replace(config, actions=tuple(actions), tiers=tuple(tiers)), list(dict.fromkeys(faults))


def _registry(plugins_dir: Path | None) -> Registry:
    from vcray.registry import discover

    return discover(folder=plugins_dir)


def _breaches(file: Path) -> list[Problem]:
    from vcray.actors.watchdog import Watchdog
    from vcray.core.fence import Fence
    from vcray.foresight.trial import breaches

    with _interrupts() as interrupted:
        return breaches(file, Fence(perf_counter, HOOK_S, Watchdog()), IMPORT_S, interrupted)


@contextlib.contextmanager
def _interrupts() -> Iterator[Callable[[], bool]]:
    """Has the user interrupted us? A KeyboardInterrupt may come from a plugin too."""
    signals: list[int] = []

    def note(number: int, frame: FrameType | None) -> None:
        signals.append(number)
        signal.default_int_handler(number, frame)

    if current_thread() is not main_thread():  # only that one hears of signals
        yield lambda: False
        return
    before = signal.signal(signal.SIGINT, note)
    try:
        yield lambda: bool(signals)
    finally:
        signal.signal(signal.SIGINT, before)


def _known(config: SchedulerConfig, registry: Registry) -> SchedulerConfig:
    """Without the plugins that would be skipped."""
    from vcray.registry import PLUGINS

    known = registry.names(PLUGINS)
    return replace(
        config, tiers=tuple(tuple(each for each in tier if each.name in known) for tier in config.tiers)
    )


def _read(conf: Path) -> str:
    """The text of a configuration; a manifest of a ConfigMap that holds one stands for it."""
    from vcray.config.document import parse
    from vcray.config.language import CONF_KEY, conf_in
    from vcray.errors import InputError, Problem

    try:
        text = conf.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise InputError(Problem("VC0503", str(conf), f"cannot be read: {reason}")) from error
    with contextlib.suppress(ValueError, YAMLError):
        document, _ = parse(text)
        if isinstance(document, dict) and document.get("kind") == "ConfigMap":
            data = document.get("data")
            inner = conf_in(data) if isinstance(data, dict) else None
            if inner is None:
                raise InputError(
                    Problem("VC0503", str(conf), f"cannot be read: the ConfigMap has no key {CONF_KEY}")
                )
            return inner
    return text


def _print(report: Report, as_table: bool, verbose: bool, checked_things: list[str]) -> None:
    from vcray.cli.output import print_table

    if as_table:
        rows = [
            [severity, each.code, str(_line(report, each) or ""), each.where, each.what]
            for severity, found in (("error", report.problems), ("warning", report.warnings))
            for each in found
        ]
        if rows:
            print_table(["severity", "code", "line", "place", "problem"], rows, sys.stdout)
    else:
        for problem in report.problems:
            click.echo(problem)
        for problem in report.warnings:
            click.echo(f"warning {problem}")
    if verbose and report.config is not None:
        _print_config(report.config)
    if not report.problems:
        count = len(report.warnings)
        few = f", {count} warning{'s' if count > 1 else ''}" if count else ""
        click.echo(f"{', '.join(checked_things)}: no problems found{few}")


def _line(report: Report, problem: Problem) -> int | None:
    from vcray.config.document import line_of

    return line_of(problem.where, report.lines)


def _print_config(config: SchedulerConfig) -> None:
    from vcray.cli.output import print_table

    click.echo(f"actions: {', '.join(config.actions)}")
    rows = []
    for position, tier in enumerate(config.tiers):
        for plugin in tier:
            settings = [f"{key}: {str(value).lower()}" for key, value in plugin.flags.items()]
            settings += [f"{key}: {value}" for key, value in plugin.arguments.items()]
            rows.append([str(position), plugin.name, ", ".join(settings) or "defaults"])
    if rows:
        print_table(["tier", "plugin", "settings"], rows, sys.stdout)


def _data(report: Report) -> JsonObject:
    def told(problem: Problem) -> JsonObject:
        data: JsonObject = {"code": problem.code, "where": problem.where, "what": problem.what}
        line = _line(report, problem)
        return data if line is None else {**data, "line": line}

    found: JsonObject = {
        "valid": not report.problems,
        "problems": [told(each) for each in report.problems],
        "warnings": [told(each) for each in report.warnings],
    }
    if report.config is not None:
        found["actions"] = list(report.config.actions)
        found["tiers"] = [
            [
                {"name": each.name, "flags": dict(each.flags), "arguments": dict(each.arguments)}
                for each in tier
            ]
            for tier in report.config.tiers
        ]
    return found

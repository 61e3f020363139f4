"""`vcray check`: a scheduler configuration, read as the scheduler would read it."""

from __future__ import annotations

import contextlib
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from vcray.api.meta import JsonObject
    from vcray.config.scheduler import SchedulerConfig
    from vcray.errors import Problem
    from vcray.registry import Registry


@click.command("check")
@click.argument("conf", type=click.Path(path_type=Path))
@click.option(
    "-v", "--verbose", is_flag=True, help="Also print the actions, tiers and plugins that were read."
)
@click.option(
    "-o", "--output", type=click.Choice(["text", "json", "yaml"]), default="text", help="Form of the answer."
)
def command(conf: Path, verbose: bool, output: str) -> int:
    """Say what is wrong with a volcano-scheduler.conf, one problem a line; exit code 1 when there is any.

    Problems VC0106, VC0107, VC0108 and VC0111 are skipped by `vcray run`, unless it is --strict; the others are refused,
    and the last good configuration stays in force.

    \b
    Examples:
      vcray check volcano-scheduler.conf
      vcray check -v -o json volcano-scheduler.conf
    """
    config, problems = checked(_read(conf))
    if output != "text":
        from vcray.cli.output import print_data

        print_data(_data(config, problems), output, sys.stdout)
    else:
        for problem in problems:
            click.echo(problem)
        if verbose and config is not None:
            _print_config(config)
        if not problems:
            click.echo(f"{conf}: no problems found")
    return 1 if problems else 0


def checked(text: str) -> tuple[SchedulerConfig | None, list[Problem]]:
    """The configuration (None when it would be refused) and all its problems."""
    from vcray.config.scheduler import load_scheduler_config
    from vcray.core.policy import build_policy
    from vcray.errors import ConfigError
    from vcray.registry import ACTIONS, discover

    registry = discover()
    try:
        config = load_scheduler_config(text, registry.names(ACTIONS))
        return _known(config, registry), list(build_policy(config, registry).problems)
    except ConfigError as error:
        refused = list(error.problems)
    with contextlib.suppress(ConfigError):  # what would be skipped, were the actions right
        config = replace(load_scheduler_config(text), actions=())
        refused += build_policy(config, registry).problems
    return None, list(dict.fromkeys(refused))


def _known(config: SchedulerConfig, registry: Registry) -> SchedulerConfig:
    """Without the plugins that would be skipped."""
    from vcray.registry import PLUGINS

    known = registry.names(PLUGINS)
    return replace(
        config, tiers=tuple(tuple(each for each in tier if each.name in known) for tier in config.tiers)
    )


def _read(conf: Path) -> str:
    from vcray.errors import InputError, Problem

    try:
        return conf.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise InputError(Problem("VC0503", str(conf), f"cannot be read: {reason}")) from error


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


def _data(config: SchedulerConfig | None, problems: list[Problem]) -> JsonObject:
    found: JsonObject = {
        "valid": not problems,
        "problems": [{"code": each.code, "where": each.where, "what": each.what} for each in problems],
    }
    if config is not None:
        found["actions"] = list(config.actions)
        found["tiers"] = [
            [
                {"name": each.name, "flags": dict(each.flags), "arguments": dict(each.arguments)}
                for each in tier
            ]
            for tier in config.tiers
        ]
    return found

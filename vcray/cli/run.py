"""`vcray run`: the control plane against a cluster."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Literal, TypeVar, get_args, get_origin

import click

from vcray.config.settings import PREFIX, Names, Settings, load

C = TypeVar("C", bound=Callable[..., object])


def settings_options(function: C) -> C:
    """Add a flag for each field of `Settings`; its value stays text until the settings are read."""
    for name, field in reversed(Settings.model_fields.items()):
        flag = "--" + name.replace("_", "-")
        text = f"{field.description} [{PREFIX}{name.upper()}; default: {_shown(field.default)}]"
        if field.annotation is bool:
            option = click.option(f"{flag}/--no-{flag[2:]}", name, default=None, help=text)
        else:
            option = click.option(flag, name, default=None, metavar=_kind(field.annotation), help=text)
        function = option(function)
    return function


def _shown(default: object) -> str:
    if isinstance(default, tuple):
        return ",".join(map(str, default))
    if isinstance(default, bool):
        return str(default).lower()
    return "none" if default is None else str(default)


def _kind(annotation: object) -> str:
    if get_origin(annotation) is Literal:
        return "|".join(get_args(annotation))
    known: dict[object, str] = {int: "INTEGER", float: "NUMBER", Names: "NAME,NAME"}
    return known.get(annotation, "FILE" if annotation == Path | None else "TEXT")


@click.command("run")
@click.option(
    "--kubeconfig",
    type=click.Path(path_type=Path),
    help="The kubeconfig file; without it KUBECONFIG, then ~/.kube/config, then the pod's service account.",
)
@click.option("--context", help="The context of the kubeconfig; without it the current one.")
@settings_options
def command(kubeconfig: Path | None, context: str | None, **flags: object) -> None:
    """Run the control plane, scheduler and controllers, against a cluster until SIGINT or SIGTERM.

    Every flag after --context is a setting: the flag beats its environment variable, and that beats the default.

    \b
    Examples:
      vcray run --kubeconfig ~/.kube/config
      vcray run --scheduler-conf volcano-scheduler.conf --strict --metrics-port 0
    """
    import asyncio

    from vcray.log import configure

    settings = load(read_flags(flags), os.environ)
    configure(settings.log_level)
    from vcray.app import run

    asyncio.run(run(settings, kubeconfig, context))


def read_flags(flags: dict[str, object]) -> dict[str, object]:
    """Flags as `settings.load` wants them: lists apart, what was not given left out."""
    lists = {name for name, field in Settings.model_fields.items() if field.annotation == Names}
    return {
        name: str(value).split(",") if name in lists else value
        for name, value in flags.items()
        if value is not None
    }

"""`vcray run`: the control plane against a cluster."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Literal, TypeVar, get_args, get_origin

import click

from vcray.config.flags import FLAGS, GATES, Flag, by_name
from vcray.config.given import Given, other_gates, read_given
from vcray.config.settings import PREFIX, Names, Settings, load
from vcray.errors import did_you_mean

C = TypeVar("C", bound=Callable[..., object])

OWN = frozenset({"kubeconfig", *(name.replace("_", "-") for name in Settings.model_fields)})
"""Flags that `vcray run` has by itself."""


def settings_options(function: C) -> C:
    """Add a flag for each field of `Settings`; its value stays text until the settings are read.

    A switch stands alone, has a value (`--strict=false`), or stands in its negative form (`--no-strict`)."""
    for name, field in reversed(Settings.model_fields.items()):
        words = name.replace("_", "-")
        text = f"{field.description} [{PREFIX}{name.upper()}; default: {_shown(field.default)}]"
        if field.annotation is bool:
            no = click.option(f"--no-{words}", f"no_{name}", is_flag=True, hidden=True)
            option = click.option(
                f"--{words}",
                name,
                is_flag=False,
                flag_value="true",
                default=None,
                metavar="[true|false]",
                help=text,
            )
            function = no(function)
        else:
            option = click.option(
                f"--{words}",
                name,
                default=None,
                multiple=field.annotation == Names,
                metavar=_kind(field.annotation),
                help=text,
            )
        function = option(function)
    return function


def volcano_options(function: C) -> C:
    """Add the flags of vc-scheduler that are not among ours. They are not shown: docs/flags.md has the table."""
    for each in reversed(FLAGS):
        words = each.name.replace("_", "-")
        if words in OWN:
            continue
        spellings = [f"--{spelling}" for spelling in dict.fromkeys((each.name, words))]
        spellings += ["-v"] if each.name == "v" else []
        switch = each.kind == "switch"
        function = click.option(
            *spellings,
            f"volcano_{words.replace('-', '_')}",
            multiple=True,
            hidden=True,
            is_flag=False,
            flag_value="true" if switch else None,
        )(function)
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


def _dashed(name: str) -> str:
    """Kubernetes' programs take flags with `_` as well."""
    return name.replace("_", "-")


@click.command("run", context_settings={"token_normalize_func": _dashed})
@click.option(
    "--kubeconfig",
    type=click.Path(path_type=Path),
    help="The kubeconfig file; without it KUBECONFIG, then ~/.kube/config, then the pod's service account.",
)
@click.option("--context", help="The context of the kubeconfig; without it the current one.")
@settings_options
@volcano_options
def command(kubeconfig: Path | None, context: str | None, **flags: object) -> int | None:
    """Run the control plane, or one component of it, against a cluster until SIGINT or SIGTERM.

    Every flag after --context is a setting: the flag beats its environment variable, and that beats the default.
    The flags of vc-scheduler are taken too: docs/flags.md tells what becomes of each.

    \b
    Examples:
      vcray run --kubeconfig ~/.kube/config
      vcray run --scheduler-conf volcano-scheduler.conf --strict --metrics-port 0
      vcray run --only scheduler,controllers --namespace volcano-system --release integration
    """
    given = read_given(_volcano(flags))
    if given.version:
        from vcray.cli import version

        click.get_current_context().invoke(version.command)
        return None
    settings = load({**given.settings, **read_flags(flags)}, os.environ, _spelled(given, flags))
    serve(settings, given, FLAGS, kubeconfig, context)
    return None


def serve(
    settings: Settings, given: Given, flags: Sequence[Flag], kubeconfig: Path | None, context: str | None
) -> None:
    """Run the control plane until a signal; first the log hears of what was given without effect. Raises VcrayError."""
    import asyncio

    from vcray.log import configure, get_logger

    configure(settings.log_level)
    log, table = get_logger("app"), by_name(flags)
    for name in given.ineffective:
        log.info("flag without effect", flag=f"--{name}", why=table[name.replace("_", "-")].note)
    for gate in other_gates(settings.feature_gates):
        why = f"Volcano has no gate of that name, and one of Kubernetes does nothing here{did_you_mean(gate, GATES)}"
        log.warning("feature gate without effect", gate=gate, why=why)
    from vcray.app import run

    asyncio.run(run(settings, kubeconfig, context, server=given.master or None))


def read_flags(flags: Mapping[str, object]) -> dict[str, object]:
    """Flags as `settings.load` wants them: lists apart, what was not given left out."""
    fields = Settings.model_fields
    read: dict[str, object] = {}
    for name, field in fields.items():
        value = flags.get(name)
        if flags.get(f"no_{name}"):
            value = "false"
        if value is None or value == ():
            continue
        texts = value if isinstance(value, tuple) else (value,)
        read[name] = ",".join(map(str, texts)).split(",") if field.annotation == Names else value
    return read


def _volcano(flags: Mapping[str, object]) -> dict[str, Sequence[str]]:
    """What was given of vc-scheduler's flags, by their names there."""
    found: dict[str, Sequence[str]] = {}
    for each in FLAGS:
        texts = flags.get(f"volcano_{each.name.replace('-', '_')}")
        if isinstance(texts, tuple) and texts:
            found[each.name] = tuple(str(text).removeprefix("=") for text in texts)  # Go takes `-v=3` too
    return found


def _spelled(given: Given, flags: Mapping[str, object]) -> dict[str, str]:
    """How the user spelled settings that a flag of another name set."""
    own = read_flags(flags)
    return {name: spelling for name, spelling in given.origin.items() if name not in own}

"""`vc-scheduler`, `vc-controller-manager`, `vc-webhook-manager`, `vc-agent-scheduler`: what an installation of Volcano starts,
so that it needs only another image.

Each is `vcray run --only …` with Volcano's flags and defaults (`vcray.config.programs`). Command lines are read as Go's pflag
reads them; words that are no flags, such as the `2>&1` of Volcano's chart, are left be. The variable `VCRAY_…` of a setting
beats a default of the program.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from vcray.cli.cobra import Command, Flag, Invocation, UsageError, help_text, parse
from vcray.config import flags as tables
from vcray.config.programs import PROGRAMS, Program
from vcray.errors import VcrayError, did_you_mean
from vcray.memory import collect_rarely

WRONG_FLAG = 2
"""Exit code of pflag."""

INTERRUPTED = 130

OWN: Mapping[str, str] = {
    "runtime": "what the actors run on: local or ray",
    "layout": "which actors share a process on Ray: small, standard or huge",
    "ray-address": "a Ray cluster to join; without it one is started",
    "context": "the context of the kubeconfig",
}
"""Flags that Volcano's programs do not have."""

_KINDS: Mapping[tables.Kind, str] = {
    "text": "string",
    "switch": "bool",
    "number": "int",
    "decimal": "float32",
    "duration": "duration",
    "list": "strings",
}


def command_of(program: Program) -> Command:
    """A program's command line as data."""
    flags = [_flag(each) for each in program.flags]
    flags += [Flag(name, usage) for name, usage in OWN.items()]
    long = f"{program.name} runs {program.short} of vcray with the flags of Volcano's program of that name."
    return Command(program.name, long=long, flags=tuple(flags), run=program.component)


def _flag(known: tables.Flag) -> Flag:
    usage = known.note if known.verdict == "works" else f"accepted, without effect: {known.note}"
    if known.kind == "switch":
        return Flag(known.name, usage, "bool", default=known.default == "true")
    return Flag(known.name, usage, _KINDS[known.kind], "v" if known.name == "v" else "", known.default)


def execute(program: Program, arguments: Sequence[str]) -> int:
    """Run a program until a signal; its exit code. Errors are one sentence each on standard error."""
    root = command_of(program)
    try:
        call = parse(root, arguments)
    except UsageError as error:
        print(f"VC0502 {error}{_near(str(error), root)}", file=sys.stderr)
        print(f"See '{program.name} --help' for its flags.", file=sys.stderr)
        return WRONG_FLAG
    if call.help_wanted:
        sys.stdout.write(help_text([root]))
        return 0
    try:
        _run(program, call)
    except VcrayError as error:
        print(error, file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt:
        return INTERRUPTED
    return 0


def _near(told: str, root: Command) -> str:
    head, _, name = told.partition("unknown flag: --")
    near = "" if head or not name else did_you_mean(name, (flag.name for flag in root.flags))
    return near if "did you mean" in near else ""


def _run(program: Program, call: Invocation) -> None:
    from vcray.cli.run import serve
    from vcray.config.settings import load

    given = program.read(call.given)
    if given.version:
        from vcray.cli import version

        version.command(standalone_mode=False, args=[])
        return
    own = {
        name.replace("-", "_"): call.text(name) for name in OWN if name in call.given and name != "context"
    }
    settings = load({**given.settings, **own}, os.environ, given.origin, program.defaults())
    kubeconfig, context = call.text("kubeconfig"), call.text("context")
    serve(settings, given, program.flags, Path(kubeconfig) if kubeconfig else None, context or None)


def _main(name: str) -> None:
    collect_rarely()
    sys.exit(execute(PROGRAMS[name], sys.argv[1:]))


def vc_scheduler() -> None:
    """The program `vc-scheduler`."""
    _main("vc-scheduler")


def vc_controller_manager() -> None:
    """The program `vc-controller-manager`."""
    _main("vc-controller-manager")


def vc_webhook_manager() -> None:
    """The program `vc-webhook-manager`."""
    _main("vc-webhook-manager")


def vc_agent_scheduler() -> None:
    """The program `vc-agent-scheduler`."""
    _main("vc-agent-scheduler")

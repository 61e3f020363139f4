"""`vcray`: the program. One file a command; a command's module is imported only when it runs.

Errors that a user can meet come out as one sentence on standard error, with the exit code of their kind
(docs/errors.md); a traceback means a fault of vcray.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from importlib import import_module

import click
from click.shell_completion import CompletionItem

from vcray.memory import collect_rarely

COMMANDS = {
    "bench": "Measure scheduling decisions and the embedded cluster.",
    "check": "Say what is wrong with a volcano-scheduler.conf.",
    "completion": "Print what a shell needs to complete commands and flags.",
    "crds": "Print or write the CustomResourceDefinitions.",
    "demo": "Run gangs, queues and a Ray cluster on an embedded cluster.",
    "doctor": "Tell what would keep vcray from working here.",
    "down": "Stop what `vcray up` started.",
    "nodes": "Add simulated nodes to a cluster.",
    "podgroup": "Show which gangs wait, who is in them, and why they wait.",
    "run": "Run the control plane against a cluster.",
    "sim": "Run scenario files and tell whether their expectations hold.",
    "up": "Start a cluster on this machine, with the control plane on it.",
    "version": "Print the version.",
}
"""Name -> first line of its help. The module is `vcray.cli.<name>`, the function `command`."""

INTERRUPTED = 130
COMPLETE_VARIABLE = "_VCRAY_COMPLETE"
"""The variable through which a shell asks for completions, whatever the program is called as."""

_AS_PLUGIN = {"kubectl-vcray": "kubectl vcray"}
"""What a user types to call the program, by the name of its file where the two differ."""


class _Lazy(click.Group):
    """A group that knows its commands by name and imports them one at a time."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        found: click.Command = import_module(f"vcray.cli.{cmd_name}").command
        return found

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Commands and flags that begin so, again without importing the commands."""
        found = [
            CompletionItem(name, help=text)
            for name, text in sorted(COMMANDS.items())
            if name.startswith(incomplete)
        ]
        return found + click.Command.shell_complete(self, ctx, incomplete)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(sorted(COMMANDS.items()))


def _version(ctx: click.Context, _: click.Parameter, wanted: bool) -> None:
    if wanted:
        ctx.exit(ctx.invoke(import_module("vcray.cli.version").command) or 0)


@click.command(cls=_Lazy, context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--version",
    is_flag=True,
    expose_value=False,
    is_eager=True,
    callback=_version,
    help="As `vcray version`.",
)
def cli() -> None:
    """Batch scheduling for machine learning on Kubernetes, with Volcano's API.

    \b
    Examples:
      vcray demo                              see it work, without a cluster
      vcray up                                a cluster on this machine, for kubectl
      vcray run --kubeconfig ~/.kube/config   schedule a cluster
      vcray check volcano-scheduler.conf      read a configuration before it is used
    """


def main(arguments: Sequence[str] | None = None) -> None:
    """The program `vcray`."""
    collect_rarely()
    called = os.path.basename(sys.argv[0])
    words = sys.argv[1:] if arguments is None else arguments
    sys.exit(execute(words, _AS_PLUGIN.get(called, "vcray")))


def execute(arguments: Sequence[str], called: str = "vcray") -> int:
    """Run one command and return its exit code. `called` stands for the program in usage lines."""
    from vcray.errors import VcrayError

    try:
        code = cli.main(
            list(arguments), prog_name=called, complete_var=COMPLETE_VARIABLE, standalone_mode=False
        )
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except VcrayError as error:
        print(error, file=sys.stderr)
        return error.exit_code
    except (click.Abort, KeyboardInterrupt):
        print("interrupted", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    return code if isinstance(code, int) else 0


if __name__ == "__main__":
    main()

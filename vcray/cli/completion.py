"""`vcray completion`, and `kubectl_complete-vcray`, which kubectl runs to complete `kubectl vcray`.

Both ask click, which knows commands, flags and their choices. kubectl passes the words so far, the last of them unfinished,
and reads a completion a line, perhaps with a tab and a description, then `:` and what the shell is to do besides
(github.com/kubernetes/kubernetes, kubectl/pkg/cmd/plugin/plugin_completion.go).
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence

import click
from click.shell_completion import BashComplete, CompletionItem, FishComplete, ShellComplete, ZshComplete

SHELLS: dict[str, type[ShellComplete]] = {"bash": BashComplete, "fish": FishComplete, "zsh": ZshComplete}
"""Shells that can be served, and how each is."""

_NO_FILES = 4
_FOLDERS = 16
"""Cobra's directives, which say what else the shell may offer: no names of files, folders alone."""


@click.command("completion")
@click.argument("shell", type=click.Choice(list(SHELLS)))
def command(shell: str) -> None:
    """Print a script for SHELL that completes commands, flags and their values.

    `kubectl vcray` is completed by kubectl's own script, without this one, where kubectl_complete-vcray is on the PATH.

    \b
    Examples:
      vcray completion bash > ~/.local/share/bash-completion/completions/vcray
      vcray completion zsh > ~/.zfunc/_vcray
      vcray completion fish > ~/.config/fish/completions/vcray.fish
    """
    click.echo(_completer(shell).source())


def _completer(shell: str) -> ShellComplete:
    from vcray.cli.main import COMPLETE_VARIABLE, cli

    return SHELLS[shell](cli, {}, "vcray", COMPLETE_VARIABLE)


def complete_for_kubectl(arguments: Sequence[str] | None = None) -> None:
    """The program `kubectl_complete-vcray`: print the completions of the last word."""
    words = sys.argv[1:] if arguments is None else arguments
    for line in kubectl_lines(words):
        print(line)


def kubectl_lines(words: Sequence[str]) -> Iterator[str]:
    """Completions of the last word in kubectl's form, and the line that ends them."""
    *before, unfinished = words or [""]
    items = _completer("bash").get_completions(list(before), unfinished)
    directive = _NO_FILES
    for item in items:
        if item.type == "plain":
            yield _line(item)
        elif item.type == "dir":
            directive = _FOLDERS
        else:
            directive = 0
    yield f":{directive}"


def _line(item: CompletionItem) -> str:
    return f"{item.value}\t{item.help}" if item.help else str(item.value)

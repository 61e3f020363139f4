"""What happens between a command line and an exit code, the same for `vcctl` and the programs in the style of Slurm.

Errors go to standard output as `Failed to list job: ...` with exit code 255, wrong flags to standard error with exit code
1: so Volcano does it. A command's module is imported only when it runs.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Awaitable, Callable, Sequence
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, TextIO

from vcray.cli.cobra import Command, CommandError, Invocation, UsageError, help_text, parse, usage_text

if TYPE_CHECKING:
    from vcray.cli.connection import Connect

    Handler = Callable[[Invocation, Connect, TextIO], Awaitable[None]]
    LocalHandler = Callable[[Invocation, TextIO], None]

FAILED = 255
HELP = "help"
"""What `run` says of the command that prints the help of others."""


def execute(
    root: Command,
    arguments: Sequence[str],
    connect: Connect | None = None,
    out: TextIO | None = None,
    err: TextIO | None = None,
) -> int:
    """Run one command of a program and return its exit code. `connect` in place of the kubeconfig's server, for tests."""
    out, err = out or sys.stdout, err or sys.stderr
    try:
        call = parse(root, arguments)
    except UsageError as error:
        print(f"Error: {error}", file=err)
        return 1
    if call.help_wanted:
        out.write(help_text(call.path))
    elif call.command.run == HELP:
        _help(root, call.arguments, out, err)
    elif call.command.local:
        local: LocalHandler = getattr(*_function(call))
        local(call, out)
    else:
        return _run(call, connect, out)
    return 0


def _function(call: Invocation) -> tuple[ModuleType, str]:
    """Where the command's function is; its module is imported here."""
    module, _, name = call.command.run.partition(":")
    return import_module(module), name


def _help(root: Command, words: Sequence[str], out: TextIO, err: TextIO) -> None:
    path = [root]
    for word in words:
        child = path[-1].child(word)
        if child is None:
            break
        path.append(child)
    if words and len(path) == 1:
        topics = " ".join(f"`{word}`" for word in words)
        err.write(f"Unknown help topic [{topics}]\n{usage_text([root])}")
    else:
        out.write(help_text(path))


def _run(call: Invocation, connect: Connect | None, out: TextIO) -> int:
    import asyncio

    from vcray.cli.connection import opened
    from vcray.errors import VcrayError

    handler: Handler = getattr(*_function(call))
    server = call.text("kubeconfig"), call.text("master")

    async def connected() -> None:
        async with opened(*server, connect, program=call.path[0].name) as open_client:
            await handler(call, open_client, out)

    try:
        asyncio.run(connected())
    except (CommandError, VcrayError) as error:
        words = " ".join(["Failed to", *(each.name for each in reversed(call.path[1:]))])
        print(f"{words}: {sentence(error)}", file=out)
        return FAILED
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        return 130
    return 0


def sentence(error: Exception) -> str:
    """The server's own words for what it refused; ours where it says no more than `404 page not found`."""
    from vcray.kube.errors import NOT_INSTALLED, ApiError, ResourceMissing

    if isinstance(error, ResourceMissing):
        return f"{error.problem_code} {NOT_INSTALLED}"
    return error.message if isinstance(error, ApiError) else str(error)

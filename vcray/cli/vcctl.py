"""`vcctl`: Volcano's command line, with Volcano's flags, columns, messages, help texts and exit codes.

Commands stand here as data; `vcray.cli.job`, `vcray.cli.queue` hold what they do. Errors go to standard output as
`Failed to list job: ...` with exit code 255, wrong flags to standard error with exit code 1: so Volcano does it.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Awaitable, Callable, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, TextIO

from vcray.cli.cobra import (
    Command,
    CommandError,
    Flag,
    Invocation,
    UsageError,
    help_text,
    parse,
    usage_text,
)

if TYPE_CHECKING:
    from vcray.cli.connection import Connect

    Handler = Callable[[Invocation, Connect, TextIO], Awaitable[None]]

FAILED = 255

_SERVER = (
    Flag("kubeconfig", "(optional) absolute path to the kubeconfig file", short="k"),
    Flag("master", "the address of apiserver", short="s"),
)
_ROOT_FLAGS = (
    Flag("log-flush-frequency", "Maximum number of seconds between log flushes (default 5s)", "duration"),
    Flag("v", "number for the log level verbosity", "Level", "v"),
    Flag(
        "vmodule",
        "comma-separated list of pattern=N settings for file-filtered logging "
        "(only works for the default text log format)",
        "moduleSpec",
    ),
)
_SIZE = "cpu=1000m,memory=100Mi"


def _namespace(of: str = "job") -> Flag:
    return Flag("namespace", f"the namespace of {of}", short="n", default="default")


def _named(verb: str, short: str) -> Command:
    """A command on one vcjob."""
    flags = (*_SERVER, Flag("name", "the name of job", short="N"), _namespace())
    return Command(verb, short, flags=flags, run=f"vcray.cli.job:{verb}_job")


_JOB = Command(
    "job",
    "vcctl command line operation job",
    children=(
        Command(
            "run",
            "run job by parameters from the command line",
            flags=(
                *_SERVER,
                Flag("filename", "the yaml file of job", short="f"),
                Flag("image", "the container image of job", short="i", default="busybox"),
                Flag("limits", "the resource limit of the task", short="L", default=_SIZE),
                Flag("min", "the minimal available tasks of job", "int", "m", 1),
                Flag("name", "the name of job", short="N"),
                _namespace(),
                Flag("replicas", "the total tasks of job", "int", "r", 1),
                Flag("requests", "the resource request of the task", short="R", default=_SIZE),
                Flag("scheduler", "the scheduler for this job", short="S", default="volcano"),
            ),
            run="vcray.cli.job:run_job",
        ),
        Command(
            "list",
            "list job information",
            flags=(
                *_SERVER,
                Flag("all-namespaces", "list jobs in all namespaces", "bool", default=False),
                _namespace(),
                Flag("queue", "list job with specified queue name", short="q"),
                Flag("scheduler", "list job with specified scheduler name", short="S"),
                Flag("selector", "fuzzy matching jobName"),
            ),
            run="vcray.cli.job:list_jobs",
        ),
        _named("view", "show job information"),
        _named("suspend", "abort a job"),
        _named("resume", "resume a job"),
        _named("delete", "delete a job"),
    ),
)


def _queue_flags(default: str = "") -> tuple[Flag, ...]:
    return (*_SERVER, Flag("name", "the name of queue", short="n", default=default))


def _weight(default: int) -> Flag:
    return Flag("weight", "the weight of the queue", "int32", "w", default)


_QUEUE = Command(
    "queue",
    "Queue Operations",
    children=(
        Command(
            "create",
            "creates queue",
            flags=(
                *_queue_flags("test"),
                _weight(1),
                Flag("state", "the state of queue", short="S", default="Open"),
            ),
            run="vcray.cli.queue:create_queue",
        ),
        Command("list", "lists all the queue", flags=_SERVER, run="vcray.cli.queue:list_queues"),
        Command("get", "get a queue", flags=_queue_flags(), run="vcray.cli.queue:get_queue"),
        Command("delete", "delete queue", flags=_queue_flags(), run="vcray.cli.queue:delete_queue"),
        Command(
            "operate",
            "operate queue",
            flags=(
                *_queue_flags(),
                _weight(0),
                Flag("action", "operate action to queue, valid actions are open, close, update", short="a"),
            ),
            run="vcray.cli.queue:operate_queue",
        ),
    ),
)
_VERSION_TEXT = "Print the version information"

ROOT = Command(
    "vcctl",
    flags=_ROOT_FLAGS,
    children=(
        Command(
            "help",
            "Help about any command",
            "Help provides help for any command in the application.\n"
            "Simply type vcctl help [path to command] for full details.",
            run="help",
            use="help [command]",
        ),
        _JOB,
        _QUEUE,
        Command("version", _VERSION_TEXT, _VERSION_TEXT, "vcctl version", run="version"),
    ),
)
"""All of vcctl's commands."""


def main(arguments: Sequence[str] | None = None) -> None:
    """The program `vcctl`."""
    sys.exit(execute(sys.argv[1:] if arguments is None else arguments))


def execute(
    arguments: Sequence[str],
    connect: Connect | None = None,
    out: TextIO | None = None,
    err: TextIO | None = None,
) -> int:
    """Run one command and return its exit code. `connect` in place of the kubeconfig's server, for tests."""
    out, err = out or sys.stdout, err or sys.stderr
    try:
        call = parse(ROOT, arguments)
    except UsageError as error:
        print(f"Error: {error}", file=err)
        return 1
    if call.help_wanted:
        out.write(help_text(call.path))
    elif call.command.run == "help":
        _help(call.arguments, out, err)
    elif call.command.run == "version":
        _version(out)
    else:
        return _run(call, connect, out)
    return 0


def _help(words: Sequence[str], out: TextIO, err: TextIO) -> None:
    path = [ROOT]
    for word in words:
        child = path[-1].child(word)
        if child is None:
            break
        path.append(child)
    if words and len(path) == 1:
        topics = " ".join(f"`{word}`" for word in words)
        err.write(f"Unknown help topic [{topics}]\n{usage_text([ROOT])}")
    else:
        out.write(help_text(path))


def _version(out: TextIO) -> None:
    import platform
    from importlib.metadata import version

    machine = {"x86_64": "amd64", "aarch64": "arm64"}.get(platform.machine(), platform.machine())
    rows = (
        ("API Version", "v1alpha1"),
        ("Version", version("vcray")),
        ("Git SHA", "Not provided."),
        ("Built At", "Not provided."),
        ("Go Version", f"none (Python {platform.python_version()})"),
        ("Go OS/Arch", f"{platform.system().lower()}/{machine}"),
    )
    out.writelines(f"{name}: {value}\n" for name, value in rows)


def _run(call: Invocation, connect: Connect | None, out: TextIO) -> int:
    import asyncio

    from vcray.cli.connection import opened
    from vcray.errors import VcrayError

    module, _, name = call.command.run.partition(":")
    handler: Handler = getattr(import_module(module), name)

    async def connected() -> None:
        async with opened(call.text("kubeconfig"), call.text("master"), connect) as open_client:
            await handler(call, open_client, out)

    try:
        asyncio.run(connected())
    except (CommandError, VcrayError) as error:
        words = " ".join(each.name for each in reversed(call.path[1:]))
        print(f"Failed to {words}: {_sentence(error)}", file=out)
        return FAILED
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        return 130
    return 0


def _sentence(error: Exception) -> str:
    """The server's own words for what it refused; ours where it says no more than `404 page not found`."""
    from vcray.kube.errors import NOT_INSTALLED, ApiError, ResourceMissing

    if isinstance(error, ResourceMissing):
        return f"{error.problem_code} {NOT_INSTALLED}"
    return error.message if isinstance(error, ApiError) else str(error)


if __name__ == "__main__":
    main()

"""`vcctl`: Volcano's command line, with Volcano's flags, columns, messages, help texts and exit codes.

Commands stand here as data. What they do is in `vcray.cli.job`, `queue`, `pod` and `flow`; `vcray.cli.program` runs them.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, TextIO

from vcray.cli import program
from vcray.cli.cobra import Command, Flag, Invocation
from vcray.cli.volcanoflags import FILTERS, LOGGING, SERVER, SIZES, everywhere, name, namespace

if TYPE_CHECKING:
    from vcray.cli.connection import Connect


def _on_job(verb: str, short: str) -> Command:
    """A command on one vcjob."""
    return Command(verb, short, flags=(*SERVER, name(), namespace()), run=f"vcray.cli.job:{verb}_job")


_JOB = Command(
    "job",
    "vcctl command line operation job",
    children=(
        Command(
            "run",
            "run job by parameters from the command line",
            flags=(
                *SERVER,
                *SIZES,
                Flag("filename", "the yaml file of job", short="f"),
                Flag("image", "the container image of job", short="i", default="busybox"),
                name(),
                namespace(),
                Flag("scheduler", "the scheduler for this job", short="S", default="volcano"),
            ),
            run="vcray.cli.job:run_job",
        ),
        Command(
            "list",
            "list job information",
            flags=(
                *SERVER,
                *FILTERS,
                namespace(),
                Flag("queue", "list job with specified queue name", short="q"),
            ),
            run="vcray.cli.job:list_jobs",
        ),
        _on_job("view", "show job information"),
        _on_job("suspend", "abort a job"),
        _on_job("resume", "resume a job"),
        _on_job("delete", "delete a job"),
    ),
)


def _queue(verb: str, short: str, *flags: Flag) -> Command:
    return Command(verb, short, flags=(*SERVER, *flags), run=f"vcray.cli.queue:{verb}_queue")


def _weight(default: int) -> Flag:
    return Flag("weight", "the weight of the queue", "int32", "w", default)


_QUEUE_NAME = name("queue", "n")
_QUEUE = Command(
    "queue",
    "Queue Operations",
    children=(
        _queue(
            "create",
            "creates queue",
            name("queue", "n", "test"),
            _weight(1),
            Flag("state", "the state of queue", short="S", default="Open"),
        ),
        Command("list", "lists all the queue", flags=SERVER, run="vcray.cli.queue:list_queues"),
        _queue("get", "get a queue", _QUEUE_NAME),
        _queue("delete", "delete queue", _QUEUE_NAME),
        _queue(
            "operate",
            "operate queue",
            _QUEUE_NAME,
            _weight(0),
            Flag("action", "operate action to queue, valid actions are open, close, update", short="a"),
        ),
    ),
)

_POD = Command(
    "pod",
    "vcctl command line operation pod",
    children=(
        Command(
            "list",
            "list pod information created by vcjob",
            flags=(
                *SERVER,
                everywhere("pods"),
                Flag("job", "list pod with specified job name", short="j"),
                namespace("pod"),
                Flag("queue", "list pod with specified queue name", short="q"),
            ),
            run="vcray.cli.pod:list_pods",
        ),
    ),
)


def _flows(group: str, of: str, in_lists: tuple[Flag, ...] = ()) -> Command:
    """The commands on jobflows or on jobtemplates; `of` is what the flags call them."""
    file = Flag("file", f"the path to the YAML file containing the {of}", short="f")
    one = (name(of), namespace(of))
    form = Flag("format", "the format of output", short="o", default="yaml")

    def command(verb: str, short: str, *flags: Flag) -> Command:
        return Command(verb, short, flags=(*SERVER, *flags), run=f"vcray.cli.flow:{verb}_flow")

    return Command(
        group,
        f"vcctl command line operation {group}",
        children=(
            command("create", f"create a {group}", file),
            command("delete", f"delete a {group}", file, *one),
            command("describe", f"describe a {group}", form, *one),
            command("get", f"get a {group}", *one),
            command("list", f"list {group}s", namespace(of), *in_lists),
        ),
    )


_VERSION_TEXT = "Print the version information"

ROOT = Command(
    "vcctl",
    flags=LOGGING,
    children=(
        Command(
            "help",
            "Help about any command",
            "Help provides help for any command in the application.\n"
            "Simply type vcctl help [path to command] for full details.",
            run=program.HELP,
            use="help [command]",
        ),
        _JOB,
        _QUEUE,
        _POD,
        _flows("jobflow", "jobflow", (everywhere("jobflows"),)),
        _flows("jobtemplate", "job template"),
        Command(
            "version",
            _VERSION_TEXT,
            _VERSION_TEXT,
            "vcctl version",
            run="vcray.cli.vcctl:print_version",
            local=True,
        ),
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
    """Run one command and return its exit code, as `vcray.cli.program.execute` does for any program."""
    return program.execute(ROOT, arguments, connect, out, err)


def print_version(call: Invocation, out: TextIO) -> None:
    """Print the six lines of `vcctl version`; there is no Go inside, which its line says."""
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
    out.writelines(f"{title}: {value}\n" for title, value in rows)


if __name__ == "__main__":
    main()

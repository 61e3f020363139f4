"""`vsub`, `vjobs`, `vqueues`, `vcancel`, `vsuspend`, `vresume`: Volcano's programs for those who know Slurm.

Each is one command of its own, without the words before it: its help has a single block of flags, and its errors begin with
`Failed to: `. A name is `-n` here and a namespace `-N`, the other way round than in `vcctl`; what they do is shared with it.
"""

from __future__ import annotations

import sys

from vcray.cli.cobra import Command, Flag
from vcray.cli.program import execute
from vcray.cli.volcanoflags import FILTERS, LOGGING, SERVER, SIZES, name, namespace


def _program(title: str, short: str, long: str, run: str, *flags: Flag) -> Command:
    return Command(title, short, long, flags=(*SERVER, *LOGGING, *flags), run=run)


def _overriding(flag: str, short: str, usage: str, variable: str, default: str) -> Flag:
    """A flag whose default a variable of the environment gives; the help names both, so the flag has none itself."""
    text = f"{usage}, overwrite the value of '{variable}' (default \"{default}\")"
    return Flag(flag, text, short=short)


_NAME, _NAMESPACE = name(short="n"), namespace(short="N")

PROGRAMS = {
    program.name: program
    for program in (
        _program(
            "vsub",
            "submit a job",
            "submit a job with specified name and arguments. "
            "yaml/json file is not accepted, you may refer to kubectl.",
            "vcray.cli.job:submit_job",
            *SIZES,
            _NAME,
            Flag("command", "the command of job", short="c"),
            _overriding("image", "i", "the container image of job", "VOLCANO_DEFAULT_IMAGE", "busybox"),
            _overriding("namespace", "N", "the namespace of job", "VOLCANO_DEFAULT_JOB_NAMESPACE", "default"),
            _overriding("scheduler", "S", "the scheduler for this job", "VOLCANO_SCHEDULER_NAME", "volcano"),
        ),
        _program(
            "vjobs",
            "view job information",
            "view information of a job with specified name or jobs from the same namespace",
            "vcray.cli.job:show_jobs",
            *FILTERS,
            _NAME,
            _NAMESPACE,
        ),
        _program(
            "vqueues",
            "view queue information",
            "view information of a queue with specified name or queues from the same namespace",
            "vcray.cli.queue:show_queues",
            name("queue", "n"),
        ),
        _program(
            "vcancel",
            "cancel a job",
            "cancel a running, pending, or aborted job with specified name in default or specified namespace",
            "vcray.cli.job:cancel_job",
            _NAME,
            _NAMESPACE,
        ),
        _program(
            "vsuspend",
            "suspend a job",
            "suspend a running or pending job with specified name in default or specified namespace",
            "vcray.cli.job:suspend_job",
            _NAME,
            _NAMESPACE,
        ),
        _program(
            "vresume",
            "resume a job",
            "resume an aborted job with specified name in default or specified namespace",
            "vcray.cli.job:resume_job",
            _NAME,
            _NAMESPACE,
        ),
    )
}
"""Every program by its name."""


def _run(title: str) -> None:
    sys.exit(execute(PROGRAMS[title], sys.argv[1:]))


def vsub() -> None:
    """The program `vsub`."""
    _run("vsub")


def vjobs() -> None:
    """The program `vjobs`."""
    _run("vjobs")


def vqueues() -> None:
    """The program `vqueues`."""
    _run("vqueues")


def vcancel() -> None:
    """The program `vcancel`."""
    _run("vcancel")


def vsuspend() -> None:
    """The program `vsuspend`."""
    _run("vsuspend")


def vresume() -> None:
    """The program `vresume`."""
    _run("vresume")

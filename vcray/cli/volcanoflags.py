"""Flags that several of Volcano's commands and programs have, with Volcano's names, defaults and words.

`vcctl` calls a name `-N` and a namespace `-n`, the programs in the style of Slurm the other way round; so the short forms
are arguments here.
"""

from __future__ import annotations

from vcray.cli.cobra import Flag

SERVER = (
    Flag("kubeconfig", "(optional) absolute path to the kubeconfig file", short="k"),
    Flag("master", "the address of apiserver", short="s"),
)
"""Which API server: every command that asks one has these."""

LOGGING = (
    Flag("log-flush-frequency", "Maximum number of seconds between log flushes (default 5s)", "duration"),
    Flag("v", "number for the log level verbosity", "Level", "v"),
    Flag(
        "vmodule",
        "comma-separated list of pattern=N settings for file-filtered logging "
        "(only works for the default text log format)",
        "moduleSpec",
    ),
)
"""The flags of every program; they are read and do nothing."""

_SIZE = "cpu=1000m,memory=100Mi"

SIZES = (
    Flag("limits", "the resource limit of the task", short="L", default=_SIZE),
    Flag("min", "the minimal available tasks of job", "int", "m", 1),
    Flag("replicas", "the total tasks of job", "int", "r", 1),
    Flag("requests", "the resource request of the task", short="R", default=_SIZE),
)
"""How many pods a new job has, and of what size."""


def name(of: str = "job", short: str = "N", default: str = "") -> Flag:
    """The name of one object."""
    return Flag("name", f"the name of {of}", short=short, default=default)


def namespace(of: str = "job", short: str = "n") -> Flag:
    """The namespace of objects."""
    return Flag("namespace", f"the namespace of {of}", short=short, default="default")


def everywhere(of: str) -> Flag:
    """All namespaces in place of one."""
    return Flag("all-namespaces", f"list {of} in all namespaces", "bool", default=False)


FILTERS = (
    everywhere("jobs"),
    Flag("scheduler", "list job with specified scheduler name", short="S"),
    Flag("selector", "fuzzy matching jobName"),
)
"""Which jobs are listed."""

"""Every failure that a user can meet, drawn once.

    VcrayError
    ├── ConfigError      a scheduler configuration, a flag or a setting is wrong
    ├── InputError       a manifest or scenario file is wrong
    └── ServerError      the API server cannot be used: address, certificate, token
        ├── Unreachable
        └── Unauthorized

Each carries a `Problem` or several: a code that never changes its meaning, where in the user's input,
and one sentence that says what is wrong and what to do.
Codes: VC01xx scheduler configuration, VC02xx manifests, VC03xx scenario files, VC04xx servers, VC05xx commands,
VC06xx clusters on this machine.
`docs/errors.md` lists them all; a test keeps the two equal.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from dataclasses import dataclass

CODES: dict[str, str] = {
    "VC0101": "the scheduler configuration is not YAML",
    "VC0102": "a field of the scheduler configuration has the wrong type",
    "VC0103": "the scheduler configuration is empty",
    "VC0105": "unknown action",
    "VC0106": "unknown plugin flag, or one in the wrong place",
    "VC0107": "unknown plugin",
    "VC0108": "unknown or ill-typed plugin argument",
    "VC0109": "two settings of the scheduler configuration exclude each other",
    "VC0110": "a plugin class is not well formed",
    "VC0111": "unknown key in the scheduler configuration",
    "VC0112": "something is said twice in the scheduler configuration",
    "VC0113": "something in the scheduler configuration has no effect",
    "VC0114": "plugins work against each other",
    "VC0115": "an action and the plugin that it needs are not both there",
    "VC0116": "an action that can hardly ever do anything",
    "VC0117": "the order of actions or tiers is hardly what is meant",
    "VC0118": "a plugin or action of the user's failed and was left out of a round",
    "VC0119": "a plugin breaks a law",
    "VC0201": "the manifest is not YAML",
    "VC0202": "the manifest is not a Kubernetes object",
    "VC0203": "the API server refused the object",
    "VC0301": "the scenario file is not YAML",
    "VC0302": "a field of the scenario is unknown or has the wrong type",
    "VC0303": "the scenario names an object that does not exist",
    "VC0304": "an expectation of the scenario does not hold",
    "VC0305": "the server of a scenario is not empty",
    "VC0401": "the API server, or a source of metrics or topology, cannot be reached",
    "VC0402": "the API server refused the credentials",
    "VC0403": "the kubeconfig cannot be used",
    "VC0404": "the API server lacks a resource that vcray needs",
    "VC0405": "the lease was lost",
    "VC0501": "the object was not found",
    "VC0502": "a flag has a value that cannot be used",
    "VC0503": "a file cannot be read or written",
    "VC0601": "a cluster of that name runs already",
    "VC0602": "the port cannot be used",
    "VC0603": "the data directory cannot be used",
    "VC0604": "the control plane did not start",
    "VC0605": "Ray cannot be used",
}


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing wrong: `code` from `CODES`, `where` in the user's input (may be empty), `what` as a sentence."""

    code: str
    where: str
    what: str

    def __post_init__(self) -> None:
        if self.code not in CODES:
            raise KeyError(self.code)

    def __str__(self) -> str:
        return f"{self.code} {self.where}: {self.what}" if self.where else f"{self.code} {self.what}"


class VcrayError(Exception):
    """Base of all errors that are shown to a user without a traceback; `exit_code` is the command's."""

    exit_code = 1

    def __init__(self, problems: Problem | Iterable[Problem]) -> None:
        self.problems: tuple[Problem, ...] = (problems,) if isinstance(problems, Problem) else tuple(problems)
        super().__init__("\n".join(map(str, self.problems)))


class ConfigError(VcrayError):
    """A scheduler configuration, flag or setting is wrong; the last good one stays in force."""

    exit_code = 2


class InputError(VcrayError):
    """A manifest or scenario file is wrong; nothing was changed."""

    exit_code = 2


class ServerError(VcrayError):
    """The API server cannot be used."""

    exit_code = 3


class Unreachable(ServerError):
    """No answer from the API server."""


class Unauthorized(ServerError):
    """The API server refused the credentials."""


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """`"; did you mean 'x'?"` for the nearest known name, else the list of known names, else nothing."""
    names = sorted(known)
    near = difflib.get_close_matches(name, names, n=1)
    if near:
        return f"; did you mean '{near[0]}'?"
    return f"; known: {', '.join(names)}" if names else ""

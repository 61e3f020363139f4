"""What a function of the expression language is, before an environment declares it.

Types are written as CEL writes them (`list<string>`, `dyn`) or are one of our own: `IP`, `CIDR`, `URL`, `Quantity`,
`Semver`, `Format` and the authorizer's. The checker keeps those apart; evaluation carries each as a canonical string, so
that equality is equality of strings.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

Implementation = Callable[..., object]

OWN_TYPES = (
    "IP",
    "CIDR",
    "URL",
    "Quantity",
    "Semver",
    "Format",
    "Authorizer",
    "PathCheck",
    "GroupCheck",
    "ResourceCheck",
    "Decision",
)


@dataclass(frozen=True, slots=True)
class Function:
    """One overload. `parameters` of a member begin with its receiver; without `run` it exists for the checker alone."""

    name: str
    overload: str
    parameters: tuple[str, ...]
    result: str
    run: Implementation | None
    member: bool = True


def member(name: str, parameters: str, result: str, run: Implementation | None, suffix: str = "") -> Function:
    """A function called on its first parameter; `parameters` are separated by blanks."""
    listed = tuple(parameters.split())
    return Function(name, _overload(name, listed, suffix), listed, result, run)


def plain(name: str, parameters: str, result: str, run: Implementation | None, suffix: str = "") -> Function:
    """A function called by its name."""
    listed = tuple(parameters.split())
    return Function(name, "call_" + _overload(name, listed, suffix), listed, result, run, member=False)


def _overload(name: str, parameters: tuple[str, ...], suffix: str) -> str:
    text = "_".join((name, *parameters, suffix) if suffix else (name, *parameters))
    return "k8s_" + "".join(c if c.isalnum() else "_" for c in text)

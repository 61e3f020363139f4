"""Which controllers run: `--controllers` as vc-controller-manager reads it (api-controllers.md 2.1)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from vcray.errors import did_you_mean

CONTROLLERS: Final = (
    "job-controller",
    "gc-controller",
    "queue-controller",
    "pg-controller",
    "jobflow-controller",
    "jobtemplate-controller",
    "cronjob-controller",
    "hyperNode-controller",
    "sharding-controller",
    "colocation-config-controller",
    "unreliable-node-controller",
)
"""Volcano's names, and one of ours: the last."""


def is_enabled(name: str, chosen: Sequence[str]) -> bool:
    """The first entry that names it decides, `-` before the name against it; else it runs under `*`, or when nothing is chosen."""
    for each in chosen:
        if each in (name, f"+{name}"):
            return True
        if each == f"-{name}":
            return False
    return "*" in chosen or not chosen


def wrong_choices(chosen: Sequence[str]) -> list[str]:
    """A sentence for each entry that cannot be meant."""
    found, seen = [], set[str]()
    for each in chosen:
        name = each[1:] if each[:1] in ("-", "+") else each
        if name in seen:
            found.append(f"controllers option {each} cannot have both '-' and '+' prefixes")
        elif name not in (*CONTROLLERS, "*"):
            found.append(f"there is no controller '{name}'{did_you_mean(name, CONTROLLERS)}")
        seen.add(name)
    return found

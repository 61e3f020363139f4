"""`volcano-scheduler.conf` -> a typed, frozen `SchedulerConfig`.

Read as Volcano reads it: plugin flags in its two spellings, an action list that is refused whole when one name is unknown,
plugins that nobody knows skipped. What is wrong comes back as problems with a code, a place and a suggestion.
`vcray.config.language` has the words, `vcray.config.model` the result, `vcray.config.reading` the way from one to the other.
"""

from __future__ import annotations

from collections.abc import Iterable

from vcray.config.language import FLAGS, VOLCANO_ACTIONS, VOLCANO_PLUGINS
from vcray.config.model import PluginConfig, SchedulerConfig
from vcray.config.reading import Reader
from vcray.errors import ConfigError, Problem

__all__ = [
    "AGENT_CONF",
    "DEFAULT_CONF",
    "FLAGS",
    "HELM_CONF",
    "SKIPPED",
    "VOLCANO_ACTIONS",
    "VOLCANO_PLUGINS",
    "PluginConfig",
    "SchedulerConfig",
    "is_refused",
    "load_scheduler_config",
    "read_scheduler_config",
]

SKIPPED = frozenset({"VC0106", "VC0107", "VC0108", "VC0111"})
"""Codes of problems that a running scheduler reports and goes on without; the others refuse the whole file."""

DEFAULT_CONF = """\
actions: "enqueue, allocate, backfill"
tiers:
- plugins:
  - name: priority
  - name: gang
  - name: conformance
- plugins:
  - name: overcommit
  - name: drf
  - name: predicates
  - name: proportion
  - name: nodeorder
"""
"""What Volcano has compiled in."""

AGENT_CONF = """\
actions: "allocate"
tiers:
- plugins:
  - name: predicates
  - name: nodeorder
"""
"""What Volcano's agent scheduler has compiled in."""

HELM_CONF = """\
actions: "enqueue, allocate, backfill"
tiers:
- plugins:
  - name: priority
  - name: gang
    enablePreemptable: false
  - name: conformance
- plugins:
  - name: overcommit
  - name: drf
    enablePreemptable: false
  - name: predicates
  - name: proportion
  - name: nodeorder
  - name: binpack
"""
"""What Volcano's Helm chart installs."""


def load_scheduler_config(
    text: str, actions: Iterable[str] | None = None, plugins: Iterable[str] | None = None
) -> SchedulerConfig:
    """Read a configuration.

    actions, plugins: the known names; None leaves names unchecked. ConfigError with all problems when it cannot be used:
    no YAML, a wrong type, nothing in it, an unknown action, drf with enableHierarchy beside proportion in one tier."""
    config, problems = read_scheduler_config(text, actions, plugins)
    if config is None or is_refused(problems):
        raise ConfigError(problems)
    return config


def read_scheduler_config(
    text: str, actions: Iterable[str] | None = None, plugins: Iterable[str] | None = None
) -> tuple[SchedulerConfig | None, list[Problem]]:
    """A configuration as far as it can be read, and all that is wrong with it."""
    reader = Reader(
        None if actions is None else frozenset(actions), None if plugins is None else frozenset(plugins)
    )
    return reader.read(text), reader.problems


def is_refused(problems: Iterable[Problem]) -> bool:
    """Does any of these problems refuse the whole file?"""
    return any(problem.code not in SKIPPED for problem in problems)

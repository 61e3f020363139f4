"""Users' plugins and actions in a whole cluster: they take part, and when they fail the cluster hears of it and goes on."""

from __future__ import annotations

from pathlib import Path

import pytest

from vcray.app import in_process
from vcray.config.settings import Settings
from vcray.sim.reading import parse
from vcray.sim.runner import run_scenario

SCENARIO = """
name: a_plugin_of_a_users
config:
  actions: allocate, mend, backfill
  tiers: [{plugins: [{name: gang}, {name: predicates}, {name: mine}]}]
given:
  nodes: {n1: 4c, n2: 4c}
  groups: {g: 2}
  pods: {g: {count: 2, size: 1c, group: g}}
steps:
  - cycles: 3
expect:
"""
ACTION = """\
from vcray.core.action import Action

class Mend(Action):
    def run(self, session):
        CODE
"""
PLUGIN = """\
from vcray.core.plugin import Args, Plugin

class Mine(Plugin[Args]):
    def node_score(self, view, rows, shape):
        CODE
"""
ON_N2 = "return rows.take(__import__('numpy').array([name == 'n2' for name in view.snapshot.nodes.names])) * 100.0"
FAILED = "on: queue/root, reason: PluginFailed, type: Warning, message: 'VC0118 plugin {}, {}: {}; it is left out of this round'"


async def outcome(folder: Path, plugin: str, action: str, expected: str) -> list[str]:
    """What does not hold of a scenario with this plugin and action."""
    (folder / "mine.py").write_text(PLUGIN.replace("CODE", plugin))
    (folder / "mend.py").write_text(ACTION.replace("CODE", action))
    settings = Settings(plugins_dir=folder, plugin_budget_ms=200)
    (scenario,) = parse(SCENARIO + expected, "here")
    results = await run_scenario(scenario, lambda order: in_process(order, settings), 2)
    return [failure for result in results for failure in result.failures]


async def test_they_take_part(tmp_path: Path) -> None:
    expected = "  nodes: {n2: {g-*: 2}}\n  no_events: [{on: queue/root, reason: PluginFailed}]\n"

    assert await outcome(tmp_path, ON_N2, "pass", expected) == []


@pytest.mark.parametrize(
    ("plugin", "action", "event"),
    [
        ("return 1 / 0", "pass", FAILED.format("mine", "node_score", "ZeroDivisionError: division by zero")),
        (
            "return 'high'",
            "pass",
            FAILED.format("mine", "node_score", "must answer a number a row, or None, *"),
        ),
        ("return 1.0", "raise KeyError(3)", FAILED.format("mend", "run", "KeyError: 3")),
        (
            "while True: pass",
            "pass",
            FAILED.format("mine", "node_score", "took more than the 200 ms that a plugin has in a round"),
        ),
    ],
    ids=["raises", "nonsense", "action", "hangs"],
)
async def test_they_cannot_stop_scheduling(tmp_path: Path, plugin: str, action: str, event: str) -> None:
    expected = f"  bound: {{g: 2}}\n  events: [{{{event}}}]\n"

    assert await outcome(tmp_path, plugin, action, expected) == []

"""The tables of docs/controllers.md and docs/jobplugins.md are those of the code. Run this file to write the former."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from vcray.controllers.job.lifecycle import OTHER, TABLE
from vcray.controllers.jobflow.lifecycle import TABLE as FLOW_TABLE
from vcray.controllers.jobplugins.base import find_plugin, plugin_names
from vcray.controllers.queue import TABLE as QUEUE_TABLE
from vcray.controllers.queue import QueueAction

DOCS = Path(__file__).parents[2] / "docs"
PAGE = DOCS / "controllers.md"
THEN = {
    "stay": "stay",
    "restart": "Restarting, retryCount + 1",
    "resume": "Restarting",
    "abort": "Aborting",
    "terminate": "Terminating",
    "complete": "Completing",
}


def job_table() -> str:
    lines = ["| phase | action | does | then |", "| --- | --- | --- | --- |"]
    for phase, row in TABLE.items():
        cells: dict[tuple[str, str], list[str]] = {}
        for action, step in row.items():
            name = "any other" if action == OTHER and len(row) > 1 else "any" if action == OTHER else action
            then = step.then.__name__
            cells.setdefault((step.do.value, THEN.get(then, then)), []).append(str(name))
        for (does, then), actions in cells.items():
            lines.append(f"| {phase or '(none)'} | {', '.join(actions)} | {does} | {then} |")
    return "\n".join(lines)


def queue_table() -> str:
    lines = [
        "| state | " + " | ".join(action.value for action in QueueAction) + " |",
        "| --- | --- | --- | --- |",
    ]
    for state, row in QUEUE_TABLE.items():
        lines.append(f"| {state.value} | " + " | ".join(row[action].value for action in QueueAction) + " |")
    return "\n".join(lines)


def flow_table() -> str:
    lines = ["| phase | does | when | then |", "| --- | --- | --- | --- |"]
    for phase, stage in FLOW_TABLE.items():
        rows = [(sign.value, then.value) for sign, then in stage.leaves]
        rows.append(("else" if rows else "always", phase.value))
        lines += [f"| {phase.value} | {stage.do.value} | {sign} | {then} |" for sign, then in rows]
    return "\n".join(lines)


TABLES = {"jobs": job_table, "queues": queue_table, "flows": flow_table}


@pytest.mark.parametrize("name", TABLES)
def test_page_shows_the_table_that_the_code_follows(name: str) -> None:
    found = re.search(rf"<!-- table: {name} -->\n(.*?)\n?<!-- end -->", PAGE.read_text(), re.DOTALL)

    assert found is not None
    assert found[1] == TABLES[name]()


def arguments_of(name: str) -> str:
    """A plugin's arguments as the page shows them; an empty default is left out."""
    plugin = find_plugin(name)
    assert plugin is not None
    shown = {
        flag: str(value).lower() if isinstance(value, bool) else value for flag, value in plugin.flags.items()
    }
    return " ".join(f"`--{flag}={value}`" if value != "" else f"`--{flag}`" for flag, value in shown.items())


def test_page_has_every_job_plugin_with_its_arguments_and_a_section() -> None:
    text = (DOCS / "jobplugins.md").read_text()
    rows = re.findall(r"^\| `(\w+)` \|(.*?)\|", text, re.MULTILINE)

    assert [(name, cell.strip()) for name, cell in rows] == [
        (name, arguments_of(name)) for name in plugin_names()
    ]
    assert re.findall(r"^## (\w+)$", text, re.MULTILINE) == list(plugin_names())


if __name__ == "__main__":
    text = PAGE.read_text()
    for name, table in TABLES.items():
        text = re.sub(
            rf"(<!-- table: {name} -->\n).*?(<!-- end -->)",
            lambda m, t=table: f"{m[1]}{t()}\n{m[2]}",
            text,
            flags=re.DOTALL,
        )
    PAGE.write_text(text)

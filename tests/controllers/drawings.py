"""The state machines of the controllers as the documentation shows them: tables, and Mermaid state diagrams.

Run `python -m tests.controllers.drawings` to write them into docs/controllers.md; test_docs.py holds the two equal.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Final

from vcray.api.scheduling import QueueState
from vcray.controllers.cronjob.jobs import CONCURRENCY
from vcray.controllers.job.lifecycle import FINISHED, OTHER, TABLE, TARGETED
from vcray.controllers.jobflow.lifecycle import TABLE as FLOW_TABLE
from vcray.controllers.queue import TABLE as QUEUE_TABLE
from vcray.controllers.queue import QueueAction
from vcray.core.groupphases import TABLE as GROUP_TABLE
from vcray.core.tables import PHASE_NAMES, Phase

PAGE: Final = Path(__file__).parents[2] / "docs" / "controllers.md"
RESTARTS: Final = ("RestartJob", *TARGETED)
Edges = dict[tuple[str, str], list[str]]


def table(*rows: Iterable[str]) -> str:
    """A Markdown table; the first row is its head."""
    lines = ["| " + " | ".join(row) + " |" for row in rows]
    return "\n".join([lines[0], "|" + " --- |" * len(tuple(rows[0])), *lines[1:]])


def drawing(edges: Edges, *more: str) -> str:
    """A Mermaid state diagram; the labels of one arrow stand below each other."""
    arrows = [
        f"    {a} --> {b}" + (f": {'<br>'.join(labels)}" if labels else "")
        for (a, b), labels in edges.items()
    ]
    return "\n".join(["```mermaid", "stateDiagram-v2", *more, *arrows, "```"])


def arrow(edges: Edges, start: str, end: str, label: str = "") -> None:
    """Add a label to an arrow, once."""
    labels = edges.setdefault((start, end), [])
    if label and label not in labels:
        labels.append(label)


def job_table() -> str:
    rows = [("phase", "action", "does", "then")]
    for phase, row in TABLE.items():
        cells: dict[tuple[str, str], list[str]] = {}
        for action, step in row.items():
            name = "any other" if action == OTHER and len(row) > 1 else "any" if action == OTHER else action
            cells.setdefault((step.do.value, step.then.name), []).append(str(name))
        for (does, then), actions in cells.items():
            rows.append((phase or "(none)", ", ".join(actions), does, then))
    return table(*rows)


def job_ways() -> str:
    rows = [("rule", "when", "then")]
    rules = {step.then.name: step.then for row in TABLE.values() for step in row.values()}
    for name in ("start", "finish", "restarted"):
        rows += [(name, sign.value, phase.value) for sign, phase in rules[name].ways]
        rows.append((name, "else", "the phase stays"))
    return table(*rows)


def job_drawing() -> str:
    edges: Edges = {}
    arrow(edges, "[*]", "Pending", "made")
    for phase, row in TABLE.items():
        if not phase:
            continue  # written as Pending before anything else is done
        for action, step in row.items():
            if step.then.enters is not None:
                arrow(edges, phase, step.then.enters.value, "a restart" if action in RESTARTS else action)
            for sign, target in step.then.ways:
                if target != phase:
                    arrow(edges, phase, target.value, sign.value)
    for ended in FINISHED:
        arrow(edges, ended.value, "[*]")
    return drawing(edges)


def queue_table() -> str:
    rows = [("state", *(action.value for action in QueueAction))]
    rows += [
        (state.value, *(row[action].value for action in QueueAction)) for state, row in QUEUE_TABLE.items()
    ]
    return table(*rows)


def queue_drawing() -> str:
    edges: Edges = {}
    arrow(edges, "[*]", QueueState.OPEN.value, "made")
    for state, row in QUEUE_TABLE.items():
        for action, do in row.items():
            for condition, target in do.targets:
                if target is not state:
                    arrow(edges, state.value, target.value, f"{action.value} {condition}".strip())
    return drawing(edges)


def flow_table() -> str:
    rows = [("phase", "does", "when", "then")]
    for phase, stage in FLOW_TABLE.items():
        ways = [(sign.value, then.value) for sign, then in stage.leaves]
        ways.append(("else" if ways else "always", phase.value))
        rows += [(phase.value, stage.do.value, sign, then) for sign, then in ways]
    return table(*rows)


def flow_drawing() -> str:
    edges: Edges = {}
    arrow(edges, "[*]", next(iter(FLOW_TABLE)).value, "made")
    for phase, stage in FLOW_TABLE.items():
        for sign, then in stage.leaves:
            arrow(edges, phase.value, then.value, sign.value)
        if not stage.leaves:
            arrow(edges, phase.value, "[*]")
    return drawing(edges)


def group_table() -> str:
    rows = [("sign", "then")]
    rows += [
        (sign.value, "the phase stays" if then is None else PHASE_NAMES[then]) for sign, then in GROUP_TABLE
    ]
    return table(*rows)


def group_drawing() -> str:
    edges: Edges = {}
    arrow(edges, "[*]", "Pending", "made")
    arrow(edges, "Pending", "Inqueue", "let in by enqueue, or placed where no enqueue runs")
    for phase in Phase:
        if phase:
            arrow(edges, PHASE_NAMES[phase], "session")
    for sign, then in GROUP_TABLE:
        if then is not None:
            arrow(edges, "session", PHASE_NAMES[then], sign.value)
    return drawing(edges, "    state session <<choice>>")


def cron_table() -> str:
    return table(("policy", "does"), *((policy, does.value) for policy, does in CONCURRENCY.items()))


TABLES: Final[dict[str, Callable[[], str]]] = {
    "jobs": job_table,
    "ways of jobs": job_ways,
    "drawing of jobs": job_drawing,
    "queues": queue_table,
    "drawing of queues": queue_drawing,
    "flows": flow_table,
    "drawing of flows": flow_drawing,
    "groups": group_table,
    "drawing of groups": group_drawing,
    "concurrency": cron_table,
}
"""Place in the page -> what stands there."""


def written(page: str) -> str:
    """The page with every table and drawing as the code has it."""
    for name, made in TABLES.items():
        page = re.sub(
            rf"(<!-- table: {name} -->\n).*?(<!-- end -->)",
            lambda m, make=made: f"{m[1]}{make()}\n{m[2]}",  # type: ignore[misc]
            page,
            flags=re.DOTALL,
        )
    return page


if __name__ == "__main__":
    PAGE.write_text(written(PAGE.read_text()))

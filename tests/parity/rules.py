"""The rules of Volcano's scheduler that vcray follows, leaves or cannot show, and the page that lists them.

`rules.yaml` holds one entry a rule: `id`, `rule` (in our words), `verdict` and what proves it. follow and differ name tests
(`path::function`, or a scenario file); differ names the row of docs/differences.md; unobservable says why.
`python -m tests.parity.rules` writes docs/parity.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import yaml

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "parity.md"
VERDICTS = ("follow", "differ", "unobservable")

SECTIONS = {
    "S0": "Resource arithmetic",
    "S1": "Runtime, cache, session, writes to the API",
    "S2": "Configuration, flags",
    "S3": "Extension points and how answers combine",
    "S4": "Actions",
    "S5": "Plugins",
    "S6": "Metrics",
    "S7": "Behaviours that are easily got wrong",
    "S8": "HyperNodes",
    "A": "Worked numbers",
    "B": "Annotations and labels",
}


@dataclass(frozen=True)
class Rule:
    """One rule. `tests`: what proves it; `difference`: the first cell of a row of differences.md; `why`: for unobservable."""

    id: str
    rule: str
    verdict: str
    tests: tuple[str, ...] = ()
    difference: str = ""
    why: str = ""


def read_rules() -> list[Rule]:
    """All rules in file order."""
    listed = yaml.safe_load((Path(__file__).parent / "rules.yaml").read_text())
    return [Rule(**{**entry, "tests": tuple(entry.get("tests", ()))}) for entry in listed]


def page(rules: list[Rule]) -> str:
    """docs/parity.md."""
    counts = {verdict: sum(rule.verdict == verdict for rule in rules) for verdict in VERDICTS}
    lines = [
        "# Parity with Volcano's scheduler",
        "",
        "What Volcano's scheduler does, rule by rule, and whether vcray does the same. Written from tests/parity/rules.yaml by",
        "`python -m tests.parity.rules`; each rule that is followed or left names the tests that show it.",
        "",
        f"{len(rules)} rules: {counts['follow']} followed, {counts['differ']} left on purpose "
        f"([differences.md](differences.md)), {counts['unobservable']} that nobody can see from outside.",
    ]
    for section, title in SECTIONS.items():
        of_section = [rule for rule in rules if rule.id.split(".")[0] == section]
        if of_section:
            lines += ["", f"## {title}", "", "| id | rule | verdict | shown by |", "|---|---|---|---|"]
            lines += [f"| {rule.id} | {rule.rule} | {rule.verdict} | {_proof(rule)} |" for rule in of_section]
    return "\n".join(lines) + "\n"


def _proof(rule: Rule) -> str:
    shown = ", ".join(f"`{test.rpartition('/')[2]}`" for test in rule.tests)
    return "; ".join(part for part in (rule.difference, rule.why, shown) if part)


if __name__ == "__main__":
    PAGE.write_text(page(read_rules()))

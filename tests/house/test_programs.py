"""The page of Volcano's programs and their tables are one."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from vcray.cli.daemons import OWN
from vcray.config.controllers import CONTROLLERS
from vcray.config.flags import Flag
from vcray.config.programs import PROGRAMS, Program
from vcray.config.roles import LEASES

PAGE = (Path(__file__).parents[2] / "docs/programs.md").read_text(encoding="utf-8")
SECTIONS = dict(re.findall(r"^## (.+?)\n(.*?)(?=^## |\Z)", PAGE, re.MULTILINE | re.DOTALL))
SHARED = "Flags of all four"


def row(flag: Flag) -> str:
    """A flag as the page shows it."""
    default = f"`{flag.default}`" if flag.default else ""
    setting = flag.setting.replace("_", "-")
    sets = f"sets `--{setting}`: " if setting not in ("", flag.name) else ""
    return f"| `--{flag.name}` | {default} | {flag.verdict} | {sets}{flag.note} |"


def rows(section: str) -> list[str]:
    return [line for line in SECTIONS[section].splitlines() if line.startswith("| `--")]


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=lambda program: program.name)
def test_each_flag_has_its_row_and_each_row_its_flag(program: Program) -> None:
    shown = [*rows(SHARED), *rows(program.name)]

    assert sorted(shown) == sorted(row(flag) for flag in program.flags)
    assert f"`--only {program.component}`" in SECTIONS[program.name]


def test_the_page_names_the_controllers_the_leases_and_our_own_flags() -> None:
    assert all(f"`{name}`" in SECTIONS["vc-controller-manager"] for name in CONTROLLERS)
    assert all(f"Lease `{lease}`" in PAGE for lease in LEASES.values())
    assert all(f"`--{name}`" in PAGE for name in OWN)

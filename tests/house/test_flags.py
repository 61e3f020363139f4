"""The table of vc-scheduler's flags, the page that shows it, and what `vcray run` takes are one."""

import re
from pathlib import Path

import click
import pytest

from vcray.cli.run import OWN, command
from vcray.config.flags import ENVIRONMENT, FLAGS, GATE_SETTINGS, GATES
from vcray.config.settings import Settings

PAGE = (Path(__file__).parents[2] / "docs/flags.md").read_text(encoding="utf-8")
ROWS = {
    line.split(" | ")[0].removeprefix("| ").strip("`"): line
    for line in PAGE.splitlines()
    if line.startswith("| `")
}
OPTIONS = {spelling for each in command.params if isinstance(each, click.Option) for spelling in each.opts}


@pytest.mark.parametrize("flag", FLAGS, ids=lambda flag: flag.name)
def test_a_flag_has_its_row_and_is_taken(flag):
    _, default, verdict, note = ROWS[f"--{flag.name}"].removesuffix(" |").split(" | ")

    assert default.strip().strip("`") == flag.default
    assert verdict == flag.verdict
    assert flag.note in note
    assert note
    assert f"--{flag.name.replace('_', '-')}" in OPTIONS


@pytest.mark.parametrize("variable", ENVIRONMENT, ids=lambda variable: variable.name)
def test_a_variable_has_its_row(variable):
    row = ROWS[variable.name]

    assert f"| {variable.verdict} |" in row
    assert variable.note in row


def test_gates_have_their_rows():
    for gate, (default, note) in GATES.items():
        assert ROWS[gate] == f"| `{gate}` | `{str(default).lower()}` | {note} |"


def test_the_page_shows_nothing_that_is_not_in_the_table():
    known = {f"--{flag.name}" for flag in FLAGS} | {each.name for each in ENVIRONMENT} | set(GATES)

    assert set(ROWS) == known


def test_what_sets_something_sets_a_setting_that_is_there():
    setting = {flag.setting for flag in FLAGS} | {each.setting for each in ENVIRONMENT}
    setting |= set(GATE_SETTINGS.values())

    assert setting - {""} <= set(Settings.model_fields)


def test_what_works_says_what_it_sets_and_what_does_not_says_why():
    assert [flag.name for flag in FLAGS if flag.verdict != "works" and (flag.setting or not flag.note)] == []


def test_flags_of_one_name_mean_one_thing():
    shared = {flag.name: flag for flag in FLAGS if flag.name.replace("_", "-") in OWN - {"kubeconfig"}}

    assert {name for name, flag in shared.items() if flag.setting.replace("_", "-") != name} == set()
    assert re.search(r"`--flag=value`", PAGE)

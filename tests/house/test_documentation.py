"""What the code offers is documented, and what is documented exists."""

import re
from importlib import import_module
from pathlib import Path

import click
import pytest

from vcray.cli.main import COMMANDS, cli
from vcray.cli.slurm import PROGRAMS
from vcray.cli.vcctl import ROOT as VCCTL
from vcray.config.settings import PREFIX, Settings
from vcray.core.combine import COMBINE
from vcray.core.plugin import HOOKS
from vcray.errors import CODES
from vcray.metrics import Metrics
from vcray.webhooks.services import SERVICES

REPOSITORY = Path(__file__).parents[2]
SHARED_FLAGS = ("vcctl", "Programs for those who know Slurm")
"""Sections of commands.md with the flags that every command has: those of vcctl, those of the programs."""


def page(name):
    return (REPOSITORY / "docs" / name).read_text(encoding="utf-8")


def rows(name):
    """First cell -> the whole row, of every table of a page."""
    lines = [line for line in page(name).splitlines() if line.startswith("| ")]
    return {line.split(" | ")[0].removeprefix("| ").strip("`"): line for line in lines}


def sections(name):
    """Heading -> the text below it."""
    parts = re.split(r"^## (.+)$", page(name), flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def leaves(command, path=()):
    """(path, command) of every command that is not a group, of click's or ours."""
    children = (
        [command.get_command(None, each) for each in command.list_commands(None)]
        if isinstance(command, click.Group)
        else getattr(command, "children", ())
    )
    if not children:
        yield " ".join((*path, command.name)), command
    for child in children:
        yield from leaves(child, (*path, command.name))


def vcray_commands():
    return [pytest.param(f"vcray {path.partition(' ')[2]}", each, id=path) for path, each in leaves(cli, ())]


def volcanos_commands():
    return [
        pytest.param(path, each, id=path)
        for root in (VCCTL, *PROGRAMS.values())
        for path, each in leaves(root)
    ]


def test_every_error_code_has_a_row_with_its_meaning_and_an_example():
    table = rows("errors.md")

    documented = {code: table[code].split(" | ")[1] for code in table if re.fullmatch(r"VC\d{4}", code)}

    assert documented == CODES
    assert all(f"{code} " in table[code].split(" | ", 2)[2] for code in CODES)


def test_every_error_code_is_used_somewhere():
    sources = (file for file in (REPOSITORY / "vcray").rglob("*.py") if file.name != "errors.py")
    sources = [*sources, REPOSITORY / "vcray/kube/errors.py"]
    text = "".join(file.read_text(encoding="utf-8") for file in sources)

    assert [code for code in CODES if code not in text] == []


def test_every_setting_has_a_row_with_its_variable_and_default():
    table = rows("settings.md")

    for name, field in Settings.model_fields.items():
        row = table["--" + name.replace("_", "-")]
        assert f"`{PREFIX}{name.upper()}`" in row
        default = field.default
        shown = ",".join(default) if isinstance(default, tuple) else str(default)
        assert default is None or f"`{shown.lower() if isinstance(default, bool) else shown}`" in row
    documented = {flag for flag in table if re.match(r"--\w", flag)}
    assert documented == {"--" + name.replace("_", "-") for name in Settings.model_fields}


def test_every_webhook_has_a_row_with_its_entry_and_operations():
    table = {
        path: row.split(" | ")[1:3] for path, row in rows("admission.md").items() if path.startswith("/")
    }

    assert table == {each.path: [f"`{each.entry}`", ", ".join(each.operations)] for each in SERVICES}


def test_every_metric_has_a_row_with_its_labels():
    table = rows("metrics.md")

    for collector in Metrics().registry._collector_to_names:
        row = table[collector._name].split(" | ")
        assert row[1] == collector._type
        assert re.findall(r"`(\w+)`", row[2]) == list(collector._labelnames)
    known = {collector._name for collector in Metrics().registry._collector_to_names}
    assert {name for name in table if name.startswith(("vcray_", "volcano_"))} == known


def test_every_hook_has_a_row_with_its_flag_and_how_answers_combine():
    table = {hook: row.removesuffix(" |").split(" | ")[2:] for hook, row in rows("hooks.md").items()}
    table = {hook: row for hook, row in table.items() if hook not in ("hook", "---")}

    assert table == {hook: [COMBINE[hook][0] or "none", COMBINE[hook][1]] for hook in HOOKS}


@pytest.mark.parametrize(("path", "command"), vcray_commands())
def test_every_command_of_vcray_is_documented_with_all_its_flags(path, command):
    section = sections("commands.md")[path]

    for parameter in command.params:
        if isinstance(parameter, click.Option) and not parameter.hidden:
            assert re.search(rf"`{parameter.opts[-1]}\b", section), parameter.opts


@pytest.mark.parametrize(("path", "command"), volcanos_commands())
def test_every_command_of_volcano_is_documented_with_all_its_flags(path, command):
    found = sections("commands.md")

    section = found[path] + found[SHARED_FLAGS[path in PROGRAMS]]

    assert all(f"`--{flag.name}`" in section for flag in command.flags)


def test_the_page_of_commands_names_no_command_that_does_not_exist():
    known = {each.values[0] for each in [*volcanos_commands(), *vcray_commands()]}

    assert set(sections("commands.md")) - set(SHARED_FLAGS) == known


@pytest.mark.parametrize(("path", "command"), vcray_commands())
def test_every_command_of_vcray_shows_an_example_in_its_help(path, command):
    words = path.split()

    text = command.get_help(click.Context(command, info_name=path))

    assert re.search(rf"Examples?:\n\s+{' '.join(words)}", text)


def test_commands_are_named_after_their_modules():
    for name in COMMANDS:
        assert import_module(f"vcray.cli.{name}").command.name == name


def test_commands_in_the_readme_exist():
    readme = (REPOSITORY / "README.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`vcray (\w+)", readme))
    groups = set(re.findall(r"`vcctl (\w+)", readme))

    assert named
    assert named <= set(COMMANDS)
    assert groups <= {child.name for child in VCCTL.children}


def test_decisions_are_numbered_without_gaps():
    numbers = sorted(int(file.name[:4]) for file in (REPOSITORY / "docs/decisions").glob("*.md"))

    assert numbers == list(range(1, len(numbers) + 1))


def test_links_in_the_documentation_lead_somewhere():
    pages = [REPOSITORY / "README.md", REPOSITORY / "CONTRIBUTING.md", *REPOSITORY.glob("docs/**/*.md")]
    pages += [REPOSITORY / "examples" / "README.md"]

    broken = [
        f"{each.relative_to(REPOSITORY)}: {target}"
        for each in pages
        for target in re.findall(r"\]\(([^)#\s]+)[^)]*\)", each.read_text(encoding="utf-8"))
        if "://" not in target and not (each.parent / target).exists()
    ]

    assert broken == []


def test_every_example_is_listed_in_its_readme():
    listed = set(re.findall(r"\]\(([\w.-]+\.yaml)\)", (REPOSITORY / "examples/README.md").read_text()))

    assert listed == {file.name for file in (REPOSITORY / "examples").glob("*.yaml")}

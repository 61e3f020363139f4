"""The tables of docs/controllers.md and docs/jobplugins.md are those of the code. See drawings.py."""

from __future__ import annotations

import re

import pytest

from tests.controllers.drawings import PAGE, TABLES
from vcray.controllers.jobplugins.base import find_plugin, plugin_names

DOCS = PAGE.parent


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

"""Every plugin and action has a page that knows its hooks, its arguments with their defaults, and an example that runs."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from vcray.app import in_process
from vcray.cli.main import execute
from vcray.config.language import VOLCANO_ACTIONS, VOLCANO_PLUGINS
from vcray.config.scheduler import load_scheduler_config
from vcray.core.action import Action
from vcray.core.plugin import HOOKS, Args, Plugin
from vcray.core.policy import build_policy
from vcray.foresight.trial import breaches
from vcray.registry import ACTIONS, PLUGINS, discover
from vcray.sim.reading import parse
from vcray.sim.runner import run_scenario

DOCS = Path(__file__).parents[2] / "docs"
REGISTRY = discover([])
GUIDE = (DOCS / "plugins.md").read_text(encoding="utf-8")
PAGES = [f"plugins/{name}" for name in REGISTRY.names(PLUGINS)]
PAGES += [f"actions/{name}" for name in REGISTRY.names(ACTIONS)]
ALIASES = {"true": "True", "false": "False", '""': "", "none": ""}


def text_of(page: str) -> str:
    return (DOCS / f"{page}.md").read_text(encoding="utf-8")


def extension(page: str) -> type[Plugin[Args]] | type[Action]:
    folder, _, name = page.partition("/")
    found: type[Plugin[Args]] | type[Action] = REGISTRY.load(
        PLUGINS if folder == "plugins" else ACTIONS, name
    )
    return found


def arguments(page: str) -> dict[str, str]:
    """Key -> default as the tables of a page tell it, of tables whose first column is `argument`."""
    found: dict[str, str] = {}
    table = False
    for line in text_of(page).splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if not line.startswith("|"):
            table = False
        elif cells[0] == "argument":
            table = True
        elif table and len(cells) > 1:
            found |= {key: cells[1].strip("`") for key in re.findall(r"`([^`]+)`", cells[0])}
    return found


def scenarios(text: str) -> list[str]:
    return re.findall(r"```yaml\n(name:.*?)```", text, re.DOTALL)


@pytest.mark.parametrize("page", PAGES)
def test_a_page_has_a_title_and_names_its_hooks(page: str) -> None:
    text = text_of(page)

    assert text.startswith(f"# {page.partition('/')[2]}\n")
    if page.startswith("plugins/"):
        hooks = {name for name in vars(extension(page)) if name in HOOKS}
        assert hooks - set(re.findall(r"`(\w+)`", text)) == set()


@pytest.mark.parametrize("page", PAGES)
def test_the_table_of_arguments_is_the_models(page: str) -> None:
    model, told = extension(page).args_model, arguments(page)
    fields = {field.alias or name: field for name, field in model.model_fields.items()}

    assert set(fields) - set(told) == set()
    assert {key for key in told if key not in fields and not key.startswith(tuple(model.families))} == set()
    for key, field in fields.items():
        default, shown = field.get_default(call_default_factory=True), told[key]
        if isinstance(default, bool | int | float | str):  # what is more is told in words
            assert ALIASES.get(shown, shown) == str(default), key


@pytest.mark.parametrize("page", PAGES)
def test_families_of_arguments_are_named(page: str) -> None:
    told = arguments(page)

    assert [
        each for each in extension(page).args_model.families if not any(k.startswith(each) for k in told)
    ] == []


@pytest.mark.parametrize("page", PAGES)
async def test_the_example_of_a_page_runs_and_names_what_it_is_about(page: str) -> None:
    blocks = scenarios(text_of(page))

    assert blocks
    for block in blocks:
        for scenario in parse(block, page):
            config = load_scheduler_config(scenario.scheduler_conf, REGISTRY.names(ACTIONS))
            named = [*config.actions, *(entry.name for tier in config.tiers for entry in tier)]
            assert page.partition("/")[2] in named
            assert build_policy(config, REGISTRY).problems == ()
            results = await run_scenario(scenario, in_process, 2)
            assert [failure for result in results for failure in result.failures] == []


def test_the_index_has_volcanos_plugins_and_actions() -> None:
    actions = (DOCS / "actions.md").read_text(encoding="utf-8")

    assert re.findall(r"^\| \[([\w-]+)\]\(plugins/\1\.md\) \|", GUIDE, re.MULTILINE) == sorted(
        VOLCANO_PLUGINS
    )
    assert re.findall(r"^\| \[(\w+)\]\(actions/\1\.md\) \|", actions, re.MULTILINE) == list(VOLCANO_ACTIONS)


def test_every_plugin_and_action_of_volcanos_is_there() -> None:
    assert set(VOLCANO_PLUGINS) == set(REGISTRY.names(PLUGINS))
    assert set(VOLCANO_ACTIONS) == set(REGISTRY.names(ACTIONS))


def test_the_law_table_counts_the_laws() -> None:
    assert re.findall(r"^\| (\d+) \|", GUIDE, re.MULTILINE) == [str(law) for law in range(13)]


def example(name: str) -> str:
    """The Python block of the guide that holds this class."""
    (source,) = [
        each for each in re.findall(r"```python\n(.*?)```", GUIDE, re.DOTALL) if f"class {name}(" in each
    ]
    return source


@pytest.mark.parametrize(("file", "name"), [("gpu_spread.py", "GpuSpread"), ("reserved.py", "Reserved")])
def test_the_examples_of_the_guide_keep_the_laws(tmp_path: Path, file: str, name: str) -> None:
    path = tmp_path / file
    path.write_text(example(name))

    assert breaches(path) == []


def test_the_example_of_an_action_runs(tmp_path: Path) -> None:
    (source,) = re.findall(r"```python\n(.*?)```", (DOCS / "actions.md").read_text(), re.DOTALL)
    (tmp_path / "census.py").write_text(source)

    assert breaches(tmp_path / "census.py") == []


def test_the_short_example_is_as_short_as_it_says() -> None:
    body = example("GpuSpread").partition("class ")[2].splitlines()
    whole = [line for line in example("GpuSpread").splitlines() if line and not line.startswith('"""')]

    assert len(body) <= len(whole) <= 10


def test_the_full_example_does_what_its_scenario_says(tmp_path: Path) -> None:
    (tmp_path / "reserved.py").write_text(example("Reserved"))
    (block,) = scenarios(GUIDE)
    (tmp_path / "scenario.yaml").write_text(block)
    arguments = ["sim", "--repeat", "3", "--plugins-dir", str(tmp_path), str(tmp_path / "scenario.yaml")]

    assert execute(arguments) == 0
    assert execute(["sim", *arguments[5:]]) == 1

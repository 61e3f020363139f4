"""Every plugin has a page (docs/plugins/NAME.md, or a section of docs/plugins.md) that knows its hooks and its arguments."""

from __future__ import annotations

import pkgutil
import re
from importlib import import_module
from pathlib import Path

import pytest

import vcray.plugins
from vcray.core.plugin import HOOKS, Args, Plugin

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "plugins.md").read_text()
NAMES = sorted(module.name for module in pkgutil.iter_modules(vcray.plugins.__path__))


def plugin_of(module: str) -> type[Plugin[Args]]:
    """The one public plugin class of a module."""
    members = vars(import_module(f"vcray.plugins.{module}")).values()
    (found,) = [m for m in members if isinstance(m, type) and issubclass(m, Plugin) and m is not Plugin]
    return found


def page_of(plugin: type[Plugin[Args]]) -> str | None:
    """The plugin's own page, None while it is a section of docs/plugins.md."""
    path = DOCS / "plugins" / f"{plugin.name}.md"
    return path.read_text() if path.exists() else None


@pytest.mark.parametrize("module", NAMES)
def test_each_plugin_has_a_page_that_names_its_hooks(module: str) -> None:
    plugin = plugin_of(module)
    page = page_of(plugin)
    if page is not None:
        assert page.startswith(f"# {plugin.name}\n")
        assert {name for name in vars(plugin) if name in HOOKS} <= set(re.findall(r"`(\w+)`", page))
        return
    assert f"\n## {plugin.name}\n" in PAGE
    (row,) = re.findall(rf"^\| \[{plugin.name}\].*$", PAGE, re.MULTILINE)
    hooks = [name for name in vars(plugin) if name in HOOKS]
    assert re.findall(r"`(\w+)`", row) == hooks


@pytest.mark.parametrize("module", NAMES)
def test_each_argument_is_listed(module: str) -> None:
    plugin = plugin_of(module)
    model, page = plugin.args_model, page_of(plugin) or PAGE
    known = [field.alias or name for name, field in model.model_fields.items()]
    for key in [*known, *model.families]:
        family = key.rpartition(".")[0] + ".*"
        assert f"`{key}`" in page or f"`{key}<name>`" in page or f"`{family}`" in page, key


def test_the_example_of_the_page_is_a_plugin_that_works() -> None:
    (source,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    namespace: dict[str, object] = {"__name__": "gpu_spread"}
    exec(compile(source, "docs/plugins.md", "exec"), namespace)
    plugin = namespace["GpuSpread"]
    assert isinstance(plugin, type)
    assert issubclass(plugin, Plugin)
    assert plugin.name == "gpu-spread"

"""The integration that docs/integrations.md shows keeps the rules, and is found in a user's folder."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from tests.controllers.world import World
from vcray.actors.hosted import integrations_of
from vcray.api.meta import JsonObject
from vcray.api.resources import NAMESPACES, PODGROUPS
from vcray.config.settings import load
from vcray.controllers import raw
from vcray.errors import ConfigError
from vcray.integrations.examining import check_integration
from vcray.integrations.keeping import GroupKeeper
from vcray.registry import discover

PAGE = (Path(__file__).parents[2] / "docs/integrations.md").read_text()
SHOWN = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)[0]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A user's folder with it, and a plugin beside it."""
    (tmp_path / "swarm.py").write_text(SHOWN)
    plugin = "from vcray.core.plugin import Args, Plugin\n\nclass Mine(Plugin[Args]):\n    pass\n"
    (tmp_path / "mine.py").write_text(plugin)
    return tmp_path


def swarm(**spec: Any) -> JsonObject:
    pod = {"schedulerName": "volcano", "containers": [{"name": "c", "resources": {"requests": {"cpu": "1"}}}]}
    return {
        "apiVersion": "example.com/v1",
        "kind": "Swarm",
        "metadata": {"name": "s", "namespace": "ns", "uid": "u"},
        "spec": {"replicas": 3, "template": {"spec": pod}, **spec},
    }


def found(folder: Path, *chosen: str) -> dict[str, Any]:
    """Integrations that are enabled, by name."""
    settings = load({"plugins_dir": folder, "integrations": chosen or ("*",)}, {})
    return {each.name: each for each in integrations_of(settings, discover(folder=folder))}


def test_it_keeps_the_rules(folder: Path) -> None:
    pod: JsonObject = {"metadata": {"name": "p", "namespace": "ns", "labels": {"example.com/swarm": "s"}}}

    assert check_integration(found(folder)["swarm"], swarm(), [pod], idle=[swarm(suspend=True)]) == []


def test_it_stands_beside_ours_and_may_be_left_out(folder: Path) -> None:
    assert {"swarm", "raycluster"} <= set(found(folder))
    assert "mine" not in found(folder)
    assert set(found(folder, "swarm")) == {"swarm"}
    assert "swarm" not in found(folder, "*", "-swarm")
    with pytest.raises(ConfigError, match=r"unknown integration 'swram'; did you mean 'swarm'\?"):
        found(folder, "swram")


def test_its_objects_get_groups(folder: Path) -> None:
    integration = found(folder)["swarm"]
    world = World([GroupKeeper([integration])])
    world.put(NAMESPACES, {"metadata": {"name": "ns"}})

    world.put(integration.kinds[0], swarm())
    world.settle()

    group = world.objects[PODGROUPS, "ns", "swarm-s"]
    assert raw.table(group, "spec") == {
        "minMember": 3,
        "minTaskMember": {"bee": 3},
        "minResources": {"cpu": "3"},
        "queue": "default",
    }

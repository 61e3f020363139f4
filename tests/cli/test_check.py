"""One fault of a configuration does not hide another: `vcray check` tells all that can be told together."""

from __future__ import annotations

from pathlib import Path

import pytest

from vcray.cli.check import examined
from vcray.config.scheduler import load_scheduler_config
from vcray.errors import ConfigError
from vcray.registry import discover


def told(text: str) -> list[str]:
    return [f"{each.code} {each.where}" for each in examined(text).problems]


@pytest.mark.parametrize(
    ("text", "places"),
    [
        (
            "Actions: allocate\nTiers: []\n",
            ["VC0111 Actions", "VC0111 Tiers", "VC0103 actions"],
        ),
        (
            "actions: 'allocate,'\ntiers: [{plugins: [{name: Binpack}]}]",
            ["VC0105 actions[1]", "VC0107 tiers[0].plugins[0]"],
        ),
        (
            "actions: allocate\nconfigurations: {}\n"
            "tiers: [{plugins: [gang, {name: 5}, {name: overcommit, arguments: {overcommit-factor: abc}}]}]",
            [
                "VC0102 tiers[0].plugins[0]",
                "VC0102 configurations",
                "VC0107 tiers[0].plugins[1]",
                "VC0108 tiers[0].plugins[2].arguments.overcommit-factor",
            ],
        ),
        (
            "actions: allocate, alocate\nconfigurations: [{name: allocate, arguments: {cache: true}}]\n"
            "tiers: [{plugins: [{name: drf, enableHierarchy: true}, {name: proportion}]}]",
            ["VC0105 actions[1]", "VC0109 tiers[0]", "VC0108 configurations[allocate].arguments.cache"],
        ),
    ],
)
def test_faults_that_refuse_the_file_hide_no_others(text: str, places: list[str]) -> None:
    assert told(text) == places


def test_a_file_that_is_refused_is_warned_of_too() -> None:
    text = "tiers: [{plugins: [{name: drf, enableHierarchy: true}, {name: proportion}, {name: capacity}]}]"
    sound = examined(f"actions: allocate\n{text}").warnings
    misspelt = examined(f"actions: alocate\n{text}").warnings

    assert [each.code for each in sound] == ["VC0114", "VC0115"]
    assert [each.code for each in misspelt] == ["VC0114"], "what is missing may be what was meant"


def test_plugins_that_cannot_be_made_hide_nothing(tmp_path: Path) -> None:
    for name in ("broken", "empty"):
        (tmp_path / f"{name}.py").write_text("1 / 0" if name == "broken" else "")
    text = (
        "actions: allocate\ntiers: [{plugins: [{name: broken}, {name: empty}, {name: sla, arguments: {x: 1}}, "
        "{name: predicates}]}]"
    )
    report = examined(text, discover([], tmp_path))

    assert [each.code for each in report.problems] == ["VC0110", "VC0110", "VC0108"]
    assert report.config is None


def test_who_loads_a_file_that_is_refused_hears_of_all_its_faults() -> None:
    with pytest.raises(ConfigError) as caught:
        load_scheduler_config("Actions: allocate\ntiers: 3")

    assert [each.code for each in caught.value.problems] == ["VC0111", "VC0103", "VC0102"]

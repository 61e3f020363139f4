"""The named configurations are those of the collection of public reports."""

from __future__ import annotations

import yaml

from vcray.sim.configurations import CONFIGURATIONS


def tiers(name: str) -> list[list[str]]:
    document = yaml.safe_load(CONFIGURATIONS[name])
    return [[plugin["name"] for plugin in tier["plugins"]] for tier in document["tiers"]]


def actions(name: str) -> str:
    return str(yaml.safe_load(CONFIGURATIONS[name])["actions"])


def flags(name: str, plugin: str) -> dict[str, object]:
    document = yaml.safe_load(CONFIGURATIONS[name])
    (found,) = [each for tier in document["tiers"] for each in tier["plugins"] if each["name"] == plugin]
    return {key: value for key, value in found.items() if key != "name"}


def test_two_tiers_and_the_share_plugin_first_where_victims_are_taken() -> None:
    assert tiers("KA") == [
        ["priority", "gang", "conformance"],
        ["drf", "predicates", "proportion", "nodeorder", "binpack"],
    ]
    assert set(tiers("K0")[1]) - set(tiers("KA")[1]) == {"overcommit"}
    assert tiers("KR")[0] == ["priority", "gang", "conformance", "proportion"]
    assert tiers("KC")[0] == ["priority", "gang", "conformance", "capacity"]
    assert tiers("KC")[1] == tiers("KR")[1] == ["drf", "predicates", "nodeorder", "binpack"]


def test_actions() -> None:
    assert {name: actions(name) for name in ("K0", "KA", "KP", "KR")} == {
        "K0": "enqueue, allocate, backfill",
        "KA": "allocate, backfill",
        "KP": "allocate, preempt, backfill",
        "KR": "allocate, reclaim, backfill",
    }


def test_flags() -> None:
    assert flags("KP", "gang") == flags("KP", "drf") == {"enablePreemptable": False}
    assert flags("KC", "gang") == {"enableReclaimable": False, "enablePreemptable": False}
    assert flags("KH", "capacity") == {"enableHierarchy": True}

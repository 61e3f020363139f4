"""`--controllers` as Volcano reads it, and the settings that are refused at the start."""

from __future__ import annotations

import pytest

from vcray.config.controllers import is_enabled, wrong_choices
from vcray.config.settings import Settings, load
from vcray.errors import ConfigError


@pytest.mark.parametrize(
    ("chosen", "runs"),
    [
        (Settings().controllers, False),
        ((), True),
        (("*",), True),
        (("sharding-controller",), True),
        (("+sharding-controller",), True),
        (("gc-controller",), False),
        (("*", "-sharding-controller"), False),
        (("-sharding-controller", "*"), False),
        (("-gc-controller", "*"), True),
    ],
)
def test_the_first_entry_with_its_name_decides_then_the_star(chosen: tuple[str, ...], runs: bool) -> None:
    assert is_enabled("sharding-controller", chosen) is runs


def test_a_name_that_stands_twice_or_is_none_is_refused() -> None:
    assert wrong_choices(("*", "+gc-controller", "-gc-controller")) == [
        "controllers option -gc-controller cannot have both '-' and '+' prefixes"
    ]
    assert wrong_choices(("hyperNode-controller", "colocation-config-controller", "*")) == []
    assert "did you mean 'queue-controller'?" in wrong_choices(("-queue-controler",))[0]


@pytest.mark.parametrize(
    ("name", "value", "why"),
    [
        ("controllers", ["*", "-nobody"], "there is no controller 'nobody'"),
        ("scheduler_configs", ["volcano"], "expected 7 colon-separated parts"),
        ("shard_sync_period_s", "0", "must be more than 0"),
    ],
)
def test_what_cannot_be_used_stops_the_start_and_names_the_flag(name: str, value: object, why: str) -> None:
    with pytest.raises(ConfigError) as error:
        load({name: value}, {})
    assert why in str(error.value)
    assert f"--{name.replace('_', '-')}" in str(error.value)

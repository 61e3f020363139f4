"""Extensions are found by file name and entry point; policies are built from what is found."""

from __future__ import annotations

import sys
import types
from importlib.metadata import EntryPoint

import pytest

from tests.core import stubs
from vcray.config.scheduler import HELM_CONF, load_scheduler_config
from vcray.core.plugin import Args, Plugin
from vcray.core.policy import build_policy
from vcray.errors import ConfigError
from vcray.registry import ACTIONS, PLUGINS, Extension, Registry, discover


def test_built_ins_are_found_by_their_file_names() -> None:
    registry = discover([])

    assert {"enqueue", "allocate", "backfill"} <= set(registry.names(ACTIONS))
    assert {"gang", "drf", "predicates", "proportion"} <= set(registry.names(PLUGINS))
    assert registry.load(PLUGINS, "gang").__name__ == "Gang"


def test_every_built_in_is_well_formed() -> None:
    registry = discover([])

    for group in (PLUGINS, ACTIONS):
        for name in registry.names(group):
            assert registry.load(group, name).name == name  # type: ignore[attr-defined]


def test_an_entry_point_adds_a_plugin() -> None:
    point = EntryPoint("pack", "tests.core.stubs:Pack", PLUGINS)

    assert discover([point]).load(PLUGINS, "pack") is stubs.Pack


def test_a_clash_with_a_built_in_is_an_error() -> None:
    with pytest.raises(ConfigError, match="'gang' is offered by"):
        discover([EntryPoint("gang", "tests.core.stubs:Gang", PLUGINS)])


def test_an_unknown_name_is_told_with_the_nearest() -> None:
    with pytest.raises(ConfigError, match="VC0107 unknown plugin 'binpak'; did you mean 'binpack'"):
        discover([]).load(PLUGINS, "binpak")
    with pytest.raises(ConfigError, match="VC0105 unknown action 'alocate'"):
        discover([]).load(ACTIONS, "alocate")


def test_a_module_without_exactly_one_class_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    module = types.ModuleType("two_plugins")
    for name in ("One", "Two"):
        setattr(module, name, type(name, (Plugin,), {"__module__": "two_plugins"}))
    monkeypatch.setitem(sys.modules, "two_plugins", module)
    registry = Registry({PLUGINS: {"two": Extension("two", "two_plugins")}})

    with pytest.raises(ConfigError, match="exactly one public Plugin class, holds 2"):
        registry.load(PLUGINS, "two")


def test_a_policy_goes_on_without_unknown_plugins_and_wrong_arguments() -> None:
    conf = (
        "actions: allocate\n"
        "tiers: [{plugins: [{name: gagn}, {name: binpack, arguments: {binpack.weight: '3'}}, {name: gang}]}]"
    )

    policy = build_policy(load_scheduler_config(conf), discover([]))

    assert [recipe.plugin.name for recipe in policy.tiers[0]] == ["binpack", "gang"]
    assert [problem.code for problem in policy.problems] == ["VC0107", "VC0108"]
    assert policy.problems[0].where == "tiers[0].plugins[0]"


def test_of_two_entries_of_one_plugin_both_go_by_the_last_ones_arguments() -> None:
    conf = (
        "actions: allocate\n"
        "tiers:\n"
        "- plugins: [{name: binpack, arguments: {binpack.weight: 3}}]\n"
        "- plugins: [{name: binpack, enableNodeOrder: false, arguments: {binpack.weight: 5}}]"
    )

    policy = build_policy(load_scheduler_config(conf), discover([]))

    recipes = [recipe for tier in policy.tiers for recipe in tier]
    assert [recipe.args.model_dump(by_alias=True)["binpack.weight"] for recipe in recipes] == [5, 5]
    assert [recipe.config.enabled("enableNodeOrder") for recipe in recipes] == [True, False]


def test_an_unknown_action_is_refused() -> None:
    with pytest.raises(ConfigError, match="unknown action 'alocate'"):
        build_policy(load_scheduler_config("actions: alocate"), discover([]))


def test_arguments_of_actions_are_checked() -> None:
    conf = (
        "actions: allocate\n"
        "configurations:\n"
        "- {name: allocate, arguments: {predicateErrorCacheEnable: 3, predicateErorCacheEnable: true}}\n"
        "- {name: reclaim, arguments: {anything: 1}}"
    )

    problems = build_policy(load_scheduler_config(conf), discover([])).problems

    assert [str(problem) for problem in problems] == [
        "VC0108 configurations[allocate].arguments.predicateErrorCacheEnable: "
        "must be true or false, got 3; the default is kept",
        "VC0108 configurations[allocate].arguments.predicateErorCacheEnable: unknown argument "
        "'predicateErorCacheEnable' has no effect; did you mean 'predicateErrorCacheEnable'?",
    ]


def test_wrong_arguments_of_a_plugin_that_stands_twice_are_told_once_where_they_stand() -> None:
    conf = (
        "actions: allocate\n"
        "tiers:\n"
        "- plugins: [{name: binpack, arguments: {binpack.weight: 1}}]\n"
        "- plugins: [{name: binpack, arguments: {binpack.weight: x}}]\n"
    )

    policy = build_policy(load_scheduler_config(conf), discover([]))

    assert [problem.where for problem in policy.problems] == ["tiers[1].plugins[0].arguments.binpack.weight"]


def test_an_argument_of_an_action_that_is_removed_on_reload_is_gone() -> None:
    """In Volcano it keeps its last value, since its actions outlive the configuration."""
    given = (
        "actions: allocate\nconfigurations: [{name: allocate, arguments: {predicateErrorCacheEnable: false}}]"
    )

    before = build_policy(load_scheduler_config(given), discover([])).actions[0]
    after = build_policy(load_scheduler_config("actions: allocate"), discover([])).actions[0]

    assert (before.arguments, after.arguments) == ({"predicateErrorCacheEnable": False}, {})


def test_the_helm_policy_has_no_problems() -> None:
    policy = build_policy(load_scheduler_config(HELM_CONF), discover([]))

    assert policy.problems == ()
    assert policy.has_action("enqueue")


def test_a_misspelled_hook_is_refused() -> None:
    with pytest.raises(ConfigError, match="'node_scor' is not a hook; did you mean 'node_score'"):
        type("Bad", (Plugin,), {"node_scor": lambda self: None, "__module__": "bad", "__qualname__": "Bad"})
    assert Args().model_dump() == {}

"""`volcano-scheduler.conf` is read as Volcano reads it, and says what is wrong."""

from __future__ import annotations

import pytest

from vcray.config.scheduler import DEFAULT_CONF, FLAGS, HELM_CONF, load_scheduler_config
from vcray.errors import ConfigError

ACTIONS = ("allocate", "backfill", "enqueue")
PLUGINS = ("binpack", "drf", "gang", "priority", "proportion")


def refused(text: str) -> list[str]:
    with pytest.raises(ConfigError) as caught:
        load_scheduler_config(text, ACTIONS, PLUGINS)
    return [str(problem) for problem in caught.value.problems]


def test_the_helm_default_is_read() -> None:
    config = load_scheduler_config(HELM_CONF)

    assert config.actions == ("enqueue", "allocate", "backfill")
    assert [[plugin.name for plugin in tier] for tier in config.tiers] == [
        ["priority", "gang", "conformance"],
        ["overcommit", "drf", "predicates", "proportion", "nodeorder", "binpack"],
    ]
    gang = config.tiers[0][1]
    assert (gang.enabled("enablePreemptable"), gang.enabled("enableJobReady")) == (False, True)


def test_flags_have_volcanos_defaults_and_spellings() -> None:
    plugin = load_scheduler_config(DEFAULT_CONF).tiers[0][0]

    assert {flag for flag in FLAGS if not plugin.enabled(flag)} == {"enableHierarchy", "enabledClusterOrder"}
    assert {"enableJobOrder", "enabledAllocatable", "enabledOverused", "enabledVictim"} <= FLAGS


def test_arguments_of_actions_come_from_the_first_entry() -> None:
    config = load_scheduler_config(
        "actions: allocate\n"
        "configurations:\n"
        "- {name: allocate, arguments: {predicateErrorCacheEnable: false}}\n"
        "- {name: allocate, arguments: {predicateErrorCacheEnable: true}}\n"
        "metrics: {type: prometheus, interval: 30s, tls.insecureSkipVerify: true}\n"
    )

    assert config.action_arguments("allocate") == {"predicateErrorCacheEnable": False}
    assert config.action_arguments("enqueue") == {}
    assert config.metrics == {"type": "prometheus", "interval": "30s", "tls.insecureSkipVerify": "true"}


def test_what_is_skipped_is_told_and_the_rest_stands() -> None:
    config = load_scheduler_config(
        "actions: 'allocate'\n"
        "tiers:\n"
        "- plugins:\n"
        "  - {name: gagn}\n"
        "  - {name: gang, enableJobOder: false, arguments: {x: 1}}\n",
        ACTIONS,
        PLUGINS,
    )

    assert [plugin.name for plugin in config.tiers[0]] == ["gang"]
    assert [str(problem) for problem in config.problems] == [
        "VC0107 tiers[0].plugins[0].name: unknown plugin 'gagn'; did you mean 'gang'?",
        "VC0106 tiers[0].plugins[1].enableJobOder: unknown flag 'enableJobOder' "
        "has no effect; did you mean 'enableJobOrder'?",
    ]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "VC0103 the file is empty; name at least one action, such as `actions: allocate`"),
        ("a: [", "VC0101 line 1, column 5: not YAML: expected the node content, but found '<stream end>'"),
        ("[1]", "VC0102 must be a mapping with `actions` and `tiers`, not a list"),
        (
            "tiers: []",
            'VC0103 actions: no action is named; write for example `actions: "enqueue, allocate, backfill"`',
        ),
        ("actions: [allocate]", "VC0102 actions: must be a string of names with commas between, not a list"),
        ("actions: 'alocate'", "VC0105 actions[0]: unknown action 'alocate'; did you mean 'allocate'?"),
        ("actions: 'allocate,'", "VC0105 actions[1]: an action name is empty; is there a comma too many?"),
        ("actions: allocate\ntiers: 3", "VC0102 tiers: must be a list, not a number"),
        ("actions: allocate\ntiers: [3]", "VC0102 tiers[0]: must be a mapping with `plugins`, not a number"),
        (
            "actions: allocate\ntiers: [{plugins: [gang]}]",
            "VC0102 tiers[0].plugins[0]: must be a mapping with `name`, not a string",
        ),
        (
            "actions: allocate\ntiers: [{plugins: [{}]}]",
            "VC0102 tiers[0].plugins[0].name: a plugin needs a name",
        ),
        (
            "actions: allocate\ntiers: [{plugins: [{name: gang, enableJobOrder: 'no'}]}]",
            "VC0102 tiers[0].plugins[0].enableJobOrder: must be true or false, not a string",
        ),
        (
            "actions: allocate\ntiers: [{plugins: [{name: drf, enableHierarchy: true}, {name: proportion}]}]",
            "VC0109 tiers[0]: drf with enableHierarchy and proportion cannot share a tier; "
            "move one of them to another tier",
        ),
        (
            "actions: allocate\nconfigurations: [{arguments: {}}]",
            "VC0102 configurations[0]: must be a mapping with the `name` of an action and its `arguments`",
        ),
        ("actions: allocate\nmetrics: fast", "VC0102 metrics: must be a mapping of strings, not a string"),
    ],
)
def test_what_is_wrong_is_one_sentence_with_a_place(text: str, problem: str) -> None:
    assert refused(text) == [problem]


def test_all_that_is_wrong_is_told_at_once() -> None:
    assert len(refused("actions: 'x, allocate, y'\ntiers: 3")) == 3


def test_hierarchy_and_proportion_may_stand_in_different_tiers() -> None:
    config = load_scheduler_config(
        "actions: allocate\n"
        "tiers: [{plugins: [{name: drf, enableHierarchy: true}]}, {plugins: [{name: proportion}]}]"
    )

    assert [[plugin.name for plugin in tier] for tier in config.tiers] == [["drf"], ["proportion"]]


def test_keys_that_nobody_reads_are_told_and_skipped():
    config = load_scheduler_config("actions: allocate\ntier: []\ntiers:\n- plugin: []\n")

    assert [str(each) for each in config.problems] == [
        "VC0111 tier: unknown key 'tier' has no effect; did you mean 'tiers'?",
        "VC0111 tiers[0].plugin: unknown key 'plugin' has no effect; did you mean 'plugins'?",
    ]


def test_an_action_that_is_still_to_come_is_told_so():
    with pytest.raises(ConfigError, match="this version of vcray has no action 'reclaim' yet; leave it out"):
        load_scheduler_config("actions: allocate, reclaim", ["allocate"])

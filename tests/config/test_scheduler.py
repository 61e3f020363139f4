"""`volcano-scheduler.conf` is read as Volcano reads it, and says what is wrong."""

from __future__ import annotations

import pytest

from vcray.config.document import line_of, lines
from vcray.config.language import VOLCANO_ACTIONS, VOLCANO_PLUGINS, unknown_name
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
        "VC0107 tiers[0].plugins[0]: unknown plugin 'gagn'; did you mean 'gang'?",
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
        ("actions: 'gang'", "VC0105 actions[0]: 'gang' is a plugin; name it under `tiers`"),
        ("actions: 'allocate,'", "VC0105 actions[1]: an action name is empty; is there a comma too many?"),
        ("actions: allocate\ntiers: 3", "VC0102 tiers: must be a list, not a number"),
        ("actions: allocate\ntiers: [3]", "VC0102 tiers[0]: must be a mapping with `plugins`, not a number"),
        (
            "actions: allocate\ntiers: [{plugins: [gang]}]",
            "VC0102 tiers[0].plugins[0]: must be a mapping with `name`, not a string",
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
            "actions: allocate\nconfigurations: [allocate]",
            "VC0102 configurations[0]: must be a mapping with the `name` of an action and its `arguments`",
        ),
        (
            "actions: allocate\nmetrics: {address: {host: a}}",
            "VC0102 metrics.address: must be a string, not a mapping",
        ),
        (
            "actions: allocate\nmetrics: {tls: {insecureSkipVerify: 'false'}}",
            "VC0102 metrics.tls: must be a string, not a mapping; write `tls.insecureSkipVerify: ...`",
        ),
        (
            "actions: allocate\nmetrics: {elasticsearch: {index: a, username: b, shard: c}}",
            "VC0102 metrics.elasticsearch: must be a string, not a mapping; "
            "write `elasticsearch.index: ...` and `elasticsearch.username: ...`",
        ),
        ("actions: allocate\nmetrics: [a]", "VC0102 metrics: must be a mapping of strings, not a list"),
        ("actions: allocate\nmetrics: {where: [a]}", "VC0102 metrics.where: must be a string, not a list"),
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


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (
            "tiers: [{plugins: [{}]}]",
            "VC0107 tiers[0].plugins[0]: a plugin without a name has no effect; name it",
        ),
        (
            "tiers: [{plugins: [{name: gang, enableJobOrder: }]}]",
            "VC0106 tiers[0].plugins[0].enableJobOrder: has no value; the default is kept",
        ),
        (
            "tiers: [{plugins: [{name: binpack, binpack.weight: 5}]}]",
            "VC0106 tiers[0].plugins[0].binpack.weight: unknown flag 'binpack.weight' has no effect; "
            "does it belong under `arguments`?",
        ),
        (
            "tiers: [{plugins: [{name: gang, arguments: {enableHierarchy: true}}]}]",
            "VC0106 tiers[0].plugins[0].arguments.enableHierarchy: a flag has no effect among the arguments; "
            "write it beside `name`",
        ),
        (
            "tiers: [{plugins: [{name: preempt}]}]",
            "VC0107 tiers[0].plugins[0]: 'preempt' is an action; name it in `actions`",
        ),
        (
            "configurations: [{arguments: {}}]",
            "VC0111 configurations[0]: an entry without the name of an action has no effect; name it",
        ),
        (
            "configurations: [{name: allocate, argument: {}}]",
            "VC0111 configurations[0].argument: unknown key 'argument' has no effect; did you mean 'arguments'?",
        ),
        (
            "tiers: [{plugins: [{name: binpack, argument: {binpack.weight: 5}}]}]",
            "VC0106 tiers[0].plugins[0].argument: unknown flag 'argument' has no effect; did you mean 'arguments'?",
        ),
        (
            "metrics: {adress: x}",
            "VC0111 metrics.adress: unknown key 'adress' has no effect; did you mean 'address'?",
        ),
    ],
)
def test_what_volcano_passes_over_is_told_and_does_not_refuse_the_file(text: str, problem: str) -> None:
    config = load_scheduler_config(f"actions: allocate\n{text}", ACTIONS, PLUGINS)

    assert [str(each) for each in config.problems] == [problem]


@pytest.mark.parametrize(
    ("text", "warning"),
    [
        (
            "tiers: [{plugins: [{name: gang}]}, {plugins: [{name: gang}]}]",
            "VC0112 tiers[1].plugins[0]: plugin 'gang' stands at tiers[0].plugins[0] too: it is asked twice, "
            "both times with the arguments given here; name it once",
        ),
        (
            "configurations: [{name: allocate}, {name: allocate}]",
            "VC0112 configurations[1]: action 'allocate' has arguments above already; these have no effect",
        ),
        ("tiers: []\ntiers: []", "VC0112 tiers: stands on line 2 and again on line 3; the last one counts"),
        ("---\nactions: preempt", "VC0112 line 3: only the first YAML document is read"),
    ],
)
def test_what_is_said_twice_is_a_warning(text: str, warning: str) -> None:
    config = load_scheduler_config(f"actions: allocate\n{text}", ACTIONS, PLUGINS)

    assert (config.problems, config.actions) == ((), ("allocate",))
    assert [str(each) for each in config.warnings] == [warning]


def test_keys_are_text_even_where_yaml_sees_something_else() -> None:
    config = load_scheduler_config(
        "actions: allocate\ntiers: [{plugins: [{name: a, arguments: {on: 1, 2: 3}}]}]"
    )

    assert config.tiers[0][0].arguments == {"on": 1, "2": 3}


def test_a_place_has_a_line() -> None:
    known = lines("actions: allocate\ntiers:\n- plugins:\n  - name: gang\n    enableX: true\n")

    assert [
        line_of(each, known) for each in ("tiers[0].plugins[0]", "tiers[0].plugins[0].arguments.x", "x")
    ] == [
        4,
        4,
        None,
    ]


def test_all_actions_and_plugins_of_volcanos_are_known_by_name() -> None:
    assert (len(VOLCANO_ACTIONS), len(VOLCANO_PLUGINS)) == (8, 24)
    assert unknown_name("plugin", "numa-aware", []) == (
        "this version of vcray has no plugin 'numa-aware' yet; leave it out"
    )


def test_an_action_that_is_still_to_come_is_told_so():
    with pytest.raises(ConfigError, match="this version of vcray has no action 'reclaim' yet; leave it out"):
        load_scheduler_config("actions: allocate, reclaim", ["allocate"])

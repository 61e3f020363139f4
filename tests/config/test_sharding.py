"""`sharding.yaml` and the flag: defaults, and each thing that is refused."""

from __future__ import annotations

import pytest

from vcray.config.sharding import (
    AllocationRate,
    NodeLimit,
    ShardingError,
    ShardScheduler,
    Warmup,
    parse_scheduler_configs,
    parse_sharding,
)


def one(entry: str) -> ShardScheduler:
    """The scheduler of a text with one, whose entry is given as a YAML mapping without braces."""
    (found,) = parse_sharding(f"schedulerConfigs: [{{name: v, {entry}}}]").schedulers
    return found


@pytest.mark.parametrize(
    ("entry", "policies"),
    [
        ("cpuUtilizationMin: 0.1, cpuUtilizationMax: 0.6", (AllocationRate(0.1, 0.6),)),
        ("arguments: {minCPUUtil: 0.2, maxCPUUtil: 1}", (AllocationRate(0.2, 1.0),)),
        ("arguments: {minCPUUtil: 0.0}", (AllocationRate(0.0, 0.0),)),
        ("cpuUtilizationMax: 0.125, preferWarmupNodes: true", (AllocationRate(0.0, 0.13), Warmup())),
        ("cpuUtilizationMax: 1, minNodes: 1, maxNodes: 3", (AllocationRate(0.0, 1.0), NodeLimit(3))),
        ("policies: [{name: warmup, weight: 0}]", (Warmup(),)),
        ("policies: [{name: warmup, weight: 5}], preferWarmupNodes: true", (Warmup(weight=5),)),
        (
            "policies: [{name: warmup, arguments: {warmupLabel: a, warmupLabelValue: b}}]",
            (Warmup("a", "b"),),
        ),
        (
            "policies: [{name: node-limit, arguments: {maxNodes: 2}}], maxNodes: 9",
            (NodeLimit(2),),
        ),
        ("policies: [{name: node-limit, arguments: {maxNodes: -1}}]", (NodeLimit(0),)),
        (
            "policies: [{name: allocation-rate, weight: 2, arguments: {maxCPUUtil: 0.5}}], maxNodes: 9",
            (AllocationRate(0.0, 0.5, 2), NodeLimit(9)),
        ),
    ],
)
def test_policies_come_from_the_list_or_from_the_older_fields(
    entry: str, policies: tuple[object, ...]
) -> None:
    assert one(entry).policies == policies


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "must contain at least one schedulerConfig entry"),
        ("schedulerConfigs: []", "must contain at least one schedulerConfig entry"),
        ("{", "failed to unmarshal sharding config"),
        ("- a", "sharding config must be a mapping"),
        ("schedulerConfigs: 1", "schedulerConfigs must be a list"),
        ("schedulerConfigs: [{}]", "schedulerConfigs[0]: name must not be empty"),
        ("schedulerConfigs: [{name: 1}]", "schedulerConfigs[0]: name must be a string"),
        ("schedulerConfigs: [{name: v}, {name: v}]", "scheduler v stands more than once"),
        ("schedulerConfigs: [{name: v}]\nenableNodeEventTrigger: 1", "enableNodeEventTrigger must be true"),
    ],
)
def test_a_text_that_says_nothing_useful_is_refused(text: str, why: str) -> None:
    with pytest.raises(ShardingError) as error:
        parse_sharding(text)
    assert why in str(error.value)


@pytest.mark.parametrize(
    ("entry", "why"),
    [
        ("cpuUtilizationMin: -0.1", "cpuUtilizationMin -0.10 out of range [0,1]"),
        ("cpuUtilizationMax: 1.2", "cpuUtilizationMax 1.20 out of range [0,1]"),
        ("cpuUtilizationMax: .nan", "cpuUtilizationMax must be a number"),
        (
            "cpuUtilizationMin: 0.5, cpuUtilizationMax: 0.4",
            "cpuUtilizationMin (0.50) must be <= cpuUtilizationMax (0.40)",
        ),
        ("minNodes: -1", "minNodes must be >= 0"),
        ("minNodes: 2", "maxNodes (0) must be >= minNodes (2)"),
        ("minNodes: 0.5, maxNodes: 1", "minNodes must be a whole number"),
        ("preferWarmupNodes: 'yes'", "preferWarmupNodes must be true or false"),
        ("policies: [{}]", "policies[0].name must not be empty"),
        ("policies: [{name: warmup, weight: -1}]", "policies[0] (warmup): weight must be >= 0"),
        (
            "policies: [{name: warmup, arguments: {maxNodes: 1}}]",
            "maxNodes is only supported by the node-limit",
        ),
        ("policies: [{name: warm-up}]", "did you mean 'warmup'?"),
        ("policies: [{name: warmup, arguments: {warmupLabel: ''}}]", "warmupLabel cannot be empty"),
        (
            "policies: [{name: allocation-rate, arguments: {minCPUUtil: 0.4}}]",
            "invalid CPU utilization range [0.40, 0.00]",
        ),
        ("policies: [{name: node-limit, arguments: {minNodes: -1}}]", "invalid minNodes -1"),
        (
            "policies: [{name: node-limit, arguments: {minNodes: 3, maxNodes: 2}}]",
            "invalid bounds [3, 2]: maxNodes must be >= minNodes",
        ),
    ],
)
def test_each_fault_of_a_scheduler_is_told_with_its_place(entry: str, why: str) -> None:
    with pytest.raises(ShardingError) as error:
        one(entry)
    assert str(error.value).startswith("schedulerConfigs[0] (v)")
    assert why in str(error.value)


def test_period_and_trigger_are_read_and_a_period_that_cannot_be_is_passed_over() -> None:
    text = "schedulerConfigs: [{name: v}]\nshardSyncPeriod: %s\nenableNodeEventTrigger: false"

    read = parse_sharding(text % "1m30s")
    assert (read.period_s, read.node_events, read.warnings) == (90.0, False, ())
    for wrong in ("soon", "0s", "-5s"):
        passed_over = parse_sharding(text % wrong)
        assert passed_over.period_s is None
        assert "shardSyncPeriod" in passed_over.warnings[0]


def test_the_flag_has_seven_parts_and_ignores_warmup() -> None:
    found = parse_scheduler_configs(["v:volcano:-inf:0.6:false:2:100", "a:agent:0.7:inf:T:0:0"])

    assert found == (
        ShardScheduler("v", (AllocationRate(0.0, 0.6), NodeLimit(100))),
        ShardScheduler("a", (AllocationRate(0.7, 1.0),)),
    )


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("v:t:0:1:false:2", "expected 7 colon-separated parts"),
        (":t:0:1:false:2:3", "name must not be empty"),
        ("v:t:low:1:false:2:3", "could not convert"),
        ("v:t:0:1:maybe:2:3", "must be true or false"),
        ("v:t:0:1:false:2:many", "invalid literal"),
        ("v:t:0.5:0.4:false:2:3", "invalid CPU utilization range"),
        ("v:t:nan:0.4:false:2:3", "must be a number"),
        ("v:t:0:1:false:4:3", "invalid bounds [4, 3]"),
    ],
)
def test_a_flag_that_cannot_be_read_is_refused(text: str, why: str) -> None:
    with pytest.raises(ShardingError) as error:
        parse_scheduler_configs([text])
    assert why in str(error.value)

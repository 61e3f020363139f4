"""What stands deep in a configuration and cannot have the effect that it seems to have."""

from __future__ import annotations

import pytest

from vcray.cli.check import examined

RESCHEDULING = """
actions: shuffle, allocate
tiers:
- plugins:
  - {name: gang}
  - {name: predicates}
  - {name: rescheduling, arguments: {strategies: [{name: lowNodeUtilization, params: %s}]}}
metrics: %s
"""
SOURCE = "{type: prometheus, address: 'http://prometheus:9090'}"


def warned(params: str = "{}", metrics: str = SOURCE) -> list[str]:
    report = examined(RESCHEDULING % (params, metrics))
    assert report.problems == []
    return [str(each) for each in report.warnings]


def test_a_sound_source_and_sound_parameters_are_not_spoken_of() -> None:
    assert warned("{thresholds: {cpu: 20}}") == []


@pytest.mark.parametrize("name", ["thresholds", "targetThresholds"])
def test_a_limit_of_pods_is_told_where_it_stands(name: str) -> None:
    place = f"tiers[0].plugins[2].arguments.strategies[0].params.{name}.pods"
    assert warned(f"{{{name}: {{cpu: 20, pods: 20}}}}") == [
        f"VC0113 {place}: is read by no version of Volcano; delete it"
    ]


def test_selectors_that_volcano_never_reads_are_told() -> None:
    arguments = "{queueSelector: [default], labelSelector: {business: offline}}"
    plugins = f"[{{name: gang}}, {{name: predicates}}, {{name: rescheduling, arguments: {arguments}}}]"
    report = examined(f"actions: allocate, shuffle\ntiers: [{{plugins: {plugins}}}]\nmetrics: {SOURCE}")

    assert report.problems == []
    assert [str(each) for each in report.warnings] == [
        f"VC0113 tiers[0].plugins[2].arguments.{name}: is read by no version of Volcano; delete it"
        for name in ("queueSelector", "labelSelector")
    ]


@pytest.mark.parametrize("name", ["thresholdPriorityClassName", "nodeFit"])
def test_parameters_that_volcano_never_reads_are_told_where_they_stand(name: str) -> None:
    place = "tiers[0].plugins[2].arguments.strategies[0].params"
    assert warned(f"{{{name}: x}}") == [f"VC0113 {place}.{name}: is read by no version of Volcano; delete it"]


@pytest.mark.parametrize(
    ("metrics", "warning"),
    [
        (
            "{type: prometheus, address: a, interval: thirty}",
            "VC0113 metrics.interval: must be a duration above 0, such as 30s or 5m, not 'thirty'; the default is kept",
        ),
        (
            "{type: prometheus, address: a, interval: 30}",
            "VC0113 metrics.interval: must be a duration above 0, such as 30s or 5m, not '30'; the default is kept; "
            "did you mean '30s'?",
        ),
        (
            "{type: elasticsearch, address: a, tls.insecureSkipVerify: 'yes'}",
            "VC0113 metrics.tls.insecureSkipVerify: must be true or false, not 'yes'; certificates are verified",
        ),
        (
            "{type: prometheus}",
            "VC0115 metrics.address: rescheduling sees no load of nodes: `address` is empty; "
            "set it to the URL of the source",
        ),
        (
            "{type: prometeus, address: a}",
            "VC0113 metrics.type: must be one of prometheus, prometheus_adaptor, elasticsearch, not 'prometeus': "
            "rescheduling sees no load of nodes; did you mean 'prometheus'?",
        ),
        (
            "{type: graphite, address: a}",
            "VC0113 metrics.type: must be one of prometheus, prometheus_adaptor, elasticsearch, not 'graphite': "
            "rescheduling sees no load of nodes",
        ),
    ],
)
def test_a_source_that_cannot_be_as_it_is_written_is_told(metrics: str, warning: str) -> None:
    assert warned(metrics=metrics) == [warning]


def test_the_adaptor_needs_no_address() -> None:
    assert warned(metrics="{type: prometheus_adaptor, tls.insecureSkipVerify: true}") == []


def test_a_source_that_nobody_reads_is_looked_at_all_the_same() -> None:
    text = "actions: allocate\ntiers: [{plugins: [{name: predicates}]}]\nmetrics: {type: prometeus, interval: 30}"

    assert [(each.code, each.where) for each in examined(text).warnings] == [
        ("VC0113", "metrics"),
        ("VC0113", "metrics.type"),
        ("VC0113", "metrics.interval"),
    ]


def test_arguments_of_an_action_that_is_misspelt_are_told_with_its_neighbour() -> None:
    text = "actions: allocate\ntiers: [{plugins: [{name: predicates}]}]\nconfigurations: [{name: alocate}]"

    assert [str(each) for each in examined(text).warnings] == [
        "VC0113 configurations[alocate]: `actions` does not name 'alocate', so these arguments have no effect; "
        "did you mean 'allocate'?"
    ]

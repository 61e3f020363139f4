"""The configuration of the pods' webhook."""

from __future__ import annotations

import pytest

from vcray.errors import ConfigError
from vcray.webhooks.resource_groups import ResourceGroup, read_groups


def problems(text: str) -> tuple[str, ...]:
    return read_groups(text, "conf").problems


def group(body: str) -> str:
    return f"resourceGroups:\n- resourceGroup: g\n  {body}\n"


@pytest.mark.parametrize("text", ["", "---", "resourceGroups:", "resourceGroups: []", "# nothing"])
def test_empty_configuration_has_no_groups(text: str) -> None:
    assert read_groups(text, "conf").groups == ()


def test_values_are_read_as_text() -> None:
    (found,) = read_groups(group("labels: {gpu: true, count: 4}\n  schedulerName: 7"), "conf").groups

    assert found.labels == (("gpu", "true"), ("count", "4"))
    assert found.scheduler_name == "7"


def test_values_without_a_key_are_annotations_beside_the_groups_name() -> None:
    (found,) = read_groups(group("object: {value: ['a: b']}"), "conf").groups

    assert found.annotations == (("a", "b"), ("volcano.sh/resource-group", "g"))


def test_namespaces_leave_no_annotation() -> None:
    (found,) = read_groups(group("object: {key: namespace, value: [x]}"), "conf").groups

    assert found == ResourceGroup("g", frozenset({"x"}))


@pytest.mark.parametrize("spelling", ["tolerationseconds", "tolerationSeconds"])
def test_seconds_of_a_toleration_are_read_in_both_spellings(spelling: str) -> None:
    text = group(f"tolerations: [{{key: k, operator: Exists, effect: NoExecute, {spelling}: 5}}]")

    (found,) = read_groups(text, "conf").groups

    assert found.tolerations[0]["tolerationSeconds"] == 5


def test_group_that_could_hold_every_pod_holds_none() -> None:
    reading = read_groups("resourceGroups:\n- schedulerName: volcano\n", "conf")

    assert not reading.groups[0].holds("", {})
    assert reading.problems == (
        "VC0503 conf resourceGroups[0]: no pod can be of this group; give it a name, or an object with values",
    )


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ("label: {a: b}", "resourceGroups[0].label: unknown key; did you mean 'labels'?"),
        ("object: {key: pod, value: [x]}", "object.key: must be namespace or annotation, got 'pod'"),
        ("object: {key: annotation, value: [x]}", "object.value[0]: must be an annotation such as"),
        ("affinity: '{'", "affinity: must be JSON"),
        ("affinity: '[]'", "affinity: must be the affinity of a pod"),
        ("affinity: '{\"nodeAffinty\": {}}'", "unknown key; did you mean 'nodeAffinity'?"),
        ("affinity: '{\"nodeAffinity\": []}'", "affinity: cannot be part of a pod"),
        ("tolerations: [{key: a, operator: Has}]", 'Unsupported value: "Has"'),
        ("tolerations: [{key: a, secs: 5}]", "tolerations[0].secs: unknown key"),
    ],
)
def test_what_has_no_effect_is_told(body: str, told: str) -> None:
    assert any(told in problem for problem in problems(group(body)))


@pytest.mark.parametrize(
    "body", ["affinity: '{\"nodeAffinity\": []}'", "tolerations: [{key: a, operator: Has}]"]
)
def test_what_no_pod_could_be_created_with_is_left_out(body: str) -> None:
    (found,) = read_groups(group(body), "conf").groups

    assert (found.affinity, found.tolerations) == (None, ())


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("{", "VC0503 conf: is not YAML"),
        ("[]", "VC0503 conf: must be a mapping"),
        ("resourceGroups: {}", "VC0503 conf resourceGroups: must be a list"),
        ("resourceGroups: [x]", "VC0503 conf resourceGroups[0]: must be a mapping"),
        (group("labels: [a]"), "VC0503 conf resourceGroups[0].labels: must be a mapping"),
        (group("schedulerName: [a]"), "VC0503 conf resourceGroups[0].schedulerName: must be a text"),
        (group("object: {key: namespace, value: x}"), "resourceGroups[0].object.value: must be a list"),
    ],
)
def test_text_that_is_no_configuration_is_refused(text: str, told: str) -> None:
    with pytest.raises(ConfigError) as refused:
        read_groups(text, "conf")

    assert told in str(refused.value)

"""Label selectors of queries: what they choose, and the sentences for those that cannot be read."""

from __future__ import annotations

import pytest

from vcray.cluster.objects.labels import label_selector
from vcray.kube.errors import BadRequest

LABELS = {"app": "web", "tier": "back", "age": "7", "example.com/part": "x.y"}


@pytest.mark.parametrize(
    "query",
    [
        "",
        "app",
        "app=web",
        "app==web,tier!=front",
        "!legacy",
        "tier in (front, back), app notin (mail)",
        "legacy notin (yes)",
        "legacy!=yes",
        "age>6,age<8",
        "example.com/part=x.y",
    ],
)
def test_a_selector_chooses(query: str) -> None:
    assert label_selector(query)(LABELS)


@pytest.mark.parametrize(
    "query", ["legacy", "app=", "!app", "tier in (front,)", "age>7", "tier<9", "app=web,tier=x"]
)
def test_a_selector_passes_over(query: str) -> None:
    assert not label_selector(query)(LABELS)


@pytest.mark.parametrize(
    ("query", "sentence"),
    [
        ("a b c", "unable to parse requirement: found 'b', expected: in, notin, =, ==, !=, gt, lt"),
        ("a===b", "unable to parse requirement: found '=', expected: identifier"),
        ("a in b", "unable to parse requirement: found 'b' expected: '('"),
        ("a in (b", "unable to parse requirement: found '', expected: ',' or ')'"),
        ("a in (b c)", "unable to parse requirement: found 'c', expected: ',' or ')'"),
        ("a,", "found '', expected: identifier after ','"),
        ("=a", "found '=', expected: !, identifier, or 'end of string'"),
        ("a=b c", "found 'c', expected: ',' or 'end of string'"),
        ("a=b)", "found ')', expected: ',' or 'end of string'"),
        ("!", "unable to parse requirement: found '', expected: identifier"),
        (
            "a>x",
            "unable to parse requirement: values[0]: Invalid value: \"x\": for 'Gt', 'Lt' operators, the value must "
            "be an integer",
        ),
    ],
)
def test_a_broken_selector_is_refused_in_a_real_servers_words(query: str, sentence: str) -> None:
    with pytest.raises(BadRequest) as refused:
        label_selector(query)

    assert refused.value.message == sentence


def test_keys_and_values_have_the_form_of_labels() -> None:
    with pytest.raises(BadRequest, match=r'<nil>: Invalid value: "-a": name part must consist of'):
        label_selector("-a")
    with pytest.raises(BadRequest, match=r'values\[0\]\[a\]: Invalid value: "-b": a valid label must be'):
        label_selector("a=-b")

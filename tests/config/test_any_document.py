"""Whatever stands in a configuration, the answer is a configuration or sentences, never a traceback."""

from __future__ import annotations

import contextlib

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from vcray.cli.check import examined
from vcray.config.document import lines, parse
from vcray.config.language import FLAGS, METRICS_KEYS, VOLCANO_ACTIONS, VOLCANO_PLUGINS
from vcray.config.scheduler import load_scheduler_config
from vcray.core.policy import build_policy
from vcray.core.session import decide
from vcray.errors import CODES
from vcray.foresight.samples import samples
from vcray.registry import PLUGINS, discover

WORDS = [
    "actions",
    "tiers",
    "plugins",
    "name",
    "arguments",
    "configurations",
    "metrics",
    "type",
    *METRICS_KEYS,
]
SCALARS = st.one_of(
    st.none(), st.booleans(), st.integers(-5, 2000), st.floats(allow_nan=False), st.text(max_size=8),
    st.sampled_from([*VOLCANO_PLUGINS, *VOLCANO_ACTIONS, "allocate, backfill", "1m", "10:00-12:00"]),
)  # fmt: skip
ANY = st.recursive(
    SCALARS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(st.sampled_from([*WORDS, *FLAGS, "x"]), inner, max_size=4),
    ),
    max_leaves=12,
)
PLUGIN = st.fixed_dictionaries(
    {"name": st.sampled_from(VOLCANO_PLUGINS)},
    optional={
        "arguments": st.dictionaries(
            st.sampled_from(["binpack.weight", "thresholds", "resources", "strategies", "sla-waiting-time", "cpu.weight",
                             "estimator", "deviceshare.GPUExclusiveRules", "extender.managedResources", "weight"]),
            ANY, max_size=3,
        ),
        **{flag: st.booleans() for flag in ("enablePreemptable", "enableHierarchy", "enabledVictim")},
    },
)  # fmt: skip
ALMOST = st.fixed_dictionaries(
    {
        "actions": st.lists(st.sampled_from(VOLCANO_ACTIONS), min_size=1, max_size=4).map(", ".join),
        "tiers": st.lists(st.fixed_dictionaries({"plugins": st.lists(PLUGIN, max_size=4)}), max_size=3),
    },
    optional={
        "configurations": st.lists(
            st.fixed_dictionaries({"name": st.sampled_from(VOLCANO_ACTIONS), "arguments": ANY}), max_size=2
        ),
        "metrics": ANY,
    },
)


ROUND = (
    "actions: enqueue, allocate, preempt, reclaim, shuffle, backfill\ntiers:\n- plugins:\n  - name: gang\n"
)
WORLD = list(samples())[1]


def check_answers(text: str) -> None:
    report = examined(text)
    assert {each.code for each in [*report.problems, *report.warnings]} <= set(CODES)
    assert report.config is not None or report.problems


@given(ANY)
@settings(max_examples=60, deadline=None)
def test_any_document_is_answered(document: object) -> None:
    check_answers(yaml.safe_dump(document))


@given(ALMOST)
@settings(max_examples=100, deadline=None)
def test_documents_that_are_almost_right_are_answered(document: object) -> None:
    check_answers(yaml.safe_dump(document))


@given(st.text(alphabet="actions:tiers -[]{}&*!|>'\"%@`,#?\n\t0", max_size=60))
@settings(max_examples=100, deadline=None)
def test_any_text_is_answered(text: str) -> None:
    with contextlib.suppress(yaml.YAMLError):
        parse(text)
    lines(text)
    check_answers(text)


@pytest.mark.parametrize(
    "value", ["", " [1]", " {a: 1}", " 3", " text", " [{a: [1]}, null]", " {cpu: {weight: x}}"]
)
@pytest.mark.parametrize("plugin", VOLCANO_PLUGINS)
def test_every_argument_may_have_any_kind_of_value(plugin: str, value: str) -> None:
    model = discover([]).load(PLUGINS, plugin).args_model  # type: ignore[attr-defined]
    keys = [field.alias or name for name, field in model.model_fields.items()]
    keys = [*keys, *(f"{family}x" for family in model.families)]
    given = "".join(f"      {key}:{value}\n" for key in keys)

    text = f"{ROUND}  - name: {plugin}\n    arguments:\n{given}"

    check_answers(text)
    assert decide(WORLD, build_policy(load_scheduler_config(text), discover([]))).left_out == ()


def test_an_anchor_that_holds_itself_is_no_yaml() -> None:
    report = examined("actions: &a [*a]\n")

    assert [str(each) for each in report.problems] == [
        "VC0101 line 1, column 10: not YAML: an anchor holds itself"
    ]


def test_aliases_are_read_and_looked_at_once() -> None:
    text = "actions: allocate\ntiers:\n- plugins: &p [{name: predicates}]\n- plugins: *p\n"

    report = examined(text)

    assert report.problems == []
    assert [each.code for each in report.warnings] == ["VC0112"]
    assert report.lines["tiers[0].plugins[0]"] == 3


def test_a_document_that_is_nested_too_deeply_is_no_yaml() -> None:
    report = examined("actions: " + "[" * 1500 + "]" * 1500)

    assert [str(each) for each in report.problems] == ["VC0101 not YAML: it is nested too deeply"]


def test_each_reading_of_a_text_has_values_of_its_own() -> None:
    text = "x: &a {p: 1}\ny: {<<: *a, q: [2]}\n"

    first, _ = parse(text)
    first["y"]["q"].append(3)  # type: ignore[call-overload,index,union-attr]

    assert parse(text)[0] == {"x": {"p": 1}, "y": {"p": 1, "q": [2]}}

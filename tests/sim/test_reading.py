"""A scenario file is read whole: every fault of it is one clear sentence with its place, before anything runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from vcray.errors import InputError
from vcray.sim.reading import load, parse
from vcray.sim.scenario import Scenario, seconds


def one(text: str) -> Scenario:
    (scenario,) = parse(text, "f.yaml")
    return scenario


def fault(text: str) -> str:
    with pytest.raises(InputError) as told:
        list(parse(text, "f.yaml"))
    assert told.value.exit_code == 2
    return str(told.value)


def test_least_scenario_settles_once_under_k0() -> None:
    scenario = one("name: s")

    assert [step.verb for step in scenario.steps] == ["settle"]
    assert (scenario.config, scenario.repeat, scenario.never) == ("K0", 1, None)
    assert "enqueue, allocate, backfill" in scenario.scheduler_conf


def test_configuration_may_be_written_out() -> None:
    scenario = one("{name: s, config: {actions: allocate, tiers: []}}")

    assert scenario.scheduler_conf == "actions: allocate\ntiers: []\n"


def test_on_is_a_key_like_any_other() -> None:
    scenario = one("{name: s, expect: {events: [{on: pod/p, reason: Scheduled}]}}")

    assert scenario.expect.events[0].on == "pod/p"


def test_words_that_old_yaml_took_for_something_else_are_words() -> None:
    scenario = one("{name: on, about: 2026-01-01, source: yes, given: {pods: {no: {labels: {at: 12:30}}}}}")

    assert (scenario.name, scenario.about, scenario.source) == ("on", "2026-01-01", "yes")
    assert scenario.given.pods == {"no": {"labels": {"at": "12:30"}}}


def test_file_may_hold_several_scenarios(tmp_path: Path) -> None:
    file = tmp_path / "two.yaml"
    file.write_text("name: a\n---\nname: b\n---\n")

    assert [scenario.name for scenario in load(file)] == ["a", "b"]


def test_place_of_a_fault_names_the_document() -> None:
    assert fault("name: a\n---\nnme: b\n").splitlines() == [
        "VC0302 f.yaml[1]: name: Field required",
        "VC0302 f.yaml[1]: nme: unknown key 'nme'; did you mean 'name'?",
    ]


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("a: [", "VC0301 f.yaml:1: expected the node content, but found '<stream end>'"),
        ("name: s\nname: t", "VC0301 f.yaml:2: the key 'name' stands twice"),
        ("", "VC0301 f.yaml: the file holds no scenario"),
        ("- name: s", "VC0302 f.yaml: a scenario is a map with name, given, steps, expect"),
        ("{name: s, config: K9}", "VC0302 f.yaml: config: unknown configuration 'K9'; known: "),
        ("{name: s, repeat: 0}", "VC0302 f.yaml: repeat: Input should be greater than or equal to 1"),
        ("{name: s, given: {node: {}}}", "given.node: unknown key 'node'; did you mean 'nodes'?"),
        ("{name: s, given: {nodes: {n: 8}}}", "given.nodes.n: expected an amount or a map, got 8"),
        ("{name: s, steps: [{create: {pods: {p: 1x}}}]}", "steps[0].create.pods.p.size: '1x' is not"),
        (
            "{name: s, steps: [{cycles: 1, settle: true}]}",
            "steps[0]: a step has exactly one key, got cycles, ",
        ),
        (
            "{name: s, steps: [setle]}",
            "steps[0]: 'setle' is no step; did you mean 'settle'?; only `settle` sta",
        ),
        ("{name: s, steps: [{}]}", "steps[0]: a step has exactly one key, got none"),
        ("{name: s, steps: [{cycle: 1}]}", "steps[0].cycle: unknown key 'cycle'; did you mean 'cycles'?"),
        ("{name: s, steps: [{create: }]}", "steps[0]: 'create' says nothing; give it a value"),
        ("{name: s, steps: [{cycles: many}]}", "steps[0].cycles: Input should be a valid integer"),
        ("{name: s, steps: [{advance: 5}]}", "steps[0].advance: Input should be a valid string"),
        ("{name: s, steps: [{advance: soon}]}", "'soon' is not a duration such as 500ms, 10s, 1m30s"),
        ("{name: s, steps: [{delete: {kind: Podd, name: p}}]}", "steps[0].delete.kind: unknown kind 'Podd'"),
        (
            "{name: s, steps: [{stop: kubelet}]}",
            "steps[0].stop: Input should be 'scheduler', 'controllers' or 'integrations'",
        ),
        ("{name: s, expect: {bound: {j: all}}}", "expect.bound.j: expected a number or a comparison such"),
        ("{name: s, expect: {nodes: {n1: 1.5}}}", "expect.nodes.n1: expected a number or a comparison such"),
        ("{name: s, expect: {evicted: {j: x}}}", "expect.evicted: expected a number or a comparison such"),
        ("{name: s, expect: {phases: {j: Running}}}", "expect.phases.j: 'j' is none of job/NAME, group/NAME"),
        ("{name: s, expect: {phases: {job/j: 1}}}", "expect.phases.job/j: expected a phase or a list of ph"),
        (
            "{name: s, expect: {conditions: {pod/p: 'True'}}}",
            "'pod/p' is not of the form KIND/NAME:CONDITION",
        ),
        (
            "{name: s, expect: {events: [{on: p, reason: R}]}}",
            "events[0].on: 'p' is not of the form KIND/NAM",
        ),
        ("{name: s, expect: {objects: [{kind: Foo, name: p}]}}", "objects[0].kind: unknown kind 'Foo'"),
        ("{name: s, never: {no_events: [{on: pod/p, reason: R}]}}", "never: say `events` under never"),
    ],
)
def test_each_fault_is_one_sentence(text: str, what: str) -> None:
    told = fault(text)

    assert what in told
    assert told.startswith("VC030")
    assert len(told.splitlines()) == 1


def test_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"VC0503 .*/none\.yaml: cannot be read: No such file or directory"):
        load(tmp_path / "none.yaml")


@pytest.mark.parametrize(("text", "length"), [("500ms", 0.5), ("10s", 10), ("1m30s", 90), ("2h", 7200)])
def test_durations(text: str, length: float) -> None:
    assert seconds(text) == length


def test_text_that_the_quick_parser_refuses_is_read_too() -> None:
    assert one("{name: s, given: {queues: {q:}}}").given.queues == {"q": None}

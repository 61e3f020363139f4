"""Every kind of object is shown in every mode that it has: coverage.yaml names the scenarios, and they have the steps that it takes.

The manifests, traps and cases of the reference have tests as well."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml
from pydantic import JsonValue

from tests.scenarios.files import SCENARIOS
from vcray.api.meta import JsonObject
from vcray.api.resources import resolve
from vcray.integrations.known import built_in
from vcray.sim.scenario import Expectations, Scenario, Step

TESTS = Path(__file__).parents[1]
TABLE: Mapping[str, dict] = yaml.safe_load(Path(__file__).with_name("coverage.yaml").read_text())
BY_NAME = {scenario.name: scenario for scenario in SCENARIOS}
SIZES = {"replicas", "parallelism", "initialExecutors", "vcray.io/spark-executors"}
PODS = {"v1 Pod", "scheduling.k8s.io/v1alpha2 PodGroup"}
"""Kinds without a number: whoever makes one pod more makes them larger."""


@dataclass(frozen=True)
class World:
    """A scenario and the kinds (`ray.io/v1 RayJob`) that its steps are to be about."""

    scenario: Scenario
    kinds: frozenset[str]

    def objects(self) -> Iterator[JsonObject]:
        """All that is given or created."""
        created = [step.create for step in self.scenario.steps if step.create is not None]
        for each in (self.scenario.given, *created):
            yield from each.objects
            yield from ({"apiVersion": "v1", "kind": "Pod"} for _ in each.pods)

    def steps(self) -> Iterator[tuple[int, Step]]:
        yield from enumerate(self.scenario.steps)

    def after(self, index: int) -> list[Expectations]:
        """What is expected after a step."""
        later = [step.expect for step in self.scenario.steps[index + 1 :] if step.expect is not None]
        return [*later, self.scenario.expect]

    def about(self, kind: str) -> bool:
        """Is that, as a step spells it, one of the kinds?"""
        found = resolve(kind)
        return found is not None and f"{found.api_version} {found.kind}" in self.kinds

    def patches(self, *wanted: tuple[str, JsonValue]) -> list[int]:
        """Steps that patch one of the kinds with one of these."""
        return [
            index
            for index, step in self.steps()
            if step.patch is not None
            and self.about(step.patch.kind)
            and any(pair in wanted for pair in pairs(step.patch.patch))
        ]

    def names(self, what: str) -> set[str]:
        """Queues or priorities of the scenario."""
        return {*getattr(self.scenario.given, what)} - {"default"}


def pairs(value: JsonValue) -> Iterator[tuple[str, JsonValue]]:
    """Each key and value, at any depth."""
    if isinstance(value, dict):
        for key, each in value.items():
            yield key, each
            yield from pairs(each)
    elif isinstance(value, list):
        for each in value:
            yield from pairs(each)


def groups(expected: Expectations) -> Iterator[JsonObject]:
    """spec of each PodGroup that is expected."""
    for each in expected.objects:
        if each.kind == "PodGroup" and isinstance(each.fields.get("spec"), dict):
            yield each.fields["spec"]  # type: ignore[misc]


def runs(expected: Expectations, least: int = 1) -> bool:
    counts = [int(str(each).strip("<>=! ").partition("..")[0]) for each in expected.running.values()]
    return sum(counts) >= least


def waits(expected: Expectations) -> bool:
    """Pods wait, or a group without pods does."""
    empty = 0 in expected.pods.values() and any(spec.get("minMember") for spec in groups(expected))
    return 0 in expected.bound.values() or any(expected.pending.values()) or empty


def is_gone(expected: Expectations) -> bool:
    """No pods, or no group."""
    unheld = any(each.kind == "PodGroup" and not each.exists for each in expected.objects)
    return 0 in expected.pods.values() or 0 in expected.running.values() or unheld


def gang(world: World) -> bool:
    expected = [step.expect for _, step in world.steps() if step.expect] + [world.scenario.expect]
    return any(
        waits(early) and runs(late, least=2)
        for index, early in enumerate(expected)
        for late in expected[index + 1 :]
    )


def queue(world: World) -> bool:
    queues = world.names("queues")
    return any(
        queues & {*each.queues} or any(spec.get("queue") in queues for spec in groups(each))
        for each in world.after(-1)
    )


def priority(world: World) -> bool:
    classes = world.names("priorities")
    found = (spec.get("priorityClassName") for each in world.after(-1) for spec in groups(each))
    made = (
        group.get("priority") for group in world.scenario.given.groups.values() if isinstance(group, dict)
    )
    return any(each in classes for each in (*found, *made))


def topology(world: World) -> bool:
    """The group says it, or hypernodes bound where its pods may go."""
    said = any(spec.get("networkTopology") for each in world.after(-1) for spec in groups(each))
    given = [*world.objects(), *world.scenario.given.groups.values()]
    asked = any(
        key in ("networkTopology", "schedulingConstraints") for each in given for key, _ in pairs(each)
    )
    return said or bool(asked and world.scenario.given.hypernodes)


def elastic(world: World) -> bool:
    changed = [
        index
        for index, step in world.steps()
        if (
            step.patch
            and world.about(step.patch.kind)
            and SIZES & {key for key, _ in pairs(step.patch.patch)}
        )
        or (step.create and step.create.pods and world.kinds & PODS)
    ]
    return any(runs(each) for index in changed for each in world.after(index))


def suspend(world: World) -> bool:
    off = world.patches(("suspend", True), ("state", "suspended"))
    on = world.patches(("suspend", False), ("state", "running"))
    return any(
        first < then and is_gone(world.after(first)[0]) and any(map(runs, world.after(then)))
        for first in off
        for then in on
    )


def failure(world: World) -> bool:
    """Pods fail or are lost, and others come in their place, or the whole is over."""
    lost = [
        index
        for index, step in world.steps()
        if (step.finish and step.finish.code) or (step.delete and step.delete.kind == "Pod") or step.node_down
    ]
    looks = [world.after(index)[0] for index in lost]
    return any(runs(each) or waits(each) or is_gone(each) for each in looks)


def completion(world: World) -> bool:
    others = {*world.scenario.given.jobs}.union(
        *(step.create.jobs for _, step in world.steps() if step.create is not None)
    )
    ended = [
        index
        for index, step in world.steps()
        if step.finish is not None and not step.finish.code and step.finish.pods not in others
    ]
    ended += world.patches(("state", "FINISHED"))
    return any(
        is_gone(each) or each.succeeded or each.queues or list(groups(each))
        for index in ended
        for each in world.after(index)[:1]
    )


def deletion(world: World) -> bool:
    kept = any(key == "ttlSecondsAfterFinished" for each in world.objects() for key, _ in pairs(each))
    gone = [
        index
        for index, step in world.steps()
        if (step.delete is not None and world.about(step.delete.kind)) or (kept and step.advance)
    ]
    return any(is_gone(each) for index in gone for each in world.after(index)[:1])


ASPECTS: Mapping[str, Callable[[World], bool]] = {
    each.__name__: each
    for each in (gang, queue, priority, topology, elastic, suspend, failure, completion, deletion)
}


def shown(mode: Mapping[str, str]) -> dict[str, Scenario]:
    """Aspect -> the scenario that shows it, of those that are no `none`."""
    named = {aspect: mode.get(aspect) or mode["all"] for aspect in ASPECTS}
    return {aspect: BY_NAME[name] for aspect, name in named.items() if not name.startswith("none: ")}


MODES = [(kind, mode) for kind, row in TABLE.items() for mode in "AB" if isinstance(row[mode], dict)]


@pytest.mark.parametrize(("kind", "mode"), MODES)
def test_scenarios_show_what_the_table_says(kind, mode) -> None:
    row = TABLE[kind]
    through = [resolve(each) for each in row.get("through", ())]
    kinds = frozenset((row["kind"], *(f"{each.api_version} {each.kind}" for each in through if each)))
    worlds = {aspect: World(scenario, kinds) for aspect, scenario in shown(row[mode]).items()}

    assert [aspect for aspect, world in worlds.items() if not ASPECTS[aspect](world)] == []
    operator, support = row[mode]["operator"], row[mode].get("support", "volcano" if mode == "A" else "")
    for world in worlds.values():
        assert not operator or world.scenario.operators[operator] == support
        assert row["kind"] in {f"{each['apiVersion']} {each['kind']}" for each in world.objects()}


def test_every_integration_is_in_the_table_and_what_is_missing_has_a_reason() -> None:
    listed = [name for row in TABLE.values() for name in row["integrations"]]
    words = {*ASPECTS, "all", "operator", "support"}
    said = [each for row in TABLE.values() for mode in ("A", "B") for each in _reasons(row[mode])]

    assert sorted(listed) == sorted(each.name for each in built_in())
    assert all(
        {*row[mode]} <= words for row in TABLE.values() for mode in "AB" if isinstance(row[mode], dict)
    )
    assert [each for each in said if len(each.split()) < 4] == []


def _reasons(mode: str | Mapping[str, str]) -> list[str]:
    found = [mode] if isinstance(mode, str) else [*mode.values()]
    return [each for each in found if each.startswith("none") or isinstance(mode, str)]


@pytest.mark.parametrize("aspect", ASPECTS)
def test_a_scenario_in_which_nothing_happens_shows_nothing(aspect) -> None:
    given = {"queues": {"q": {}}, "priorities": {"high": 1}, "pods": {"p": "1c"}}
    idle = Scenario.model_validate({"name": "idle", "given": given, "expect": {"running": {"p": 1}}})

    assert not ASPECTS[aspect](World(idle, frozenset({"v1 Pod"})))


def test_every_manifest_of_the_reference_is_restated() -> None:
    manifests = yaml.safe_load(Path(__file__).with_name("manifests.yaml").read_text())
    places = [place.split(": ", 1) for found in manifests.values() for place in found]

    assert [*manifests] == [*range(1, 31)]
    assert [(file, words) for file, words in places if words not in (TESTS / file).read_text()] == []


def test_every_trap_and_case_has_a_test_that_bears_its_name() -> None:
    files = [*TESTS.rglob("*.py"), *TESTS.rglob("*.yaml")]
    found = [name for file in files for name in re.findall(r"(?:def test|name: [xo])_\w+", file.read_text())]
    said = "\n".join(found)
    traps = [f"t{number}" for number in range(1, 35) if not re.search(rf"_t0?{number}_", said)]
    cases = [f"o_{number:03}" for number in range(76, 81) if f"o_{number:03}" not in said]

    assert traps + cases == []

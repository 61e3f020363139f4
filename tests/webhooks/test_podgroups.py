"""Admission of PodGroups."""

from __future__ import annotations

import pytest

from tests.webhooks.seen import Seen, ask, queue
from vcray.api import names
from vcray.api.meta import JsonObject, JsonValue
from vcray.webhooks.podgroups import mutate, validate

TIERS = "must not specify 'highestTierAllowed' and 'highestTierName' in networkTopology simultaneously."
BOTH: JsonObject = {"mode": "hard", "highestTierAllowed": 1, "highestTierName": "rack"}


def group(**spec: JsonValue) -> JsonObject:
    return {"metadata": {"name": "g", "namespace": "team"}, "spec": spec}


def tied(queue: str) -> Seen:
    return Seen(namespaces={"team": {"metadata": {"annotations": {names.POD_QUEUE_NAME: queue}}}})


def test_namespace_chooses_the_queue_of_groups_that_choose_none() -> None:
    answer = mutate(ask("CREATE", group(queue="default"), seen=tied("research")))

    assert answer.patch == ({"op": "add", "path": "/spec/queue", "value": "research"},)


@pytest.mark.parametrize("seen", [Seen(), Seen(namespaces={"team": {"metadata": {}}})])
def test_without_an_annotation_there_is_no_patch(seen: Seen) -> None:
    answer = mutate(ask("CREATE", group(queue="default"), seen=seen))

    assert (answer.allowed, answer.patch) == (True, None)


@pytest.mark.parametrize("spec", [{"queue": "mine"}, {"queue": ""}, {}])
def test_only_the_default_queue_is_replaced(spec: JsonObject) -> None:
    assert mutate(ask("CREATE", group(**spec), seen=tied("research"))).patch is None


def test_mutate_answers_only_creations() -> None:
    assert mutate(ask("DELETE")).problem == "invalid operation `DELETE`, expect operation to be `CREATE`"


def test_group_for_an_open_queue_passes() -> None:
    assert validate(ask("CREATE", group(queue="q"), seen=Seen([queue("q")]))).allowed
    assert validate(ask("CREATE", group())).allowed


def test_queue_must_exist() -> None:
    assert validate(ask("CREATE", group(queue="q"))).problem == (
        'unable to find queue: queue.scheduling.volcano.sh "q" not found'
    )


@pytest.mark.parametrize("state", ["", "Closed", "Closing", "Unknown"])
def test_queue_must_be_open(state: str) -> None:
    answer = validate(ask("CREATE", group(queue="q"), seen=Seen([queue("q", state)])))

    assert answer.problem == (
        f"can only submit PodGroup to queue with state `Open`, queue `q` status is `{state}`."
    )


def test_topology_names_its_tier_in_one_way() -> None:
    policies: list[JsonValue] = [{"name": name, "networkTopology": BOTH} for name in ("first", "second")]
    new = group(networkTopology=BOTH, subGroupPolicy=policies)

    assert validate(ask("CREATE", new)).problem == f"{TIERS} in subGroupPolicy 'first': {TIERS}"
    assert validate(ask("CREATE", group(networkTopology={"highestTierAllowed": 1}))).allowed
    assert validate(ask("CREATE", group(networkTopology={"highestTierName": "rack"}))).allowed


def test_problems_are_told_together() -> None:
    answer = validate(ask("CREATE", group(queue="q", networkTopology=BOTH)))

    assert answer.problem == (f'unable to find queue: queue.scheduling.volcano.sh "q" not found; {TIERS}')


def test_validate_answers_only_creations() -> None:
    assert validate(ask("UPDATE")).problem == "unsupported operation UPDATE"

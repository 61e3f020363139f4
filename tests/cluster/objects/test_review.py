"""Driving a verb: who is asked, what an answer or a refusal does, what happens when the object moved meanwhile."""

from __future__ import annotations

import pytest

from vcray.api.meta import JsonObject
from vcray.api.resources import CONFIGMAPS
from vcray.clock import ManualClock
from vcray.cluster.objects.review import Review, Stage, driven
from vcray.cluster.objects.store import Store
from vcray.cluster.objects.write import PLAIN, Write
from vcray.kube.errors import Conflict, Forbidden

MERGE = "application/merge-patch+json"


class Ledger:
    """A gate that writes down what it is asked."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def mutate(self, review: Review) -> JsonObject | None:
        self.asked.append(f"mutate {review.operation}")
        return None

    def validate(self, review: Review) -> None:
        self.asked.append(f"validate {review.operation}")

    def charge(self, review: Review) -> None:
        self.asked.append(f"charge {review.operation}")


@pytest.fixture
def store() -> Store:
    return Store(ManualClock())


def config_map(**data: str) -> JsonObject:
    return {"metadata": {"name": "a"}, "data": dict(data)}


def test_gates_are_asked_in_order_and_a_dry_run_is_not_charged(store: Store) -> None:
    ledger = Ledger()
    store.gates.append(ledger)

    store.create(CONFIGMAPS, "default", config_map(), Write(dry_run=True))
    assert ledger.asked == ["mutate CREATE", "validate CREATE"]

    store.create(CONFIGMAPS, "default", config_map())
    store.patch(CONFIGMAPS, "default", "a", {"data": {"x": "1"}}, MERGE)
    store.delete(CONFIGMAPS, "default", "a")
    assert [word for word in ledger.asked if word.startswith("charge")] == [
        "charge CREATE",
        "charge UPDATE",
        "charge DELETE",
    ]


async def test_what_a_reviewer_changes_is_stored_and_reviewed_again(store: Store) -> None:
    seen: list[tuple[Stage, JsonObject | None]] = []

    async def reviewer(review: Review) -> JsonObject | None:
        seen.append((review.stage, review.obj))
        if review.stage is Stage.MUTATE and review.obj is not None:
            return {**review.obj, "data": {"by": "reviewer"}}
        return None

    record = await driven(
        lambda: store.verbs.create(CONFIGMAPS, "default", config_map(by="me"), PLAIN), reviewer
    )

    assert record.decode()["data"] == {"by": "reviewer"}
    assert [stage for stage, _ in seen] == [Stage.MUTATE, Stage.VALIDATE]
    assert seen[1][1] is not None
    assert seen[1][1]["data"] == {"by": "reviewer"}


async def test_a_refusal_of_a_reviewer_leaves_nothing_behind(store: Store) -> None:
    async def reviewer(review: Review) -> JsonObject | None:
        raise Forbidden("no")

    before = store.storage.version
    with pytest.raises(Forbidden, match="no"):
        await driven(lambda: store.verbs.create(CONFIGMAPS, "default", config_map(), PLAIN), reviewer)

    assert store.storage.version == before


async def test_a_verb_whose_object_moved_begins_again_and_loses_no_change(store: Store) -> None:
    store.create(CONFIGMAPS, "default", config_map())
    others = iter("12")

    async def reviewer(review: Review) -> JsonObject | None:
        other = next(others, None)
        if other is not None:
            store.patch(CONFIGMAPS, "default", "a", {"data": {other: "other"}}, MERGE)
        return None

    patch: JsonObject = {"data": {"mine": "yes"}}
    record = await driven(
        lambda: store.verbs.patch(CONFIGMAPS, "default", "a", patch, MERGE, PLAIN), reviewer
    )

    assert record.decode()["data"] == {"1": "other", "2": "other", "mine": "yes"}


async def test_an_object_that_never_rests_is_a_conflict_in_the_end(store: Store) -> None:
    store.create(CONFIGMAPS, "default", config_map())
    count = 0

    async def reviewer(review: Review) -> JsonObject | None:
        nonlocal count
        count += 1
        store.patch(CONFIGMAPS, "default", "a", {"data": {"n": str(count)}}, MERGE)
        return None

    with pytest.raises(Conflict, match="kept changing"):
        await driven(lambda: store.verbs.patch(CONFIGMAPS, "default", "a", {}, MERGE, PLAIN), reviewer)

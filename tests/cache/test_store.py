"""The newest version of each object, whatever the order of events."""

from __future__ import annotations

import pytest

from vcray.cache.store import Store, Tombstones, version_of


def test_an_older_version_does_not_replace_a_newer_one() -> None:
    store: Store[str] = Store()
    assert store.put("a", 5, "new")
    assert not store.put("a", 4, "old")
    assert store.get("a") == "new"


def test_a_deletion_wins_at_the_same_version_and_loses_against_a_newer_one() -> None:
    store: Store[str] = Store()
    store.put("a", 5, "x")
    assert not store.drop("a", 4)
    assert store.drop("a", 5)
    assert store.get("a") is None


def test_a_late_event_does_not_bring_back_what_was_deleted() -> None:
    store: Store[str] = Store()
    store.drop("a", 7)
    assert not store.put("a", 7, "late")
    assert store.put("a", 8, "again")


def test_objects_without_a_version_follow_the_order_of_arrival() -> None:
    store: Store[str] = Store()
    store.put("a", 5, "x")
    assert store.put("a", 0, "y")
    assert store.drop("a", 0)
    assert store.put("a", 0, "z")


def test_only_so_many_deletions_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vcray.cache.store.TOMBSTONES", 2)
    tombstones = Tombstones()
    for version, key in enumerate("abc", start=1):
        tombstones.put(key, version)
    assert [tombstones.covers(key, 1) for key in "abc"] == [False, True, True]


@pytest.mark.parametrize(("text", "number"), [("17", 17), ("", 0), ("x1", 0), ("٣", 0)])
def test_a_resource_version_is_a_number_or_none(text: str, number: int) -> None:
    assert version_of(text) == number

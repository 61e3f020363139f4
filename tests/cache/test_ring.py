"""Which of several schedulers a name belongs to: points and keys worked out by hand from CRC-32."""

from __future__ import annotations

from zlib import crc32

import pytest

from vcray.cache.ring import POINTS, Ring


def by_hand(key: str, replicas: list[str]) -> str:
    """The first point above the key's number, found without any of the ring's code."""
    points = {crc32(f"{index}{name}".encode()): name for name in replicas for index in range(POINTS)}
    above = [point for point in points if point > crc32(key.encode())]
    return points[min(above, default=min(points))]


def test_a_key_belongs_to_the_first_point_above_it_and_past_the_last_to_the_lowest():
    replicas = [f"volcano-scheduler-{index}" for index in range(3)]
    ring = Ring.of("volcano-scheduler-1", "3")

    for key in (f"job-{number}" for number in range(500)):
        assert ring.owner(key) == by_hand(key, replicas)


def test_each_key_has_exactly_one_owner_among_all_replicas():
    rings = [Ring.of(f"s-{index}", "3") for index in range(3)]

    owners = [[ring.own for ring in rings if ring.owns(f"node-{number}")] for number in range(300)]

    assert all(len(found) == 1 for found in owners)
    assert {found[0] for found in owners} == {"s-0", "s-1", "s-2"}


def test_the_checksum_is_the_ieee_one():
    assert crc32(b"123456789") == 0xCBF43926


@pytest.mark.parametrize("count", ["", "many", "1.5", "1"])
def test_a_count_that_is_no_whole_number_is_one_replica(count):
    ring = Ring.of("vc-0", count)

    assert all(ring.owns(f"k{number}") for number in range(50))


def test_a_replica_beyond_the_count_owns_nothing():
    ring = Ring.of("vc-5", "2")

    assert not any(ring.owns(f"k{number}") for number in range(50))


def test_no_replicas_own_nothing():
    assert not Ring.of("vc-0", "0").owns("k")


def test_growing_by_one_replica_moves_keys_only_to_the_new_one():
    two, three = Ring.of("vc-0", "2"), Ring.of("vc-0", "3")

    moved = {(two.owner(key), three.owner(key)) for key in (f"k{number}" for number in range(500))}

    assert {after for before, after in moved if before != after} == {"vc-2"}

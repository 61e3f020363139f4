"""A recorded snapshot reads back as it was, or is refused with a sentence."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from tests.core.random_worlds import random_snapshot
from tests.core.world import Job, Node, Queue, snapshot
from vcray.core import recording
from vcray.core.tables import Condition, GroupStatus, Phase
from vcray.errors import InputError


def same(a: object, b: object) -> bool:
    if isinstance(a, np.ndarray):
        return (
            isinstance(b, np.ndarray) and a.dtype == b.dtype and a.shape == b.shape and bool((a == b).all())
        )
    if dataclasses.is_dataclass(a):
        return type(a) is type(b) and all(
            same(getattr(a, f.name), getattr(b, f.name)) for f in dataclasses.fields(a)
        )
    if isinstance(a, tuple):
        return isinstance(b, tuple) and len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, dict):
        return isinstance(b, dict) and list(a) == list(b) and all(same(a[k], b[k]) for k in a)
    return type(a) is type(b) and a == b


@pytest.mark.parametrize("seed", range(20))
def test_what_is_read_is_what_was_written(seed: int) -> None:
    world = random_snapshot(seed)
    data = recording.dump(world)

    again = recording.load(data)

    assert same(world, again)
    assert recording.dump(again) == data


def test_statuses_with_conditions_and_absent_values_survive() -> None:
    status = GroupStatus(Phase.RUNNING, 1, 2, 3, (Condition("Scheduled", "True", "r", "m", "t", "s"),))
    world = snapshot(
        [Node("n")], [Job("j", [], least=0, status=status)], [Queue("default", allocated={"cpu": 1})]
    )

    assert same(world, recording.load(recording.dump(world)))


@pytest.mark.parametrize(
    ("damage", "sentence"),
    [
        (lambda data: b"", "not a recording"),
        (lambda data: b"apiVersion: v1\n", "not a recording"),
        (lambda data: data[:-16], "cut short or damaged"),
        (lambda data: data.replace(b"\xa6schema\x02", b"\xa6schema\x63"), "has schema 99"),
    ],
)
def test_other_bytes_are_refused(damage, sentence: str) -> None:  # type: ignore[no-untyped-def]
    data = recording.dump(random_snapshot(3))

    with pytest.raises(InputError, match=sentence):
        recording.load(damage(data))

"""Equality of values that hold arrays."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

from vcray.core.same import same


@dataclass(frozen=True)
class Held:
    name: str
    column: np.ndarray


def column(*numbers: int) -> np.ndarray:
    return np.array(numbers, dtype=np.int64)


EQUAL = {
    "arrays": lambda: column(1, 2),
    "names": lambda: ("a", "b"),
    "tuple with an array at its end": lambda: ("a", column(1, 2)),
    "tuple of dataclasses with arrays": lambda: (Held("a", column(1, 2)), Held("b", column(3, 4))),
    "mapping to tuples of arrays": lambda: {"image": (column(0, 1), column(5, 6))},
    "empty array": lambda: (column(), "a"),
}


@pytest.mark.parametrize("make", EQUAL.values(), ids=EQUAL)
def test_values_made_alike_are_the_same(make) -> None:
    assert same(make(), make())


UNEQUAL = {
    "length": (column(1, 2), column(1, 2, 3)),
    "value": (column(1, 2), column(1, 3)),
    "array and tuple": (column(1, 2), (1, 2)),
    "deep in a tuple": ((1, column(1, 2)), (1, column(1, 3))),
    "deep in a dataclass": ((Held("a", column(1, 2)),), (Held("a", column(2, 2)),)),
    "key": ({"a": 1}, {"b": 1}),
    "value of a key": ({"a": column(1, 2)}, {"a": column(2, 1)}),
    "type": (1, "1"),
}


@pytest.mark.parametrize(("a", "b"), UNEQUAL.values(), ids=UNEQUAL)
def test_values_that_differ_are_not(a, b) -> None:
    assert not same(a, b)


def test_fields_may_be_left_out() -> None:
    a, b = Held("a", column(1, 2)), Held("b", column(1, 2))
    assert not same(a, b)
    assert same(a, b, frozenset({"name"}))

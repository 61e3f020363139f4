"""Values by number, and arrays that grow."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Generic, TypeVar

import numpy as np

from vcray.core.arrays import Int

T = TypeVar("T", bound=Hashable)


class Interner(Generic[T]):
    """Numbers for values in order of appearance, none ever given back."""

    def __init__(self, first: Iterable[T] = ()) -> None:
        self.values: list[T] = list(first)
        self.of: dict[T, int] = {value: number for number, value in enumerate(self.values)}

    def __len__(self) -> int:
        return len(self.values)

    def number(self, value: T) -> int:
        """The number of a value."""
        found = self.of.get(value)
        if found is None:
            found = self.of[value] = len(self.values)
            self.values.append(value)
        return found

    def numbers(self, values: Iterable[T]) -> Int:
        """The numbers of several values, as an array."""
        get, number = self.of.get, self.number
        found = [(get(value), value) for value in values]
        return np.array([number(value) if known is None else known for known, value in found], np.int64)


def grown(array: Int, index: int, fill: int = 0) -> Int:
    """The array, or a longer copy (last axis doubled until `index` is inside) filled up with `fill`."""
    size = array.shape[-1]
    if index < size:
        return array
    while size <= index:
        size = max(64, size * 2)
    out = np.full((*array.shape[:-1], size), fill, array.dtype)
    out[..., : array.shape[-1]] = array
    return out


def combined(columns: Iterable[Int]) -> Int:
    """One number a row that is equal exactly where all columns are; values from -1 up."""
    code: Int | None = None
    span = 1
    for column in columns:
        width = int(column.max(initial=-1)) + 2
        if code is None:
            code, span = column + 1, width
            continue
        if span * width >= 2**62:
            code = np.unique(code, return_inverse=True)[1].astype(np.int64)
            span = int(code.max(initial=0)) + 1
        code, span = code * width + (column + 1), span * width
    assert code is not None
    return code

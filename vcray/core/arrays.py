"""Array aliases and the few functions that let one hook source serve a row of numbers and a table of columns.

Hooks are written once and called with whole columns, a few rows, or one row of Python numbers;
IEEE doubles and one order of operations make the answers bit-equal. `floor`, `where`, `ratio`, `minimum`
dispatch on the type. Never sum an axis in a hook: pairwise summation changes the last bit with the length.
"""

from __future__ import annotations

import math
from typing import TypeAlias, TypeVar, overload

import numpy as np
import numpy.typing as npt

Int: TypeAlias = npt.NDArray[np.int64]
Int32: TypeAlias = npt.NDArray[np.int32]
Int8: TypeAlias = npt.NDArray[np.int8]
Float: TypeAlias = npt.NDArray[np.float64]
Bool: TypeAlias = npt.NDArray[np.bool_]

IntLike: TypeAlias = int | Int
FloatLike: TypeAlias = float | Float
BoolLike: TypeAlias = bool | Bool

T = TypeVar("T")


def ratio(part: IntLike | FloatLike, whole: IntLike | FloatLike) -> FloatLike:
    """part / whole in float64; 0 where whole is 0 (a scorer adds nothing there)."""
    if isinstance(whole, np.ndarray):
        shape = part.shape if isinstance(part, np.ndarray) and part.ndim >= whole.ndim else whole.shape
        return np.divide(part, whole, out=np.zeros(shape, dtype=np.float64), where=whole != 0)
    if isinstance(part, np.ndarray):
        return part / float(whole) if whole else np.zeros(part.shape, dtype=np.float64)
    return float(part) / float(whole) if whole else 0.0


def where(condition: BoolLike, yes: FloatLike | IntLike, no: FloatLike | IntLike) -> FloatLike:
    """`yes` where the condition holds, else `no`, as float64."""
    if isinstance(condition, np.ndarray):
        return np.where(condition, yes, no).astype(np.float64, copy=False)
    return float(yes if condition else no)


def floor(value: FloatLike) -> FloatLike:
    """Largest whole number not above, as float64."""
    return np.floor(value) if isinstance(value, np.ndarray) else float(math.floor(value))


def distance(a: FloatLike, b: FloatLike) -> FloatLike:
    """|a - b|."""
    return np.abs(a - b) if isinstance(a, np.ndarray) or isinstance(b, np.ndarray) else abs(a - b)


def sqrt(value: FloatLike) -> FloatLike:
    """Square root in float64; correctly rounded for both, so bit-equal."""
    return np.sqrt(value) if isinstance(value, np.ndarray) else math.sqrt(value)


@overload
def minimum(a: IntLike, b: IntLike) -> IntLike: ...
@overload
def minimum(a: FloatLike, b: FloatLike) -> FloatLike: ...
def minimum(a: FloatLike | IntLike, b: FloatLike | IntLike) -> FloatLike | IntLike:
    """The smaller of the two, element by element."""
    if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
        return np.minimum(a, b)
    return a if a <= b else b


def floordiv(a: IntLike, b: IntLike) -> IntLike:
    """a // b for amounts >= 0 (Go's truncating division), 0 where b is 0."""
    if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
        divisor = np.asarray(b)
        return np.where(divisor != 0, np.asarray(a) // np.where(divisor == 0, 1, divisor), 0)
    return a // b if b else 0

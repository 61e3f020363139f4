"""Gives numbers anew to what is still there, once most numbered names, claims and selectors are of the past.

Numbers are never given back one by one, so a cluster that lives long would fill the tables with names of jobs long
gone. A compaction costs about as much as a rebuild and comes once in many times as many changes.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Final, TypeVar

import numpy as np

from vcray.cache.delta import Field
from vcray.cache.interning import Interner
from vcray.cache.state import FIRST_STRINGS, State
from vcray.core.arrays import Int
from vcray.core.tables import PodFacts

T = TypeVar("T", bound=Hashable)

SPARE: Final = 8192
"""Numbers that may lie idle before the first compaction."""


def is_due(state: State) -> bool:
    """Do numbers of the past outweigh the present by far?"""
    resolver = state.resolver
    numbered = len(state.strings) + len(state.roles) + len(state.facts) + resolver.numbered()
    present = sum(map(len, state.tables.values())) + len(state.nodes) + len(state.jobs)
    return numbered > SPARE + 4 * present


def compact(state: State, hidden: Sequence[Int]) -> None:
    """Number anew what the pods' columns and these further columns use; the state must be restarted after it."""
    matrices = [table.data[:, : len(table)] for table in state.tables.values()]
    matrices += [column[:, None] for column in hidden]
    strings, state.strings = state.strings, Interner(FIRST_STRINGS)
    for field in (Field.JOB, Field.NODE, Field.NOMINATED, Field.OWNER):
        _number_anew(matrices, field, strings.values, state.string_numbers)
    roles, state.roles = state.roles, Interner([""])
    _number_anew(matrices, Field.ROLE, roles.values, state.roles.numbers)
    facts, state.facts = state.facts, Interner([PodFacts()])
    _number_anew(matrices, Field.FACTS, facts.values, state.facts.numbers)
    claims, forms = state.resolver.forget_numbers()
    _number_anew(matrices, Field.CLAIMS, claims, state.resolver.add_claims)
    _number_anew(matrices, Field.FORM, forms, lambda found: state.resolver.forms.add(found)[0])


def _number_anew(
    matrices: Iterable[Int], field: int, old: Sequence[T], number: Callable[[Iterable[T]], Int]
) -> None:
    for matrix in matrices:
        distinct, inverse = np.unique(matrix[field], return_inverse=True)
        matrix[field] = number([old[item] for item in distinct.tolist()])[inverse]

"""Pods as dense columns with a row for each key: one int64 matrix, rows moved only to fill a gap.

The first rows of the matrix are those of a delta (`vcray.cache.delta.Field`) with the merge's own numbers; the rest is
what the merge made of them.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from vcray.cache.delta import FIELDS, Field
from vcray.cache.interning import grown
from vcray.core.arrays import Int

AGENT: Final = 1
"""Number of `groups.AGENT_JOB` in the column JOB."""
SHARD: Final = FIELDS
"""Which shard told of the pod."""
SPREAD: Final = FIELDS + 1
"""Number of the default spread constraints of a waiting pod, 0 for none."""
SHAPE: Final = FIELDS + 2
"""Row of the shape table, -1 for none."""
HELD: Final = FIELDS + 3
"""Name number of the node in whose sums the pod is, -1 for none."""
LEAVING: Final = FIELDS + 4
"""1 when it is in there as terminating."""
WIDTH: Final = FIELDS + 5


class PodColumns:
    """Keys, UIDs and the matrix (WIDTH, capacity) of which the first len() columns are in use."""

    def __init__(self) -> None:
        self.data: Int = np.zeros((WIDTH, 64), np.int64)
        self.keys: list[str] = []
        self.uids: list[str] = []
        self.row: dict[str, int] = {}
        self._names: tuple[int, tuple[str, ...], tuple[str, ...]] | None = None
        self.membership = 0
        """Grows when a key or UID comes, goes or moves."""

    def __len__(self) -> int:
        return len(self.keys)

    def used(self, field: int) -> Int:
        """One column of all rows, as a window."""
        column: Int = self.data[field, : len(self.keys)]
        return column

    def add(self, key: str, uid: str) -> int:
        """A row for a new key, in no shape and in no sum."""
        row = len(self.keys)
        self.data = grown(self.data, row)
        self.keys.append(key)
        self.uids.append(uid)
        self.row[key] = row
        self.data[Field.LABELS, row] = -1
        self.data[SPREAD, row] = 0
        self.data[SHAPE, row] = self.data[HELD, row] = -1
        self.data[LEAVING, row] = 0
        self.membership += 1
        return row

    def remove(self, key: str) -> None:
        """Take a key out; the last row fills its place."""
        row = self.row.pop(key)
        last_key, last_uid = self.keys.pop(), self.uids.pop()
        if row < len(self.keys):
            self.data[:, row] = self.data[:, len(self.keys)]
            self.keys[row], self.uids[row] = last_key, last_uid
            self.row[last_key] = row
        self.membership += 1

    def take(self, key: str, other: PodColumns) -> int:
        """Move a key here from another table, with all that is known of it."""
        origin = other.row[key]
        row = self.add(key, other.uids[origin])
        self.data[:, row] = other.data[:, origin]
        other.remove(key)
        return row

    def rows_for(self, keys: list[str], uids: list[str]) -> Int:
        """Rows of the keys, new ones where need be; a pod that took over a name brings its own UID."""
        get, known = self.row.get, self.uids
        rows = []
        for key, uid in zip(keys, uids, strict=True):
            row = get(key)
            if row is None:
                row = self.add(key, uid)
            elif known[row] != uid:
                known[row] = uid
                self.membership += 1
            rows.append(row)
        return np.array(rows, np.int64)

    def names(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Keys and UIDs by row; the same objects as before while membership is the same."""
        if self._names is None or self._names[0] != self.membership:
            self._names = (self.membership, tuple(self.keys), tuple(self.uids))
        return self._names[1], self._names[2]

    def rows_with(self, field: int, mask: Int) -> Int:
        """Rows whose number in a column is marked (mask by number, non-zero: marked)."""
        return np.flatnonzero(mask[self.used(field)])

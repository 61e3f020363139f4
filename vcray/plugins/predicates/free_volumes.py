"""The smallest free volume on each node for claims of one kind, kept up to date while volumes change hands.

Local volumes are many and each is on one node, so one that goes or comes back touches that node alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np

from vcray.core.arrays import Int
from vcray.core.storage import Volume
from vcray.plugins.predicates.volume_nodes import VolumeNodes

NOWHERE: Final = -1
"""No volume of a list."""

FEW: Final = 8
"""Nodes that a volume may be on to count as local."""


class FreeVolumes:
    """`volumes`: those that would do, smallest first. `owner`: who has which, `journal`: names of those that changed hands."""

    def __init__(
        self,
        volumes: tuple[Volume, ...],
        nodes: VolumeNodes,
        owner: Mapping[str, str],
        journal: Sequence[str],
    ) -> None:
        self.volumes = volumes
        self._nodes = nodes
        self._owner = owner
        self._journal = journal
        self._seen = -1
        self._number = {volume.name: number for number, volume in enumerate(volumes)}
        self._wide: list[int] = []
        self._local: dict[int, list[int]] = {}
        for number, volume in enumerate(volumes):
            rows = nodes.rows(volume)
            if len(rows) > FEW:
                self._wide.append(number)
            else:
                for row in rows.tolist():
                    self._local.setdefault(row, []).append(number)
        self._chosen: Int = np.zeros(0, np.int64)

    def chosen(self) -> Int:
        """(N,) number of the smallest free volume on each node, NOWHERE for none; not to be written to."""
        if self._seen == len(self._journal):
            return self._chosen
        moved = (
            None
            if self._seen < 0
            else {self._number.get(name, NOWHERE) for name in self._journal[self._seen :]}
        )
        self._seen = len(self._journal)
        if moved is None or not moved.isdisjoint(self._wide):
            self._chosen = self._from_scratch()
            return self._chosen
        rows = {
            row for number in moved if number >= 0 for row in self._nodes.rows(self.volumes[number]).tolist()
        }
        if rows:
            self._chosen = self._chosen.copy()
            for row in rows:
                self._chosen[row] = self._best(row)
        return self._chosen

    def _free(self, number: int) -> bool:
        return self.volumes[number].name not in self._owner

    def _best(self, row: int) -> int:
        local = next((number for number in self._local.get(row, ()) if self._free(number)), NOWHERE)
        for number in self._wide:
            if 0 <= local < number:
                break
            if self._free(number) and self._nodes.reaches(self.volumes[number], row):
                return number
        return local

    def _from_scratch(self) -> Int:
        chosen = np.full(self._nodes.count, NOWHERE)
        left = len(chosen)
        for number in self._wide:
            if not left:
                break
            if self._free(number):
                rows = self._nodes.rows(self.volumes[number])
                rows = rows[chosen[rows] == NOWHERE]
                chosen[rows] = number
                left -= len(rows)
        for row, numbers in self._local.items():
            best = next((number for number in numbers if self._free(number)), NOWHERE)
            if best != NOWHERE and (chosen[row] == NOWHERE or best < chosen[row]):
                chosen[row] = best
        return chosen

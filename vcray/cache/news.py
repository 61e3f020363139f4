"""What a delta means to those who wait: nothing, nothing now, or perhaps room."""

from __future__ import annotations

from enum import IntEnum
from typing import Final

import numpy as np

from vcray.cache.delta import Delta, Field
from vcray.cache.state import State
from vcray.core.tables import Status

HOLDING: Final = (Status.BOUND, Status.RUNNING)


class News(IntEnum):
    """How soon a round should look at a change.

    NOTHING: it is what the last round wrote. LATER: it cures nobody, though sentences that tell why somebody waits may count
    one node differently. NOW: all else."""

    NOTHING = 0
    LATER = 1
    NOW = 2


def takes_room_alone(state: State, delta: Delta) -> bool:
    """Does a delta, not taken in yet, tell of nothing but pods of no PodGroup that came to hold room, or go on to?

    Only where that is plainly no help: on nodes in service, without claims, and where no rule asks for pods with such labels."""
    parts = (delta.gone, delta.nodes, delta.gone_nodes, delta.cluster, delta.gone_cluster, delta.refused)
    if delta.full or any(parts) or not delta.keys:
        return False
    values = delta.values
    if not np.isin(values[Field.STATUS], HOLDING).all() or values[Field.JOB].any():
        return False
    return all(_only_holds(state, delta, column) for column in range(len(delta.keys)))


def _only_holds(state: State, delta: Delta, column: int) -> bool:
    form, labels, claims, name = (
        int(delta.values[field, column]) for field in (Field.FORM, Field.LABELS, Field.CLAIMS, Field.NODE)
    )
    found = state.find(delta.keys[column])
    node = state.nodes.rows.get(delta.strings[name])
    _, volumes, devices = delta.claims[claims]
    if node is None or not node.ready or node.unschedulable or volumes or devices:
        return False
    if state.resolver.labels.is_selected(*delta.labels[labels]):
        return False
    if found is None:
        return True
    table, row = found
    before = table.data[:, row]
    known = state.resolver
    if known.labels.item(int(before[Field.LABELS])) != delta.labels[labels] or before[Field.JOB]:
        return False
    same_node = state.strings.values[int(before[Field.NODE])] == node.name
    same_form = known.forms.numbers.values[int(before[Field.FORM])] == delta.forms[form]
    return bool(before[Field.STATUS] in HOLDING) and same_node and same_form

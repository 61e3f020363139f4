"""How many members a HyperNode has: `status.nodeCount`, after "api-controllers.md 4.5".

Counted are its own members alone, each once: a name that is given exactly counts whether it exists or not, and that of a HyperNode
counts as one, whatever is in it; a pattern or labels count the nodes that they match. What selects what is told by the
scheduler's own reading (`vcray.cache.details.hypernodes`).
"""

from __future__ import annotations

from vcray.api.meta import JsonObject
from vcray.api.resources import HYPERNODES, NODES
from vcray.cache.details.hypernodes import HyperNodeRow, Matches, read_hypernode
from vcray.cache.labels import labels_of
from vcray.controllers import raw
from vcray.controllers.base import Effects, ReconcileError, Seen, UpdateStatus


def matches_nodes(row: HyperNodeRow) -> bool:
    """Does its count depend on which nodes there are?"""
    return any(not member.name for member in row.members)


def counted(row: HyperNodeRow, matches: Matches) -> int:
    """Members of a HyperNode, whose selectors `matches` knows."""
    return len({name for member in row.members for name in matches.of(member)})


def matches_of(rows: list[HyperNodeRow], seen: Seen) -> Matches:
    """Which nodes these select; nodes are looked at only when that depends on them."""
    matches = Matches()
    if any(matches_nodes(row) for row in rows):
        nodes = {raw.name(node): labels_of(raw.labels_of(node)) for node in seen.list(NODES)}
        matches.refresh(nodes, [member for row in rows for member in row.members])
    return matches


def count(hypernodes: list[JsonObject], seen: Seen, only_matching: bool = False) -> Effects:
    """Write the counts that differ. `only_matching`: of those alone that select by pattern or labels. Raises ReconcileError."""
    rows = [(each, row) for each in hypernodes if (row := _row(each)) is not None]
    rows = [(each, row) for each, row in rows if not only_matching or matches_nodes(row)]
    matches = matches_of([row for _, row in rows], seen)
    refused: list[str] = []
    for each, row in rows:
        number = counted(row, matches)
        if number == raw.number(each, "status", "nodeCount"):
            continue
        status: JsonObject = {**raw.table(each, "status"), "nodeCount": number}
        outcome = yield UpdateStatus(HYPERNODES, {**each, "status": status})
        if not outcome.ok and not outcome.not_found:
            refused.append(f"{row.name}: {outcome.why}")
    if refused:
        raise ReconcileError(f"count members of HyperNodes: {'; '.join(refused)}", counts=False)


def _row(hypernode: JsonObject) -> HyperNodeRow | None:
    """What it selects; None when that cannot be read: then it has no count, and no place in the scheduler's table."""
    try:
        return read_hypernode(hypernode)
    except ValueError:
        return None

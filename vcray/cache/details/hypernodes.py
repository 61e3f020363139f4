"""HyperNodes: which nodes each selects, who is whose parent, and whether they form a forest.

A member names one object exactly, or nodes by a pattern over their names or by labels; HyperNodes are members by exact name
only. A node that does not exist may be named, so that it belongs from its first moment. A HyperNode that is named and does not
exist is passed over. Two parents for one, or a circle, make the whole table unfit: jobs with a topology wait until it is
mended. Volcano judges the last change alone; here the present objects decide, whatever came before.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Final
from weakref import WeakKeyDictionary

import msgspec

from vcray.api.meta import JsonObject
from vcray.api.patterns import compiled
from vcray.api.wire import Selector
from vcray.cache.details.source import NODES, Kept, Source
from vcray.cache.labels import Labels, requirements_of
from vcray.cache.translate import number, section, text
from vcray.core.hypernodes import HyperNodeTable
from vcray.core.selectors import satisfies
from vcray.core.tables import MISSING, Requirement

if TYPE_CHECKING:
    from vcray.cache.state import State

KIND: Final = "HyperNode"


class MemberRow(msgspec.Struct, frozen=True, array_like=True):
    """One selector: of nodes or of HyperNodes, by name, by pattern, or by labels (None: not by labels).

    HyperNodes are chosen by name alone: a pattern or labels there choose nodes, which count as members and belong to nobody."""

    nodes: bool
    name: str = ""
    pattern: str = ""
    labels: tuple[Requirement, ...] | None = None


class HyperNodeRow(msgspec.Struct, frozen=True, array_like=True):
    """What is kept of a HyperNode."""

    name: str
    tier: int
    tier_name: str
    members: tuple[MemberRow, ...]


def read_hypernode(data: JsonObject) -> HyperNodeRow:
    """The row of an object. Raises ValueError for what cannot be read."""
    spec = section(data, "spec")
    listed = spec.get("members")
    members: dict[MemberRow, None] = {}
    for item in listed if isinstance(listed, list) else ():
        if isinstance(item, dict):
            members.update(dict.fromkeys(_members(item)))
    return HyperNodeRow(
        text(section(data, "metadata"), "name"), number(spec, "tier"), text(spec, "tierName"), tuple(members)
    )


def _members(item: JsonObject) -> Iterable[MemberRow]:
    """One row for each way that a member's selector states; several are a union."""
    selector = section(item, "selector")
    nodes = text(item, "type") == "Node"
    if name := text(section(selector, "exactMatch"), "name"):
        yield MemberRow(nodes, name=name)
    if pattern := text(section(selector, "regexMatch"), "pattern"):
        yield MemberRow(nodes, pattern=pattern)
    labels = section(selector, "labelMatch")
    if labels.get("matchLabels") or labels.get("matchExpressions"):
        try:
            yield MemberRow(nodes, labels=requirements_of(msgspec.convert(labels, Selector)))
        except msgspec.ValidationError as error:
            raise ValueError(f"labelMatch: {error}") from error


class Matches:
    """Which nodes satisfy each pattern and label selector. Only nodes and selectors that changed are matched anew."""

    def __init__(self) -> None:
        self._labels: dict[str, Labels] = {}
        self._maps: dict[str, dict[str, str]] = {}
        self._found: dict[MemberRow, dict[str, None]] = {}

    def refresh(self, nodes: Mapping[str, Labels], members: Iterable[MemberRow]) -> None:
        """Bring what is known in step with these nodes and selectors."""
        before = self._labels
        gone = [name for name in before if name not in nodes]
        moved = [name for name, labels in nodes.items() if before.get(name) != labels]
        self._labels = dict(nodes)
        for name in gone:
            del self._maps[name]
        self._maps.update((name, dict(nodes[name])) for name in moved)
        known, self._found = self._found, {}
        for member in members:
            if member.name or member in self._found:
                continue
            found = known.get(member)
            names: Iterable[str] = moved
            if found is None:
                found, names = {}, nodes
            else:
                for name in (*gone, *moved):
                    found.pop(name, None)
            chosen = _satisfying(member, names, self._maps)
            found.update(dict.fromkeys(chosen))
            self._found[member] = found

    def of(self, member: MemberRow) -> Iterable[str]:
        """Names of the nodes that a selector selects."""
        return (member.name,) if member.name else self._found[member]


def _satisfying(member: MemberRow, names: Iterable[str], nodes: Mapping[str, Mapping[str, str]]) -> list[str]:
    if member.labels is not None:
        return [name for name in names if satisfies(member.labels, nodes[name])]
    try:
        pattern = compiled(member.pattern)
    except ValueError:
        return []
    return [name for name in names if pattern.search(name)]


_matches: WeakKeyDictionary[State, Matches] = WeakKeyDictionary()
_tables: WeakKeyDictionary[State, HyperNodeTable] = WeakKeyDictionary()


def build(state: State) -> HyperNodeTable | None:
    """The table of all HyperNodes; the same object as before when it says the same, None when there are none."""
    kept = state.knowledge.details.get(KIND)
    if not kept:
        return None
    rows = sorted((row for row in kept.values() if isinstance(row, HyperNodeRow)), key=lambda row: row.name)
    labels = {name: row.labels for name, row in state.nodes.rows.items()}
    matches = _matches.setdefault(state, Matches())
    matches.refresh(labels, [member for row in rows for member in row.members if member.nodes])
    table = assemble(rows, matches)
    before = _tables.get(state)
    if before == table:
        return before
    _tables[state] = table
    return table


def assemble(rows: list[HyperNodeRow], matches: Matches) -> HyperNodeTable:
    """The table of these rows, which are in name order."""
    place = {row.name: number for number, row in enumerate(rows)}
    parents = [MISSING] * len(rows)
    problem = ""
    for number_, row in enumerate(rows):
        for member in row.members:
            child = MISSING if member.nodes else place.get(member.name, MISSING)
            if child == MISSING or parents[child] == number_:
                continue
            if parents[child] != MISSING:
                other = rows[parents[child]].name
                problem = problem or f"HyperNode {member.name} has two parents: {other} and {row.name}"
                continue
            parents[child] = number_
    problem = problem or _circle(rows, parents)
    tier_names: dict[str, int] = {}
    for row in rows:
        if row.tier_name:
            tier_names[row.tier_name] = min(row.tier, tier_names.get(row.tier_name, row.tier))
    return HyperNodeTable(
        names=tuple(place),
        tiers=tuple(row.tier for row in rows),
        parents=tuple(parents),
        members=tuple(
            tuple(sorted({name for member in row.members if member.nodes for name in matches.of(member)}))
            for row in rows
        ),
        tier_names=tuple(sorted(tier_names.items())),
        problem=problem,
    )


def _circle(rows: list[HyperNodeRow], parents: list[int]) -> str:
    """The first HyperNode by name that is its own ancestor, as a sentence."""
    sound: set[int] = set()
    for start in range(len(rows)):
        path: dict[int, None] = {}
        at = start
        while at != MISSING and at not in sound:
            if at in path:
                return f"HyperNode {rows[at].name} is inside itself"
            path[at] = None
            at = parents[at]
        sound.update(path)
    return ""


SOURCE: Final = Source("hypernodes", {KIND: Kept(HyperNodeRow, read_hypernode)}, build, (NODES,))

"""Scoring by node pool, each pool's scorer in a process of its own: any number of them makes the picks that one would.

The session asks all pools for their m best picks of a placement class and merges the proposals (`core.scorers` tells why
that is exact). A scorer holds a copy of the snapshot, opened once a round, and the keys of each class that it was asked for;
with each question it is sent the columns of its node rows that moved since the last one, so it never replays a step.
Masks and preferences of a class outlive the round while the static columns of the nodes stay equal.

What looks across nodes (normalised preferences, domain terms) is scored where the session runs, as without pools.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import fields, replace
from typing import Final, Protocol

import msgspec
import numpy as np

from vcray.core.arrays import Int, Int32
from vcray.core.carry import STATIC, Carry
from vcray.core.classes import Class
from vcray.core.ledger import Ledger
from vcray.core.merge import Proposal, propose
from vcray.core.openview import open_view
from vcray.core.policy import Policy
from vcray.core.recording import dump, load
from vcray.core.rows import Layout, ManyRows
from vcray.core.snapshot import Snapshot
from vcray.core.tables import NodeTable
from vcray.core.view import LiveNodes

COUNTERS: Final = ("port_count", "match", "anti_owner", "preferred_weight")
"""Live columns of the nodes beside the matrix."""


class Begin(msgspec.Struct, frozen=True, array_like=True, tag=True):
    """A round begins: the configuration in force and the rows (int64) that are this scorer's; the snapshot comes beside it."""

    conf: str
    rows: bytes


class Ask(msgspec.Struct, frozen=True, array_like=True, tag=True):
    """The m best picks for a shape. `moved`: rows (int64) that moved since the last question, `columns` their matrix columns
    (int64), `counters` those of `COUNTERS`, in their own types."""

    shape: int
    promised: bool
    m: int
    moved: bytes
    columns: bytes
    counters: tuple[bytes, ...]


class Picks(msgspec.Struct, frozen=True, array_like=True):
    """Node rows in order and the keys by which they were picked (both int64)."""

    nodes: bytes
    keys: bytes


_requests = msgspec.msgpack.Decoder(Begin | Ask)
_picks = msgspec.msgpack.Decoder(Picks)
_encode = msgspec.msgpack.Encoder().encode


class ScorersLost(Exception):
    """A scorer cannot be asked any more."""


class Scorers(Protocol):
    """The way to the scorers. Both calls return when all have answered, which may take long. They raise ScorersLost."""

    def __len__(self) -> int: ...

    def begin(self, snapshot: bytes, requests: Sequence[bytes]) -> None:
        """Give every scorer the snapshot and a request of its own, a `Begin`."""
        ...

    def ask(self, requests: Sequence[bytes]) -> Sequence[bytes]:
        """One request for each scorer, all at the same time; their answers in order."""
        ...


class Pools:
    """The session's side. `owner` tells the scorer of each node row."""

    def __init__(self, scorers: Scorers, conf: str, owner: Callable[[NodeTable], Int]) -> None:
        self._scorers = scorers
        self._conf = conf
        self._owner_of = owner
        self._owner: Int | None = None
        self._pointer = 0

    def opened(self) -> Pools:
        """For one more session."""
        return Pools(self._scorers, self._conf, self._owner_of)

    def propose(self, cls: Class, promised: bool, m: int) -> Proposal:
        """What one scorer of all rows would propose; candidates are left out, since nobody asks without preferences."""
        owner = self._owner if self._owner is not None else self._begin(cls)
        moved = np.array(cls.ledger.touched_since(self._pointer), dtype=np.int64)
        self._pointer = cls.ledger.touched
        whose = owner[moved]
        requests = [_ask(cls, promised, m, moved[whose == scorer]) for scorer in range(len(self._scorers))]
        answers = [_picks.decode(answer) for answer in self._scorers.ask(requests)]
        nodes = np.concatenate([np.frombuffer(each.nodes, np.int64) for each in answers])
        keys = np.concatenate([np.frombuffer(each.keys, np.int64) for each in answers])
        order = np.argsort(-keys, kind="stable")[:m]
        return Proposal(nodes[order], keys[order], nodes[:0], nodes[:0])

    def _begin(self, cls: Class) -> Int:
        nodes = cls.view.snapshot.nodes
        self._owner = owner = self._owner_of(nodes)
        requests = [
            _encode(Begin(self._conf, np.flatnonzero(owner == scorer).tobytes()))
            for scorer in range(len(self._scorers))
        ]
        self._scorers.begin(dump(_for_scorers(cls.view.snapshot)), requests)
        return owner


def _ask(cls: Class, promised: bool, m: int, rows: Int) -> bytes:
    live: LiveNodes = cls.view.nodes
    counters = tuple(getattr(live, name)[:, rows].tobytes() for name in COUNTERS)
    columns = cls.layout.matrix.block[:, rows].tobytes()
    return _encode(Ask(cls.shape.row, promised, m, rows.tobytes(), columns, counters))


class PoolScorer:
    """A scorer's side: what it knows lasts for a round, masks of classes for longer. `policy_of` reads a configuration."""

    def __init__(self, policy_of: Callable[[str], Policy]) -> None:
        self._policy_of = policy_of
        self._conf = ""
        self._policy: Policy | None = None
        self._carry = Carry()
        self._static: NodeTable | None = None
        self._round: _Round | None = None

    def serve(self, request: bytes, snapshot: bytes | memoryview | None = None) -> bytes:
        """Answer one request. RuntimeError for a question before any round."""
        match _requests.decode(request):
            case Begin(conf=conf, rows=rows):
                assert snapshot is not None
                self._round = self._begin(conf, load(snapshot), np.frombuffer(rows, np.int64))
                return b""
            case ask:
                assert isinstance(ask, Ask)
                if self._round is None:
                    raise RuntimeError("no round has begun")
                return self._round.answer(ask)

    def _begin(self, conf: str, snapshot: Snapshot, rows: Int) -> _Round:
        if self._policy is None or conf != self._conf:
            self._policy, self._conf, self._carry = self._policy_of(conf), conf, Carry()
        snapshot = replace(snapshot, nodes=self._as_before(snapshot.nodes))
        self._carry.start(self._policy, snapshot.nodes)
        return _Round(snapshot, self._policy, self._carry, rows)

    def _as_before(self, nodes: NodeTable) -> NodeTable:
        """The same table with the arrays of the round before wherever they are equal, which is what the carry looks at."""
        known = self._static
        if known is not None:
            same = {
                name: getattr(known, name)
                for name in STATIC
                if _equal(getattr(known, name), getattr(nodes, name))
            }
            nodes = replace(nodes, **same)
        self._static = nodes
        return nodes


class _Round:
    """A snapshot opened by a scorer, and the keys of its rows for each class that it was asked for."""

    def __init__(self, snapshot: Snapshot, policy: Policy, carry: Carry, rows: Int) -> None:
        self._view, self._matrix = open_view(snapshot)
        self._chains = policy.open(self._view)
        self._layout = Layout(self._matrix)
        self._ledger = Ledger(self._view, self._matrix)
        self._carry = carry
        self._rows = rows
        self._place = np.full(len(snapshot.nodes), -1, np.int64)
        self._place[rows] = np.arange(len(rows))
        # gathered once and kept current: a class that is new scores all rows of the pool
        self._mine = ManyRows(self._view, self._layout, rows)
        self._classes: dict[int, Class] = {}
        self._keys: dict[tuple[int, bool], _Keys] = {}
        self._moved: list[Int] = []

    def answer(self, ask: Ask) -> bytes:
        """Take in what moved, then propose."""
        self._take(ask)
        cls = self._class(ask.shape)
        known = self._keys.get((ask.shape, ask.promised))
        if known is None:
            known = self._keys[ask.shape, ask.promised] = _Keys(
                cls.keys(self._mine, ask.promised), len(self._moved)
            )
        else:
            self._refresh(known, cls, ask.promised)
        found = propose(
            known.keys, ask.m, lambda own, copies: cls.evaluate(self._rows[own], copies, ask.promised)
        )
        return _encode(Picks(self._rows[found.nodes].tobytes(), found.keys.tobytes()))

    def _take(self, ask: Ask) -> None:
        rows = np.frombuffer(ask.moved, np.int64)
        if not len(rows):
            return
        block = self._matrix.block
        block[:, rows] = np.frombuffer(ask.columns, np.int64).reshape(len(block), len(rows))
        for name, raw in zip(COUNTERS, ask.counters, strict=True):
            counter: Int | Int32 = getattr(self._view.nodes, name)
            counter[:, rows] = np.frombuffer(raw, counter.dtype).reshape(len(counter), len(rows))
        self._mine.block[:, self._place[rows]] = block[: self._layout.visible, rows]
        self._moved.append(rows)

    def _refresh(self, known: _Keys, cls: Class, promised: bool) -> None:
        if known.seen == len(self._moved):
            return
        rows = np.unique(np.concatenate(self._moved[known.seen :]))
        known.seen = len(self._moved)
        known.keys[self._place[rows]] = cls.keys(ManyRows(self._view, self._layout, rows), promised)

    def _class(self, shape: int) -> Class:
        found = self._classes.get(shape)
        if found is None:
            spec = self._view.shapes[shape]
            known = self._carry.get((spec.spec, None))
            found = Class(self._view, self._chains, self._ledger, self._layout, spec, known)
            self._classes[shape] = found
            if known is None:
                self._carry.put((spec.spec, None), found.static, found.preferences)
        return found


class _Keys:
    """Keys of a scorer's rows for one class; `seen`: how many batches of moved rows are in them."""

    __slots__ = ("keys", "seen")

    def __init__(self, keys: Int, seen: int) -> None:
        self.keys = keys
        self.seen = seen


class LocalScorers:
    """Scorers in this process, one after the other: the same requests, the same bytes."""

    def __init__(self, count: int, policy_of: Callable[[str], Policy]) -> None:
        self._scorers = [PoolScorer(policy_of) for _ in range(count)]

    def __len__(self) -> int:
        return len(self._scorers)

    def begin(self, snapshot: bytes, requests: Sequence[bytes]) -> None:
        for scorer, request in zip(self._scorers, requests, strict=True):
            scorer.serve(request, snapshot)

    def ask(self, requests: Sequence[bytes]) -> list[bytes]:
        return [scorer.serve(request) for scorer, request in zip(self._scorers, requests, strict=True)]


def _for_scorers(snapshot: Snapshot) -> Snapshot:
    """Without what no row hook reads: labels of pods, and parts of jobs, which are found by these."""
    jobs = snapshot.jobs
    whole = replace(jobs, closeness=(None,) * len(jobs), subgroups=((),) * len(jobs))
    return replace(snapshot, label_sets=(), jobs=whole)


def _equal(one: object, other: object) -> bool:
    if isinstance(one, np.ndarray) and isinstance(other, np.ndarray):
        return one.dtype == other.dtype and np.array_equal(one, other)
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_equal(one[key], other[key]) for key in one)
    if (
        isinstance(one, tuple)
        and isinstance(other, tuple)
        and any(isinstance(x, np.ndarray) for x in one[:1])
    ):
        return len(one) == len(other) and all(map(_equal, one, other))
    if hasattr(one, "__dataclass_fields__") and type(one) is type(other):
        return all(
            _equal(getattr(one, each.name), getattr(other, each.name))
            for each in fields(one)  # type: ignore[arg-type]
        )
    return one == other


__all__ = ["Ask", "Begin", "LocalScorers", "PoolScorer", "Pools", "Scorers", "ScorersLost"]

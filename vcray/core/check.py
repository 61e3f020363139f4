"""`check_plugin`: do a plugin's hooks keep the laws on which batching, caches, shards and rollback rest?

    1  the whole table, any rows of it and single rows of Python numbers give the same answer, bit for bit
    2  a row with `copies` j answers as the row after j real placements
    3  a filter that refuses j copies refuses j + 1
    4  `node_static` and `node_preference` do not move when pods are placed
    5  when `moves_itself` is False, own placements leave the domain terms as they were
    6  placing and rolling back restores every answer
    7  moving node rows about moves the answers with them
    8  placing a pod of one job leaves the order keys of other jobs and queues alone
    9 to 12 are about victims and reservations: `vcray.core.checkclaims`
    0  a hook answers what its protocol says, and does not raise

Meant for the tests of plugin authors: give it a few snapshots with pending pods.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, replace
from itertools import pairwise
from typing import Any

import numpy as np

from vcray.config.scheduler import PluginConfig
from vcray.core.arrays import Int, Int32
from vcray.core.checkclaims import breaches_of_claims
from vcray.core.fence import NO_LIMIT, Fence, HookFailed
from vcray.core.hooks import DomainTerm, Preference
from vcray.core.plugin import Args, Plugin
from vcray.core.policy import Policy, Recipe
from vcray.core.rows import Assumption, Layout, ManyRows, OneRow
from vcray.core.session import Session, open_session
from vcray.core.snapshot import Snapshot
from vcray.core.tables import MISSING, NodeTable, Status
from vcray.core.view import Rows, Shape

COPIES = 3
"""Up to so many hypothetical pods are compared with real ones."""


@dataclass(frozen=True, slots=True)
class Violation:
    """A law that a hook broke, and on what."""

    law: int
    hook: str
    what: str


def check_plugin(
    plugin: type[Plugin[Args]], args: Args, snapshot: Snapshot, fence: Fence = NO_LIMIT
) -> list[Violation]:
    """All laws on one snapshot; an empty list when they hold. The first breach of a law by a hook is told.

    fence: how much time all hooks may take together, so that one that never ends is told as well."""
    found: dict[tuple[int, str], Violation] = {}
    try:
        check = _Check(plugin, args, snapshot, fence)
        for violation in check.all():
            found.setdefault((violation.law, violation.hook), violation)
    except HookFailed as failed:
        found.setdefault((0, failed.hook), Violation(0, failed.hook, failed.why))
    return list(found.values())


RowHook = Callable[[Rows, Shape], object]


class _Check:
    def __init__(self, plugin: type[Plugin[Args]], args: Args, snapshot: Snapshot, fence: Fence) -> None:
        self.policy = Policy((), ((Recipe(plugin, args, PluginConfig(plugin.name)),),), fence=fence)
        self.snapshot = snapshot
        self.session = open_session(snapshot, self.policy)
        self.layout = Layout(self.session.ledger.matrix)

    def all(self) -> Iterator[Violation]:
        for shape in self.session.view.shapes:
            tasks = self._pending(shape)
            yield from self._one_source(shape)
            if tasks and len(self.snapshot.nodes):
                yield from self._copies(shape, tasks)
                yield from self._still(shape, tasks)
        yield from self._permuted()
        yield from self._order_keys()
        if len(self.snapshot.nodes):
            fresh = open_session(self.snapshot, self.policy)  # nothing that other laws broke is seen
            for law, hook, what in breaches_of_claims(fresh, lambda: self._all_answers(fresh)):
                yield Violation(law, hook, what)

    # ---- what is asked ----

    def _row_hooks(self) -> dict[str, RowHook]:
        view, chains = self.session.view, self.session.chains
        hooks: dict[str, RowHook] = {}
        for filter_hook in chains.filters:
            hooks["node_filter"] = lambda rows, shape, hook=filter_hook: hook(view, rows, shape)  # type: ignore[misc]
        for score_hook in chains.scorers:
            hooks["node_score"] = lambda rows, shape, hook=score_hook: hook(view, rows, shape)  # type: ignore[misc]
        return hooks

    def _column(self, hook: RowHook, shape: Shape, index: Int | None = None) -> list[object]:
        """Answers of many rows as Python values; None for no answer."""
        rows = ManyRows(self.session.view, self.layout, index)
        return _listed(hook(rows, shape), len(rows.index))

    def _single(self, hook: RowHook, shape: Shape, node: int, copies: int = 0) -> object:
        row = OneRow(self.session.view, self.layout, node)
        if copies:
            row.assume(shape, Assumption(self.session.ledger.matrix, shape, promised=False), copies)
        return _plain(hook(row, shape))

    def _pending(self, shape: Shape) -> list[int]:
        """Pending tasks of one job with this shape."""
        tasks, view = self.snapshot.tasks, self.session.view
        rows = np.flatnonzero((tasks.shape == shape.row) & (view.status == Status.PENDING))
        return rows[tasks.job[rows] == tasks.job[rows[0]]].tolist()[:COPIES] if len(rows) else []

    # ---- laws ----

    def _one_source(self, shape: Shape) -> Iterator[Violation]:
        nodes = len(self.snapshot.nodes)
        some = np.arange(0, nodes, 2)
        for name, hook in self._row_hooks().items():
            whole = self._column(hook, shape)
            if self._column(hook, shape, some) != whole[::2]:
                yield Violation(
                    1, name, f"shape {shape.row}: every second row answers otherwise than the whole table"
                )
            for node in range(nodes):
                one = self._single(hook, shape, node)
                if one != whole[node]:
                    said = f"says {one!r} alone and {whole[node]!r} in the table"
                    yield Violation(
                        1, name, f"shape {shape.row}, node {self.snapshot.nodes.names[node]} {said}"
                    )

    def _copies(self, shape: Shape, tasks: list[int]) -> Iterator[Violation]:
        ledger, job = self.session.ledger, int(self.snapshot.tasks.job[tasks[0]])
        for name, hook in self._row_hooks().items():
            for node in range(len(self.snapshot.nodes)):
                where = f"shape {shape.row}, node {self.snapshot.nodes.names[node]}"
                assumed = [self._single(hook, shape, node, copies) for copies in range(len(tasks) + 1)]
                mark = ledger.checkpoint()
                for placed, task in enumerate(tasks, start=1):
                    if ledger.place(job, shape, [task], [node]):
                        break  # it reserves, and the node has nothing for it now
                    real = self._single(hook, shape, node)
                    if real != assumed[placed]:
                        said = f"says {assumed[placed]!r} with {placed} copies and {real!r} after {placed} placements"
                        yield Violation(2, name, f"{where} {said}")
                ledger.rollback(mark)
                if name == "node_filter":
                    refused = [answer is not None and not answer for answer in assumed]
                    if any(a and not b for a, b in pairwise(refused)):
                        yield Violation(3, name, f"{where} takes more copies than it refused: {assumed!r}")

    def _still(self, shape: Shape, tasks: list[int]) -> Iterator[Violation]:
        session, job = self.session, int(self.snapshot.tasks.job[tasks[0]])
        before = self._answers(session, shape)
        moves = session.chains.moves_itself(session.view, shape)
        for node in self._open_nodes(shape):
            mark = session.ledger.checkpoint()
            pair = np.array([node, node])
            whole = all(hook(session.view, shape, pair) >= 2 for hook in session.chains.prefixes)
            session.ledger.place(job, shape, tasks[:1], [node])
            after = self._answers(session, shape)
            session.ledger.rollback(mark)
            for hook in ("node_static", "node_preference"):
                if after[hook] != before[hook]:
                    yield Violation(4, hook, f"shape {shape.row}: a placement changed the answer")
            if not moves and whole and after["domain_terms"] != before["domain_terms"]:
                yield Violation(
                    5,
                    "domain_terms",
                    f"shape {shape.row}: an own placement changed them, yet moves_itself is False",
                )
            again = self._answers(session, shape)
            for hook, answer in before.items():
                if again[hook] != answer:
                    yield Violation(6, hook, f"shape {shape.row}: rollback did not restore the answer")

    def _open_nodes(self, shape: Shape) -> list[int]:
        """A few nodes where the plugin's masks let the shape go."""
        view, chains = self.session.view, self.session.chains
        open_ = chains.static(view, shape)
        for term in chains.domain_terms(view, shape, np.ones(len(self.snapshot.nodes), dtype=bool)):
            if term.ok is not None:
                open_ = open_ & term.ok
        return np.flatnonzero(open_).tolist()[:COPIES]

    def _answers(self, session: Session, shape: Shape) -> dict[str, object]:
        """All node hooks over the whole table, comparable."""
        view, chains = session.view, session.chains
        everywhere = np.ones(len(session.view.snapshot.nodes), dtype=bool)
        rows = ManyRows(view, Layout(session.ledger.matrix), None)
        size = len(everywhere)
        return {
            "node_filter": [_listed(hook(view, rows, shape), size) for hook in chains.filters],
            "node_score": [_listed(hook(view, rows, shape), size) for hook in chains.scorers],
            "node_static": chains.static(view, shape).tolist(),
            "node_preference": [_preference(p) for hook in chains.preferences for p in hook(view, shape)],
            "domain_terms": [_term(term) for term in chains.domain_terms(view, shape, everywhere)],
        }

    def _all_answers(self, session: Session) -> list[dict[str, object]]:
        return [self._answers(session, shape) for shape in session.view.shapes]

    def _permuted(self) -> Iterator[Violation]:
        order = np.arange(len(self.snapshot.nodes))[::-1].copy()
        other = open_session(permute_nodes(self.snapshot, order), self.policy)
        for shape in self.session.view.shapes:
            here = self._answers(self.session, shape)
            there = self._answers(other, other.view.shapes[shape.row])
            for hook, answer in here.items():
                if _moved(answer, order.tolist()) != there[hook]:
                    yield Violation(7, hook, f"shape {shape.row}: reversed node rows give other answers")

    def _order_keys(self) -> Iterator[Violation]:
        session, tasks = self.session, self.snapshot.tasks
        pending = np.flatnonzero(session.view.status == Status.PENDING).tolist()
        if not pending or not len(self.snapshot.nodes):
            return
        task = pending[0]
        job = int(tasks.job[task])
        queue = int(self.snapshot.jobs.queue[job])
        jobs, queues = self._keys()
        mark = session.ledger.checkpoint()
        session.ledger.place(job, session.view.shapes[int(tasks.shape[task])], [task], [0])
        jobs_after, queues_after = self._keys()
        session.ledger.rollback(mark)
        if any(a != b for j, (a, b) in enumerate(zip(jobs, jobs_after, strict=True)) if j != job):
            yield Violation(8, "job_order", "a placement changed the key of another job")
        if any(a != b for q, (a, b) in enumerate(zip(queues, queues_after, strict=True)) if q != queue):
            yield Violation(8, "queue_order", "a placement changed the key of another queue")
        if self._keys() != (jobs, queues):
            yield Violation(6, "job_order or queue_order", "rollback did not restore the keys")

    def _keys(self) -> tuple[list[object], list[object]]:
        view, chains = self.session.view, self.session.chains
        owned = np.flatnonzero(self.snapshot.jobs.queue != MISSING).tolist()
        jobs: list[object] = [[] for _ in self.snapshot.jobs.names]
        for job in owned:
            jobs[job] = [hook(view, job) for hook in chains.job_orders]
        return jobs, [chains.queue_key(view, queue) for queue in range(len(self.snapshot.queues))]


def _plain(value: object) -> object:
    return value.item() if isinstance(value, np.generic) else value


def _listed(value: object, size: int) -> list[object]:
    """A row hook's answer for `size` rows; a single value stands for all."""
    if isinstance(value, np.ndarray):
        return value.tolist() if value.shape == (size,) else [f"shape {value.shape}"] * size
    return [_plain(value)] * size


def _preference(preference: Preference) -> object:
    return {"raw": preference.raw.tolist(), "scale": preference.scale, "weight": preference.weight}


def _term(term: DomainTerm) -> object:
    columns = {"ok": term.ok, "raw": term.raw, "counted": term.counted}
    listed = {name: None if column is None else column.tolist() for name, column in columns.items()}
    return {**listed, "scale": term.scale, "weight": term.weight}


def _moved(answer: object, order: list[int]) -> object:
    """An answer of `_answers` with its (N,) lists in another order of nodes."""
    if isinstance(answer, dict):
        return {name: _moved(part, order) for name, part in answer.items()}
    if isinstance(answer, list):
        if len(answer) == len(order) and not any(isinstance(part, dict | list) for part in answer):
            return [answer[node] for node in order]
        return [_moved(part, order) for part in answer]
    return answer


def permute_nodes(snapshot: Snapshot, order: Int) -> Snapshot:
    """The same cluster with node row i of the result being row `order[i]` of the given one."""
    table = snapshot.nodes
    changed: dict[str, Any] = {}
    for field in fields(NodeTable):
        value = getattr(table, field.name)
        if isinstance(value, np.ndarray):
            changed[field.name] = value[..., order]
    place = np.empty(len(order), dtype=np.int64)
    place[order] = np.arange(len(order))
    images = {name: (place[rows].astype(np.int32), sizes) for name, (rows, sizes) in table.images.items()}
    nodes = replace(
        table,
        names=tuple(table.names[row] for row in order.tolist()),
        notes=tuple(table.notes[row] for row in order.tolist()),
        labels=replace(table.labels, column=table.labels.column[:, order]),
        images=images,
        **changed,
    )

    def follow(column: Int32) -> Int32:
        return np.where(column == MISSING, MISSING, place[column]).astype(column.dtype)

    tasks = replace(
        snapshot.tasks,
        node=follow(snapshot.tasks.node),
        nominated=follow(snapshot.tasks.nominated),
    )
    return replace(snapshot, nodes=nodes, tasks=tasks)

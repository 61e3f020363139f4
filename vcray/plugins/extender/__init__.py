"""Volcano's `extender`: a program outside has a say, over HTTP.

Answers come through `vcray.core.remote`; given the answers, decisions are as pure as any. Pods of one shape are alike to the
kernel, so the extender is asked about the first of them by name. It is asked anew where a node changed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import ClassVar

import numpy as np

from vcray.api.meta import JsonObject
from vcray.core.arrays import Bool, BoolLike, FloatLike
from vcray.core.hooks import Answer, Closing, Reject, Vote
from vcray.core.plugin import Plugin
from vcray.core.remote import RemoteError
from vcray.core.tables import Status
from vcray.core.victims import Candidates, Claim
from vcray.core.view import Rows, Shape, View
from vcray.plugins.extender.arguments import ExtenderArgs
from vcray.plugins.extender.asking import Asking
from vcray.plugins.extender.bodies import Bodies

UNSCHEDULABLE = 2
"""Volcano's code of a refusal that evictions may cure."""


class Extender(Plugin[ExtenderArgs]):
    """A program outside."""

    calls_out: ClassVar[bool] = True
    args_model = ExtenderArgs

    def open(self, view: View) -> None:
        """Tell the extender of the session; if that fails and errors count, it has no say in it."""
        args = self.args
        self.bodies_ = Bodies(view)
        self.asking_ = Asking(args, self.remote)
        rows = (view.space.row(name) for name in args.managed())
        self.managed_ = frozenset(row for row in rows if row is not None)
        self.all_ = not args.managed()
        self.example_: dict[int, int] = {}
        self.on_ = True
        if args.session_open:
            error = self.asking_.tell(args.session_open, self.bodies_.session())
            self.on_ = error is None or args.ignorable
        tasks = view.snapshot.tasks
        for task in sorted(
            np.flatnonzero(tasks.status == Status.PENDING).tolist(), key=tasks.names.__getitem__
        ):
            self.example_.setdefault(int(tasks.shape[task]), task)

    # ---- nodes ----

    def node_filter(self, view: View, rows: Rows, shape: Shape) -> BoolLike | None:
        """Nodes that the extender takes the pod on; all where it cannot be asked and errors are ignored."""
        if not self._asked(self.args.predicate or self.args.prioritize, shape):
            return None
        index = _numbers(rows)
        accepted = np.ones(len(index), dtype=np.bool_)
        if self.args.predicate:
            accepted = np.array([self._refusal(said) is None for said in self._predicates(rows, shape)])
        if (
            self.args.prioritize
            and not self.args.ignorable
            and isinstance(self._scores(rows, shape), RemoteError)
        ):
            accepted[:] = False
        return accepted if isinstance(rows.index, np.ndarray) else bool(accepted[0])

    def node_score(self, view: View, rows: Rows, shape: Shape) -> FloatLike | None:
        """The extender's scores as they are; a node that it does not name scores nothing."""
        if not self._asked(self.args.prioritize, shape):
            return None
        scores = self._scores(rows, shape)
        found: Mapping[str, object] = {} if isinstance(scores, RemoteError) else scores
        names = view.snapshot.nodes.names
        values = np.array([_number(found.get(names[row])) for row in _numbers(rows)], dtype=np.float64)
        return values if isinstance(rows.index, np.ndarray) else float(values[0])

    def why(self, view: View, shape: Shape) -> Iterator[Reject]:
        """The extender's own words."""
        if not self._asked(self.args.predicate, shape):
            return
        size = len(view.snapshot.nodes)
        task, live = self._example(view, shape), view.nodes
        bodies: list[JsonObject] = [
            {"task": task, "node": self.bodies_.node(row, live.idle[:, row], live.used[:, row])}
            for row in range(size)
        ]
        found: dict[tuple[str, bool], Bool] = {}
        for row, said in enumerate(self.asking_.ask_all(self.args.predicate, bodies)):
            refusal = self._refusal(said)
            if refusal is not None:
                found.setdefault(refusal, np.zeros(size, dtype=np.bool_))[row] = True
        for reason, curable in sorted(found):
            yield Reject(found[reason, curable], reason, curable)

    # ---- victims ----

    def preemptable(self, view: View, claim: Claim, candidates: Candidates) -> Bool | None:
        """Candidates that the extender names, asked node by node."""
        return self._victims(self.args.preemptable, view, claim, candidates)

    def reclaimable(self, view: View, claim: Claim, candidates: Candidates) -> Bool | None:
        """As `preemptable`."""
        return self._victims(self.args.reclaimable, view, claim, candidates)

    # ---- queues and jobs ----

    def queue_overused(self, view: View, queue: int) -> bool:
        """The extender's word; an error means yes unless errors are ignored."""
        if not self.on_ or not self.args.queue_overused:
            return False
        said = self.asking_.ask(self.args.queue_overused, {"queue": self.bodies_.queue(queue)})
        return not self.args.ignorable if isinstance(said, RemoteError) else said.get("overused") is True

    def job_enqueueable(self, view: View, job: int) -> Answer:
        """The extender's vote; an error rejects unless errors are ignored, which permits."""
        if not self.on_ or not self.args.job_enqueueable:
            return Answer(Vote.ABSTAIN)
        said = self.asking_.ask(self.args.job_enqueueable, {"job": self.bodies_.job(job)})
        if isinstance(said, RemoteError):
            return Answer(Vote.PERMIT if self.args.ignorable else Vote.REJECT)
        return Answer(_vote(said.get("status")))

    def job_enqueued(self, view: View, job: int) -> None:
        """Tell of a job that was let in."""
        if self.on_ and self.args.job_enqueued:
            self.asking_.tell(self.args.job_enqueued, {"job": self.bodies_.job(job)})

    def job_ready(self, view: View, job: int) -> bool:
        """The extender's word; an error means yes unless errors are ignored, as in Volcano."""
        if not self.on_ or not self.args.job_ready:
            return True
        said = self.asking_.ask(self.args.job_ready, {"job": self.bodies_.job(job)})
        return not self.args.ignorable if isinstance(said, RemoteError) else said.get("status") is True

    # ---- events ----

    def reserves(self, view: View, shape: Shape) -> bool:
        """Pods that are the extender's business are placed one at a time, so that it sees each."""
        args = self.args
        return self._asked(args.predicate or args.prioritize or args.allocate or args.deallocate, shape)

    def reserve(self, view: View, task: int, node: int, promised: bool) -> Callable[[], None] | str:
        """Tell of a placement; the extender may refuse it."""
        before = self.bodies_.placed.get(task)
        self.bodies_.placed[task] = node
        refused = self._event(self.args.allocate, task)
        if refused:
            self._put_back(task, before)
            return refused

        def undo() -> None:
            self._event(self.args.deallocate, task)
            self._put_back(task, before)

        return undo

    def release(self, view: View, task: int, node: int) -> Callable[[], None]:
        """Tell of an eviction."""
        self._event(self.args.deallocate, task)

        def undo() -> None:
            self._event(self.args.allocate, task)

        return undo

    def bind_notes(self, view: View, task: int, node: int) -> Mapping[str, str]:
        """An extender writes its own annotations."""
        return {}

    def close(self, view: View, closing: Closing) -> None:
        """Tell of the session's end, in any case."""
        if self.args.session_close:
            self.asking_.tell(self.args.session_close, {})

    # ---- questions ----

    def _asked(self, verb: str, shape: Shape) -> bool:
        return bool(verb) and self.on_ and (self.all_ or any(shape.req[row] for row in self.managed_))

    def _example(self, view: View, shape: Shape) -> JsonObject:
        """The first waiting pod of a shape, or any of it."""
        if shape.row not in self.example_:
            tasks = view.snapshot.tasks
            rows = np.flatnonzero(tasks.shape == shape.row).tolist()
            self.example_[shape.row] = min(rows, key=tasks.names.__getitem__)
        return self.bodies_.task(self.example_[shape.row])

    def _nodes(self, rows: Rows) -> list[JsonObject]:
        """The rows as bodies, with what is assumed there."""
        if isinstance(rows.index, np.ndarray):
            idle, used = np.asarray(rows.idle), np.asarray(rows.used)
            return [
                self.bodies_.node(row, idle[:, i], used[:, i]) for i, row in enumerate(rows.index.tolist())
            ]
        return [self.bodies_.node(rows.index, rows.idle, rows.used)]  # type: ignore[arg-type]

    def _predicates(self, rows: Rows, shape: Shape) -> list[JsonObject | RemoteError]:
        task = self._example(self.bodies_.view, shape)
        bodies: list[JsonObject] = [{"task": task, "node": node} for node in self._nodes(rows)]
        return self.asking_.ask_all(self.args.predicate, bodies)

    def _scores(self, rows: Rows, shape: Shape) -> Mapping[str, object] | RemoteError:
        task = self._example(self.bodies_.view, shape)
        body: JsonObject = {"task": task, "nodes": [*self._nodes(rows)]}
        (said,) = self.asking_.ask_all(self.args.prioritize, [body])
        if isinstance(said, RemoteError):
            return said
        scores = said.get("nodeScore")
        if said.get("errorMessage") or not isinstance(scores, dict):
            return RemoteError(str(said.get("errorMessage") or "the extender answered without nodeScore"))
        return scores

    def _refusal(self, said: JsonObject | RemoteError) -> tuple[str, bool] | None:
        """Why a node is refused, and whether evictions may cure that; None where it is not."""
        if isinstance(said, RemoteError):
            return None if self.args.ignorable else (str(said), False)
        reason = str(said.get("status") or "")
        return (reason, said.get("code") == UNSCHEDULABLE) if reason else None

    def _victims(self, verb: str, view: View, claim: Claim, candidates: Candidates) -> Bool | None:
        shape = view.shapes[int(view.snapshot.tasks.shape[claim.tasks[0]])]
        if not self._asked(verb, shape):
            return None
        groups = list(candidates.groups())
        evictor, tasks = self.bodies_.task(claim.tasks[0]), candidates.task.tolist()
        bodies: list[JsonObject] = [
            {"evictor": evictor, "evictees": [self.bodies_.task(task) for task in tasks[group]]}
            for group in groups
        ]
        allowed = np.zeros(len(candidates), dtype=np.bool_)
        abstains = 0
        for group, said in zip(groups, self.asking_.ask_all(verb, bodies), strict=True):
            if isinstance(said, RemoteError):
                continue
            if _vote(said.get("status")) is Vote.ABSTAIN:
                abstains += 1
                allowed[group] = True
                continue
            victims = said.get("victims")
            uids = (
                {each.get("UID") for each in victims if isinstance(each, dict)}
                if isinstance(victims, list)
                else set()
            )
            allowed[group] = [view.snapshot.tasks.uids[task] in uids for task in tasks[group]]
        return None if abstains == len(groups) else allowed

    def _event(self, verb: str, task: int) -> str:
        return self.asking_.event(verb, {"task": self.bodies_.task(task)}) if verb else ""

    def _put_back(self, task: int, before: int | None) -> None:
        if before is None:
            self.bodies_.placed.pop(task, None)
        else:
            self.bodies_.placed[task] = before


def _numbers(rows: Rows) -> list[int]:
    return rows.index.tolist() if isinstance(rows.index, np.ndarray) else [rows.index]


def _number(value: object) -> float:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else 0.0


def _vote(status: object) -> Vote:
    """A number as a vote; what is no number abstains."""
    if isinstance(status, bool) or not isinstance(status, int) or status == 0:
        return Vote.ABSTAIN
    return Vote.PERMIT if status > 0 else Vote.REJECT

"""What the answer of a hook must look like. Asked of users' plugins alone: what gets past here cannot hurt the kernel."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from numbers import Integral, Real
from typing import Any

import numpy as np

from vcray.core.hooks import Answer, DomainTerm, Preference, Reject, Vote

Arguments = tuple[Any, ...]
Rule = Callable[[Any, Arguments], str]
"""Answer and the hook's arguments (the view first) -> a sentence, empty when the answer will do."""


def wrong_answer(hook: str, answer: object, arguments: Arguments) -> str:
    """A sentence about an answer that is none; empty when it will do, or when the hook is not looked at."""
    rule = _RULES.get(hook)
    return rule(answer, arguments) if rule is not None else ""


def _nodes(arguments: Arguments) -> int:
    return len(arguments[0].snapshot.nodes)


def _column(answer: Any, size: int, kinds: str, of: str) -> str:
    if not isinstance(answer, np.ndarray) or answer.shape != (size,) or answer.dtype.kind not in kinds:
        return f"must answer {of}, answered {_shown(answer)}"
    if answer.dtype.kind == "f" and not np.isfinite(answer).all():
        return "must answer finite numbers"
    return ""


def _static(answer: Any, arguments: Arguments) -> str:
    return "" if answer is None else _column(answer, _nodes(arguments), "b", "a mask over all nodes, or None")


def _filter(answer: Any, arguments: Arguments) -> str:
    if answer is None or isinstance(answer, bool | np.bool_):
        return ""
    return _column(answer, _size(arguments[1]), "b", "a boolean a row, or None")


def _score(answer: Any, arguments: Arguments) -> str:
    if answer is None:
        return ""
    if isinstance(answer, Real):
        return "" if np.isfinite(float(answer)) else "must answer a finite number"
    return _column(answer, _size(arguments[1]), "fiu", "a number a row, or None")


def _size(rows: Any) -> int:
    """How many rows a row hook was asked about; -1 for one row of Python numbers."""
    index = getattr(rows, "index", None)
    return len(index) if isinstance(index, np.ndarray) else -1


def _is(kind: type | tuple[type, ...], of: str) -> Rule:
    def rule(answer: Any, _: Arguments) -> str:
        return "" if isinstance(answer, kind) else f"must answer {of}, answered {_shown(answer)}"

    return rule


def _each(kind: type, of: str) -> Rule:
    def rule(answer: Any, _: Arguments) -> str:
        fine = isinstance(answer, Sequence) and all(isinstance(each, kind) for each in answer)
        return "" if fine else f"must answer {of}, answered {_shown(answer)}"

    return rule


def _candidates(answer: Any, arguments: Arguments) -> str:
    if answer is None:
        return ""
    return _column(answer, len(arguments[2]), "b", "a boolean a candidate, or None")


def _tasks(answer: Any, arguments: Arguments) -> str:
    return _column(answer, len(arguments[1]), "b", "a boolean a task")


def _order(answer: Any, arguments: Arguments) -> str:
    rows = arguments[1]
    if isinstance(rows, np.ndarray):
        return _column(answer, len(rows), "fiu", "a number a row")
    fine = isinstance(answer, Real) and np.isfinite(float(answer))
    return "" if fine else f"must answer a number, answered {_shown(answer)}"


def _keys(answer: Any, _: Arguments) -> str:
    fine = isinstance(answer, Sequence | np.ndarray) and all(isinstance(each, Real) for each in answer)
    return "" if fine else f"must answer a list of numbers, answered {_shown(answer)}"


def _shown(answer: object) -> str:
    if isinstance(answer, np.ndarray):
        return f"an array {answer.dtype} of shape {answer.shape}"
    return f"{type(answer).__name__} {str(answer)[:60]}"


_BOOL = _is((bool, np.bool_), "True or False")
_COUNT = _is((Integral,), "a whole number")
_RULES: Mapping[str, Rule] = {
    "node_static": _static,
    "node_filter": _filter,
    "node_score": _score,
    "node_preference": _each(Preference, "a list of preferences"),
    "domain_terms": _each(DomainTerm, "a list of terms"),
    "moves_itself": _BOOL,
    "valid_prefix": _COUNT,
    "gang_need": _COUNT,
    "job_valid": _is((str, type(None)), "a sentence, or None"),
    "job_ready": _BOOL,
    "job_pipelined": _is(Vote, "a Vote"),
    "job_starving": _BOOL,
    "job_enqueueable": _is(Answer, "an Answer"),
    "job_order": _order,
    "task_order": _order,
    "queue_order": _keys,
    "queue_overused": _BOOL,
    "queue_allows": _COUNT,
    "preemptable": _candidates,
    "reclaimable": _candidates,
    "evictable": _candidates,
    "queue_preemptive": _BOOL,
    "victim_order": _keys,
    "victim_tasks": _tasks,
    "reserves": _BOOL,
    "why": _each(Reject, "a list of rejects"),
}

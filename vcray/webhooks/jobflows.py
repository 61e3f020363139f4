"""Admission of JobFlows: what a flow waits for exists, and no flow waits for itself.

Texts after Volcano's `/jobflows/validate`. A name that is there twice is let in, as there, with a warning: such a flow runs,
but it never succeeds, since its jobs are fewer than its flows.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Final, TypeAlias

from vcray.api.jsonview import dig_list, dig_objects, dig_str
from vcray.api.meta import JsonObject
from vcray.webhooks.base import Answer, Request

NOT_DAG: Final = "jobflow Flow is not DAG"

_Waits: TypeAlias = Mapping[str, Sequence[str]]  # flow -> the flows it waits for


def validate(request: Request) -> Answer:
    """On CREATE and UPDATE: the first problem; a warning for each name that is there twice."""
    if request.operation not in ("CREATE", "UPDATE"):
        return Answer("expect operation to be 'CREATE' or 'UPDATE'")
    flows = dig_objects(request.new, "spec", "flows")
    problem = _problem(_waits(flows))
    return Answer(problem, warnings=() if problem else _warnings(flows))


def _waits(flows: Sequence[JsonObject]) -> _Waits:
    """Of flows with the same name the last one counts."""
    return {
        dig_str(flow, "name"): [
            each for each in dig_list(flow, "dependsOn", "targets") if isinstance(each, str)
        ]
        for flow in flows
    }


def _problem(waits: _Waits) -> str:
    for targets in waits.values():
        for target in targets:
            if target not in waits:
                return f"{NOT_DAG}: vertex is not defined: {target}"
    return "" if _ends(waits) else NOT_DAG


def _ends(waits: _Waits) -> bool:
    """Can all flows be done one after the other? Each is looked at once, when the last that it waits for is done."""
    left = {name: len(set(targets)) for name, targets in waits.items()}
    behind: dict[str, list[str]] = {name: [] for name in waits}
    for name, targets in waits.items():
        for target in dict.fromkeys(targets):
            behind[target].append(name)
    ready = [name for name, count in left.items() if not count]
    for name in ready:
        for other in behind[name]:
            left[other] -= 1
            if not left[other]:
                ready.append(other)
    return len(ready) == len(waits)


def _warnings(flows: Sequence[JsonObject]) -> tuple[str, ...]:
    counted = Counter(dig_str(flow, "name") for flow in flows)
    return tuple(
        f'spec.flows: the name "{name}" is there {times} times; such a JobFlow never succeeds'
        for name, times in counted.items()
        if times > 1
    )

"""Rules of the lifecycle policies of a job or a task.

A list is read to its first fault; that `*` stands alone is checked on the events met until then.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from vcray.api.batch import JobAction, JobEvent
from vcray.api.formats import invalid
from vcray.api.jsonview import dig_int, dig_list, dig_str
from vcray.api.meta import JsonObject

EVENTS: Final = (
    JobEvent.ANY,
    JobEvent.POD_FAILED,
    JobEvent.POD_EVICTED,
    JobEvent.POD_PENDING,
    JobEvent.UNKNOWN,
    JobEvent.TASK_COMPLETED,
    JobEvent.TASK_FAILED,
    JobEvent.JOB_UPDATED,
)
"""What a user's policy may react to."""

ACTIONS: Final = (
    JobAction.ABORT_JOB,
    JobAction.RESTART_JOB,
    JobAction.RESTART_TASK,
    JobAction.RESTART_POD,
    JobAction.RESTART_PARTITION,
    JobAction.TERMINATE_JOB,
    JobAction.COMPLETE_JOB,
    JobAction.RESUME_JOB,
)
"""What a user's policy may do. A policy on an exit code is not held to it, as in Volcano."""


def policies_problem(policies: list[JsonObject], path: str) -> str:
    """What is wrong with a list of policies found at `path`, with what would be right; empty when nothing is."""
    events: list[str] = []
    faults = [next(_faults(policies, path, events), "")]
    if JobEvent.ANY in events and len(events) > 1:
        faults.append("if there's * here, no other policy should be here")
    faults = [fault for fault in faults if fault]
    if not faults:
        return ""
    return (
        f"{_counted(faults)} valid events are [{' '.join(EVENTS)}], valid actions are [{' '.join(ACTIONS)}];"
    )


def _faults(policies: list[JsonObject], path: str, events: list[str]) -> Iterator[str]:
    """Faults in order; `events` collects those met so far."""
    codes: set[int] = set()
    for policy in policies:
        named, has_code = _events(policy), policy.get("exitCode") is not None
        if named and has_code:
            yield "must not specify event and exitCode simultaneously"
        elif named:
            yield from _event_faults(policy, named, path, events)
        elif has_code:
            yield from _code_faults(dig_int(policy, "exitCode"), codes)
        else:
            yield "either event and exitCode should be specified"


def _event_faults(policy: JsonObject, named: list[str], path: str, events: list[str]) -> Iterator[str]:
    action = dig_str(policy, "action")
    for event in named:
        if event not in EVENTS:
            yield invalid(path, event, "invalid policy event")
        elif action not in ACTIONS:
            yield invalid(path, action, "invalid policy action")
        elif event in events:
            yield f"duplicate event {event}  across different policy"
        events.append(event)


def _code_faults(code: int, codes: set[int]) -> Iterator[str]:
    if code == 0:
        yield "0 is not a valid error code"
    elif code in codes:
        yield f"duplicate exitCode {code}"
    codes.add(code)


def _events(policy: JsonObject) -> list[str]:
    """`events`, then `event`, each once."""
    listed = [each for each in dig_list(policy, "events") if isinstance(each, str)]
    single = dig_str(policy, "event")
    return list(dict.fromkeys([*listed, single] if single else listed))


def _counted(faults: list[str]) -> str:
    """Faults as the Go library that Volcano uses lists them."""
    head = "1 error occurred:" if len(faults) == 1 else f"{len(faults)} errors occurred:"
    listed = "\n\t".join(f"* {fault}" for fault in faults)
    return f"{head}\n\t{listed}\n\n"

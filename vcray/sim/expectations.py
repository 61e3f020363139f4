"""Expectations of a scenario against what is observed: each that does not hold becomes one sentence."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from fnmatch import fnmatchcase

from vcray.api.meta import JsonObject, JsonValue
from vcray.api.podresources import resource_amounts
from vcray.sim.observed import Observed, belongs, field, matches, text
from vcray.sim.scenario import Count, EventExpectation, Expectations

_COMPARISONS: dict[str, Callable[[int, int], bool]] = {
    ">=": int.__ge__,
    "<=": int.__le__,
    "!=": int.__ne__,
    ">": int.__gt__,
    "<": int.__lt__,
}


def failures(expected: Expectations, seen: Observed) -> list[str]:
    """A sentence for each expectation that does not hold, in the order of the file's keys."""
    found: list[str] = []
    for check in (_counts, _nodes, _phases, _conditions, _messages, _evicted, _events, _queues):
        found += check(expected, seen)
    return found


def holds(count: Count, number: int) -> bool:
    """Does a number satisfy `3`, `>=2`, `<5` or `2..3`? ValueError for another form."""
    if isinstance(count, int):
        return number == count
    spelled = count.replace(" ", "")
    for sign, compare in _COMPARISONS.items():
        if spelled.startswith(sign):
            return compare(number, int(spelled.removeprefix(sign)))
    if between := re.fullmatch(r"(\d+)\.\.(\d+)", spelled):
        return int(between[1]) <= number <= int(between[2])
    return number == int(spelled)


def _bound(pod: JsonObject) -> bool:
    return bool(text(pod, "spec", "nodeName")) and text(pod, "status", "phase") not in ("Succeeded", "Failed")


def _in_phase(phase: str) -> Callable[[JsonObject], bool]:
    return lambda pod: text(pod, "status", "phase") == phase


def _waiting(pod: JsonObject) -> bool:
    return text(pod, "status", "phase") in ("", "Pending") and not text(pod, "spec", "nodeName")


_KINDS: dict[str, Callable[[JsonObject], bool]] = {
    "bound": _bound,
    "running": _in_phase("Running"),
    "pending": _waiting,
    "pods": lambda pod: True,
    "succeeded": _in_phase("Succeeded"),
    "failed": _in_phase("Failed"),
}


def _counts(expected: Expectations, seen: Observed) -> Iterator[str]:
    for kind, counts_as in _KINDS.items():
        for selector, count in getattr(expected, kind).items():
            pods = [pod for pod in seen.select(selector) if counts_as(pod)]
            if not holds(count, len(pods)):
                yield f"{kind}.{selector}: expected {count}, found {len(pods)}{_names(seen.select(selector))}"


def _names(pods: Sequence[JsonObject]) -> str:
    if not pods:
        return " (no pod matches)"
    shown = [
        f"{text(pod, 'metadata', 'name')} {text(pod, 'status', 'phase')}"
        + (f" on {node}" if (node := text(pod, "spec", "nodeName")) else "")
        for pod in pods[:12]
    ]
    return f" ({', '.join(shown)}{', ...' if len(pods) > 12 else ''})"


def _nodes(expected: Expectations, seen: Observed) -> Iterator[str]:
    for node, wanted in expected.nodes.items():
        there = [pod for pod in seen.pods if _bound(pod) and text(pod, "spec", "nodeName") == node]
        names = sorted(text(pod, "metadata", "name") for pod in there)
        if isinstance(wanted, list):
            if names != sorted(wanted):
                yield f"nodes.{node}: expected {sorted(wanted)}, found {names}"
        elif isinstance(wanted, dict):
            for selector, count in wanted.items():
                number = sum(matches(pod, selector) for pod in there)
                if not holds(count, number):
                    yield f"nodes.{node}.{selector}: expected {count}, found {number} of {names}"
        elif not holds(wanted, len(there)):
            yield f"nodes.{node}: expected {wanted} pods, found {len(there)}: {names}"


def _named(key: str, seen: Observed) -> list[JsonObject]:
    kind, _, name = key.partition("/")
    of_kind = {
        "job": seen.jobs,
        "group": seen.groups,
        "pod": seen.pods,
        "queue": seen.queues,
        "node": seen.nodes,
    }
    if kind not in of_kind:
        raise ValueError(f"'{key}' is not of the form job/NAME, group/NAME, pod/NAME, queue/NAME, node/NAME")
    return [obj for obj in of_kind[kind] if belongs(obj, name)]


_PHASES = {"job": ("status", "state", "phase"), "queue": ("status", "state")}


def _phases(expected: Expectations, seen: Observed) -> Iterator[str]:
    for key, wanted in expected.phases.items():
        allowed = [wanted] if isinstance(wanted, str) else wanted
        objects = _named(key, seen)
        if not objects:
            yield f"phases.{key}: there is no such object"
        path = _PHASES.get(key.partition("/")[0], ("status", "phase"))
        for obj in objects:
            phase = text(obj, *path)
            if phase not in allowed:
                name = text(obj, "metadata", "name")
                yield f"phases.{key}: expected {' or '.join(allowed)}, {name} is {phase or 'without a phase'}"


def _condition(obj: JsonObject, kind: str) -> JsonObject:
    conditions = field(obj, "status", "conditions")
    for condition in conditions if isinstance(conditions, list) else []:
        if isinstance(condition, dict) and condition.get("type") == kind:
            return condition
    return {}


def _conditions(expected: Expectations, seen: Observed) -> Iterator[str]:
    for key, wanted in expected.conditions.items():
        target, _, kind = key.rpartition(":")
        status, _, reason = wanted.partition(" ")
        objects = _named(target, seen)
        if not objects:
            yield f"conditions.{key}: there is no such object"
        for obj in objects:
            condition = _condition(obj, kind)
            found = (text(condition, "status"), text(condition, "reason"))
            if found[0] != status or (reason and found[1] != reason):
                yield f"conditions.{key}: expected {wanted}, found {' '.join(found).strip() or 'no such condition'}"


def _messages(expected: Expectations, seen: Observed) -> Iterator[str]:
    for key, pattern in expected.messages.items():
        objects = _named(key, seen)
        if not objects:
            yield f"messages.{key}: there is no such object"
        for obj in objects:
            kind = "Unschedulable" if key.startswith("group/") else "PodScheduled"
            message = text(_condition(obj, kind), "message")
            if not fnmatchcase(message, pattern):
                yield f"messages.{key}: expected '{pattern}', found '{message}'"


def _evicted(expected: Expectations, seen: Observed) -> Iterator[str]:
    wanted = expected.evicted
    if wanted is None:
        return
    names = [pod for pod, _ in seen.evicted]
    if not isinstance(wanted, dict):
        if not holds(wanted, len(names)):
            yield f"evicted: expected {wanted}, found {len(names)}: {names}"
        return
    for selector, count in wanted.items():
        number = sum(fnmatchcase(pod, selector) or job == selector for pod, job in seen.evicted)
        if not holds(count, number):
            yield f"evicted.{selector}: expected {count}, found {number} of {names}"


def _events(expected: Expectations, seen: Observed) -> Iterator[str]:
    for index, event in enumerate(expected.events):
        if not any(_is_event(each, event) for each in seen.events):
            reasons = sorted({text(each, "reason") for each in seen.events if _is_about(each, event)})
            yield f"events[{index}]: no event {event.reason} '{event.message}' on {event.on}; seen there: {reasons}"
    for index, event in enumerate(expected.no_events):
        for each in seen.events:
            if _is_event(each, event):
                yield f"no_events[{index}]: {text(each, 'reason')} '{text(each, 'message')}' on {event.on}"
                break


def _is_about(event: JsonObject, expected: EventExpectation) -> bool:
    about = field(event, "involvedObject")
    spelled = f"{text(about, 'kind')}/{text(about, 'name')}".lower()
    return fnmatchcase(spelled, expected.on.lower())


def _is_event(event: JsonObject, expected: EventExpectation) -> bool:
    return (
        _is_about(event, expected)
        and text(event, "reason") == expected.reason
        and (expected.type is None or text(event, "type") == expected.type)
        and fnmatchcase(text(event, "message"), expected.message)
    )


def _queues(expected: Expectations, seen: Observed) -> Iterator[str]:
    for name, wanted in expected.queues.items():
        found = [queue for queue in seen.queues if text(queue, "metadata", "name") == name]
        if not found:
            yield f"queues.{name}: there is no such queue"
            continue
        for key, value in wanted.items():
            actual = field(found[0], "status", key)
            if not _same(value, actual):
                yield f"queues.{name}.{key}: expected {value}, found {actual}"


def _same(wanted: JsonValue, actual: JsonValue) -> bool:
    """Equal; resource lists by amount and only for the names that are given."""
    if not isinstance(wanted, dict):
        return wanted == actual
    mine = resource_amounts({key: str(value) for key, value in wanted.items()})
    given = actual if isinstance(actual, dict) else {}
    theirs = resource_amounts({key: str(value) for key, value in given.items()})
    return all(theirs.get(key, 0) == amount for key, amount in mine.items())


def field_differences(wanted: JsonValue, actual: JsonValue, path: str) -> Iterator[str]:
    """Where an object departs from the given fields: maps by the keys given, all else whole; null means absent."""
    if isinstance(wanted, dict) and isinstance(actual, dict):
        for key, value in wanted.items():
            yield from field_differences(value, actual.get(key), f"{path}.{key}")
    elif wanted != actual:
        yield f"{path}: expected {wanted!r}, found {actual!r}"

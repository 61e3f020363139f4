"""Expectations of a scenario against what is observed: each that does not hold becomes one sentence.

Every entry of `expect` or `never` is one check, which looks at one thing or, with globs, at several. An expectation holds
when it holds for all of them; something that must never be has happened when it is so for any.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from prometheus_client.parser import text_string_to_metric_families

from vcray.api.jsonview import condition_of, dig
from vcray.api.meta import JsonObject, JsonValue
from vcray.api.podresources import resource_amounts
from vcray.api.resources import resolve
from vcray.sim.observed import Observed, belongs, matches, text
from vcray.sim.scenario import COMPARISON, EventExpectation, Expectations

_SIGNS: dict[str, Callable[[float, float], bool]] = {
    ">=": lambda number, bound: number >= bound,
    "<=": lambda number, bound: number <= bound,
    "!=": lambda number, bound: number != bound,
    ">": lambda number, bound: number > bound,
    "<": lambda number, bound: number < bound,
    "": lambda number, bound: number == bound,
}


@dataclass(frozen=True, slots=True)
class Check:
    """One entry of the file: its path, a sentence for each thing that is not so, and whether any is so."""

    key: str
    faults: tuple[str, ...] = ()
    any: bool = False


def failures(expected: Expectations, seen: Observed) -> list[str]:
    """A sentence for each expectation that does not hold, in the order of the file's keys."""
    return [f"{check.key}: {fault}" for check in _checks(expected, seen) for fault in check.faults]


def held(never: Expectations, seen: Observed) -> list[str]:
    """Paths of the entries that are so now."""
    return [check.key for check in _checks(never, seen) if check.any]


def holds(count: int | str, number: float) -> bool:
    """Does a number satisfy `3`, `>=2`, `<5` or `2..3`? ValueError for another form."""
    spelled = str(count).replace(" ", "")
    match = COMPARISON.fullmatch(spelled)
    if match is None:
        raise ValueError(f"'{count}' is not a comparison")
    if match["low"] is not None:
        return int(match["low"]) <= number <= int(match["high"])
    return _SIGNS[match["sign"]](number, float(match["number"]))


def _checks(expected: Expectations, seen: Observed) -> Iterator[Check]:
    for check in (
        _counts,
        _nodes,
        _phases,
        _conditions,
        _messages,
        _evicted,
        _events,
        _objects,
        _queues,
        _metrics,
    ):
        yield from check(expected, seen)


def _one(key: str, so: bool, fault: str) -> Check:
    return Check(key, () if so else (fault,), so)


def _each(key: str, things: Sequence[JsonObject], judge: Callable[[JsonObject], str]) -> Check:
    """A check of several objects; `judge` says what is wrong with one, or nothing."""
    if not things:
        return Check(key, ("there is no such object",))
    faults = tuple(fault for thing in things if (fault := judge(thing)))
    return Check(key, faults, len(faults) < len(things))


# -- pods -----------------------------------------------------------------------------------------------------------


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


def _counts(expected: Expectations, seen: Observed) -> Iterator[Check]:
    for kind, counts_as in _KINDS.items():
        for selector, count in getattr(expected, kind).items():
            pods = seen.select(selector)
            number = sum(counts_as(pod) for pod in pods)
            fault = f"expected {count}, found {number}{_names(pods)}"
            yield _one(f"{kind}.{selector}", holds(count, number), fault)


def _names(pods: Sequence[JsonObject]) -> str:
    if not pods:
        return " (no pod matches)"
    shown = [
        f"{text(pod, 'metadata', 'name')} {text(pod, 'status', 'phase')}"
        + (f" on {node}" if (node := text(pod, "spec", "nodeName")) else "")
        for pod in pods[:12]
    ]
    return f" ({', '.join(shown)}{', ...' if len(pods) > 12 else ''})"


def _nodes(expected: Expectations, seen: Observed) -> Iterator[Check]:
    for node, wanted in expected.nodes.items():
        there = [pod for pod in seen.pods if _bound(pod) and text(pod, "spec", "nodeName") == node]
        names = sorted(text(pod, "metadata", "name") for pod in there)
        key = f"nodes.{node}"
        if isinstance(wanted, list):
            yield _one(key, names == sorted(wanted), f"expected {sorted(wanted)}, found {names}")
        elif isinstance(wanted, dict):
            for selector, count in wanted.items():
                number = sum(matches(pod, selector) for pod in there)
                fault = f"expected {count}, found {number} of {names}"
                yield _one(f"{key}.{selector}", holds(count, number), fault)
        else:
            fault = f"expected {wanted} pods, found {len(there)}: {names}"
            yield _one(key, holds(wanted, len(there)), fault)


def _evicted(expected: Expectations, seen: Observed) -> Iterator[Check]:
    wanted = expected.evicted
    if wanted is None:
        return
    names = [pod for pod, _ in seen.evicted]
    if not isinstance(wanted, dict):
        yield _one("evicted", holds(wanted, len(names)), f"expected {wanted}, found {len(names)}: {names}")
        return
    for selector, count in wanted.items():
        number = sum(fnmatchcase(pod, selector) or job == selector for pod, job in seen.evicted)
        fault = f"expected {count}, found {number} of {names}"
        yield _one(f"evicted.{selector}", holds(count, number), fault)


# -- objects --------------------------------------------------------------------------------------------------------


_PHASES = {"job": ("status", "state", "phase"), "queue": ("status", "state")}


def _phases(expected: Expectations, seen: Observed) -> Iterator[Check]:
    for key, wanted in expected.phases.items():
        allowed = [wanted] if isinstance(wanted, str) else wanted
        path = _PHASES.get(key.partition("/")[0], ("status", "phase"))

        def judge(obj: JsonObject, allowed: Sequence[str] = allowed, path: Sequence[str] = path) -> str:
            phase, name = text(obj, *path), text(obj, "metadata", "name")
            expected_one = f"expected {' or '.join(allowed)}"
            return "" if phase in allowed else f"{expected_one}, {name} is {phase or 'without a phase'}"

        yield _each(f"phases.{key}", seen.named(key), judge)


def _conditions(expected: Expectations, seen: Observed) -> Iterator[Check]:
    for key, wanted in expected.conditions.items():
        target, _, kind = key.rpartition(":")

        def judge(obj: JsonObject, kind: str = kind, wanted: str = wanted) -> str:
            status, _, reason = wanted.partition(" ")
            condition = condition_of(obj, kind)
            found = (text(condition, "status"), text(condition, "reason"))
            if found[0] == status and reason in ("", found[1]):
                return ""
            return f"expected {wanted}, found {' '.join(found).strip() or 'no such condition'}"

        yield _each(f"conditions.{key}", seen.named(target), judge)


def _messages(expected: Expectations, seen: Observed) -> Iterator[Check]:
    for key, pattern in expected.messages.items():
        kind = "Unschedulable" if key.startswith("group/") else "PodScheduled"

        def judge(obj: JsonObject, kind: str = kind, pattern: str = pattern) -> str:
            message = text(condition_of(obj, kind), "message")
            return "" if fnmatchcase(message, pattern) else f"expected '{pattern}', found '{message}'"

        yield _each(f"messages.{key}", seen.named(key), judge)


def _objects(expected: Expectations, seen: Observed) -> Iterator[Check]:
    for index, wanted in enumerate(expected.objects):
        resource = resolve(wanted.kind)
        assert resource is not None, "checked when the file was read"
        found = [
            obj
            for obj in seen.others.get(resource, ())
            if belongs(obj, wanted.name)
            and (not resource.namespaced or text(obj, "metadata", "namespace") == wanted.namespace)
        ]
        key = f"objects[{index}]"
        if not wanted.exists or not found:
            fault = f"{wanted.kind} {wanted.name} {'does not exist' if wanted.exists else 'exists'}"
            yield _one(key, bool(found) == wanted.exists, fault)
            continue

        def judge(obj: JsonObject, kind: str = wanted.kind, fields: JsonObject = wanted.fields) -> str:
            return "; ".join(field_differences(fields, obj, f"{kind} {text(obj, 'metadata', 'name')}"))

        yield _each(key, found, judge)


def field_differences(wanted: JsonValue, actual: JsonValue, path: str) -> Iterator[str]:
    """Where an object departs from the given fields: maps by the keys given, a list too when it is given as a map of
    indices, all else whole; null means absent."""
    if isinstance(wanted, dict) and isinstance(actual, list) and all(key.isdigit() for key in wanted):
        for key, value in wanted.items():
            there = actual[int(key)] if int(key) < len(actual) else None
            yield from field_differences(value, there, f"{path}[{key}]")
    elif isinstance(wanted, dict) and isinstance(actual, dict):
        for key, value in wanted.items():
            yield from field_differences(value, actual.get(key), f"{path}.{key}")
    elif wanted != actual:
        yield f"{path}: expected {wanted!r}, found {actual!r}"


# -- events, queues, metrics ----------------------------------------------------------------------------------------


def _events(expected: Expectations, seen: Observed) -> Iterator[Check]:
    for index, event in enumerate(expected.events):
        there = any(_is_event(each, event) for each in seen.events)
        reasons = sorted({text(each, "reason") for each in seen.events if _is_about(each, event)})
        fault = f"no event {event.reason} '{event.message}' on {event.on}; seen there: {reasons}"
        yield _one(f"events[{index}]", there, fault)
    for index, event in enumerate(expected.no_events):
        found = next((each for each in seen.events if _is_event(each, event)), None)
        fault = f"{text(found, 'reason')} '{text(found, 'message')}' on {event.on}"
        yield _one(f"no_events[{index}]", found is None, fault)


def _is_about(event: JsonObject, expected: EventExpectation) -> bool:
    about = dig(event, "involvedObject")
    spelled = f"{text(about, 'kind')}/{text(about, 'name')}".lower()
    return fnmatchcase(spelled, expected.on.lower())


def _is_event(event: JsonObject, expected: EventExpectation) -> bool:
    return (
        _is_about(event, expected)
        and text(event, "reason") == expected.reason
        and (expected.type is None or text(event, "type") == expected.type)
        and fnmatchcase(text(event, "message"), expected.message)
    )


def _queues(expected: Expectations, seen: Observed) -> Iterator[Check]:
    for name, wanted in expected.queues.items():
        found = [queue for queue in seen.queues if text(queue, "metadata", "name") == name]
        if not found:
            yield Check(f"queues.{name}", ("there is no such queue",))
            continue
        for key, value in wanted.items():
            actual = dig(found[0], "status", key)
            if not isinstance(value, dict):
                so = (actual or 0) == value or actual == value
                yield _one(f"queues.{name}.{key}", so, f"expected {value}, found {actual}")
                continue
            amounts: JsonObject = actual if isinstance(actual, dict) else {}
            for resource, wish in value.items():
                so = _amount_holds(resource, str(wish), amounts)
                fault = f"expected {wish}, found {amounts.get(resource, 'none')}"
                yield _one(f"queues.{name}.{key}.{resource}", so, fault)


def _amount_holds(resource: str, wish: str, amounts: JsonObject) -> bool:
    """`5`, `500m`, `>10`, `<=4Gi` against a resource list; what is not listed is zero."""
    sign = next((each for each in _SIGNS if each and wish.startswith(each)), "")
    bound = resource_amounts({resource: wish.removeprefix(sign).strip()}).get(resource, 0)
    actual = resource_amounts({resource: str(amounts.get(resource, 0))}).get(resource, 0)
    return _SIGNS[sign](actual, bound)


def _metrics(expected: Expectations, seen: Observed) -> Iterator[Check]:
    for key, wanted in expected.metrics.items():
        values = _samples(seen.metrics, key)
        if wanted is None:
            yield _one(f"metrics.{key}", not values, f"expected no such series, found {len(values)}")
        elif not values:
            yield Check(f"metrics.{key}", ("there is no such series",))
        else:
            fault = f"expected {wanted}, found {sum(values):g}"
            yield _one(f"metrics.{key}", holds(wanted, sum(values)), fault)


def _samples(exposition: str, key: str) -> list[float]:
    """Values of the samples of a metric, of those with all the labels that the key gives in braces."""
    wanted = next(
        (sample for family in text_string_to_metric_families(f"{key} 0\n") for sample in family.samples), None
    )
    return [
        sample.value
        for family in text_string_to_metric_families(exposition)
        for sample in family.samples
        if wanted is not None
        and sample.name == wanted.name
        and wanted.labels.items() <= sample.labels.items()
    ]

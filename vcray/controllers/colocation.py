"""Tells pods of the memory rules that ColocationConfigurations of their namespace have for them, after "api-controllers.md 4.7".

A pod gets the newest configuration that selects it, as two annotations: its name, and its rules as JSON for the agent on the node.
A pod that no configuration selects any more loses the name and keeps `{}`, which tells the agent to take its rules back. It is
looked at one second after it appeared, was labelled otherwise, or a configuration that selects it came, went or changed. Nothing
is remembered but who waits for that second.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import ClassVar, Final

import msgspec

from vcray.api.formats import label_value, qualified_name
from vcray.api.meta import JsonObject, JsonValue
from vcray.api.names import COLOCATION_CONFIG, COLOCATION_CONFIG_NAME
from vcray.api.resources import COLOCATIONCONFIGURATIONS, PODS, Resource
from vcray.api.wire import Selector
from vcray.cache.labels import requirements_of
from vcray.controllers import raw
from vcray.controllers.base import Change, Effects, Patch, ReconcileError, Request, Seen, one_object_each
from vcray.controllers.soon import Soon
from vcray.core.selectors import satisfies
from vcray.core.tables import Requirement

SOON_S: Final = 1.0
RATIOS: Final = ("highRatio", "lowRatio", "minRatio")


@dataclass(frozen=True, slots=True)
class PodRequest:
    """Bring a pod's annotations up to date: `due` now, or soon."""

    namespace: str
    pod: str
    due: bool = False

    @property
    def key(self) -> str:
        return f"{self.namespace}/{self.pod}"


class ColocationController:
    """Keeps the annotations of pods that configurations select or selected."""

    name: ClassVar[str] = "colocation-config-controller"
    watches: ClassVar[tuple[Resource, ...]] = (PODS, COLOCATIONCONFIGURATIONS)
    starts_anew: bool = True

    def __init__(self, max_requeue: int = 15) -> None:
        self.max_requeue = max_requeue
        self._soon = Soon(SOON_S)

    def requests(self, change: Change, seen: Seen) -> Iterable[Request]:
        """Pods that are new, labelled otherwise, or selected by what changed."""
        for each in one_object_each(change):
            if each.resource == PODS:
                yield from _of_pod(each, seen)
            else:
                yield from _of_configuration(each, seen)

    def reconcile(self, request: Request, seen: Seen, now: float) -> Effects:
        """Write the two annotations where they say something else."""
        assert isinstance(request, PodRequest)
        due = PodRequest(request.namespace, request.pod, due=True)
        if not request.due:
            yield from self._soon.keep(due)
            return
        self._soon.let_go(due)
        pod = seen.get(PODS, request.namespace, request.pod)
        if pod is None:
            return
        notes = _wanted(pod, seen.list(COLOCATIONCONFIGURATIONS, request.namespace))
        if not notes:
            return
        outcome = yield Patch(PODS, request.namespace, request.pod, {"metadata": {"annotations": notes}})
        if not outcome.ok and not outcome.not_found:
            raise ReconcileError(f"annotate Pod {request.key}: {outcome.why}", counts=False)

    def gave_up(self, request: Request, seen: Seen, now: float) -> Effects:
        """Never: a refused write is tried again without limit."""
        yield from ()


def _of_pod(change: Change, seen: Seen) -> Iterator[Request]:
    """A pod to look at, if it has rules or there are any in its namespace."""
    pod = change.new
    if pod is None:
        return
    if change.old is not None and raw.labels_of(change.old) == raw.labels_of(pod):
        return
    if _notes(pod) or seen.list(COLOCATIONCONFIGURATIONS, raw.namespace(pod)):
        yield PodRequest(raw.namespace(pod), raw.name(pod))


def _of_configuration(change: Change, seen: Seen) -> Iterator[Request]:
    """Pods that a configuration selects, or selected before it changed."""
    old, new = (raw.table(each or {}, "spec") for each in (change.old, change.new))
    if change.old is not None and change.new is not None and old == new:
        return
    selectors = [_selector(each) for each in (old, new)]
    namespace = raw.namespace(change.object)
    for pod in seen.list(PODS, namespace):
        labels = raw.labels_of(pod)
        if any(each is not None and satisfies(each, labels) for each in selectors):
            yield PodRequest(namespace, raw.name(pod))


def _wanted(pod: JsonObject, configurations: Iterable[JsonObject]) -> JsonObject:
    """The annotations to write; None takes one away. Empty when the pod has them."""
    held = _notes(pod)
    chosen = _newest(pod, configurations)
    if chosen is None:
        wanted: JsonObject = {COLOCATION_CONFIG_NAME: None, COLOCATION_CONFIG: "{}"}
        return wanted if held and held != {COLOCATION_CONFIG: "{}"} else {}
    rules = _rules(raw.table(chosen, "spec"))
    if held.get(COLOCATION_CONFIG_NAME) == raw.name(chosen) and _read(held.get(COLOCATION_CONFIG)) == rules:
        return {}
    return {
        COLOCATION_CONFIG_NAME: raw.name(chosen),
        COLOCATION_CONFIG: json.dumps(rules, separators=(",", ":")),
    }


def _newest(pod: JsonObject, configurations: Iterable[JsonObject]) -> JsonObject | None:
    """The configuration that was made last of those that select a pod; of several at one time the first by name."""
    labels = raw.labels_of(pod)
    found: JsonObject | None = None
    for each in configurations:
        selector = _selector(raw.table(each, "spec"))
        if selector is None or not satisfies(selector, labels):
            continue
        if found is None or _made(each) > _made(found):
            found = each
    return found


def _made(configuration: JsonObject) -> str:
    """When it was made: times of one form are in order as texts."""
    return raw.text(configuration, "metadata", "creationTimestamp")


def _rules(spec: JsonObject) -> JsonObject:
    """What the agent is told, in Go's form: a ratio of 0 is left out."""
    given = spec.get("memoryQos")
    if not isinstance(given, dict):
        return {}
    return {"memoryQos": {key: ratio for key in RATIOS if (ratio := raw.number(given, key))}}


def _read(text: str | None) -> JsonValue:
    """Rules as a pod bears them, in the same form; None for what is no such thing."""
    try:
        found = json.loads(text or "")
    except ValueError:
        return None
    return _rules(found) if isinstance(found, dict) else None


def _notes(pod: JsonObject) -> dict[str, str]:
    """Those of the two annotations that a pod has."""
    notes = raw.annotations_of(pod)
    return {key: notes[key] for key in (COLOCATION_CONFIG_NAME, COLOCATION_CONFIG) if key in notes}


def _selector(spec: JsonObject) -> tuple[Requirement, ...] | None:
    """The selector of a spec; None when there is none or Kubernetes would refuse it: both select nothing."""
    given = spec.get("selector")
    if not isinstance(given, dict):
        return None
    try:
        selector = msgspec.convert(given, Selector)
    except msgspec.ValidationError:
        return None
    pairs: list[tuple[str, tuple[str, ...]]] = [
        (key, (value,)) for key, value in selector.match_labels.items()
    ]
    for each in selector.match_expressions:
        if each.operator not in ("In", "NotIn", "Exists", "DoesNotExist"):
            return None
        if bool(each.values) != (each.operator in ("In", "NotIn")):
            return None
        pairs.append((each.key, each.values))
    if any(qualified_name(key) or any(map(label_value, values)) for key, values in pairs):
        return None
    return requirements_of(selector)

"""The configuration of the pods' webhook: groups of pods, and where the pods of each are to run.

`volcano-admission.conf` as Volcano reads it. Text that it reads without a word, though no effect can come of it, is told of
here; what could only end in pods that nobody can create is refused.

    resourceGroups:
    - resourceGroup: cpu             # pods with the annotation volcano.sh/resource-group: cpu
      labels: {pool: cpu}
    - resourceGroup: science
      object: {key: namespace, value: [physics, biology]}
      schedulerName: volcano
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final, NoReturn

import msgspec
import yaml

from vcray.api import names, wire
from vcray.api.meta import JsonObject, JsonValue
from vcray.api.podchecks import toleration_problems
from vcray.config.document import parse
from vcray.errors import ConfigError, Problem, did_you_mean

_KEYS: Final = ("resourceGroup", "object", "schedulerName", "tolerations", "labels", "affinity")
_AFFINITIES: Final = ("nodeAffinity", "podAffinity", "podAntiAffinity")
_TOLERATION: Final = {
    **{field: field for field in ("key", "operator", "value", "effect")},
    **dict.fromkeys(("tolerationseconds", "tolerationSeconds"), "tolerationSeconds"),
}
"""Field as Volcano's parser of YAML knows it, or as users know it -> field of a pod."""


@dataclass(frozen=True, slots=True)
class ResourceGroup:
    """Pods by their namespace or by one of these annotations, and what they are given."""

    name: str
    namespaces: frozenset[str] = frozenset()
    annotations: tuple[tuple[str, str], ...] = ()
    labels: tuple[tuple[str, str], ...] = ()
    affinity: JsonObject | None = None
    tolerations: tuple[JsonObject, ...] = ()
    scheduler_name: str = ""

    def holds(self, namespace: str, annotations: Mapping[str, str]) -> bool:
        """Is a pod of that namespace, with these annotations, of this group?"""
        return namespace in self.namespaces or any(
            annotations.get(key) == value for key, value in self.annotations
        )


@dataclass(frozen=True, slots=True)
class Reading:
    """The groups in order, and a sentence for each part that was passed over."""

    groups: tuple[ResourceGroup, ...] = ()
    problems: tuple[str, ...] = ()


def read_groups(text: str, source: str) -> Reading:
    """The groups of a configuration. ConfigError VC0503, beginning with the `source`, for a text that is no such thing."""
    reader = _Reader(source)
    try:
        document, faults = parse(text)
    except yaml.YAMLError as error:
        raise ConfigError(
            Problem("VC0503", source, f"is not YAML: {' '.join(str(error).split())}")
        ) from error
    for place, sentence in faults:
        reader.pass_over(place, sentence)
    whole = reader.mapping(document, "")
    for key in whole:
        if key != "resourceGroups":
            reader.pass_over(key, "unknown key" + did_you_mean(key, ("resourceGroups",)))
    listed = whole.get("resourceGroups")
    entries = reader.sequence(listed, "resourceGroups")
    groups = tuple(reader.group(entry, f"resourceGroups[{index}]") for index, entry in enumerate(entries))
    return Reading(groups, tuple(reader.problems))


class _Reader:
    """Reads one text; keeps what it passes over."""

    def __init__(self, source: str) -> None:
        self._source = source
        self.problems: list[str] = []

    def group(self, entry: JsonValue, at: str) -> ResourceGroup:
        fields = self.mapping(entry, at)
        for key in fields:
            if key not in _KEYS:
                self.pass_over(f"{at}.{key}", "unknown key" + did_you_mean(key, _KEYS))
        name = self._text(fields.get("resourceGroup"), f"{at}.resourceGroup")
        namespaces, annotations = self._members(name, self.mapping(fields.get("object"), f"{at}.object"), at)
        if not namespaces and not annotations:
            self.pass_over(at, "no pod can be of this group; give it a name, or an object with values")
        return ResourceGroup(
            name,
            namespaces,
            annotations,
            tuple(self._texts(fields.get("labels"), f"{at}.labels").items()),
            self._affinity(fields.get("affinity"), f"{at}.affinity"),
            tuple(self._tolerations(fields.get("tolerations"), f"{at}.tolerations")),
            self._text(fields.get("schedulerName"), f"{at}.schedulerName"),
        )

    def mapping(self, value: JsonValue, at: str) -> JsonObject:
        """A mapping, empty where there is none."""
        if value is None:
            return {}
        return value if isinstance(value, dict) else self._refuse(at, "must be a mapping")

    def sequence(self, value: JsonValue, at: str) -> list[JsonValue]:
        """A list, empty where there is none."""
        if value is None:
            return []
        return value if isinstance(value, list) else self._refuse(at, "must be a list")

    def pass_over(self, at: str, sentence: str) -> None:
        """Remember that something has no effect."""
        self.problems.append(str(Problem("VC0503", self._where(at), sentence)))

    # -- parts of a group ---------------------------------------------------------------------------------------

    def _members(
        self, name: str, chosen: JsonObject, at: str
    ) -> tuple[frozenset[str], tuple[tuple[str, str], ...]]:
        key = self._text(chosen.get("key"), f"{at}.object.key")
        values = self.sequence(chosen.get("value"), f"{at}.object.value")
        places = [(value, f"{at}.object.value[{index}]") for index, value in enumerate(values)]
        if key == "namespace":
            return frozenset(filter(None, (self._text(*each) for each in places))), ()
        if key not in ("", "annotation"):
            self.pass_over(f"{at}.object.key", f"must be namespace or annotation, got '{key}'")
            return frozenset(), ()
        pairs = [pair for each in places for pair in self._pairs(*each).items()]
        if not key and name:
            pairs.append((names.RESOURCE_GROUP, name))
        return frozenset(), tuple(pairs)

    def _pairs(self, value: JsonValue, at: str) -> dict[str, str]:
        """Annotations as `key: value` in a text, which is YAML once more."""
        if isinstance(value, str):
            try:
                value = parse(value)[0]
            except yaml.YAMLError:
                value = ""
            if not isinstance(value, dict):
                self.pass_over(at, "must be an annotation such as 'volcano.sh/resource-group: cpu'")
                return {}
        return self._texts(value, at)

    def _affinity(self, value: JsonValue, at: str) -> JsonObject | None:
        if value is None or value == "":
            return None
        if isinstance(value, str):
            try:
                value = json.loads(value)
            except (ValueError, RecursionError):
                self.pass_over(at, "must be JSON")
                return None
        if not isinstance(value, dict):
            self.pass_over(at, "must be the affinity of a pod")
            return None
        unknown = next((key for key in value if key not in _AFFINITIES), None)
        if unknown is not None:
            self.pass_over(f"{at}.{unknown}", "unknown key" + did_you_mean(unknown, _AFFINITIES))
            return None
        return value if self._fits({"affinity": value}, at) else None

    def _tolerations(self, value: JsonValue, at: str) -> Iterator[JsonObject]:
        for index, entry in enumerate(self.sequence(value, at)):
            place, toleration = f"{at}[{index}]", {}
            for key, part in self.mapping(entry, place).items():
                if key not in _TOLERATION:
                    self.pass_over(f"{place}.{key}", "unknown key" + did_you_mean(key, _TOLERATION))
                else:
                    toleration[_TOLERATION[key]] = part
            wrong = next(toleration_problems([toleration], "tolerations"), "")
            if wrong:
                self.pass_over(place, wrong)
            elif self._fits({"tolerations": [toleration]}, place):
                yield toleration

    def _fits(self, spec: JsonObject, at: str) -> bool:
        """Can this be part of a pod? Else no pod that was given it could be created."""
        try:
            wire.decode_pod(msgspec.json.encode({"spec": spec}))
        except (msgspec.DecodeError, msgspec.ValidationError, RecursionError) as error:
            self.pass_over(at, f"cannot be part of a pod: {error}")
            return False
        return True

    # -- plain values -------------------------------------------------------------------------------------------

    def _text(self, value: JsonValue, at: str) -> str:
        """A scalar as text, as Go's YAML reads one into a string."""
        if value is None:
            return ""
        if isinstance(value, bool):
            return "true" if value else "false"
        return str(value) if isinstance(value, str | int | float) else self._refuse(at, "must be a text")

    def _texts(self, value: JsonValue, at: str) -> dict[str, str]:
        return {key: self._text(each, f"{at}.{key}") for key, each in self.mapping(value, at).items()}

    def _refuse(self, at: str, sentence: str) -> NoReturn:
        raise ConfigError(Problem("VC0503", self._where(at), sentence))

    def _where(self, at: str) -> str:
        return f"{self._source} {at}".strip()

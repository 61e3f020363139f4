"""Which sources of topology are on: key `volcano-controller.conf` of the controllers' ConfigMap.

    networkTopologyDiscovery:
    - source: label                  # or ufm, roce
      enabled: true
      interval: 10m                  # of ufm and roce; an hour without it
      credentials: {secretRef: {name: fabric, namespace: volcano-system}}
      config: {networkTopologyTypes: {ethernet: [{nodeLabel: zone}, {nodeLabel: rack}, {nodeLabel: kubernetes.io/hostname}]}}

A source that cannot be read is off, and what is wrong with it is told; the others work all the same. Of several
entries for one source the first that is enabled and can be read counts. Keys that nobody knows pass without a word, as in Volcano.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final, NoReturn

import yaml

from vcray.api.duration import SECOND, DurationError, parse_duration
from vcray.api.jsonview import dig, dig_object, dig_str
from vcray.api.meta import JsonObject, JsonValue
from vcray.api.patterns import compiled
from vcray.config.document import parse
from vcray.controllers.hypernode.discovery import Discoverer
from vcray.controllers.hypernode.fabric import Server
from vcray.controllers.hypernode.labels import LONGEST_TYPE, LabelDiscoverer
from vcray.controllers.hypernode.roce import NEIGHBOURS, RoceDiscoverer
from vcray.controllers.hypernode.ufm import UfmDiscoverer
from vcray.errors import did_you_mean

KEY: Final = "volcano-controller.conf"
SECTION: Final = "networkTopologyDiscovery"
INTERVAL_S: Final = 3600.0


@dataclass(slots=True)
class Reading:
    """`sources`: name -> what is on; None when the text is no configuration at all. `problems`: sentences."""

    sources: dict[str, Discoverer] | None = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)


class _Wrong(Exception):
    """One entry cannot be read."""


def read_sources(text: str, namespace: str) -> Reading:
    """The sources of a text; `namespace` is that of Secrets which are named without one."""
    try:
        document, faults = parse(text)
    except yaml.YAMLError as error:
        return Reading(None, [f"{KEY} is not YAML: {' '.join(str(error).split())}"])
    problems = [f"{place}: {sentence}" for place, sentence in faults]
    entries = document.get(SECTION) if isinstance(document, dict) else document
    if entries is not None and not isinstance(entries, list):
        return Reading(None, [*problems, f"{SECTION} must be a list"])
    reading = Reading({}, problems)
    for index, entry in enumerate(entries or []):
        _read_entry(reading, entry, f"{SECTION}[{index}]", namespace)
    return reading


def _read_entry(reading: Reading, entry: JsonValue, place: str, namespace: str) -> None:
    assert reading.sources is not None
    source = dig_str(entry, "source")
    if dig(entry, "enabled") is not True or source in reading.sources:
        return
    try:
        make = _SOURCES.get(source)
        if make is None:
            _wrong("source", f"there is no source '{source}'{did_you_mean(source, _SOURCES)}")
        reading.sources[source] = make(dig_object(entry), namespace, reading.problems, place)
    except _Wrong as wrong:
        reading.problems.append(f"{place}.{wrong}; this source is off")


def _label(entry: JsonObject, namespace: str, problems: list[str], place: str) -> Discoverer:
    types: dict[str, tuple[str, ...]] = {}
    where = "config.networkTopologyTypes"
    given = dig(entry, "config", "networkTopologyTypes")
    if given is not None and not isinstance(given, dict):
        _wrong(where, "must map names to lists of nodeLabel")
    for kind, levels in (given or {}).items():
        labels = [dig_str(each, "nodeLabel") for each in levels] if isinstance(levels, list) else []
        what = ""
        if len(kind.encode()) > LONGEST_TYPE:
            what = f"the name has more than {LONGEST_TYPE} characters"
        elif not labels or not all(labels):
            what = "must be a list of nodeLabel"
        elif len(set(labels)) < len(labels):
            what = "has a label twice"
        if what:
            problems.append(f"{place}.{where}.{kind}: {what}; this type is left out")
            continue
        types[kind] = tuple(reversed(labels[:-1]))
    return LabelDiscoverer(types)


def _ufm(entry: JsonObject, namespace: str, problems: list[str], place: str) -> Discoverer:
    return UfmDiscoverer(_server(entry, namespace), _interval(entry))


def _roce(entry: JsonObject, namespace: str, problems: list[str], place: str) -> Discoverer:
    path = dig_str(entry, "config", "path") or NEIGHBOURS
    switches = dig_str(entry, "config", "switches")
    if not path.startswith("/"):
        _wrong("config.path", "must begin with /")
    try:
        compiled(switches)
    except ValueError as error:
        _wrong("config.switches", str(error))
    return RoceDiscoverer(_server(entry, namespace), _interval(entry), path, switches)


_SOURCES: Final[Mapping[str, Callable[[JsonObject, str, list[str], str], Discoverer]]] = {
    "label": _label,
    "ufm": _ufm,
    "roce": _roce,
}


def _server(entry: JsonObject, namespace: str) -> Server:
    endpoint = dig_str(entry, "config", "endpoint")
    if not endpoint:
        _wrong("config.endpoint", "must be the address of the server")
    secret = dig_object(entry, "credentials", "secretRef")
    if not dig_str(secret, "name"):
        _wrong("credentials.secretRef.name", "must be a Secret's name")
    verify = dig(entry, "config", "insecureSkipVerify") is not True
    return Server(endpoint, dig_str(secret, "namespace") or namespace, dig_str(secret, "name"), verify)


def _interval(entry: JsonObject) -> float:
    """Seconds; a bare number is one of nanoseconds, as Go reads it."""
    given = entry.get("interval")
    if given is None:
        return INTERVAL_S
    if isinstance(given, int) and not isinstance(given, bool):
        seconds = given / SECOND
    else:
        try:
            seconds = parse_duration(str(given)) / SECOND
        except DurationError as error:
            _wrong("interval", str(error))
    return seconds if seconds > 0 else INTERVAL_S


def _wrong(place: str, what: str) -> NoReturn:
    raise _Wrong(f"{place}: {what}")

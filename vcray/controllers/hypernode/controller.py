"""The controller of HyperNodes: counts their members, and makes those that the network tells of.

Counted is a HyperNode that appears or changes, and all that select nodes by pattern or labels a second after nodes came, went
or were labelled otherwise.

Each source that is on is looked at at once, and then at its interval or when the cluster wakes it. A look that fails leaves what was
there, tells so in an event on the ConfigMap, and is tried again after 5 s, 10 s and so on up to the interval. A changed
configuration starts all its sources anew; a source that is no longer in it stops, and its HyperNodes stay.

Remembered are the sources and how often each failed in a row; a restart reads the former again.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import ClassVar, Final

from vcray.api.meta import JsonObject
from vcray.api.names import SYSTEM_NAMESPACE
from vcray.api.resources import CONFIGMAPS, HYPERNODES, NODES, Resource
from vcray.controllers import raw
from vcray.controllers.base import Again, Change, Effects, Emit, Request, Seen
from vcray.controllers.hypernode.applying import apply
from vcray.controllers.hypernode.configuration import INTERVAL_S, KEY, read_sources
from vcray.controllers.hypernode.discovery import Discoverer, DiscoveryError
from vcray.controllers.hypernode.members import count
from vcray.controllers.soon import Soon

CONFIG: Final = (SYSTEM_NAMESPACE, "volcano-controller-configmap")
"""Namespace and name of the ConfigMap when nobody says otherwise."""
SOON_S: Final = 1.0
RETRY_S: Final = 5.0


@dataclass(frozen=True, slots=True)
class CountRequest:
    """Count the members of one HyperNode."""

    hypernode: str

    @property
    def key(self) -> str:
        return f"count {self.hypernode}"


@dataclass(frozen=True, slots=True)
class RecountRequest:
    """Count the members of those that select nodes by pattern or labels: `due` now, or soon."""

    due: bool = False

    @property
    def key(self) -> str:
        return "recount"


@dataclass(frozen=True, slots=True)
class ConfigRequest:
    """Read the configuration and start its sources."""

    @property
    def key(self) -> str:
        return "configuration"


@dataclass(frozen=True, slots=True)
class DiscoverRequest:
    """Look at a source, if this is still the configuration of that number: `due` now, or soon. `timed`: the one that a look
    before it arranged for."""

    source: str
    configuration: int
    due: bool = True
    timed: bool = False

    @property
    def key(self) -> str:
        return f"discover {self.source}"


class HyperNodeController:
    """Keeps `status.nodeCount` and discovered HyperNodes."""

    name: ClassVar[str] = "hyperNode-controller"
    watches: ClassVar[tuple[Resource, ...]] = (HYPERNODES, NODES, CONFIGMAPS)
    starts_anew: bool = True

    def __init__(self, config: tuple[str, str] = CONFIG, max_requeue: int = 15) -> None:
        self.max_requeue = max_requeue
        self._config = config
        self._sources: dict[str, Discoverer] = {}
        self._configuration = 0
        self._failed: dict[str, int] = {}
        self._timed: set[str] = set()
        self._soon = Soon(SOON_S)

    def requests(self, change: Change, seen: Seen) -> Iterable[Request]:
        """A HyperNode or nodes to count, a source to look at, a configuration to read."""
        if change.resource == CONFIGMAPS:
            place = raw.namespace(change.object), raw.name(change.object)
            if place == self._config and _text(change.old) != _text(change.new):
                yield ConfigRequest()
            return
        if change.resource == HYPERNODES:
            if change.new is not None and (
                change.old is None or change.old.get("spec") != change.new.get("spec")
            ):
                yield CountRequest(raw.name(change.new))
        elif _came_or_went(change):
            yield RecountRequest()
        for source, discoverer in self._sources.items():
            if discoverer.wakes(change):
                yield DiscoverRequest(source, self._configuration, due=False)

    def reconcile(self, request: Request, seen: Seen, now: float) -> Effects:
        """Count, look or read."""
        match request:
            case CountRequest():
                found = seen.get(HYPERNODES, "", request.hypernode)
                if found is not None:
                    yield from count([found], seen)
            case RecountRequest():
                if not request.due:
                    yield from self._soon.keep(RecountRequest(due=True))
                    return
                self._soon.let_go(request)
                yield from count(list(seen.list(HYPERNODES)), seen, only_matching=True)
            case ConfigRequest():
                yield from self._read(seen)
            case DiscoverRequest():
                if not request.due:
                    yield from self._soon.keep(replace(request, due=True))
                    return
                self._soon.let_go(request)
                if request.configuration == self._configuration and request.source in self._sources:
                    yield from self._look(request, seen)
            case _:
                raise TypeError(type(request).__name__)

    def gave_up(self, request: Request, seen: Seen, now: float) -> Effects:
        """Nothing: the next change counts again."""
        yield from ()

    def _read(self, seen: Seen) -> Effects:
        """Take the configuration as it is now; one that is none leaves the last."""
        held = seen.get(CONFIGMAPS, *self._config)
        text = _text(held)
        if held is not None and text is None:
            yield Emit(CONFIGMAPS, held, "Warning", "InvalidConfiguration", f"there is no key {KEY}")
            return
        reading = read_sources(text or "", self._config[0])
        for problem in reading.problems:
            yield Emit(CONFIGMAPS, held or {}, "Warning", "InvalidConfiguration", problem)
        if reading.sources is None:
            return
        self._sources = reading.sources
        self._configuration += 1
        self._failed.clear()
        self._timed.clear()
        for source in self._sources:
            yield Again(0, DiscoverRequest(source, self._configuration))

    def _look(self, request: DiscoverRequest, seen: Seen) -> Effects:
        """Look at a source, make its HyperNodes what it tells, and arrange for the next look."""
        source, discoverer = request.source, self._sources[request.source]
        if request.timed:
            self._timed.discard(source)
        wait, problem = discoverer.interval_s, ""
        try:
            found = yield from discoverer.discover(seen)
            if request.configuration == self._configuration:
                yield from apply(source, found, seen)
        except DiscoveryError as error:
            problem = str(error)
        if request.configuration != self._configuration:
            return  # it came meanwhile and has a look of its own
        if problem:
            failed = self._failed[source] = self._failed.get(source, 0) + 1
            wait = min(RETRY_S * 2 ** min(failed - 1, 30), wait or INTERVAL_S)
            held = seen.get(CONFIGMAPS, *self._config)
            if held is not None:
                yield Emit(CONFIGMAPS, held, "Warning", "DiscoveryFailed", f"{source}: {problem}")
        else:
            self._failed.pop(source, None)
        if wait and source not in self._timed:
            self._timed.add(source)
            yield Again(wait, replace(request, timed=True))


def _text(configmap: JsonObject | None) -> str | None:
    """The configuration in a ConfigMap; None without one."""
    found = raw.at(configmap, "data", KEY)
    return found if isinstance(found, str) else None


def _came_or_went(change: Change) -> bool:
    """Does this change of a node change what may be selected?"""
    old, new = change.old, change.new
    return old is None or new is None or raw.labels_of(old) != raw.labels_of(new)

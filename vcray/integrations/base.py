"""What an integration is: it reads an object of another operator and says as which gangs that operator's pods are to start.

Pure: objects in, `Gang`s out. One module a kind; the keeper of groups (`keeping`) does what all kinds have in common: it makes and
follows the PodGroups, lets pods join them, and stands down where the operator makes the groups itself. `examining` has
`check_integration` for authors.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Literal, TypeAlias

from vcray.api.meta import JsonObject
from vcray.api.resources import Resource
from vcray.controllers import raw
from vcray.controllers.base import Change, Seen
from vcray.controllers.podusage import Usage


class Malformed(ValueError):
    """The object cannot be read; the text says what is wrong, where, and what to do. It becomes an event on the object."""


@dataclass(frozen=True, slots=True)
class Ref:
    """An object by its place."""

    resource: Resource
    namespace: str
    name: str

    @property
    def key(self) -> str:
        """Requests about one object are handled one after the other."""
        return f"{self.resource.kind}/{self.namespace}/{self.name}"

    @classmethod
    def of(cls, resource: Resource, obj: JsonObject) -> Ref:
        """The place of an object."""
        return cls(resource, raw.namespace(obj), raw.name(obj))


@dataclass(frozen=True, slots=True)
class Remark:
    """Something to tell on an object as an event. Yielded for a change that makes it so, not for each after it."""

    about: Ref
    type: Literal["Normal", "Warning"]
    reason: str
    message: str

    @property
    def key(self) -> str:
        """It goes in order with what is done about its object."""
        return self.about.key


@dataclass(frozen=True, slots=True)
class SubGroups:
    """Units of `size` pods of one part, placed each as a whole, at least `minimum` of them. `keys` are the labels by whose values
    units are told apart, `labels` those of the pods that form them."""

    size: int
    minimum: int
    labels: Mapping[str, str]
    keys: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Part:
    """Pods of one template: `minimum` of them start together, room is asked for `reserved`.

    `beside` is what the operator adds to each pod: containers that the template does not show."""

    task: str
    minimum: int
    reserved: int
    template: JsonObject = field(default_factory=dict)
    sub_groups: SubGroups | None = None
    beside: Usage = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Gang:
    """Pods that start together, as a PodGroup `name`. A gang without parts holds no room.

    `min_member` and `min_resources` (a ResourceList) are given where the object says them itself, else they follow from the parts.
    `instead`: the name that it would have if no other object had the group of that name. `owner` is given where the group goes with another object than the one that was asked about, `queue` and `topology` (a
    networkTopology) where others than the object itself say them: what it says itself comes first. `takes`: names of pods that are
    brought into it, whatever group they name: theirs is gone."""

    name: str
    parts: tuple[Part, ...] = ()
    min_member: int | None = None
    min_resources: JsonObject | None = None
    owner: tuple[Resource, JsonObject] | None = None
    queue: str = ""
    topology: JsonObject = field(default_factory=dict)
    takes: tuple[str, ...] = ()
    instead: str = ""


@dataclass(frozen=True, slots=True)
class Asks:
    """What an object asks for in fields of its own kind, and its pod templates, the leader's first.

    `manager` is who else looks after the object, empty when its own operator does. `by_pods`: the object has no templates, and is
    ours as soon as pods of ours name it."""

    queue: str = ""
    priority_class: str = ""
    templates: tuple[JsonObject, ...] = ()
    manager: str = ""
    by_pods: bool = False


@dataclass(frozen=True, slots=True)
class Member:
    """Where a pod belongs: the name of its group and its task there. `leads`: nothing works without it, so it is placed before the
    others of its group, and goes after them."""

    group: str
    task: str
    leads: bool = False


@dataclass(frozen=True, slots=True)
class Growth:
    """A number of an object that an update raises without a user's asking, so that room decides how much of it comes true.

    `path`: where it stands in the object; `asked`: what the update says, within the object's own limits; `least`: what it stays at,
    room or not. Each is `hosts` pods of `template` that bear `labels` besides its own; where the label `unit` tells them apart from
    the next `hosts` pods, it is named."""

    path: tuple[str | int, ...]
    asked: int
    least: int
    template: JsonObject
    labels: Mapping[str, str]
    hosts: int = 1
    unit: str = ""


Find: TypeAlias = Callable[[Resource, str, str], JsonObject | None]
"""An object by resource, namespace and name, as last seen."""


class Integration(ABC):
    """One kind of object. `kinds` are the objects that gangs are made for, `reads` what else answers rest on.

    `pod_labels` (`key` or `key=value`) and `pod_fields` (of spec): each pod that may be one of its has at least one of them.
    `follows_pods`: gangs depend on the pods there are.
    `self_growing`: a CEL expression on an `object` of `kinds`, true where an autoscaler of its own may raise numbers of it.
    Instances remember nothing."""

    name: ClassVar[str]
    kinds: ClassVar[tuple[Resource, ...]]
    reads: ClassVar[tuple[Resource, ...]] = ()
    pod_labels: ClassVar[tuple[str, ...]]
    pod_fields: ClassVar[tuple[str, ...]] = ()
    follows_pods: ClassVar[bool] = False
    self_growing: ClassVar[str] = ""

    @abstractmethod
    def asks(self, owner: JsonObject) -> Asks:
        """What the object asks for; of one that is malformed, whatever can be read."""

    def asked(self, owner: JsonObject, find: Find) -> Asks:
        """`asks`, of kinds whose templates stand in other objects; each such kind is in `reads`."""
        return self.asks(owner)

    @abstractmethod
    def gangs(self, owner: JsonObject, seen: Seen) -> Sequence[Gang]:
        """The gangs of an object as it is now; none when its pods belong to another object's gang. Raises Malformed."""

    @abstractmethod
    def member(self, owner: JsonObject, pod: JsonObject) -> Member | None:
        """Where a pod of this object belongs; None for one that starts by itself."""

    def owns(self, obj: JsonObject) -> bool:
        """Is this object of one of `kinds` one that the integration is about?"""
        return True

    def named(self, pod: JsonObject) -> tuple[Ref, Member] | None:
        """The object that a pod names itself, which need not be there yet, and the pod's place; None where owners tell."""
        return None

    def grows(self, old: JsonObject, new: JsonObject) -> Sequence[Growth]:
        """Numbers that an update raises by itself, of kinds that are `self_growing`. Raises Malformed."""
        return ()

    def status(self, owner: JsonObject, group: JsonObject | None, now: float) -> JsonObject:
        """Fields of the object's status that are ours to write, given its PodGroup; of those none that are as they should be."""
        return {}

    def concerned(self, change: Change, seen: Seen) -> Iterable[Ref | Remark]:
        """Objects whose gangs may differ after a change of something in `reads`, and what is to be told because of it."""
        return ()

    def begun(self, owner: JsonObject, seen: Seen) -> bool:
        """Has its operator set about this object? One that makes groups itself has made them by then, so that we never come first:
        two writers of one group would correct each other for ever. No group is made before."""
        return True

    def starts_with(self, owner: JsonObject, group: JsonObject, seen: Seen) -> int | None:
        """How many pods a group that its operator made can have now, those that have succeeded among them, where its spec may
        count others that come only after these; None where all come at once."""
        return None

    def rests(self, owner: JsonObject, seen: Seen) -> str:
        """Why the object wants no room now (`suspended`, `finished`, `deleted`), empty while it does.

        A group that its operator left with this object, and that has no pod any more, then holds none."""
        return ""


def count(owner: JsonObject, where: str, *path: str | int, default: int) -> int:
    """A number of pods. Malformed when it is there and is none, or below zero; `where` names it."""
    found = raw.at(owner, *path)
    if found is None:
        return default
    if not isinstance(found, int) or isinstance(found, bool) or found < 0:
        raise Malformed(f"{where}: must be a whole number of at least 0, got {found!r}")
    return found


def template(owner: JsonObject, where: str, *path: str | int) -> JsonObject:
    """A pod template. Malformed when there is none, or one without containers."""
    found = raw.table(owner, *path)
    if not raw.tables(found, "spec", "containers"):
        raise Malformed(f"{where}: a pod template with containers is missing")
    return found

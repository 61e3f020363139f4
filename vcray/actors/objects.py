"""The controllers' mirrors: objects as last seen, by name and by owner, with one door for events and for answers of writes.

An object that comes through the door with a resourceVersion not above the one held is old news and changes nothing, so the
answer of a write and the watch event that follows it count once. A deletion leaves a tombstone with its version for a while: an
answer that was overtaken by the deletion must not bring the object back.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Sequence

from vcray.api.jsonview import dig_object, dig_objects, dig_str
from vcray.api.meta import JsonObject
from vcray.api.resources import Resource
from vcray.controllers.base import Change

Key = tuple[str, str]

TOMBSTONES = 10_000
"""Deleted objects remembered per resource, the oldest forgotten first."""


class ObjectMirrors:
    """All mirrored resources. Implements `vcray.controllers.base.Seen`."""

    def __init__(self, resources: Sequence[Resource]) -> None:
        self._of = {resource: _Mirror(resource) for resource in resources}

    def get(self, resource: Resource, namespace: str, name: str) -> JsonObject | None:
        return self._of[resource].objects.get((namespace, name))

    def list(self, resource: Resource, namespace: str | None = None) -> Sequence[JsonObject]:
        return self._of[resource].select(namespace)

    def owned(self, resource: Resource, owner_uid: str) -> Sequence[JsonObject]:
        mirror = self._of[resource]
        return [mirror.objects[key] for key in sorted(mirror.by_owner.get(owner_uid, ()))]

    def mirrors(self, resource: Resource) -> bool:
        """Is this resource among the mirrored ones?"""
        return resource in self._of

    def put(self, resource: Resource, obj: JsonObject, only_if_held: bool = False) -> Change | None:
        """Take in an object; None when it is old news. `only_if_held`: ignore it unless the same uid is held."""
        return self._of[resource].put(obj, only_if_held)

    def remove(self, resource: Resource, obj: JsonObject) -> Change | None:
        """Take in a deletion; None when the object is not held, or is a later one of that name."""
        return self._of[resource].remove(obj)


class _Mirror:
    def __init__(self, resource: Resource) -> None:
        self.resource = resource
        self.objects: dict[Key, JsonObject] = {}
        self.by_owner: dict[str, set[Key]] = {}
        self._order: list[Key] = []
        self._gone: dict[str, int] = {}

    def select(self, namespace: str | None) -> list[JsonObject]:
        if namespace is None:
            return [self.objects[key] for key in self._order]
        found = []
        for key in self._order[bisect_left(self._order, (namespace, "")) :]:
            if key[0] != namespace:
                break
            found.append(self.objects[key])
        return found

    def put(self, obj: JsonObject, only_if_held: bool) -> Change | None:
        key, uid, version = _identity(obj)
        old = self.objects.get(key)
        if uid in self._gone and version <= self._gone[uid]:
            return None
        if old is None and (only_if_held or uid in self._gone):
            return None
        if old is not None:
            _, old_uid, old_version = _identity(old)
            if version <= old_version or (only_if_held and uid != old_uid):
                return None
            self._unown(key, old)
        else:
            insort(self._order, key)
        self.objects[key] = obj
        for owner in _owners(obj):
            self.by_owner.setdefault(owner, set()).add(key)
        return Change(self.resource, old, obj)

    def remove(self, obj: JsonObject) -> Change | None:
        key, uid, version = _identity(obj)
        self._gone[uid] = max(version, self._gone.get(uid, 0))
        if len(self._gone) > TOMBSTONES:
            del self._gone[next(iter(self._gone))]
        old = self.objects.get(key)
        if old is None or _identity(old)[1] != uid:
            return None
        del self.objects[key]
        del self._order[bisect_left(self._order, key)]
        self._unown(key, old)
        return Change(self.resource, obj, None)

    def _unown(self, key: Key, obj: JsonObject) -> None:
        for owner in _owners(obj):
            keys = self.by_owner.get(owner)
            if keys is not None:
                keys.discard(key)
                if not keys:
                    del self.by_owner[owner]


def place_of(obj: JsonObject) -> Key:
    """Namespace and name."""
    metadata = dig_object(obj, "metadata")
    return dig_str(metadata, "namespace"), dig_str(metadata, "name")


def _identity(obj: JsonObject) -> tuple[Key, str, int]:
    """(namespace, name), uid and resourceVersion (0 when it is not a number)."""
    metadata = dig_object(obj, "metadata")
    version = dig_str(metadata, "resourceVersion")
    return place_of(obj), dig_str(metadata, "uid"), int(version) if version.isdecimal() else 0


def _owners(obj: JsonObject) -> list[str]:
    return [dig_str(reference, "uid") for reference in dig_objects(obj, "metadata", "ownerReferences")]

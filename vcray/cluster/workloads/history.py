"""ControllerRevisions: the templates that a StatefulSet or a DaemonSet had, numbered, so that one can go back.

A revision holds the strategic merge patch that brings its template back, as kubectl's `rollout undo` applies it.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

import msgspec

from vcray.api import suffixes
from vcray.api.jsonview import dig, dig_int, dig_object, dig_str, dig_strings
from vcray.api.meta import JsonObject
from vcray.api.resources import CONTROLLERREVISIONS, Resource
from vcray.cluster.workloads.base import Controller, key_of, owner_reference, split
from vcray.cluster.workloads.selection import Selects
from vcray.kube.client import PatchType
from vcray.kube.errors import AlreadyExists, Conflict, NotFound

HASH_LABEL = "controller-revision-hash"
"""On pods: the name (StatefulSet) or the hash (DaemonSet) of the revision that they are of."""

_LONGEST_PREFIX = 223


def short_hash(content: JsonObject, collisions: int) -> str:
    """Ten letters and digits that tell this content from another's; `collisions` make it another's."""
    text = msgspec.json.encode(content, order="sorted") + str(collisions or "").encode()
    return suffixes.of_content(text, 10)


def template_of(revision: JsonObject) -> JsonObject:
    """The pod template that a revision holds."""
    template = dig_object(revision, "data", "spec", "template")
    return {name: value for name, value in template.items() if name != "$patch"}


def number_of(revision: JsonObject) -> int:
    """A revision's number; the newest has the highest."""
    return dig_int(revision, "revision")


def name_of(revision: JsonObject) -> str:
    """A revision's name."""
    return dig_str(revision, "metadata", "name")


@dataclass(frozen=True, slots=True)
class Revisions:
    """All revisions of an object, oldest first; `update` is that of its present template."""

    update: JsonObject
    every: tuple[JsonObject, ...]
    collisions: int

    def named(self, name: str) -> JsonObject | None:
        """The revision of that name."""
        return next((each for each in self.every if name_of(each) == name), None)


class History:
    """The revisions of one resource's objects. `label` is the label that holds a revision's hash."""

    def __init__(self, controller: Controller, resource: Resource, label: str) -> None:
        self._client = controller.client
        self._resource = resource
        self._label = label
        self.revisions = controller.shared.objects(CONTROLLERREVISIONS)

    async def adopt(self, owner: JsonObject, test: Selects) -> None:
        """Take over revisions that nobody controls and that the owner selects."""
        for each in list(self.revisions.orphans(dig_str(owner, "metadata", "namespace"))):
            deleting = bool(dig_str(each, "metadata", "deletionTimestamp"))
            if deleting or not test(dig_strings(each, "metadata", "labels")):
                continue
            reference = owner_reference(self._resource, owner)
            await self._patch(each, {"metadata": {"ownerReferences": [reference]}})

    def of(self, owner: JsonObject, test: Selects) -> list[JsonObject]:
        """The owner's revisions, oldest first."""
        owned = self.revisions.owned(dig_str(owner, "metadata", "uid"))
        found = [each for each in owned if test(dig_strings(each, "metadata", "labels"))]

        def age(each: JsonObject) -> tuple[int, str, str]:
            return number_of(each), dig_str(each, "metadata", "creationTimestamp"), name_of(each)

        return sorted(found, key=age)

    async def bring(self, owner: JsonObject, test: Selects) -> Revisions:
        """The revisions after that of the present template has been made, or has become the newest again."""
        collisions = dig_int(owner, "status", "collisionCount")
        present, data = self.of(owner, test), _data(owner)
        same = [each for each in present if each.get("data") == data]
        following = number_of(present[-1]) + 1 if present else 1
        if not same:
            made, collisions = await self._make(owner, data, following, collisions)
            return Revisions(made, (*present, made), collisions)
        update = same[-1]
        if update is not present[-1]:
            update = await self._patch(update, {"revision": following})
            present = [*(each for each in present if each is not same[-1]), update]
        return Revisions(update, tuple(present), collisions)

    async def cut(self, dead: Sequence[JsonObject], surplus: int) -> None:
        """Delete the oldest of the revisions that nothing needs, as many as are too many."""
        for each in dead[: max(0, surplus)]:
            with suppress(NotFound, Conflict):
                uid = dig_str(each, "metadata", "uid")
                await self._client.delete(CONTROLLERREVISIONS, *split(key_of(each)), uid=uid)
            self.revisions.remove(key_of(each), dig_str(each, "metadata", "uid"))

    async def _make(
        self, owner: JsonObject, data: JsonObject, number: int, collisions: int
    ) -> tuple[JsonObject, int]:
        namespace, name = split(key_of(owner))
        while True:
            mark = short_hash(data, collisions)
            labels = {**dig_strings(owner, "spec", "template", "metadata", "labels"), self._label: mark}
            metadata: JsonObject = {
                "name": f"{name[:_LONGEST_PREFIX]}-{mark}",
                "namespace": namespace,
                "labels": {**labels},
                "annotations": {**dig_object(owner, "metadata", "annotations")},
                "ownerReferences": [owner_reference(self._resource, owner)],
            }
            body: JsonObject = {"metadata": metadata, "data": data, "revision": number}
            try:
                made = await self._client.create(CONTROLLERREVISIONS, namespace, body)
            except AlreadyExists:
                made = await self._client.get(CONTROLLERREVISIONS, namespace, name_of(body))
                if made.get("data") != data:
                    collisions += 1
                    continue
            self.revisions.put(made)
            return made, collisions

    async def _patch(self, revision: JsonObject, patch: JsonObject) -> JsonObject:
        metadata: JsonObject = {
            **dig_object(patch, "metadata"),
            "uid": dig_str(revision, "metadata", "uid"),
        }
        answer = await self._client.patch(
            CONTROLLERREVISIONS,
            *split(key_of(revision)),
            {**patch, "metadata": metadata},
            PatchType.STRATEGIC,
        )
        self.revisions.put(answer)
        return answer


def _data(owner: JsonObject) -> JsonObject:
    template = dig(owner, "spec", "template")
    whole: JsonObject = {**(template if isinstance(template, dict) else {}), "$patch": "replace"}
    return {"spec": {"template": whole}}

"""Watches of kinds that a cluster may or may not have: each begins once its definition is there.

One watch of the definitions' metadata stands for those of all kinds that are not installed. A kind without a definition counts as
read, and empty.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import aclosing
from typing import TYPE_CHECKING

from vcray.actors.messages import Synced
from vcray.actors.runtime import Handle
from vcray.actors.watches import watch
from vcray.api.jsonview import dig_str
from vcray.api.resources import CUSTOMRESOURCEDEFINITIONS, Resource
from vcray.kube.client import KubeClient
from vcray.kube.watch import EventType, watch_heads, watch_objects

if TYPE_CHECKING:
    from vcray.actors.parts import Place


def watch_installed(place: Place, client: KubeClient, resources: Sequence[Resource], target: Handle) -> None:
    """Let a part hear of all objects of those of these resources that the cluster serves, now or later."""
    place.runtime.background("watch definitions", _Following(place, client, resources, target).run)


class _Following:
    def __init__(
        self, place: Place, client: KubeClient, resources: Sequence[Resource], target: Handle
    ) -> None:
        self._place, self._client, self._target = place, client, target
        self._absent = list(resources)

    async def run(self) -> None:
        """Follow the definitions, for ever."""
        told = False
        async with aclosing(watch_heads(self._client, CUSTOMRESOURCEDEFINITIONS).events()) as events:
            async for event in events:
                if event.type in (EventType.ADDED, EventType.MODIFIED):
                    self._begin(dig_str(event.object, "metadata", "name"))
                elif event.type is EventType.SYNCED and not told:
                    told = True
                    for each in self._absent:
                        await self._target.send(Synced(each.full_name))

    def _begin(self, definition: str) -> None:
        for resource in [each for each in self._absent if each.full_name == definition]:
            self._absent.remove(resource)
            watch(self._place, watch_objects(self._client, resource, optional=True), self._target)

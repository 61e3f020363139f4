"""Following a resource by the bytes of its objects, which whoever reads them decodes as far as it must, and then forgets."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing

import msgspec

from vcray.api import wire
from vcray.api.resources import Resource
from vcray.kube.client import KubeClient
from vcray.kube.watch import EventType, Watch


async def changes(
    client: KubeClient, resource: Resource, field_selector: str = ""
) -> AsyncGenerator[tuple[str, msgspec.Raw | None], None]:
    """Key and body of each object that comes or changes, the key and None for one that goes; until cancelled. Close it."""
    watch = Watch(client, resource, wire.decode_sighting, field_selector=field_selector)
    async with aclosing(watch.events()) as events:
        async for event in events:
            if event.object is None:
                continue
            body, event.object.body = event.object.body, None
            if event.type is EventType.DELETED:
                yield event.key, None
            elif body is not None:
                yield event.key, body

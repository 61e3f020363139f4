"""Merging into a stored object past the checks of a server beside us: by a definition that asks for nothing, as an older one
may have done."""

from __future__ import annotations

import asyncio

from vcray.api.jsonview import dig_objects
from vcray.api.meta import JsonObject, JsonValue
from vcray.api.resources import CUSTOMRESOURCEDEFINITIONS, Resource
from vcray.kube.client import KubeClient
from vcray.kube.errors import ApiError, Invalid

ATTEMPTS = 100
PAUSE_S = 0.05

_ANYTHING: JsonObject = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}


async def overwrite(
    client: KubeClient, resource: Resource, namespace: str, name: str, patch: JsonObject
) -> None:
    """Merge a patch into an object. Where the server refuses it for its schema, that is lifted for the time being.

    Raises the server's ApiError for a kind of its own whose checks nobody can lift."""
    try:
        await client.patch(resource, namespace or None, name, patch)
    except Invalid:
        if "." not in resource.group:
            raise
        await _without_schema(client, resource, namespace, name, patch)


async def _without_schema(
    client: KubeClient, resource: Resource, namespace: str, name: str, patch: JsonObject
) -> None:
    definition = await client.get(CUSTOMRESOURCEDEFINITIONS, None, resource.full_name)
    versions = dig_objects(definition, "spec", "versions")
    lax: list[JsonValue] = [{**each, "schema": {"openAPIV3Schema": _ANYTHING}} for each in versions]
    await _set_versions(client, resource, lax)
    try:
        for attempt in range(ATTEMPTS):  # the server takes a moment to act on a definition
            try:
                await client.patch(resource, namespace or None, name, patch)
                return
            except ApiError:
                if attempt == ATTEMPTS - 1:
                    raise
                await asyncio.sleep(PAUSE_S)
    finally:
        await _set_versions(client, resource, [*versions])


async def _set_versions(client: KubeClient, resource: Resource, versions: list[JsonValue]) -> None:
    patch: JsonObject = {"spec": {"versions": versions}}
    await client.patch(CUSTOMRESOURCEDEFINITIONS, None, resource.full_name, patch)

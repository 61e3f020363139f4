"""Reads and writes with the rights that Volcano's installations give.

Volcano's ClusterRoles let its scheduler update a PodGroup but not patch or read one by name, and update statuses but not patch
them (api-controllers.md 9). Where the server says that such a right is missing, the same is done with those that are there: an
object is read by a list of one, a patch becomes an update of the object as it is, over again when somebody was faster.
Rights that are there are used, since a patch is one request and disturbs nobody.
"""

from __future__ import annotations

from typing import Final

import msgspec

from vcray.api.jsonview import dig_object, dig_str
from vcray.api.meta import JsonObject, JsonValue
from vcray.kube.client import PatchType
from vcray.kube.errors import Invalid
from vcray.kube.paths import Target, target_of
from vcray.kube.transport import JSON, PassingTransport, Query, Response, Transport
from vcray.log import get_logger

log = get_logger("rights")

ATTEMPTS: Final = 8
_MISSING: Final = {"GET": b"cannot get resource", "PATCH": b"cannot patch resource"}


class SubstitutingTransport(PassingTransport):
    """Passes all on; where a right to get or patch is missing, does it by the rights to list and update."""

    def __init__(self, transport: Transport) -> None:
        super().__init__(transport)
        self._missing: set[tuple[str, str]] = set()

    async def request(
        self,
        method: str,
        path: str,
        query: Query | None = None,
        body: bytes | None = None,
        content_type: str = JSON,
    ) -> Response:
        target = target_of(path) if method in _MISSING else None
        if target is None or not target.name:
            return await self._transport.request(method, path, query, body, content_type)
        right = (method, target.resource)
        if right not in self._missing:
            response = await self._transport.request(method, path, query, body, content_type)
            if response.status != 403 or _MISSING[method] not in response.body:
                return response
            self._missing.add(right)
            log.info("a right is missing; others do", verb=method, resource=target.resource)
        if method == "GET":
            return await self._read(target)
        return await self._update(path, target, query, body or b"{}", content_type)

    async def _read(self, target: Target) -> Response:
        one = {"fieldSelector": f"metadata.name={target.name}"}
        listed = await self._transport.request("GET", target.collection, one)
        if not listed.ok:
            return listed
        found: JsonObject = msgspec.json.decode(listed.body)
        items = found.get("items")
        if not isinstance(items, list) or not items:
            return _not_found(target)
        kind = dig_str(found, "kind").removesuffix("List")
        item = {"apiVersion": found.get("apiVersion"), "kind": kind, **dig_object(items, 0)}
        return Response(200, msgspec.json.encode(item), listed.headers)

    async def _update(
        self, path: str, target: Target, query: Query | None, body: bytes, content_type: str
    ) -> Response:
        patch: JsonValue = msgspec.json.decode(body)
        asked = {name: text for name, text in (query or {}).items() if name != "force"}
        for _ in range(ATTEMPTS):
            read = await self.request("GET", target.object_path)
            if not read.ok:
                return read
            present: JsonObject = msgspec.json.decode(read.body)
            try:
                wanted = patched(present, patch, content_type)
            except Invalid as error:
                return Response(error.code, msgspec.json.encode(error.to_status()))
            if wanted == present:
                return read
            response = await self._transport.request("PUT", path, asked, msgspec.json.encode(wanted))
            same = all(
                dig_str(wanted, "metadata", each) == dig_str(present, "metadata", each)
                for each in ("uid", "resourceVersion")
            )
            if response.status != 409 or not same:
                break
        return response


def patched(present: JsonObject, patch: JsonValue, kind: str) -> JsonObject:
    """The object as a patch would leave it. Of an apply, each field of spec and status that it names is replaced.

    Invalid for a JSON patch that cannot be done."""
    if kind == PatchType.JSON:
        return _operated(present, patch)
    assert isinstance(patch, dict)
    if kind != PatchType.APPLY:
        merged = _merged(present, patch, lists=kind == PatchType.STRATEGIC)
        assert isinstance(merged, dict)
        return merged
    parts = {name: part for name, part in patch.items() if name not in ("apiVersion", "kind", "metadata")}
    return present | {
        name: {**dig_object(present, name), **part} if isinstance(part, dict) else part
        for name, part in parts.items()
    }


def _operated(present: JsonObject, operations: JsonValue) -> JsonObject:
    import jsonpatch

    try:
        changed: JsonObject = jsonpatch.apply_patch(present, msgspec.json.encode(operations).decode())
    except (jsonpatch.JsonPatchException, jsonpatch.JsonPointerException, LookupError, TypeError) as error:
        raise Invalid("the server rejected our request due to an error in our request") from error
    return changed


def _merged(present: JsonValue, patch: JsonValue, lists: bool) -> JsonValue:
    if isinstance(patch, list) and isinstance(present, list) and lists:
        return _merged_list(present, patch)
    if not isinstance(patch, dict):
        return patch
    result = dict(present) if isinstance(present, dict) else {}
    for name, value in patch.items():
        if value is None:
            result.pop(name, None)
        else:
            result[name] = _merged(result.get(name), value, lists)
    return result


def _merged_list(present: list[JsonValue], patch: list[JsonValue]) -> list[JsonValue]:
    """Entries with the same `type`, or else the same `name`, are one."""
    result = list(present)
    for entry in patch:
        key = next((each for each in ("type", "name") if dig_str(entry, each)), "")
        places = [
            place for place, each in enumerate(result) if key and dig_str(each, key) == dig_str(entry, key)
        ]
        if dig_str(entry, "$patch") == "delete":
            result = [each for place, each in enumerate(result) if place not in places]
        elif places:
            result[places[0]] = _merged(result[places[0]], entry, True)
        else:
            result.append(entry)
    return result


def _not_found(target: Target) -> Response:
    plural = target.collection.rpartition("/")[2]
    status = {
        "kind": "Status",
        "apiVersion": "v1",
        "status": "Failure",
        "reason": "NotFound",
        "message": f'{plural} "{target.name}" not found',
        "code": 404,
    }
    return Response(404, msgspec.json.encode(status))

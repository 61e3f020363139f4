"""The times that a server stamps on objects, moved into the virtual time of a scenario.

A server that runs beside us has the machine's clock, while a scenario's time moves only when a step says so. Whoever reads
through `Stamps` finds each object created (and told to end) at the virtual moment at which it was first seen so.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from vcray.api.meta import JsonObject, JsonValue
from vcray.clock import rfc3339

_CREATED, _ENDING, _GRACE = "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds"


class Stamps:
    """The virtual times of all objects seen so far, by UID."""

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._created: dict[str, str] = {}
        self._ending: dict[str, str] = {}

    def of_answer(self, body: bytes) -> tuple[bytes, JsonObject]:
        """An answer, an object or a list, in virtual time: as bytes and decoded. What is no JSON object stays as it is."""
        try:
            document: JsonValue = msgspec.json.decode(body)
        except msgspec.DecodeError:
            return body, {}
        if not isinstance(document, dict):
            return body, {}
        items = document.get("items")
        for each in items if isinstance(items, list) else [document]:
            self._stamp(each)
        return msgspec.json.encode(document), document

    def of_line(self, line: bytes) -> tuple[bytes, JsonObject]:
        """A line of a watch in virtual time: as bytes and decoded."""
        event: JsonObject = msgspec.json.decode(line)
        self._stamp(event.get("object"))
        return msgspec.json.encode(event), event

    def _stamp(self, obj: JsonValue) -> None:
        metadata = obj.get("metadata") if isinstance(obj, dict) else None
        if not isinstance(metadata, dict) or not isinstance(uid := metadata.get("uid"), str):
            return
        if metadata.get(_CREATED):
            metadata[_CREATED] = self._created.setdefault(uid, rfc3339(self._now()))
        if metadata.get(_ENDING):
            grace = metadata.get(_GRACE)
            end = self._now() + (grace if isinstance(grace, int) else 0)
            metadata[_ENDING] = self._ending.setdefault(uid, rfc3339(end))


def unstamped(body: bytes | None) -> bytes | None:
    """A request without the times that only the server may write, so that it does not take ours for a change."""
    if body is None or (b'"' + _CREATED.encode() not in body and b'"' + _ENDING.encode() not in body):
        return body
    try:
        document: JsonValue = msgspec.json.decode(body)
    except msgspec.DecodeError:
        return body
    metadata = document.get("metadata") if isinstance(document, dict) else None
    if not isinstance(metadata, dict):
        return body
    for key in (_CREATED, _ENDING, _GRACE):
        metadata.pop(key, None)
    return msgspec.json.encode(document)

"""Lists: what is asked for, one page of it, and the token from which the next page goes on."""

from __future__ import annotations

import base64
import json
from dataclasses import dataclass
from itertools import islice

from vcray.cluster.objects.catalog import Kind
from vcray.cluster.objects.record import ObjectKey, Record
from vcray.cluster.objects.selectors import record_test
from vcray.cluster.objects.storage import Storage
from vcray.kube.errors import BadRequest, Gone

TOO_OLD = (
    "The provided continue parameter is too old to display a consistent list result. You can start a new list without "
    "the continue parameter, or use the continue token in this response to retrieve the remainder of the results. "
    "Continuing with the provided token results in an inconsistent list - objects that were created, modified, or "
    "deleted between the time the first chunk was returned and now may show up in the list."
)
LATEST = -1
"""The version of a token that goes on with whatever there is by now."""

UNKNOWN = -1


@dataclass(frozen=True, slots=True)
class Selection:
    """What a list or a watch asks for. An empty namespace means all; `version` None means the present."""

    namespace: str = ""
    labels: str = ""
    fields: str = ""
    limit: int = 0
    token: str = ""
    version: int | None = None


@dataclass(frozen=True, slots=True)
class ListPage:
    """One page of a list: records, the version they were read at, the token of the next page (empty at the end).

    `remaining` counts what is behind the page; `UNKNOWN` where a selector chose, as a real server tells it.
    """

    records: list[Record]
    version: int
    token: str
    remaining: int


class TokenExpired(Gone):
    """410 for a page token; `token` goes on with the present list instead."""

    def __init__(self, message: str, token: str) -> None:
        super().__init__(message)
        self.token = token


def page(storage: Storage, kind: Kind, asked: Selection) -> ListPage:
    """One page of objects in key order. Gone if the page token or version is too old, BadRequest if malformed."""
    version, after = asked.version or storage.version, None
    if asked.token:
        version, after = read_token(asked.token)
        if version == LATEST:
            version = storage.version
    test = record_test(kind, asked.labels, asked.fields)
    try:
        found = filter(test, storage.scan_at(kind.stored, version, asked.namespace, after))
        records = list(islice(found, asked.limit)) if asked.limit else list(found)
        remaining = sum(1 for _ in found) if asked.limit else 0
    except Gone as error:
        if after is None:
            raise
        raise TokenExpired(TOO_OLD, make_token(LATEST, after)) from error
    token = make_token(version, records[-1].key) if remaining else ""
    chosen = bool(asked.labels or asked.fields)
    return ListPage(records, version, token, UNKNOWN if chosen and remaining else remaining)


_FORM = "meta.k8s.io/v1"


def make_token(version: int, key: ObjectKey) -> str:
    """The token of the page behind `key`, of the list at `version`: in the form of a real server's."""
    start = "/".join(("", *(part for part in key if part))) + "\0"
    document = json.dumps({"v": _FORM, "rv": version, "start": start}, separators=(",", ":"))
    return base64.urlsafe_b64encode(document.encode()).decode().rstrip("=")


def read_token(token: str) -> tuple[int, ObjectKey]:
    """Version and key of a token. BadRequest if it is malformed."""
    try:
        document = json.loads(base64.urlsafe_b64decode(token + "=" * (-len(token) % 4)))
        parts = str(document["start"]).removesuffix("\0").lstrip("/").split("/")
        return int(document["rv"]), (parts[0] if len(parts) > 1 else "", parts[-1])
    except (ValueError, KeyError, TypeError) as error:
        raise BadRequest(f"invalid continue token: continue key is not valid: {error}") from error

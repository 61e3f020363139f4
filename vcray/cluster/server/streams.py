"""Watches as a server gives them: from a query to the lines, whoever carries these to the client."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import contextmanager

import msgspec

from vcray.cluster.objects.catalog import Kind
from vcray.cluster.objects.lists import Selection
from vcray.cluster.objects.record import Record
from vcray.cluster.objects.selectors import record_test
from vcray.cluster.objects.store import Store
from vcray.cluster.objects.versions import shown
from vcray.cluster.objects.watching import Delivery, Encode, Watcher, bookmark, line
from vcray.cluster.server.answers import status_of
from vcray.cluster.server.forms import PARTIAL, PLAIN, TABLE, Form, form_of
from vcray.cluster.server.options import check_list_options, check_version
from vcray.cluster.server.paths import Target
from vcray.cluster.server.rendering import Rendering
from vcray.cluster.server.requests import Request
from vcray.cluster.server.rest import selectors_of
from vcray.kube.errors import Gone

MOST_LINES = 20_000
"""How many changes a client may be behind before its watch is cut."""

_BATCH = 1 << 18
_BURST_S = 0.002  # within a burst, what comes in this time goes out together: a write costs more than a line


class Watch:
    """One open watch; `close` it when its reader is gone. Raises ApiError if the server refuses it.

    With `framed`, its lines are those of HTTP in the form that the client accepts; else plain JSON without line ends.
    """

    def __init__(
        self, store: Store, delivery: Delivery, target: Target, request: Request, framed: bool = False
    ) -> None:
        query, kind = request.query, target.kind
        check_list_options(query, watch=True)
        form = form_of(request, kind, (TABLE, PARTIAL)) if framed else PLAIN
        self._look = Rendering(request, kind, form, store.clock)
        asked = selectors_of(target, request)
        self._delivery = delivery
        self._watcher = Watcher(
            kind,
            asked.namespace,
            record_test(kind, asked.labels, asked.fields),
            encode=self._look.event if framed else None,
            frame=self._look.framed if framed else line,
            form=_shared_form(form, self) if framed else "",
            limit=MOST_LINES if framed else 0,
            bookmarks=request.flag("allowWatchBookmarks") or not framed,
        )
        self._bookmarks = request.flag("allowWatchBookmarks")
        self._encode = self._look.event if framed else _plain(kind)
        self._frame = self._look.framed if framed else line
        self._seconds = float(query.get("timeoutSeconds") or 0)
        self._initial: list[Record] = []
        self._begin(store, asked, request)

    def _begin(self, store: Store, asked: Selection, request: Request) -> None:
        since = check_version(request.query.get("resourceVersion", ""), watch=True)
        initial, target = request.flag("sendInitialEvents"), self._watcher.kind.resource
        if since is None or initial:
            if "sendInitialEvents" not in request.query or initial:
                self._initial = store.list(target, asked).records
            since = None
            if initial and self._bookmarks:
                body = bookmark(target, store.storage.version, last_initial=True)
                self._watcher.lines.put(self._frame("BOOKMARK", body))
        try:
            self._delivery.open(self._watcher, since)
        except Gone as error:
            self._watcher.lines.put(self._frame("ERROR", msgspec.json.encode(status_of(error))))
            self._watcher.lines.put(None)

    @property
    def content_type(self) -> str:
        """The content type of its lines."""
        return self._look.stream_type

    def when_overrun(self, cut: Callable[[], None]) -> None:
        """Call `cut` when its reader has fallen too far behind; the rest of the lines is dropped then."""
        self._watcher.lines.cut = cut

    async def lines(self) -> AsyncGenerator[bytes, None]:
        """Its lines until it is closed, disconnected, or its `timeoutSeconds` are over."""
        with self._timed():
            for record in self._taken():
                yield self._encode("ADDED", record)
            while (item := await self._watcher.lines.next()) is not None:
                yield item

    async def batches(self) -> AsyncGenerator[bytes, None]:
        """The same, as many lines at a time as there are."""
        with self._timed():
            for batch in _chunks(self._taken()):
                yield b"".join([self._encode("ADDED", record) for record in batch])
            ended, last, now = False, 0.0, asyncio.get_running_loop().time
            while not ended:
                await self._watcher.lines.some()
                if now() - last < _BURST_S:
                    await asyncio.sleep(_BURST_S)
                last = now()
                items = await self._watcher.lines.batch(_BATCH)
                ended = items[-1] is None
                together = b"".join([item for item in items if item is not None])
                if together:
                    yield together

    def _taken(self) -> list[Record]:
        taken, self._initial = self._initial, []
        return taken

    @contextmanager
    def _timed(self) -> Iterator[None]:
        loop, end = asyncio.get_running_loop(), self._delivery.end
        timer = loop.call_later(self._seconds, end, self._watcher, self._bookmarks) if self._seconds else None
        try:
            yield
        finally:
            if timer is not None:
                timer.cancel()
            self.close()

    def close(self) -> None:
        """Stop it; safe to call twice."""
        self._delivery.close(self._watcher)


def _shared_form(form: Form, watch: Watch) -> str:
    """What watches with the same lines have in common; a table's first line is not like the others of its watch."""
    return f"{form} {id(watch)}" if form.as_kind == TABLE else str(form)


def _plain(kind: Kind) -> Encode:
    return lambda change, record: line(change, shown(kind, record))


def _chunks(records: list[Record], size: int = 100) -> Iterator[list[Record]]:
    for start in range(0, len(records), size):
        yield records[start : start + size]

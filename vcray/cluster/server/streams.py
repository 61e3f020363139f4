"""Watches as a server gives them: from a query to the lines, whoever carries these to the client."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator

import msgspec

from vcray.cluster.objects.selectors import record_test
from vcray.cluster.objects.store import Store
from vcray.cluster.objects.versions import shown
from vcray.cluster.objects.watching import Delivery, Watcher, bookmark, line
from vcray.cluster.server.answers import status_of
from vcray.cluster.server.options import check_list_options, check_version
from vcray.cluster.server.paths import Target
from vcray.cluster.server.requests import Request
from vcray.cluster.server.rest import selectors_of
from vcray.kube.errors import Gone


class Watch:
    """One open watch; `close` it when its reader is gone. Raises ApiError if the server refuses it."""

    def __init__(self, store: Store, delivery: Delivery, target: Target, request: Request) -> None:
        query, kind = request.query, target.kind
        check_list_options(query, watch=True)
        asked = selectors_of(target, request)
        test = record_test(kind, asked.labels, asked.fields)
        self._delivery = delivery
        self._watcher = Watcher(kind, asked.namespace, test)
        self._seconds = float(query.get("timeoutSeconds") or 0)
        self._bookmarks = request.flag("allowWatchBookmarks")
        since = check_version(query.get("resourceVersion", ""), watch=True)
        initial = request.flag("sendInitialEvents")
        if since is None or initial:
            for record in store.list(target.resource, asked).records:
                self._watcher.queue.put_nowait(line("ADDED", shown(kind, record)))
            if initial and self._bookmarks:
                self._watcher.queue.put_nowait(
                    bookmark(kind.resource, store.storage.version, last_initial=True)
                )
            since = None
        try:
            delivery.open(self._watcher, since)
        except Gone as error:
            self._watcher.queue.put_nowait(line("ERROR", msgspec.json.encode(status_of(error))))
            self._watcher.queue.put_nowait(None)

    async def lines(self) -> AsyncGenerator[bytes, None]:
        """Its lines until it is closed, disconnected, or its `timeoutSeconds` are over."""
        loop = asyncio.get_running_loop()
        end = self._delivery.end
        timer = loop.call_later(self._seconds, end, self._watcher, self._bookmarks) if self._seconds else None
        try:
            while (item := await self._watcher.queue.get()) is not None:
                yield item
        finally:
            if timer is not None:
                timer.cancel()
            self.close()

    def close(self) -> None:
        """Stop it; safe to call twice."""
        self._delivery.close(self._watcher)

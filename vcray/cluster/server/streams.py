"""Watches as a server gives them: from a query to the lines, whoever carries these to the client."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator

from vcray.cluster.objects.selectors import record_test
from vcray.cluster.objects.store import Store
from vcray.cluster.objects.watching import Delivery, Watcher, line
from vcray.cluster.server import rest
from vcray.kube.errors import BadRequest, Gone, status_response
from vcray.kube.transport import Query


class Watch:
    """One open watch; `close` it when its reader is gone. Raises ApiError if the server refuses it."""

    def __init__(self, store: Store, delivery: Delivery, path: str, query: Query) -> None:
        target = rest.parse(store, path)
        selection = rest.selection(target, query)
        test = record_test(target.resource, selection.labels, selection.fields)
        self._delivery = delivery
        self._watcher = Watcher(target.resource, selection.namespace, test)
        self._seconds = float(query.get("timeoutSeconds") or 0)
        self._bookmarks = query.get("allowWatchBookmarks") == "true"
        since = _since(query)
        if since is None:
            for record in store.list(target.resource, selection).records:
                self._watcher.queue.put_nowait(line("ADDED", record.body))
        try:
            delivery.open(self._watcher, since)
        except Gone as error:
            self._watcher.queue.put_nowait(line("ERROR", status_response(error).body))
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


def _since(query: Query) -> int | None:
    """The version a watch resumes behind; None means from the present state, its objects first."""
    version = query.get("resourceVersion", "")
    if version in ("", "0"):
        return None
    if not version.isdigit():
        raise BadRequest(f'strconv.ParseUint: parsing "{version}": invalid syntax')
    return int(version)

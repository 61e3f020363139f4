"""The client for scripts: the asynchronous one on a thread with a loop of its own, so that it works within any program, also one that
has a loop already."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncGenerator, Coroutine, Iterator
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar

from vcray.api.meta import JsonObject
from vcray.api.objects import KubeObject
from vcray.client.queues import QueueInfo
from vcray.client.states import Outcome, State
from vcray.client.waiting import AsyncClient, Submitted, connect_async

T = TypeVar("T")


class Client:
    """As `vcray.client.AsyncClient`, each call to its end. Use it as a context manager, or `close` it.

    Arguments are those of `vcray.client.connect_async`."""

    def __init__(
        self, kubeconfig: Path | None = None, context: str | None = None, namespace: str = ""
    ) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="vcray client", daemon=True)
        self._thread.start()
        self._entered = connect_async(kubeconfig, context, namespace)
        try:
            self._client: AsyncClient = self._do(self._entered.__aenter__())
        except BaseException:
            self._end()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the connection; a second time does nothing."""
        if not self._loop.is_closed():
            self._do(self._entered.__aexit__(None, None, None))
            self._end()

    @property
    def namespace(self) -> str:
        """That of objects which name none."""
        return self._client.namespace

    def submit(self, work: JsonObject | KubeObject, *, queue: str = "", namespace: str = "") -> Submitted:
        """See `AsyncClient.submit`."""
        return self._do(self._client.submit(work, queue=queue, namespace=namespace))

    def get(self, submitted: Submitted) -> JsonObject:
        """See `AsyncClient.get`."""
        return self._do(self._client.get(submitted))

    def outcome(self, submitted: Submitted) -> Outcome:
        """See `AsyncClient.outcome`."""
        return self._do(self._client.outcome(submitted))

    def wait(
        self, submitted: Submitted, until: State | None = None, timeout_s: float | None = None
    ) -> Outcome:
        """See `AsyncClient.wait`. Ctrl-C ends it."""
        return self._do(self._client.wait(submitted, until, timeout_s))

    def follow(self, submitted: Submitted) -> Iterator[Outcome]:
        """See `AsyncClient.follow`."""
        changes = self._client.follow(submitted)
        try:
            while True:
                step = self._do(_next(changes))
                if step is None:
                    return
                yield step
        finally:
            self._do(changes.aclose())

    def delete(self, submitted: Submitted) -> None:
        """See `AsyncClient.delete`."""
        self._do(self._client.delete(submitted))

    def pods(self, submitted: Submitted) -> list[JsonObject]:
        """See `AsyncClient.pods`."""
        return self._do(self._client.pods(submitted))

    def queues(self) -> list[QueueInfo]:
        """See `AsyncClient.queues`."""
        return self._do(self._client.queues())

    def queue(self, name: str) -> QueueInfo:
        """See `AsyncClient.queue`."""
        return self._do(self._client.queue(name))

    def _do(self, work: Coroutine[Any, Any, T]) -> T:
        if self._loop.is_closed():
            work.close()
            raise RuntimeError("the client is closed")
        future = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            return future.result()
        except BaseException:
            future.cancel()
            raise

    def _end(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


async def _next(changes: AsyncGenerator[Outcome, None]) -> Outcome | None:
    return await anext(changes, None)

"""A control plane of vcray in this process, in a thread with a loop of its own: halves can be stopped and started."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar

from vcray.app import ControlPlane
from vcray.config.settings import Settings
from vcray.kube.auth import load

T = TypeVar("T")


class Hosted:
    """Scheduler, controllers or both on one server; a context manager."""

    def __init__(
        self,
        kubeconfig: Path,
        *components: str,
        settings: Settings | None = None,
        conf: str | None = None,
    ) -> None:
        self._kubeconfig = kubeconfig
        self._components = components
        self._settings = settings
        self._conf = conf
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="control plane", daemon=True)
        self.plane: ControlPlane

    def __enter__(self) -> Self:
        self._thread.start()
        self.call(self._start())
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.call(self._stop())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)
        self._loop.close()

    def call(self, work: Coroutine[Any, Any, T]) -> T:
        """Run something on the control plane's loop."""
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(60)

    def start(self, component: str) -> None:
        """Start a half."""
        self.call(self.plane.start_component(component))

    def stop(self, component: str) -> None:
        """Stop a half as a crash would."""
        self.call(self.plane.stop_component(component))

    def failures(self) -> dict[str, int]:
        """Actors that failed on messages, and how often."""
        return {
            each.name: each.statistics().failed for each in self.plane.handles() if each.statistics().failed
        }

    async def _start(self) -> None:
        self._transport = await load(self._kubeconfig)
        self.plane = ControlPlane(self._transport, self._settings, self._conf)
        await self.plane.ensure_queues()
        for component in self._components:
            await self.plane.start_component(component)

    async def _stop(self) -> None:
        await self.plane.stop()
        await self._transport.close()
        await asyncio.sleep(0.1)  # TLS connections say goodbye
        await self._loop.shutdown_asyncgens()

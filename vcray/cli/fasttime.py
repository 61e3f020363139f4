"""Time that runs faster than the machine's, for nodes that only play at computing."""

from __future__ import annotations

import asyncio
import time


class FastTime:
    """`factor` seconds pass in one; begins at the present. Implements `vcray.kube.workqueue.Time`."""

    def __init__(self, factor: float) -> None:
        self._factor = factor
        self._epoch = time.time()
        self._began = time.monotonic()

    def now(self) -> float:
        """Seconds since the epoch, ever further ahead of the machine's clock."""
        return self._epoch + (time.monotonic() - self._began) * self._factor

    async def sleep(self, seconds: float) -> None:
        """Let that many of these seconds pass."""
        await asyncio.sleep(seconds / self._factor)

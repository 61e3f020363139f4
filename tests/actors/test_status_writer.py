"""Writing what a round says: nothing is left over when the writer is stopped."""

from __future__ import annotations

import asyncio
import gc
import warnings

from vcray.actors.status_writer import StatusWriter
from vcray.actors.timekeeping import WallTime
from vcray.core.decisions import Decisions, Event
from vcray.kube.events import EventRecorder


class _Stuck(EventRecorder):
    def __init__(self) -> None:
        pass

    async def record(self, *_: object) -> None:
        await asyncio.Event().wait()


def test_a_stop_amid_many_writes_leaves_no_coroutine_unawaited() -> None:
    async def stopped() -> None:
        writer = StatusWriter(None, _Stuck(), WallTime(), "volcano")  # type: ignore[arg-type]
        events = tuple(Event("Pod", f"ns/p-{i}", "", "Normal", "Scheduled", "") for i in range(40))
        writing = asyncio.create_task(writer.write(Decisions(1, events=events), {}))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        writing.cancel()
        await asyncio.gather(writing, return_exceptions=True)

    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        asyncio.run(stopped())
        gc.collect()

    assert [str(each.message) for each in told] == []

"""The way from admission to the scheduler that knows what has room."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeAlias

from vcray.actors.deployment import COORDINATOR
from vcray.actors.messages import RoomAsked, RoomFound
from vcray.actors.runtime import Handle
from vcray.cache.supposed import Wanted

AskRoom: TypeAlias = Callable[[Sequence[Wanted]], Awaitable[Sequence[int | None]]]
"""How many pods of each kind have a place, as `vcray.foresight.room`; empty where there is nobody to ask."""


def asks_room(reach: Callable[[str], Handle]) -> AskRoom:
    """Asks the coordinator, wherever it is by then. `reach` raises KeyError where no scheduler runs."""

    async def ask(wanted: Sequence[Wanted]) -> Sequence[int | None]:
        try:
            coordinator = reach(COORDINATOR)
        except KeyError:
            return ()
        answer = await coordinator.ask(RoomAsked(tuple(wanted)))
        return answer.places if isinstance(answer, RoomFound) else ()

    return ask


class Gathered:
    """Asks one question at a time: those that come meanwhile go together as the next one, since many pods cost hardly more than a
    few. Whoever has given up by then is left out."""

    def __init__(self, ask: AskRoom) -> None:
        self._ask = ask
        self._waiting: list[tuple[tuple[Wanted, ...], asyncio.Future[Sequence[int | None]]]] = []
        self._asking: asyncio.Task[None] | None = None

    async def __call__(self, wanted: Sequence[Wanted]) -> Sequence[int | None]:
        answer: asyncio.Future[Sequence[int | None]] = asyncio.get_running_loop().create_future()
        self._waiting.append((tuple(wanted), answer))
        if self._asking is None or self._asking.done():
            self._asking = asyncio.create_task(self._ask_all(), name="room")
        return await answer

    async def _ask_all(self) -> None:
        while self._waiting:
            waiting, self._waiting = self._waiting, []
            waiting = [each for each in waiting if not each[1].done()]
            try:
                together = [one for wanted, _ in waiting for one in wanted]
                places = list(await self._ask(together)) if together else []
            except asyncio.CancelledError:  # the scheduler, or we, stop
                for _, answer in waiting:
                    answer.cancel()
                raise
            except Exception as error:  # each asker has a fence of its own
                for _, answer in waiting:
                    if not answer.done():
                        answer.set_exception(error)
                continue
            for wanted, answer in waiting:
                found, places = places[: len(wanted)], places[len(wanted) :]
                if not answer.done():
                    answer.set_result(found)

"""The local runtime: one message at a time, fences, restarts, back-pressure, frames."""

from __future__ import annotations

import asyncio

import pytest

from vcray.actors.local_runtime import LocalRuntime
from vcray.actors.messages import Message, Synced
from vcray.actors.runtime import Crash, Statistics


class Recorder:
    """Answers with what it was sent; fails or crashes on request."""

    def __init__(self) -> None:
        self.heard: list[str] = []
        self.inside = 0
        self.gate = asyncio.Event()
        self.gate.set()

    async def start(self) -> None:
        self.heard.append("start")

    async def stop(self) -> None:
        self.heard.append("stop")

    async def receive(self, message: Message) -> Message | None:
        assert isinstance(message, Synced)
        self.inside += 1
        assert self.inside == 1, "an actor ran twice at once"
        await self.gate.wait()
        await asyncio.sleep(0)
        self.inside -= 1
        if message.resource == "fail":
            raise ValueError("no")
        if message.resource == "crash":
            raise Crash("state lost")
        self.heard.append(message.resource)
        return message


async def test_an_actor_handles_one_message_at_a_time_in_order() -> None:
    runtime = LocalRuntime()
    actor = Recorder()
    handle = await runtime.spawn("a", lambda: actor)

    await asyncio.gather(*(handle.ask(Synced(str(n))) for n in range(5)))

    assert actor.heard == ["start", "0", "1", "2", "3", "4"]
    assert handle.statistics() == Statistics("a", handled=5, failed=0, restarts=0, waiting=0)
    await runtime.stop()
    assert actor.heard[-1] == "stop"


async def test_a_failing_message_is_counted_told_to_its_asker_and_survived() -> None:
    runtime = LocalRuntime()
    handle = await runtime.spawn("a", Recorder)

    with pytest.raises(ValueError, match="no"):
        await handle.ask(Synced("fail"))

    assert await handle.ask(Synced("next")) == Synced("next")
    assert handle.statistics().failed == 1
    await runtime.stop()


async def test_a_crash_builds_a_new_actor() -> None:
    runtime = LocalRuntime()
    made: list[Recorder] = []

    def factory() -> Recorder:
        made.append(Recorder())
        return made[-1]

    handle = await runtime.spawn("a", factory)
    with pytest.raises(Crash):
        await handle.ask(Synced("crash"))
    await handle.ask(Synced("after"))

    assert [actor.heard for actor in made] == [["start", "stop"], ["start", "after"]]
    assert handle.statistics().restarts == 1
    await runtime.stop()


async def test_a_full_mailbox_makes_the_sender_wait() -> None:
    runtime = LocalRuntime()
    actor = Recorder()
    actor.gate.clear()
    handle = await runtime.spawn("a", lambda: actor, mailbox=2)
    for n in range(2):
        await handle.send(Synced(str(n)))
    await asyncio.sleep(0)
    await handle.send(Synced("2"))  # the first is being handled, so there is room for one more

    blocked = asyncio.create_task(handle.send(Synced("3")))
    await asyncio.sleep(0.01)
    assert not blocked.done()

    actor.gate.set()
    await blocked
    await handle.ask(Synced("last"))
    assert actor.heard == ["start", "0", "1", "2", "3", "last"]
    await runtime.stop()


async def test_frames_give_the_receiver_a_copy_that_crossed_msgpack() -> None:
    runtime = LocalRuntime(frames=True)
    handle = await runtime.spawn("a", Recorder)
    sent = Synced("pods", 3)

    answer = await handle.ask(sent)

    assert answer == sent
    assert answer is not sent
    await runtime.stop()


async def test_a_taken_name_is_refused() -> None:
    runtime = LocalRuntime()
    await runtime.spawn("a", Recorder)

    with pytest.raises(ValueError, match="named 'a'"):
        await runtime.spawn("a", Recorder)
    await runtime.stop()


async def test_background_work_that_fails_is_started_anew() -> None:
    runtime = LocalRuntime()
    tries: list[int] = []
    done = asyncio.Event()

    async def work() -> None:
        tries.append(1)
        if len(tries) < 2:
            raise OSError("broken")
        done.set()

    runtime.background("work", work)
    await asyncio.wait_for(done.wait(), 2)

    assert len(tries) == 2
    await runtime.stop()

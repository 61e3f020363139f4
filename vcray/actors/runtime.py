"""What an actor may rely on: the runtime protocol.

An actor is a plain class: it receives one message at a time, calls pure code, sends messages. It never shares an object
with another actor: messages are frozen and can cross a process (`vcray.actors.messages`). Where it runs, in this loop or in
another process, is the runtime's business; `LocalRuntime` runs all of them in one asyncio loop.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Protocol

from vcray.actors.messages import Message


@dataclass(frozen=True, slots=True)
class Statistics:
    """What `statistics()` of a handle tells: messages handled, failures survived, restarts, and what waits."""

    name: str
    handled: int
    failed: int
    restarts: int
    waiting: int


class Actor(Protocol):
    """One owner of state. `receive` is never called twice at the same time."""

    async def start(self) -> None:
        """Called once before the first message, and again on a fresh object after a restart."""
        ...

    async def receive(self, message: Message) -> Message | None:
        """Handle one message; the answer goes to whoever asked. Raising is a failure, counted and logged;
        raising `Crash` restarts the actor from its factory."""
        ...

    async def stop(self) -> None:
        """Let go of everything; no message comes after."""
        ...


class Crash(Exception):
    """The actor's state cannot be trusted any more: build a new one."""


class Handle(Protocol):
    """A way to reach an actor."""

    @property
    def name(self) -> str: ...

    async def send(self, message: Message) -> None:
        """Put a message into the mailbox; waits while the mailbox is full (back-pressure)."""
        ...

    async def ask(self, message: Message) -> Message | None:
        """Send and wait for the answer; the actor's exception is raised here."""
        ...

    def statistics(self) -> Statistics: ...


class Time(Protocol):
    """The only clock and the only sleep that actors use; virtual in tests and simulations."""

    def now(self) -> float: ...

    async def sleep(self, seconds: float) -> None: ...


class Runtime(Protocol):
    """Starts actors and finds them by name."""

    @property
    def time(self) -> Time: ...

    async def spawn(self, name: str, factory: Callable[[], Actor], mailbox: int = 1024) -> Handle:
        """Start an actor built by `factory`; a restart calls the factory again. ValueError when the name is taken."""
        ...

    def handle(self, name: str) -> Handle:
        """KeyError when there is no such actor."""
        ...

    def background(self, name: str, work: Callable[[], Awaitable[None]]) -> None:
        """Run work beside the actors until `stop`: a watch, a timer. A failure is logged and the work started anew."""
        ...

    async def stop(self) -> None:
        """Stop background work, then the actors, last started first."""
        ...

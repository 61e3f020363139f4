"""Follows a volcano-scheduler.conf on disk: a new text goes to the coordinator, which takes it or keeps the last good one."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path

from vcray.actors.messages import Accepted
from vcray.actors.runtime import Time
from vcray.errors import ConfigError, Problem
from vcray.log import get_logger

log = get_logger("config")

PERIOD_S = 1.0


def read(path: Path) -> str:
    """The text of a configuration file. ConfigError VC0503 when it cannot be read."""
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise ConfigError(Problem("VC0503", str(path), f"cannot be read: {why}")) from error


class ConfFile:
    """Looks at the file once a period; `told` hears of each sentence about what was wrong."""

    def __init__(
        self,
        path: Path,
        text: str,
        reconfigure: Callable[[str], Awaitable[Accepted]],
        time: Time,
        told: Callable[[bool, tuple[str, ...]], Awaitable[None]],
    ) -> None:
        self._path = path
        self._text = text
        self._reconfigure = reconfigure
        self._time = time
        self._told = told
        self._unread = ""  # why the last look could not read the file

    async def run(self) -> None:
        """Follow the file, for ever."""
        while True:
            await self._time.sleep(PERIOD_S)
            await self.look()

    async def look(self) -> None:
        """Send the text on if it changed since the last look."""
        try:
            text = read(self._path)
        except ConfigError as error:
            if str(error) != self._unread:
                log.warning("configuration kept", why=str(error))
            self._unread = str(error)
            return
        self._unread = ""
        if text == self._text:
            return
        self._text = text
        answer = await self._reconfigure(text)
        state = "configuration in force" if answer.in_force else "configuration refused, the last one stays"
        (log.info if answer.in_force else log.warning)(state, file=self._path)
        await self._told(answer.in_force, answer.problems)

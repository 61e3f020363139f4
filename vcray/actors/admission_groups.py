"""The admission actor's configuration: resource groups in a file that is looked at once a second.

A text that cannot be used ends the start, and later leaves the last good groups in force: pods go on as before.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

from vcray.actors.conf_file import ConfFile, Follower, read
from vcray.actors.messages import Accepted
from vcray.actors.runtime import Time
from vcray.errors import ConfigError
from vcray.log import get_logger
from vcray.webhooks.resource_groups import ResourceGroup, read_groups

Groups: TypeAlias = tuple[ResourceGroup, ...]

log = get_logger("admission")


class GroupsFile:
    """One file. `read` it, then `follow` it for ever."""

    def __init__(self, path: Path, time: Time) -> None:
        self._path = path
        self._time = time
        self._text = ""

    def read(self) -> Groups:
        """The groups as they stand there. ConfigError VC0503 when there is no such file, or it holds no such thing."""
        self._text = read(self._path)
        found = read_groups(self._text, str(self._path))
        _tell(found.problems)
        return found.groups

    async def follow(self, take: Callable[[Groups], None]) -> None:
        """Hand on the groups whenever they changed."""

        async def reconfigure(text: str) -> Accepted:
            try:
                found = read_groups(text, str(self._path))
            except ConfigError as error:
                return Accepted(False, tuple(map(str, error.problems)))
            take(found.groups)
            return Accepted(True, found.problems)

        async def told(_: bool, problems: tuple[str, ...]) -> None:
            _tell(problems)

        follower = Follower(str(self._path), self._text, reconfigure, told)
        await ConfFile(self._path, follower, self._time).run()


def _tell(problems: tuple[str, ...]) -> None:
    for problem in problems:
        log.warning("resource groups", problem=problem)

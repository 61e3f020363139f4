"""Follows a volcano-scheduler.conf, on disk or in a ConfigMap: a new text goes to the coordinator, which takes it or keeps
the last good one.

A file is read again once a second through whatever links lead to it, which also sees the swap of a directory that Kubernetes
makes in a mounted ConfigMap; a ConfigMap is watched through the API.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path

from vcray.actors.messages import Accepted
from vcray.actors.runtime import Time
from vcray.api.jsonview import dig_object, dig_str
from vcray.api.meta import JsonObject
from vcray.api.resources import CONFIGMAPS
from vcray.config.language import CONF_KEY, conf_in
from vcray.config.userfiles import digest
from vcray.errors import ConfigError, Problem
from vcray.kube.client import KubeClient
from vcray.kube.errors import NotFound
from vcray.kube.watch import EventType, watch_objects
from vcray.log import get_logger

log = get_logger("config")

PERIOD_S = 1.0
Reconfigure = Callable[[str], Awaitable[Accepted]]
Told = Callable[[bool, tuple[str, ...]], Awaitable[None]]


def read(path: Path) -> str:
    """The text of a configuration file. ConfigError VC0503 when it cannot be read."""
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise ConfigError(Problem("VC0503", str(path), f"cannot be read: {why}")) from error


async def read_map(client: KubeClient, namespace: str, name: str) -> str:
    """The text in a ConfigMap. ConfigError VC0503 when there is no such map, or no such key in it."""
    try:
        return text_of(await client.get(CONFIGMAPS, namespace, name))
    except NotFound as error:
        where = f"configmap {namespace}/{name}"
        raise ConfigError(Problem("VC0503", where, "cannot be read: there is none of that name")) from error


def text_of(configmap: JsonObject) -> str:
    """The text in a ConfigMap. ConfigError VC0503 when it lacks the key."""
    text = conf_in(dig_object(configmap, "data"))
    if text is not None:
        return text
    where = (
        f"configmap {dig_str(configmap, 'metadata', 'namespace')}/{dig_str(configmap, 'metadata', 'name')}"
    )
    raise ConfigError(Problem("VC0503", where, f"cannot be read: it has no key {CONF_KEY}"))


class Follower:
    """Sends a text on when it changed; `told` hears of each outcome, whether the last text is in force and what was wrong."""

    def __init__(self, source: str, text: str, reconfigure: Reconfigure, told: Told) -> None:
        self._source = source
        self._text = text
        self._reconfigure = reconfigure
        self._told = told
        self._in_force = True
        self._lost = ""  # why the source could not be read the last time

    async def take(self, text: str) -> None:
        """The source was read."""
        back, self._lost = bool(self._lost), ""
        if text == self._text:
            if back and self._in_force:
                log.info("configuration is there again", source=self._source)
                await self._told(True, ())
            return
        self._text = text
        await self.again()

    async def again(self) -> None:
        """Send the text once more, as after a change of what it names."""
        answer = await self._reconfigure(self._text)
        self._in_force = answer.in_force
        state = "configuration in force" if answer.in_force else "configuration refused, the last one stays"
        (log.info if answer.in_force else log.warning)(state, source=self._source)
        await self._told(answer.in_force, answer.problems)

    async def lose(self, why: str) -> None:
        """The source could not be read; told once for each reason."""
        if why == self._lost:
            return
        self._lost = why
        log.warning("configuration kept", why=why)
        await self._told(False, (why,))


class ConfFile:
    """Looks at the file once a period."""

    def __init__(self, path: Path, follower: Follower, time: Time) -> None:
        self._path = path
        self._follower = follower
        self._time = time

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
            await self._follower.lose(str(error))
        else:
            await self._follower.take(text)


class ConfMap:
    """Watches the ConfigMap."""

    def __init__(self, client: KubeClient, namespace: str, name: str, follower: Follower) -> None:
        self._where = f"configmap {namespace}/{name}"
        self._watch = watch_objects(
            client, CONFIGMAPS, namespace=namespace, field_selector=f"metadata.name={name}"
        )
        self._follower = follower

    async def run(self) -> None:
        """Follow the ConfigMap, for ever."""
        async for event in self._watch.events():
            if event.type is EventType.DELETED:
                await self._follower.lose(
                    str(Problem("VC0503", self._where, "cannot be read: it was deleted"))
                )
            elif event.type in (EventType.ADDED, EventType.MODIFIED) and event.object is not None:
                try:
                    text = text_of(event.object)
                except ConfigError as error:
                    await self._follower.lose(str(error))
                else:
                    await self._follower.take(text)


class PluginFolder:
    """Looks at a folder of users' plugins once a period: a change in it brings the configuration in once more."""

    def __init__(self, folder: Path, follower: Follower, time: Time) -> None:
        self._folder = folder
        self._follower = follower
        self._time = time
        self._seen = digest(folder)

    async def run(self) -> None:
        """Follow the folder, for ever."""
        while True:
            await self._time.sleep(PERIOD_S)
            await self.look()

    async def look(self) -> None:
        """Send the text again if something changed since the last look."""
        now = digest(self._folder)
        if now != self._seen:
            self._seen = now
            await self._follower.again()

"""Where a control plane's configuration comes from, and who is told about it: a file, a ConfigMap, or Volcano's default."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from vcray.actors.conf_file import ConfFile, ConfMap, Follower, PluginFolder, Reconfigure, read, read_map
from vcray.actors.runtime import Time
from vcray.api.resources import CONFIGMAPS, QUEUES
from vcray.config.roles import SCHEDULER
from vcray.config.scheduler import DEFAULT_CONF
from vcray.config.settings import Settings
from vcray.errors import ConfigError, Problem
from vcray.kube.client import KubeClient
from vcray.kube.events import Involved
from vcray.log import get_logger
from vcray.metrics import Metrics

log = get_logger("config")

Following: TypeAlias = Callable[[], Coroutine[object, object, None]]


@dataclass(frozen=True, slots=True)
class ConfSource:
    """One of the three. `text` is what it said at the start; `about` is the object that events are about."""

    text: str
    about: Involved
    settings: Settings

    @property
    def name(self) -> str:
        """What a user would call it."""
        settings = self.settings
        if settings.scheduler_conf is not None:
            return str(settings.scheduler_conf)
        named = settings.scheduler_conf_configmap
        return "the default configuration" if named is None else f"configmap {named}"

    def follow(self, client: KubeClient, follower: Follower, time: Time) -> list[Following]:
        """What looks for changes, for ever: of the text, unless it is the default's, and of users' plugins."""
        settings = self.settings
        found: list[Following] = []
        if not settings.runs(SCHEDULER):
            return found
        if settings.scheduler_conf is not None:
            found.append(ConfFile(settings.scheduler_conf, follower, time).run)
        if settings.scheduler_conf_configmap is not None:
            found.append(ConfMap(client, *_map_of(settings), follower).run)
        if settings.plugins_dir is not None:
            found.append(PluginFolder(settings.plugins_dir, follower, time).run)
        return found


async def find_source(settings: Settings, client: KubeClient) -> ConfSource:
    """The source that the settings name, read once. ConfigError when it cannot be read, or when there must be one.

    A release's ConfigMap may come later. Without a scheduler there is nothing to read."""
    root = Involved(QUEUES.api_version, QUEUES.kind, "", "root")
    if not settings.runs(SCHEDULER):
        return ConfSource(DEFAULT_CONF, root, settings)
    if settings.scheduler_conf is not None:
        return ConfSource(read(settings.scheduler_conf), root, settings)
    if settings.scheduler_conf_configmap is not None:
        namespace, name = _map_of(settings)
        try:
            text = await read_map(client, namespace, name)
        except ConfigError as error:
            if not settings.release or settings.disable_default_scheduler_config:
                raise
            log.warning("the default configuration until there is one", why=str(error))
            text = DEFAULT_CONF
        return ConfSource(text, Involved(CONFIGMAPS.api_version, CONFIGMAPS.kind, namespace, name), settings)
    if settings.disable_default_scheduler_config:
        what = "no configuration is named, and the default is not wanted; name one with --scheduler-conf"
        raise ConfigError(Problem("VC0502", "--disable-default-scheduler-config", what))
    return ConfSource(DEFAULT_CONF, root, settings)


class Herald:
    """Tells how each reading of the configuration went: log, metrics, events."""

    def __init__(self, metrics: Metrics, tell: Callable[[Sequence[str], Involved], Awaitable[None]]) -> None:
        self._metrics = metrics
        self._tell = tell

    def told(self, source: ConfSource) -> Callable[[bool, tuple[str, ...]], Awaitable[None]]:
        """For a source: each problem with the name of the source, and with what became of its text."""

        async def hear(in_force: bool, problems: tuple[str, ...]) -> None:
            self._metrics.config_reload_success.set(in_force)
            for problem in problems:
                said = "configuration skipped in part" if in_force else "configuration refused"
                log.warning(said, source=source.name, problem=problem)
                if problem.startswith("VC0503"):  # the coordinator never saw a text that could not be read
                    self._metrics.config_problems.labels(code="VC0503").inc()
            await self._tell([_with_outcome(each, source.name, in_force) for each in problems], source.about)

        return hear


def _with_outcome(problem: str, source: str, in_force: bool) -> str:
    if in_force:
        return f"{problem}; of {source} this part alone is skipped"
    if source in problem:
        return f"{problem}; the last good configuration stays in force"
    return f"{problem}; {source} is refused whole, and the last good configuration stays in force"


def follower_of(source: ConfSource, reconfigure: Reconfigure, herald: Herald) -> Follower:
    """A follower whose outcomes the herald tells on the source's own object."""
    return Follower(source.name, source.text, reconfigure, herald.told(source))


def _map_of(settings: Settings) -> tuple[str, str]:
    namespace, _, name = (settings.scheduler_conf_configmap or "").partition("/")
    return namespace, name

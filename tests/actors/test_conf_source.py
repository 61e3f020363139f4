"""A configuration is followed where it is: in a file, behind a link that is swapped, in a ConfigMap of the cluster."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from tests.conformance.harness.base import Server
from vcray.actors.conf_file import (
    PERIOD_S,
    ConfFile,
    ConfMap,
    Follower,
    PluginFolder,
    read,
    read_map,
    text_of,
)
from vcray.actors.conf_source import ConfSource, Herald, find_source
from vcray.actors.messages import Accepted
from vcray.actors.timekeeping import VirtualTime
from vcray.api.meta import JsonObject
from vcray.api.resources import CONFIGMAPS
from vcray.cluster import InProcessTransport, Store
from vcray.config.language import CONF_KEY as KEY
from vcray.config.language import conf_in
from vcray.config.scheduler import DEFAULT_CONF
from vcray.config.settings import Settings
from vcray.config.settings import load as settings_of
from vcray.errors import ConfigError
from vcray.kube.auth import load
from vcray.kube.client import KubeClient
from vcray.kube.events import Involved
from vcray.metrics import Metrics

WITHIN_S = 2.0


class Ear:
    """Takes texts as a coordinator does, refuses `bad`, and remembers what was told."""

    def __init__(self) -> None:
        self.sent: list[str] = []
        self.told: list[tuple[bool, tuple[str, ...]]] = []

    def follower(self, text: str) -> Follower:
        return Follower("here", text, self._reconfigure, self._tell)

    async def _reconfigure(self, text: str) -> Accepted:
        self.sent.append(text)
        return Accepted(text != "bad", ("VC0105 unknown action",) if text == "bad" else ())

    async def _tell(self, in_force: bool, problems: tuple[str, ...]) -> None:
        self.told.append((in_force, problems))


@pytest.fixture
def ear() -> Ear:
    return Ear()


async def test_a_changed_file_is_sent_once_and_a_refusal_is_told(tmp_path: Path, ear: Ear) -> None:
    path = tmp_path / KEY
    path.write_text("first")
    file = ConfFile(path, ear.follower("first"), VirtualTime())

    await file.look()
    for text in ("second", "bad"):
        path.write_text(text)
        await file.look()
        await file.look()

    assert ear.sent == ["second", "bad"]
    assert ear.told == [(True, ()), (False, ("VC0105 unknown action",))]


async def test_a_file_that_went_away_is_told_once_and_its_return_too(
    tmp_path: Path, ear: Ear, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / KEY
    file = ConfFile(path, ear.follower("first"), VirtualTime())

    with caplog.at_level("WARNING", "vcray"):
        for _ in range(3):
            await file.look()
    path.write_text("first")
    await file.look()
    await file.look()

    assert [each.levelname for each in caplog.records if "kept" in each.getMessage()] == ["WARNING"]
    assert ear.sent == []
    assert ear.told == [(False, (f"VC0503 {path}: cannot be read: No such file or directory",)), (True, ())]


async def test_a_refused_text_stays_refused_when_the_file_comes_back_with_it(
    tmp_path: Path, ear: Ear
) -> None:
    path = tmp_path / KEY
    path.write_text("bad")
    file = ConfFile(path, ear.follower("first"), VirtualTime())

    await file.look()
    path.unlink()
    await file.look()
    path.write_text("bad")
    await file.look()

    assert [in_force for in_force, _ in ear.told] == [False, False]


async def test_the_swap_of_a_mounted_configmap_is_seen(tmp_path: Path, ear: Ear) -> None:
    """Kubernetes links the file to `..data/FILE` and swaps the folder that `..data` leads to."""
    for number, text in enumerate(("first", "second")):
        (tmp_path / f"..version{number}").mkdir()
        (tmp_path / f"..version{number}" / KEY).write_text(text)
    (tmp_path / "..data").symlink_to("..version0")
    (tmp_path / KEY).symlink_to(f"..data/{KEY}")
    file = ConfFile(tmp_path / KEY, ear.follower("first"), VirtualTime())

    await file.look()
    (tmp_path / "..data_tmp").symlink_to("..version1")
    os.rename(tmp_path / "..data_tmp", tmp_path / "..data")
    await file.look()

    assert ear.sent == ["second"]
    assert PERIOD_S <= WITHIN_S / 2


async def test_a_change_of_a_users_plugin_brings_the_text_in_again(tmp_path: Path, ear: Ear) -> None:
    path = tmp_path / "mine.py"
    path.write_text("a = 1")
    folder = PluginFolder(tmp_path, ear.follower("first"), VirtualTime())

    await folder.look()
    path.write_text("a = 2")
    await folder.look()
    await folder.look()

    assert ear.sent == ["first"]


def test_a_missing_file_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"^VC0503 .*nowhere.conf: cannot be read: No such file"):
        read(tmp_path / "nowhere.conf")


async def test_a_configuration_may_be_asked_for(tmp_path: Path) -> None:
    client = KubeClient.__new__(KubeClient)  # never asked

    assert (await find_source(Settings(), client)).text == DEFAULT_CONF
    with pytest.raises(
        ConfigError, match="VC0502 --disable-default-scheduler-config: no configuration is named"
    ):
        await find_source(Settings(disable_default_scheduler_config=True), client)


@pytest.mark.parametrize(
    ("data", "text"),
    [
        ({KEY: "ours", "other.conf": "x"}, "ours"),
        ({"volcano-scheduler-ci.conf": "theirs"}, "theirs"),
        ({"volcano-scheduler-ci.conf": "theirs", "readme": "x"}, "theirs"),
        ({"a.conf": "x", "b.conf": "y"}, None),
        ({"readme": "x"}, None),
    ],
)
def test_the_key_of_a_configmap_is_ours_or_the_only_one_that_ends_in_conf(
    data: dict[str, str], text: str | None
) -> None:
    configmap: JsonObject = {"metadata": {"namespace": "ns", "name": "conf"}, "data": {**data}}
    if text is not None:
        assert text_of(configmap) == text
    else:
        with pytest.raises(ConfigError, match=f"configmap ns/conf: cannot be read: it has no key {KEY}"):
            text_of(configmap)


async def test_a_release_begins_with_the_default_and_takes_its_configmap_when_it_comes() -> None:
    client, ear = KubeClient(InProcessTransport(Store())), Ear()
    settings = settings_of({"namespace": "kube-system", "release": "integration"}, {})

    source = await find_source(settings, client)
    following = asyncio.create_task(source.follow(client, ear.follower(source.text), VirtualTime())[0]())
    made: JsonObject = {"metadata": {"name": "integration-scheduler-configmap"}, "data": {"ci.conf": "first"}}
    await client.create(CONFIGMAPS, "kube-system", made)
    await eventually(lambda: ear.sent == ["first"])
    following.cancel()

    assert source.text == DEFAULT_CONF
    strict = {"namespace": "kube-system", "release": "none", "disable_default_scheduler_config": "true"}
    with pytest.raises(ConfigError, match="VC0503 configmap kube-system/none-scheduler-configmap"):
        await find_source(settings_of(strict, {}), client)


async def test_without_a_scheduler_there_is_nothing_to_read_or_follow(tmp_path: Path) -> None:
    client = KubeClient.__new__(KubeClient)  # never asked
    given = {
        "only": ["controllers"],
        "scheduler_conf": str(tmp_path / "nowhere"),
        "plugins_dir": str(tmp_path),
    }

    source = await find_source(settings_of(given, {}), client)

    assert source.text == DEFAULT_CONF
    assert source.follow(client, Ear().follower(""), VirtualTime()) == []


CONFMAP = ConfSource(
    "", Involved("v1", "ConfigMap", "ns", "conf"), Settings(scheduler_conf_configmap="ns/conf")
)


async def test_what_could_not_be_read_moves_the_metrics_and_is_told_on_its_object() -> None:
    metrics, said = Metrics(), []

    async def tell(problems: object, about: Involved) -> None:
        said.append((problems, about.name))

    hear = Herald(metrics, tell).told(CONFMAP)
    lost = "VC0503 configmap ns/conf: cannot be read: it was deleted"
    await hear(False, (lost,))

    assert said == [([f"{lost}; the last good configuration stays in force"], "conf")]
    assert metrics.registry.get_sample_value("vcray_config_last_reload_success") == 0
    assert metrics.registry.get_sample_value("vcray_config_problems_total", {"code": "VC0503"}) == 1

    await hear(True, ())

    assert metrics.registry.get_sample_value("vcray_config_last_reload_success") == 1


@pytest.mark.parametrize(
    ("settings", "named"),
    [
        (Settings(scheduler_conf=Path("/etc/volcano.conf")), "/etc/volcano.conf"),
        (Settings(scheduler_conf_configmap="ns/conf"), "configmap ns/conf"),
        (Settings(), "the default configuration"),
    ],
)
async def test_each_problem_names_its_source_and_what_became_of_the_text(
    settings: Settings, named: str, caplog: pytest.LogCaptureFixture
) -> None:
    said: list[str] = []

    async def tell(problems: Sequence[str], about: Involved) -> None:
        said.extend(problems)

    hear = Herald(Metrics(), tell).told(ConfSource("", CONFMAP.about, settings))
    with caplog.at_level("WARNING", "vcray"):
        await hear(False, ("VC0101 line 4, column 1: not YAML",))
        await hear(True, ("VC0107 tiers[0].plugins[0]: unknown plugin 'x'",))

    assert said == [
        f"VC0101 line 4, column 1: not YAML; {named} is refused whole, and the last good configuration stays in force",
        f"VC0107 tiers[0].plugins[0]: unknown plugin 'x'; of {named} this part alone is skipped",
    ]
    logged = [record.getMessage() for record in caplog.records]
    assert ["configuration refused" in logged[0], "skipped in part" in logged[1]] == [True, True]
    assert all(named in each for each in logged)


# ---- a ConfigMap of the cluster, on both API servers ----


@asynccontextmanager
async def client_of(server: Server):
    transport = await load(server.kubeconfig)
    try:
        yield KubeClient(transport, "vcray-test")
    finally:
        await transport.close()


async def eventually(true: Callable[[], bool], seconds: float = WITHIN_S) -> float:
    """Wait for it; how long it took."""
    started = time.monotonic()
    while not true():
        assert time.monotonic() - started < seconds, "it did not come true in time"
        await asyncio.sleep(0.01)
    return time.monotonic() - started


def path_of(namespace: str, name: str = "") -> str:
    return f"/api/v1/namespaces/{namespace}/configmaps{'/' + name if name else ''}"


def configmap(text: str, key: str = KEY) -> dict[str, object]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "conf"}, "data": {key: text}}


@pytest.mark.parametrize(
    ("data", "text"),
    [
        ({KEY: "a", "volcano-scheduler-ci.conf": "b"}, "a"),
        ({"volcano-scheduler-ci.conf": "b", "notes": "c"}, "b"),
        ({"one.conf": "a", "two.conf": "b"}, None),
        ({"notes": "c"}, None),
        ({KEY: 1}, None),
    ],
)
def test_the_text_in_a_configmap_is_found_by_its_key_or_as_the_only_conf(
    data: dict[str, object], text: str | None
) -> None:
    assert conf_in(data) == text


async def test_a_configmap_is_followed_within_two_seconds(
    apiserver: Server, namespace: str, ear: Ear
) -> None:
    apiserver.client.create(path_of(namespace), configmap("first"))
    async with client_of(apiserver) as client:
        assert await read_map(client, namespace, "conf") == "first"
        following = asyncio.create_task(ConfMap(client, namespace, "conf", ear.follower("first")).run())
        await asyncio.sleep(0.1)
        for text in ("second", "bad", "third"):
            apiserver.client.replace(path_of(namespace, "conf"), configmap(text))
            await eventually(lambda text=text: ear.sent[-1:] == [text])
        apiserver.client.replace(path_of(namespace, "conf"), configmap("x", key="other"))
        await eventually(lambda: len(ear.told) == 4)
        apiserver.client.delete(path_of(namespace, "conf"))
        await eventually(lambda: len(ear.told) == 5)
        apiserver.client.create(path_of(namespace), configmap("fourth"))
        await eventually(lambda: len(ear.told) == 6)
        following.cancel()

    where = f"VC0503 configmap {namespace}/conf: cannot be read: "
    assert ear.sent == ["second", "bad", "third", "fourth"]
    assert ear.told == [
        (True, ()),
        (False, ("VC0105 unknown action",)),
        (True, ()),
        (False, (f"{where}it has no key {KEY}",)),
        (False, (f"{where}it was deleted",)),
        (True, ()),
    ]


async def test_a_configmap_that_cannot_be_read_at_the_start_is_one_error(
    apiserver: Server, namespace: str
) -> None:
    settings = Settings(scheduler_conf_configmap=f"{namespace}/conf")

    async with client_of(apiserver) as client:
        with pytest.raises(ConfigError, match=r"VC0503 configmap .*/conf: cannot be read: there is none"):
            await find_source(settings, client)
        apiserver.client.create(path_of(namespace), configmap("x", key="other"))
        with pytest.raises(ConfigError, match="cannot be read: it has no key"):
            await find_source(settings, client)
